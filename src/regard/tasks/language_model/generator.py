"""The façade of a language model: continuations of a prompt."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from regard.attention import AttentionMap
from regard.config import SearchOptions
from regard.decoding import Hypothesis, ranked_tokens, search, stream
from regard.errors import InputError
from regard.folder import LoadedModel
from regard.models.batch import Batch, batch_of
from regard.models.lm import LanguageModel
from regard.text.tokenizer import BOS, MASK, PAD, SPECIALS

SAMPLING = SearchOptions(sample=True, max_length=100)
"""Default search."""


@dataclass(frozen=True, eq=False)
class Generated:
    """A prompt with its continuation; `score` is the mean log-probability of its tokens.

    The attention maps, if requested, are shown in notebooks.
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


@dataclass(frozen=True)
class NextWord:
    """A token that may come next; `sampled` is its probability after temperature and cuts."""

    token: str
    logit: float
    probability: float
    sampled: float


class Generator(LoadedModel):
    """Continues texts, with the model of a folder."""

    network: LanguageModel

    def generate(
        self, prompt: str = "", *, settings: SearchOptions | None = None, attention: bool = False
    ) -> list[Generated]:
        """`n_best` continuations of a prompt, the best first, or as many samples."""
        ids = self._prompt_ids(prompt)
        return [
            Generated(
                self.tokenizer.decode(hypothesis.tokens),
                hypothesis.score,
                tuple(self.tokenizer.pieces(hypothesis.tokens)),
                hypothesis.finished,
                tuple(self._maps(hypothesis.tokens)) if attention else (),
                self.run.target_language,
                hypothesis,
            )
            for hypothesis in search(self.network, None, settings or SAMPLING, prefix=[ids])[0]
        ]

    def next_words(
        self, prompt: str = "", count: int = 10, *, settings: SearchOptions | None = None
    ) -> list[NextWord]:
        """The most probable tokens after a prompt, the best first.

        `settings` say how they would be sampled: temperature, top-k and top-p.
        """
        settings = settings or SAMPLING
        with torch.no_grad():
            logits_V = self.network(self.batch(self._prompt_ids(prompt)))[0, -1]
        logits_V[[PAD, BOS, MASK]] = -math.inf  # special tokens that are never written
        ranked = ranked_tokens(
            logits_V, count, settings.temperature, settings.top_k, settings.top_p
        )
        pieces = self.tokenizer.pieces([each.token for each in ranked])
        return [
            NextWord(piece, each.logit, each.probability, each.sampled)
            for piece, each in zip(pieces, ranked, strict=True)
        ]

    def stream(self, prompt: str = "", *, settings: SearchOptions | None = None) -> Iterator[str]:
        """The prompt and its continuation, in pieces as they are generated."""
        shown, ids = "", []
        for step in stream(
            self.network, None, settings or SAMPLING, prefix=self._prompt_ids(prompt)
        ):
            if step.finished:
                return
            ids.append(step.token)
            text = self.tokenizer.decode(ids)
            if not text.endswith("�"):  # an incomplete character
                yield text[len(shown) :]
                shown = text

    def batch(self, ids: Sequence[int]) -> Batch:
        """A text's ids as the model's input, BOS first; a text that does not fit is an error."""
        batch: Batch = batch_of(None, [ids])
        if batch.inputs.shape[1] > self.network.max_length:
            raise InputError(
                f"the text has {len(ids)} tokens, but the model holds "
                f"{self.network.max_length - 1}; give a shorter one."
            )
        return batch.to(self.device)

    def _prompt_ids(self, prompt: str) -> list[int]:
        ids = self.tokenizer.encode(prompt) if prompt else []
        if len(ids) >= self.network.max_length - 1:
            raise InputError(
                f"the prompt has {len(ids)} tokens, but the model holds {self.network.max_length}; "
                "give a shorter one."
            )
        return ids

    def _maps(self, tokens: tuple[int, ...]) -> list[AttentionMap]:
        with torch.no_grad():
            return self.network.maps(batch_of(None, [tokens]).to(self.device))
