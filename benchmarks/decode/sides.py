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
from typing import Any, Protocol, Unpack

from benchmarks.regard_command import run_regard
from regard.config import SearchOptions
from regard.decoding import search
from regard.decoding.ctranslate2_folder import vocabulary
from regard.exchange.ctranslate2_converter import convert
from regard.exchange.huggingface_export import TransformersRunner
from regard.models.batch import source_of
from regard.models.transformer import TransformerModel
from regard.tasks.translation.translation import OptionKeywords
from regard.tasks.translation.translator import Translator
from regard.worker_pool import WorkerPool

THREADS = (1, 2)


class Side(Protocol):
    """A way to translate."""

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """The translation of each text."""
        ...


class Regard:
    """`Translator.translate` with some options; fields of all sentences may be read as well."""

    def __init__(
        self,
        translator: Translator,
        read: Sequence[str] = (),
        **options: Unpack[OptionKeywords],
    ) -> None:
        self.translator, self.read, self.options = translator, read, options

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """Translate all texts in one call, `batch` of average length together."""
        self.options["settings"] = SearchOptions(
            beam=beam, batch_tokens=self._tokens(texts, beam, batch)
        )
        done = self.translator.translate(list(texts), **self.options)
        for sentence in (sentence for translation in done for sentence in translation.sentences):
            for name in self.read:
                getattr(sentence, name)
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
            results = search(translator.network, source, SearchOptions(beam=beam))
            return [decode(hypotheses[0].tokens) for hypotheses in results]

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
        import ctranslate2

        inter, intra = threads
        self.engine: Any = ctranslate2.Translator(
            str(folder), device="cpu", inter_threads=inter, intra_threads=intra
        )
        self.tokenizers = translator.tokenizers
        self.max_length = translator.run.model.max_length
        self.tokens = vocabulary(translator.tokenizers.source)
        target = vocabulary(translator.tokenizers.target)
        self.ids = {token: number for number, token in enumerate(target)}

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """Translate all texts in one call, as its documentation says."""
        source, target = self.tokenizers.source, self.tokenizers.target
        tokens = [[*(self.tokens[n] for n in source.encode(text)), "</s>"] for text in texts]
        results = self.engine.translate_batch(
            tokens,
            beam_size=beam,
            max_batch_size=batch,
            max_decoding_length=min(256, self.max_length),
        )
        return [target.decode([self.ids[t] for t in r.hypotheses[0]]) for r in results]


class HuggingFace:
    """`generate` of transformers on one batch after the other, on all cores."""

    def __init__(self, folder: Path, translator: Translator) -> None:
        self.runner = TransformersRunner(folder, import_module("transformers"))
        self.tokenizers = translator.tokenizers

    def translate(self, texts: Sequence[str], beam: int, batch: int) -> list[str]:
        """Translate batches of similar length."""
        import torch

        ids = [self.tokenizers.source.encode(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
        outputs = [""] * len(ids)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            source = source_of([ids[row] for row in rows])
            options = SearchOptions(beam=beam, max_length=2 * source.tokens.shape[1] + 10)
            with torch.inference_mode():
                token_rows = self.runner.search(source, options)
            for row, tokens in zip(rows, token_rows, strict=True):
                outputs[row] = self.tokenizers.target.decode(tokens)
        return outputs


@contextmanager
def hugging_face(translator: Translator) -> Iterator[list[Side]]:
    """The same weights as `regard export --to huggingface` writes them."""
    with tempfile.TemporaryDirectory(prefix="regard-bench-") as name:
        folder = Path(name) / "model"
        run_regard("export", "--model", translator.path, "--to", "huggingface", "--out", folder)
        yield [HuggingFace(folder, translator)]


@contextmanager
def bare_ctranslate2(translator: Translator, *, int8: bool) -> Iterator[list[Side]]:
    """CTranslate2 on the translator's weights, with every setting of its threads."""
    with tempfile.TemporaryDirectory(prefix="regard-bench-") as name:
        folder = Path(name) / "model"
        run, tokenizers = translator.run, translator.tokenizers
        assert isinstance(translator.network, TransformerModel)
        convert(translator.network, run, tokenizers, folder, int8=int8)
        yield [CTranslate2(folder, translator, threads) for threads in product(THREADS, THREADS)]
