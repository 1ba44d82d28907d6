"""The lexicon: entries read and checked from the tables in lexicon/ on first import.

A table is tab-separated UTF-8. Lines that begin with # are comments, the next line names the
columns, and cells missing at the end of a line are empty. Lists of nouns name kinds and single
nouns, less those with a minus.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from importlib.resources import files
from typing import TypeVar

from regard.corpus.grammar import entries
from regard.corpus.grammar.entries import (
    Adjective,
    Gender,
    Noun,
    PastVerb,
    PersonalWord,
    Preposition,
    PresentVerb,
    ProgressiveVerb,
    TimeAdverbial,
    Verb,
    WordForms,
)

Entry = TypeVar("Entry")
Key = TypeVar("Key", bound=Hashable)
AnyVerb = TypeVar("AnyVerb", bound=Verb)


class LexiconError(ValueError):
    """A table of the lexicon has an error; the message names its file and line."""


def read_table(name: str, build: Callable[..., Entry]) -> list[Entry]:
    """Build an entry from each row of lexicon/NAME.tsv, with the columns as keywords."""
    text = files(__package__).joinpath("lexicon", f"{name}.tsv").read_text("utf-8")
    header: list[str] = []
    built = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if not header:
            header = cells
            continue
        cells += [""] * (len(header) - len(cells))
        try:
            built.append(build(**dict(zip(header, cells, strict=True))))
        except (TypeError, ValueError) as error:
            raise LexiconError(f"lexicon/{name}.tsv, line {number}: {error}.") from error
    return built


def read_types(
    name: str, build: Callable[..., Entry], types: Sequence[str]
) -> tuple[list[Entry], ...]:
    """Read a table whose column `type` is one of `types`; one list of entries for each."""
    lists: dict[str, list[Entry]] = {kind: [] for kind in types}

    def add(type: str, **columns: str) -> None:
        known("type", type, lists).append(build(**columns))

    read_table(name, add)
    return tuple(lists.values())


def indexed(listed: Iterable[Entry], key: Callable[[Entry], Key]) -> dict[Key, Entry]:
    """Entries by their unique keys."""
    entries: dict[Key, Entry] = {}
    for entry in listed:
        if key(entry) in entries:
            raise LexiconError(f"the lexicon has two entries for {key(entry)!r}.")
        entries[key(entry)] = entry
    return entries


def known(kind: str, name: str, table: dict[str, Entry]) -> Entry:
    """The entry of a name; `kind` names the entries in the error for an unknown one."""
    if name not in table:
        raise ValueError(f"there is no {kind} {name!r}")
    return table[name]


def _gender(cell: str) -> Gender:
    genders: dict[str, Gender] = {"m": "m", "f": "f"}
    return known("gender", cell, genders)


def _filled(cell: str) -> str:
    if not cell:
        raise ValueError("a form is missing")
    return cell


def build_noun(
    kind: str,
    english: str,
    plural: str,
    french: str,
    french_plural: str,
    gender: str,
    chinese: str,
    measure: str,
    sense: str = "",
) -> Noun:
    """A noun from its columns; empty plurals are regular.

    >>> build_noun("animal", "horse", "", "cheval", "", "m", "马", "匹").french_plural
    ('chevaux',)
    """
    return Noun(
        english=_filled(english),
        plural=plural or entries.english_plural(english),
        french=tuple(_filled(french).split()),
        french_plural=tuple((french_plural or entries.french_plural(french)).split()),
        gender=_gender(gender),
        chinese=_filled(chinese),
        measure=measure,
        kind=kind,
        sense=sense,
    )


NOUNS: dict[str, Noun] = indexed(read_table("nouns", build_noun), lambda noun: noun.english)
KINDS: dict[str, tuple[Noun, ...]] = {
    kind: tuple(noun for noun in NOUNS.values() if noun.kind == kind)
    for kind in dict.fromkeys(noun.kind for noun in NOUNS.values())
}
PLURAL_KINDS = frozenset({"person", "animal"})
"""Kinds used in the plural too; the others stay singular, which keeps the vocabulary small."""


def select_nouns(names: str) -> tuple[Noun, ...]:
    """Nouns by a list of kinds and English words, less those with a minus.

    >>> [noun.english for noun in select_nouns("season -winter fire")]
    ['summer', 'autumn', 'fire']
    """
    excluded = {name[1:] for name in names.split() if name.startswith("-")}
    selected: dict[str, Noun] = {}
    for name in names.split():
        if not name.startswith("-"):
            nouns = KINDS[name] if name in KINDS else (known("kind or noun", name, NOUNS),)
            selected |= {noun.english: noun for noun in nouns}
    return tuple(noun for name, noun in selected.items() if name not in excluded)


NOUN_GROUPS = dict(read_table("noun_groups", lambda group, nouns: (group, nouns.split())))
ADJECTIVE_GROUPS = {"size": (0, 0), "quality": (1, 1), "age": (0, 2), "color": (2, 3)}
"""Rank (position in French) and English order of each group."""


def _adjective(
    group: str,
    english: str,
    masculine: str,
    feminine: str,
    before_vowel: str,
    chinese: str,
    attributive: str,
    particle: str,
    nouns: str,
) -> Adjective:
    rank, order = known("group", group, ADJECTIVE_GROUPS)
    names = [name for listed in nouns.split() for name in NOUN_GROUPS.get(listed, (listed,))]
    for name in names:
        if name not in KINDS:
            known("kind, group or noun", name.removeprefix("-"), NOUNS)
    return Adjective(
        english=_filled(english),
        forms=(
            _filled(masculine),
            _filled(feminine),
            entries.french_plural(masculine),
            feminine + "s",
        ),
        before_vowel=before_vowel or masculine,
        rank=rank,
        order=order,
        chinese=_filled(chinese),
        attributive=attributive or chinese,
        particle=known("particle", particle, {"yes": True, "no": False}),
        nouns=frozenset(names),
    )


ADJECTIVES = indexed(read_table("adjectives", _adjective), lambda adjective: adjective.english)
REPEATED_INITIALS = frozenset("大小老")
"""大大象 and 小小路 read badly: nouns that begin so are never big, small or old."""


def _attributes(noun: Noun) -> tuple[tuple[Adjective, ...], ...]:
    fitting = [
        adjective
        for adjective in ADJECTIVES.values()
        if adjective.fits(noun)
        and (
            adjective.particle
            or adjective.english == "new"
            or noun.chinese[0] not in REPEATED_INITIALS
        )
    ]
    return tuple(tuple(a for a in fitting if a.rank == rank) for rank in range(3))


ATTRIBUTES = {name: _attributes(noun) for name, noun in NOUNS.items()}
"""The adjectives that can describe each noun, by rank."""


def select_adjectives(names: str) -> tuple[Adjective, ...]:
    """Adjectives by their English words."""
    return tuple(known("adjective", name, ADJECTIVES) for name in names.split())


def _verb(build: Callable[..., AnyVerb]) -> Callable[..., AnyVerb]:
    """Build a verb from its columns; subjects and objects are lists of nouns."""

    def verb(subjects: str, objects: str = "", **forms: str) -> AnyVerb:
        return build(**forms, subjects=select_nouns(subjects), objects=select_nouns(objects))

    return verb


EVENT_VERBS, TRANSFER_VERBS = (
    indexed(verbs, lambda verb: verb.past)
    for verbs in read_types("verbs_past", _verb(PastVerb), ("event", "transfer"))
)
STATE_VERBS, ATTITUDE_VERBS = (
    indexed(verbs, lambda verb: verb.third)
    for verbs in read_types("verbs_present", _verb(PresentVerb), ("state", "attitude"))
)
ACTIVITY_VERBS = indexed(
    read_table("verbs_progressive", _verb(ProgressiveVerb)), lambda verb: verb.english
)


def _preposition(
    english: str, french: str, head: str, before: str, after: str, weight: str, nouns: str
) -> Preposition:
    words = tuple(french.split())
    return Preposition(
        english, words, words.index(head), before, after, int(weight), select_nouns(nouns)
    )


PREPOSITIONS = indexed(read_table("prepositions", _preposition), lambda entry: entry.english)
_DEGREES, _MANNERS = read_types("adverbs", WordForms, ("degree", "manner"))
DEGREES = indexed(_DEGREES, lambda adverb: adverb.english)
MANNERS = tuple(_MANNERS)
CITIES = tuple(read_table("cities", WordForms))


def _first_name(english: str, gender: str, chinese: str) -> PersonalWord:
    return PersonalWord((english, english, chinese), "a", _gender(gender))


def _time(english: str, french: str, chinese: str) -> TimeAdverbial:
    return TimeAdverbial(_roles(english), _roles(french), ((chinese, 0),))


def _roles(cell: str) -> tuple[tuple[str, int], ...]:
    pairs = (word.split(":") for word in cell.split())
    return tuple((word, int(role)) for word, role in pairs)


FIRST_NAMES = tuple(read_table("names", _first_name))
TIMES = tuple(read_table("times", _time))
