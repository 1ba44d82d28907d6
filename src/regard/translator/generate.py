"""Going on with a text, by a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from regard.attention import AttentionMap
from regard.config import Run, SearchOptions
from regard.decoding import Hypothesis, search, stream
from regard.errors import InputError
from regard.folder import SavedModel
from regard.models.batch import Batch, batch_of
from regard.models.lm import LanguageModel
from regard.text.tokenizer import BOS, SPECIALS


@dataclass(frozen=True, eq=False)
class Generated:
    """A text, its continuation included; log-probability of a token; tokens; maps if asked for.

    Notebooks show the maps; `language` is that of the text, `hypothesis` its ids and how probable
    each of them was.
    """

    text: str
    score: float
    tokens: tuple[str, ...]
    finished: bool
    attention: tuple[AttentionMap, ...] = ()
    language: str = field(default="", repr=False)
    hypothesis: Hypothesis | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        from regard.tasks.notebook import notebook_html
        from regard.views import SentenceView

        maps = [layer_map for layer_map in self.attention if layer_map.over == "keys"]
        tokens = (SPECIALS[BOS], *self.tokens)
        shown = [
            SentenceView.from_text(maps, tokens=tokens, language=self.language, text=self.text)
        ]
        return notebook_html(shown if maps else (), self.text)


class Generator:
    """Goes on with texts, with the model of a folder."""

    def __init__(self, saved: SavedModel) -> None:
        assert isinstance(saved.network, LanguageModel)
        self.run: Run = saved.run
        self.path = saved.path
        self.network = saved.network
        self.tokenizer = saved.tokenizers.target
        self.device = next(saved.network.parameters()).device

    def generate(
        self, prompt: str = "", *, settings: SearchOptions | None = None, attention: bool = False
    ) -> list[Generated]:
        """`n_best` continuations of a prompt, the best first, or as many samples."""
        settings = settings or SearchOptions(sample=True, max_length=100)
        ids = self._ids(prompt, settings)
        found = search(self.network, None, settings, prefix=[ids])[0]
        return [
            Generated(
                self.tokenizer.decode(one.tokens),
                one.score,
                tuple(self.tokenizer.pieces(one.tokens)),
                one.finished,
                tuple(self._maps(one.tokens)) if attention else (),
                self.run.target_language,
                one,
            )
            for one in found
        ]

    def stream(self, prompt: str = "", *, settings: SearchOptions | None = None) -> Iterator[str]:
        """The prompt and its continuation, in pieces as they are written."""
        settings = settings or SearchOptions(sample=True, max_length=100)
        shown, ids = "", []
        for step in stream(self.network, None, settings, prefix=self._ids(prompt, settings)):
            if step.finished:
                return
            ids.append(step.token)
            text = self.tokenizer.decode(ids)
            if not text.endswith("�"):  # a character that is not whole yet
                yield text[len(shown) :]
                shown = text

    def _ids(self, prompt: str, settings: SearchOptions) -> list[int]:
        ids = self.tokenizer.encode(prompt) if prompt else []
        if len(ids) >= self.network.max_length - 1:
            raise InputError(
                f"the prompt has {len(ids)} tokens, but the model holds {self.network.max_length}; "
                "give a shorter one."
            )
        return ids

    def batch(self, ids: Sequence[int]) -> Batch:
        """A text's ids as the model reads them, BOS in front; one that does not fit is an error."""
        batch: Batch = batch_of(None, [ids])
        if batch.inputs.shape[1] > self.network.max_length:
            raise InputError(
                f"the text has {len(ids)} tokens, but the model holds "
                f"{self.network.max_length - 1}; give a shorter one."
            )
        return batch.to(self.device)

    def _maps(self, tokens: tuple[int, ...]) -> list[AttentionMap]:
        batch: Batch = batch_of(None, [tokens])
        with torch.no_grad():
            return self.network.maps(batch.to(self.device))
