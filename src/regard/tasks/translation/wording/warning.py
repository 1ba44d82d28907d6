"""What a reader of a translation must check, as it could not be done with certainty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from regard.text.placeholders import LostPlaceholders, lost_placeholders

MESSAGES = {
    "inserted": "the model did not write it, so its place is by alignment only",
    "missing": "it is in the source and not in the translation",
    "extra": "it is in the translation and not in the source",
    "number": "the number is not in the translation in digits",
    "term": "the model could not write this term, so its place is by alignment only",
    "memory": "the translation is of a similar source in the memory",
}


class TranslationWarning(NamedTuple):
    """Something in a sentence that must be checked.

    kind   inserted, missing or extra: placeholders; number: numbers; term: of the glossary;
           memory: a fuzzy match that was used
    parts  the placeholders, numbers, terms or sources
    """

    kind: str
    parts: tuple[str, ...]

    @property
    def message(self) -> str:
        """The warning as a line of text."""
        return f"{', '.join(self.parts)}: {MESSAGES[self.kind]}"

    def __str__(self) -> str:
        return self.message

    def as_dict(self) -> dict[str, Any]:
        """The warning as JSON has it."""
        return {"kind": self.kind, "parts": list(self.parts), "message": self.message}


def placeholder_warnings(source: str, translation: str) -> Iterator[TranslationWarning]:
    """What a translation does not keep of its source."""
    lost: LostPlaceholders = lost_placeholders(source, translation)
    for kind, parts in (("missing", lost.missing), ("extra", lost.extra), ("number", lost.numbers)):
        if parts:
            yield TranslationWarning(kind, parts)
