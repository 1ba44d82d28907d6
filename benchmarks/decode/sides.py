"""What is compared: regard with its engines, and bare CTranslate2 and transformers.

Every side translates a list of sentences from text to text. `batch` is the number of sentences
that are searched together; batches of one are independent of each other, so that a side may run
several at once on different cores.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from regard.config import SearchOptions
from regard.decoding import search
from regard.models.batch import source_of
from regard.tasks.translation.translator import Translator
from regard.worker_pool import WorkerPool

THREADS = (1, 2)
CONVERTER = "regard.exchange.ctranslate2_converter"


class Side(Protocol):
    """A way to translate."""

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """The translation of each text."""
        ...


class Regard:
    """`Translator.translate`, with alignment or without."""

    def __init__(self, translator: Translator, *, alignment: bool = False) -> None:
        self.translator, self.alignment = translator, alignment

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """Translate all texts in one call, `batch` of average length together."""
        settings = SearchOptions(beam=beam, batch_tokens=self._tokens(texts, beam, batch))
        done = self.translator.translate(list(texts), settings=settings, alignment=self.alignment)
        return [translation.text for translation in done]

    def _tokens(self, texts: Sequence[str], beam: int, batch: int) -> int:
        if batch == 1:
            return 1
        # characters per token hardly vary, so counting some is enough
        some = texts[:64]
        length = sum(len(self.translator.tokenizers.source.encode(text)) + 1 for text in some)
        return batch * beam * length // len(some)


class Reference:
    """Search over the network as it is trained, without the prepared inference path."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """Translate batches of similar length, one on each core."""
        translator = self.translator
        encode, decode = translator.tokenizers.source.encode, translator.tokenizers.target.decode
        ids = [encode(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
        groups = [order[start : start + batch] for start in range(0, len(order), batch)]

        def run(rows: list[int]) -> list[str]:
            source = source_of([ids[row] for row in rows])
            found = search(translator.network, source, SearchOptions(beam=beam))
            return [decode(hypotheses[0].tokens) for hypotheses in found]

        with WorkerPool(translator.threads) as pool:
            done = pool.map(run, groups)
        outputs = {
            row: text
            for rows, group in zip(groups, done, strict=True)
            for row, text in zip(rows, group, strict=True)
        }
        return [outputs[row] for row in range(len(texts))]


class CTranslate2:
    """Bare CTranslate2 with our tokenizers and one setting of its threads."""

    def __init__(self, folder: Path, translator: Translator, threads: tuple[int, int]) -> None:
        vocabulary = import_module(CONVERTER).vocabulary
        inter, intra = threads
        self.engine: Any = import_module("ctranslate2").Translator(
            str(folder), device="cpu", inter_threads=inter, intra_threads=intra
        )
        self.tokenizers = translator.tokenizers
        self.tokens = vocabulary(translator.tokenizers.source)
        target = vocabulary(translator.tokenizers.target)
        self.ids = {token: number for number, token in enumerate(target)}

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """Translate all texts in one call, as its documentation says."""
        source, target = self.tokenizers.source, self.tokenizers.target
        tokens = [[*(self.tokens[n] for n in source.encode(text)), "</s>"] for text in texts]
        results = self.engine.translate_batch(tokens, beam_size=beam, max_batch_size=batch)
        return [target.decode([self.ids[t] for t in r.hypotheses[0]]) for r in results]


class HuggingFace:
    """`generate` of transformers on one batch after the other, on all cores."""

    def __init__(self, folder: Path, translator: Translator) -> None:
        peer: Any = import_module("transformers").MarianMTModel
        self.model: Any = peer.from_pretrained(str(folder)).eval()
        self.tokenizers = translator.tokenizers

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """Translate batches of similar length."""
        import torch

        source, target = self.tokenizers.source, self.tokenizers.target
        ids = [source.encode(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
        outputs = [""] * len(ids)
        special = {self.model.config.decoder_start_token_id, self.model.config.eos_token_id}
        special.add(self.model.config.pad_token_id)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            given = source_of([ids[row] for row in rows])
            mask = torch.arange(given.tokens.shape[1]) < given.lengths[:, None]
            pad = torch.full_like(given.tokens, self.model.config.pad_token_id)
            with torch.inference_mode():
                found = self.model.generate(
                    torch.where(mask, given.tokens, pad), attention_mask=mask.long(),
                    num_beams=beam, do_sample=False,
                    max_new_tokens=2 * given.tokens.shape[1] + 10,
                )  # fmt: skip
            for row, tokens in zip(rows, found.tolist(), strict=True):
                outputs[row] = target.decode([token for token in tokens if token not in special])
        return outputs


@contextmanager
def bare_ctranslate2(translator: Translator, *, int8: bool) -> Iterator[list[Side]]:
    """CTranslate2 on the translator's weights, with every setting of its threads."""
    with tempfile.TemporaryDirectory(prefix="regard-bench-") as name:
        folder = Path(name) / "model"
        run, tokenizers = translator.run, translator.tokenizers
        convert = import_module(CONVERTER).convert
        convert(translator.network, run, tokenizers, folder, int8=int8)
        yield [CTranslate2(folder, translator, threads) for threads in product(THREADS, THREADS)]
