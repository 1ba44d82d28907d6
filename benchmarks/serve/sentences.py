"""Sentences with a model's translations, and the owner of a response.

Every client has sentences of its own, and no two have the same translation: a response that went to
the wrong client is detected.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.regard_command import run_regard
from regard.config import SearchOptions
from regard.errors import InputError

PER_CLIENT = 5
ReferenceSentence = tuple[int, str, str]
"""Number, text, and its translation alone."""


@dataclass(frozen=True)
class ReferenceSentences:
    """Sentences with their languages and the search options of their translations."""

    source: str
    target: str
    all: Sequence[ReferenceSentence]
    search: SearchOptions

    def dealt(self, clients: int) -> list[list[ReferenceSentence]]:
        """The sentences of each client."""
        return [list(self.all[n::clients]) for n in range(clients)]


def translate_alone(
    model: Path, clients: int, per_client: int = PER_CLIENT, source: Path | None = None
) -> ReferenceSentences:
    """Sentences of a file, or of the built-in grammar, with the translation of each by itself."""
    import torch

    from regard.corpus.grammar import sample
    from regard.tasks import load
    from regard.tasks.translation.translator import Translator

    translator = load(model)
    if not isinstance(translator, Translator):
        raise InputError(f"{model}: give a model that translates.")
    if source is None and translator.run.source_language != "en":
        raise InputError(f"{model}: the built-in sentences are English; give others by --source.")
    torch.set_num_threads(1)  # a single sentence is too small for several cores
    count, texts = clients * per_client, dict[str, str]()
    if source is None:
        lines = [pair.source for pair in sample("test", 3 * count, seed=1)]
    else:
        lines = list(filter(None, source.read_text("utf-8").split("\n")))[: 3 * count]
    for line in lines:
        translation = translator.translate(line, alignment=False).text
        if translation and translation not in texts:
            texts[translation] = line
        if len(texts) == count:
            break
    if len(texts) < 2 * clients:
        raise InputError(
            f"{model}: of {len(lines)} sentences only {len(texts)} have a unique "
            f"translation, too few for {clients} clients; train it better, or use fewer clients."
        )
    numbered = [(n, text, translation) for n, (translation, text) in enumerate(texts.items())]
    run = translator.run
    return ReferenceSentences(run.source_language, run.target_language, numbered, run.decoding)


def owner(number: int, text: str, sentences: ReferenceSentences) -> str:
    """Whether an unexpected translation is the sentence's "own" in other words, or "another" one's.

    It belongs to the sentence whose expected translation has most words in common with it; a tie
    counts as another's.
    """
    shares = [_overlap(text, expected) for _, _, expected in sentences.all]
    expected_share = shares[number]
    largest_other = max((share for n, share in enumerate(shares) if n != number), default=0.0)
    return "own" if expected_share > largest_other else "another"


def _overlap(text: str, reference: str) -> float:
    """Jaccard index of the words, or of the characters of a script without spaces.

    >>> _overlap("le chat dort", "le chien dort")
    0.5
    """
    first, second = set(_words(text)), set(_words(reference))
    return len(first & second) / max(1, len(first | second))


def _words(text: str) -> list[str]:
    return re.findall(r"[⺀-鿿]|[^\W⺀-鿿]+", text.lower())


def demo_model() -> Path:
    """The model of `regard demo`, trained by the command on first use and cached."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "regard" / "bench" / "demo"
    if not (folder / "model" / "metrics.json").is_file():
        print(
            f"  training the model of `regard demo` in {folder} (some minutes, once) …",
            file=sys.stderr,
            flush=True,
        )
        run_regard("demo", "--out", folder)
    return folder / "model"
