"""The small words and the fixed ones: determiners, prepositions, adverbs, days, names, cities."""

from __future__ import annotations

from typing import NamedTuple

from regard.corpus.grammar.entry import Gender, Noun, rows
from regard.corpus.grammar.nouns import matching


class Determiner(NamedTuple):
    """A determiner in three languages."""

    english: str
    masculine: str
    feminine: str
    chinese: str
    measured: bool
    """Whether Chinese puts a measure word after it."""
    plural: bool = False
    definite: bool = False


class Preposition(NamedTuple):
    """A preposition; Chinese puts one word before the noun and may put another one after it."""

    english: str
    french: tuple[str, ...]
    head: int
    """Which of the French words carries the meaning; the others are `à` and `de`."""
    before: str
    after: str
    nouns: tuple[Noun, ...]


class Adverb(NamedTuple):
    """An adverb in three languages."""

    english: str
    french: str
    chinese: str


class Name(NamedTuple):
    """A person's name, the same in English and French."""

    english: str
    gender: Gender
    chinese: str


class City(NamedTuple):
    """A city in three languages."""

    english: str
    french: str
    chinese: str


class Time(NamedTuple):
    """A time that opens a sentence: words with their roles (0 the main word, see `line`)."""

    english: tuple[tuple[str, int], ...]
    french: tuple[tuple[str, int], ...]
    chinese: str


THE = Determiner("the", "le", "la", "", False, False, True)
A = Determiner("a", "un", "une", "一", True)
ONE = Determiner("one", "un", "une", "一", True)
THIS = Determiner("this", "ce", "cette", "这", True, False, True)
THAT = Determiner("that", "ce", "cette", "那", True, False, True)
THE_MANY = Determiner("the", "les", "les", "", False, True, True)
THESE = Determiner("these", "ces", "ces", "这些", False, True, True)
THOSE = Determiner("those", "ces", "ces", "那些", False, True, True)
TWO = Determiner("two", "deux", "deux", "两", True, True)
THREE = Determiner("three", "trois", "trois", "三", True, True)
SOME = Determiner("some", "quelques", "quelques", "一些", False, True)
SEVERAL = Determiner("several", "plusieurs", "plusieurs", "几", True, True)
MANY = Determiner("many", "beaucoup de", "beaucoup de", "很多", False, True)

DETERMINERS = (
    THE, A, ONE, THIS, THAT, THE_MANY, THESE, THOSE, TWO, THREE, SOME, SEVERAL, MANY,
)  # fmt: skip

IN = Preposition(
    "in", ("dans",), 0, "在", "里",
    matching("shelter field park desert garden valley courtyard forest tunnel"),
)  # fmt: skip
ON = Preposition(
    "on", ("sur",), 0, "在", "上", matching("bridge path trail road square beach highway hill")
)
NEAR = Preposition(
    "near", ("près", "de"), 0, "在", "附近", matching("shelter way tree oak pine -desert -valley")
)
BEHIND = Preposition("behind", ("derrière",), 0, "在", "后面", matching("shelter tree oak bush"))
BESIDE = Preposition(
    "beside", ("à", "côté", "de"), 1, "在", "旁边", matching("shelter river road canal stream tree")
)
UNDER = Preposition("under", ("sous",), 0, "在", "下面", matching("bridge tree oak pine table"))
WITH = Preposition("with", ("avec",), 0, "用", "", ())
DURING = Preposition("during", ("pendant",), 0, "在", "", matching("season"))

PREPOSITIONS = {p.english: p for p in (IN, ON, NEAR, BEHIND, BESIDE, UNDER, WITH, DURING)}
PLACES = (IN, IN, ON, NEAR, BEHIND, BESIDE, UNDER)
"""Prepositions for where something happens, the commonest twice."""

DEGREES = {
    "": Adverb("", "", "很"),
    "very": Adverb("very", "très", "非常"),
    "too": Adverb("too", "trop", "太"),
    "rather": Adverb("rather", "plutôt", "相当"),
    "extremely": Adverb("extremely", "extrêmement", "特别"),
}

_MANNERS = """
quickly rapidement 迅速地
slowly lentement 缓缓地
carefully soigneusement 小心地
quietly discrètement 悄悄地
secretly secrètement 偷偷地
patiently patiemment 耐心地
finally finalement 终于
suddenly soudainement 突然
immediately immédiatement 立刻
proudly fièrement 自豪地
"""
MANNERS = tuple(Adverb(*columns) for columns in rows(_MANNERS))

_NAMES = """
Alice f 爱丽丝
Emma f 艾玛
Julia f 朱莉娅
Clara f 克拉拉
Anna f 安娜
Paul m 保罗
Louis m 路易
Victor m 维克多
Oscar m 奥斯卡
Martin m 马丁
"""
NAMES = tuple(Name(e, "f" if gender == "f" else "m", c) for e, gender, c in rows(_NAMES))

_CITIES = """
Paris Paris 巴黎
London Londres 伦敦
Rome Rome 罗马
Berlin Berlin 柏林
Madrid Madrid 马德里
Geneva Genève 日内瓦
Vienna Vienne 维也纳
Beijing Pékin 北京
Tokyo Tokyo 东京
Athens Athènes 雅典
"""
CITIES = tuple(City(*columns) for columns in rows(_CITIES))

_TIMES = """
yesterday:0 hier:0 昨天
recently:0 récemment:0 最近
this:1_morning:0 ce:1_matin:0 今天早上
last:1_night:0 la:2_nuit:0_dernière:1 昨晚
last:1_week:0 la:2_semaine:0_dernière:1 上周
last:1_month:0 le:2_mois:0_dernier:1 上个月
last:1_year:0 la:2_année:0_dernière:1 去年
one:1_day:0 un:1_jour:0 有一天
on:1_Monday:0 lundi:0 星期一
on:1_Friday:0 vendredi:0 星期五
on:1_Sunday:0 dimanche:0 星期日
"""


def _roles(column: str) -> tuple[tuple[str, int], ...]:
    parts = (word.split(":") for word in column.split("_"))
    return tuple((word, int(role)) for word, role in parts)


TIMES = tuple(
    Time(_roles(english), _roles(french), chinese) for english, french, chinese in rows(_TIMES)
)
