"""Ambiguous words: one English noun, two or three meanings, each in contexts that show it.

A line without indentation is a sense: lemma, sense, French, gender, Chinese, measure word. Below it
are its contexts: subjects | verbs | objects | place, where `@` is the ambiguous word and the column
with `*` holds the cue. A place with `~` belongs to the noun before it (`the mole on the arm`), else
to the verb (`in the garden`). The verb `be` takes adjectives. No cue of one sense shows another.
"""

from __future__ import annotations

from typing import NamedTuple

from regard.corpus.grammar.adjectives import named
from regard.corpus.grammar.entry import Adjective, Noun, Verb, noun
from regard.corpus.grammar.nouns import matching
from regard.corpus.grammar.particles import PREPOSITIONS, Preposition
from regard.corpus.grammar.verbs import EVENT_VERBS

SENSES = """
mole animal taupe f 鼹鼠 只
  @ | *dug | tunnel hole
  cat fox owl dog farmer gardener | *chased caught followed | @
  @ | be | *hungry frightened curious tired
mole unit mole f 摩尔 -
  chemist scientist student engineer | measured weighed heated dissolved | @ | of *substance
mole skin grain_de_beauté/grains_de_beauté m 痣 颗
  doctor nurse surgeon | examined removed | @ | ~on *arm cheek shoulder back neck leg
  woman girl actress princess dancer | hid photographed | @ | ~on *arm cheek shoulder back neck leg
bank money banque f 银行 家
  thief soldier sailor | *robbed | @
  baker farmer woman man merchant | *deposited | box suitcase painting statue | in @
  lawyer judge engineer | signed | *contract document treaty | in @
bank river rive f 河岸 片
  boat duck goose beaver otter turtle | *reached left | @
  @ | be | *muddy steep slippery
  sailor explorer hunter child | *explored roamed | @
spring season printemps m 春天 个
  gardener farmer queen | *planted watered | rose tulip oak flower | during @
  @ | be | *sunny mild
  musician baker neighbor | organized cancelled | *wedding party concert | during @
spring water source f 泉水 股
  camel horse explorer hunter goat | found reached | @ | ~in *desert forest valley
  @ | be | *clear deep
spring metal ressort m 弹簧 根
  mechanic engineer carpenter | replaced repaired removed | @ | ~in *clock bed sofa piano
  @ | be | *flexible shiny
bat animal chauve-souris/chauves-souris f 蝙蝠 只
  @ | caught swallowed | *spider ant bee
  owl cat snake weasel | *chased caught attacked | @
  scientist explorer tourist | observed photographed | @ | ~in *cave barn tower cabin
  @ | be | *hungry thirsty frightened sleepy
bat sport batte f 球棒 根
  player boy coach athlete | hit | *ball drum | with @
  carpenter mechanic artist | *repaired engraved polished | @
  player girl child | *bought borrowed forgot | @
seal animal phoque m 海豹 只
  @ | caught swallowed | *trout crab
  bear wolf panther | *chased attacked | @
  tourist scientist sailor | observed photographed | @ | ~on *beach bridge
  @ | be | *hungry playful lazy
seal stamp sceau m 印章 枚
  judge king queen lawyer | examined recognized | @ | ~on *letter contract treaty document
  artist merchant jeweler | *engraved polished | @
nail body ongle m 指甲 片
  actress dancer princess | *polished | @
  nurse doctor surgeon | examined washed | @ | ~on *finger hand
nail metal clou m 钉子 根
  carpenter mechanic boy | found removed | @ | ~in *wall plank door table
  carpenter engineer | *hammered pulled | @
palm hand paume f 手掌 只
  nurse doctor | *bandaged massaged | @
  cook carpenter soldier | *raised | @
palm tree palmier m 棕榈树 棵
  gardener farmer | *planted watered | @
  monkey sailor boy squirrel | *climbed | @
trunk elephant trompe f 象鼻 条
  *elephant | raised moved | @
trunk tree tronc m 树干 根
  carpenter farmer gardener | *split measured | @
  beaver squirrel monkey | *climbed | @
trunk car coffre m 后备箱 个
  driver thief mechanic | *opened closed | @
  driver tourist neighbor | hid found | *suitcase umbrella bag | in @
match fire allumette f 火柴 根
  cook soldier hunter thief | *extinguished | @
  @ | *burned | letter newspaper map barn
match sport match m 比赛 场
  player athlete coach queen | *won cancelled postponed watched missed | @
fan machine ventilateur m 风扇 台
  engineer mechanic waitress | *repaired installed replaced | @
  @ | be | *noisy powerful reliable
fan sport supporter m 球迷 个
  player coach singer musician | *thanked greeted invited | @
  @ | be | *happy sad angry proud
ring jewel bague f 戒指 枚
  jeweler prince princess thief | *polished stole bought engraved | @
  nurse girl sister | found touched | @ | ~on *finger hand
ring sound sonnerie f 铃声 阵
  student secretary waitress guard | *heard ignored recorded | @
date fruit datte f 椰枣 颗
  monkey camel merchant cook child | *ate tasted swallowed picked | @
  @ | be | *sweet ripe delicious
date meeting rendez-vous m 约会 个
  lawyer actress doctor singer | *cancelled postponed forgot missed | @
ruler tool règle f 尺子 把
  student engineer carpenter | measured | *table plank carpet mirror | with @
  student boy girl | *borrowed broke | @
ruler king souverain m 君主 位
  @ | *signed | treaty law contract
  soldier guard prince | *betrayed overthrew | @
  @ | be | *proud brave generous
key lock clé f 钥匙 把
  thief guard neighbor | opened closed | *door box suitcase cage | with @
  driver tourist | *lost forgot stole | @
key board touche f 按键 个
  musician secretary | *pressed | @
  engineer mechanic | repaired cleaned replaced | @ | ~on *keyboard machine
plant factory usine f 工厂 家
  @ | *produced | bicycle bottle cheese sugar
  engineer merchant king | *built visited | @
plant flora plante f 植物 株
  gardener child farmer | *watered picked | @
  cow goat rabbit ewe | *ate swallowed | @
organ music orgue m 管风琴 架
  musician artist engineer | *tuned repaired | @
  tourist sister | heard touched | @ | ~in *church castle theater
organ body organe m 器官 个
  surgeon doctor | *transplanted removed | @
calf animal veau m 小牛 头
  cow farmer girl | *licked fed | @
  wolf bear lion | *attacked chased | @
  @ | be | *hungry thirsty
calf leg mollet m 小腿 条
  athlete player dancer nurse | *massaged stretched bandaged | @
"""

SUBJECT, VERB, OBJECT, PLACE = range(4)


class Context(NamedTuple):
    """Where a sense shows itself; `slot` and `cue` are the columns of the word and of its cue."""

    slot: int
    cue: int
    subjects: tuple[Noun, ...]
    verbs: tuple[Verb, ...]
    objects: tuple[Noun, ...]
    qualities: tuple[Adjective, ...]
    preposition: Preposition | None
    places: tuple[Noun, ...]
    of_noun: bool
    """Whether the place belongs to the noun before it."""


class Meaning(NamedTuple):
    """One sense of an ambiguous word."""

    lemma: str
    noun: Noun
    contexts: tuple[Context, ...]


def _context(line: str) -> Context:
    columns = [column.strip() for column in line.split("|")]
    cue = next(index for index, column in enumerate(columns) if "*" in column)
    slot = next(index for index, column in enumerate(columns) if "@" in column)
    columns = [column.replace("*", "") for column in columns]
    plain = [
        "" if "@" in column and index != PLACE else column for index, column in enumerate(columns)
    ]
    preposition, places, of_noun = None, "", False
    if len(columns) > PLACE:
        word, _, places = columns[PLACE].partition(" ")
        of_noun = word.startswith("~")
        preposition = PREPOSITIONS.get(word.removeprefix("~"))
        places = places.replace("@", "")
    being = plain[VERB] == "be"
    return Context(
        slot=slot,
        cue=cue,
        subjects=matching(plain[SUBJECT]),
        verbs=() if being else tuple(EVENT_VERBS[past] for past in plain[VERB].split()),
        objects=() if being else matching(plain[OBJECT]),
        qualities=named(plain[OBJECT]) if being else (),
        preposition=preposition,
        places=matching(places),
        of_noun=of_noun,
    )


def _meanings() -> dict[str, tuple[Meaning, ...]]:
    found: dict[str, list[Meaning]] = {}
    for block in SENSES.strip().replace("\n  ", "\t").splitlines():
        header, *contexts = block.split("\t")
        lemma, sense, *columns = header.split()
        entry = noun([lemma, *columns], f"sense:{sense}", sense)
        meaning = Meaning(lemma, entry, tuple(_context(line) for line in contexts))
        found.setdefault(lemma, []).append(meaning)
    return {lemma: tuple(meanings) for lemma, meanings in found.items()}


MEANINGS = _meanings()
LEMMAS = tuple(MEANINGS)
