"""sacreBLEU's figures through our functions: the right tokenizer, and clear errors."""

import subprocess
import sys

import pytest
import sacrebleu

from regard.errors import InputError
from regard.evaluation import corpus_scores, exact_match
from regard.evaluation.scores import bleu_tokenizer

REFERENCES = [
    "The dog bit the man.",
    "It was not unexpected.",
    "The man bit him first.",
]
OTHERS = [
    "The dog had bit the man.",
    "No one was surprised.",
    "The man had bitten the dog.",
]
SYSTEM = [
    "The dog bit the man.",
    "It wasn't surprising.",
    "The man had just bitten him.",
]


def test_the_example_of_sacrebleu_s_own_manual():
    """The three sentences and the scores that its README gives for them."""
    both = list(zip(REFERENCES, OTHERS, strict=True))
    scores = corpus_scores(SYSTEM, both, "en")
    assert round(scores.bleu, 2) == 48.53
    assert round(scores.chrf, 2) == 59.73
    assert scores.signature.startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")


@pytest.mark.parametrize("language", ["de", "zh", "ja", "th", ""])
def test_it_is_sacrebleu(language):
    hypotheses = ["Ein Haus am See.", "我喜欢红色的房子。", "Das Ende"]
    references = ["Ein Haus am Meer.", "我很喜欢这座红房子。", "das Ende"]
    scores = corpus_scores(hypotheses, references, language)
    options = {"tokenize": bleu_tokenizer(language), "force": True}
    bleu = sacrebleu.corpus_bleu(hypotheses, [references], **options)
    lower = sacrebleu.corpus_bleu(hypotheses, [references], lowercase=True, **options)
    assert scores.bleu == pytest.approx(bleu.score)
    assert scores.bleu_lowercase == pytest.approx(lower.score)
    assert scores.bleu_lowercase > scores.bleu
    assert scores.chrf == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    assert scores.sentences == 3


def test_chinese_is_not_one_long_word():
    """One character wrong of ten: with 13a it would be a wrong sentence, in TER too."""
    hypotheses, references = ["我很喜欢这座红房子。"], ["我很喜欢那座红房子。"]
    right, wrong = (
        corpus_scores(hypotheses, references, language, ter=True) for language in ("zh-CN", "de")
    )
    assert right.bleu > 50 > 10 > wrong.bleu
    assert right.ter == pytest.approx(10.0)
    assert wrong.ter == 100.0
    assert "tok:zh" in right.signature


def test_bleu_tokenizer():
    assert [bleu_tokenizer(tag) for tag in ("en", "zh_TW", "yue", "km")] == [
        "13a",
        "zh",
        "zh",
        "char",
    ]
    assert bleu_tokenizer("ja") in ("ja-mecab", "char")
    assert bleu_tokenizer("ko-KR") in ("ko-mecab", "char")


@pytest.mark.needs("mecab")
@pytest.mark.parametrize(
    ("language", "right", "wrong"),
    [
        ("ja", "私は犬が好きです。", "私は猫が好きです。"),
        ("ko", "나는 개를 좋아한다.", "나는 밥을 좋아한다."),
    ],
)
def test_japanese_and_korean_are_cut_into_words(language, right, wrong):
    scores = corpus_scores([wrong], [right], language)
    assert f"tok:{language}-mecab" in scores.signature
    assert 0 < scores.bleu < 100


def test_references_may_differ_in_number():
    several = [[REFERENCES[0], OTHERS[0]], [REFERENCES[1]], [REFERENCES[2], OTHERS[2]]]
    scores = corpus_scores(SYSTEM, several, "en")
    assert "nrefs:var" in scores.signature
    assert scores.bleu >= corpus_scores(SYSTEM, REFERENCES, "en").bleu


def test_ter_is_that_of_sacrebleu_and_reports_progress():
    hypotheses = [*SYSTEM * 40, "", "a b"]
    references = [*zip(REFERENCES * 40, OTHERS * 40, strict=True), ("",), ("",)]
    told = []
    scores = corpus_scores(hypotheses, references, "en", ter=True, progress=told.append)
    padded = [[*one, None] if len(one) == 1 else list(one) for one in references]
    metric = sacrebleu.TER(case_sensitive=True)
    expected = metric.corpus_score(hypotheses, list(zip(*padded, strict=True)))
    assert scores.ter == expected.score
    assert scores.ter_signature == str(metric.get_signature())
    assert sum(told) == len(hypotheses) and len(told) == 3
    nothing = corpus_scores(["a"], [""], ter=True), corpus_scores([""], [""], ter=True)
    assert [scores.ter for scores in nothing] == [100, 0]
    without = corpus_scores(hypotheses, references, "en")
    assert without.ter is None and without.ter_signature is None


def test_all_but_one_are_cased():
    scores = corpus_scores(["THE CAT SAT ON MATS."], ["the cat sat on mats."], "en", ter=True)
    assert scores.bleu < 10
    assert scores.bleu_lowercase == pytest.approx(100)
    assert scores.ter == pytest.approx(100)


@pytest.mark.parametrize("score", [corpus_scores, exact_match])
def test_what_cannot_be_scored(score):
    with pytest.raises(InputError, match="1 translations but references for 2"):
        score(["a"], ["a", "b"])
    with pytest.raises(InputError, match="no translations"):
        score([], [])
    with pytest.raises(InputError, match=r"sentence 1 .* has no reference"):
        score(["a", "b"], [["a"], []])
    score([""], [""])  # an empty translation is bad, not an error


def test_exact_match():
    assert exact_match(["cafe\u0301  noir", "x", "z"], [["café noir"], ["y", "x"], ["Z"]]) == (
        pytest.approx(2 / 3)
    )


def test_importing_the_packages_loads_nothing_heavy():
    code = (
        "import sys, regard.alignment, regard.evaluation as package\n"
        "heavy = {'torch', 'sacrebleu', 'regard.corpus.grammar'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert all(getattr(package, name).__doc__ for name in package.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
