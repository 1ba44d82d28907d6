"""The target language that a bilingual file declares, against that of the translation."""

from __future__ import annotations

from regard.documents.document import DocumentOptions
from regard.errors import InputError
from regard.text.language_names import language_name, two_letter_code


def check_target_language(declared: str, options: DocumentOptions) -> None:
    """Raise an error if a file is for another language; regions and scripts may differ.

    >>> check_target_language("fr_CA", DocumentOptions(target="fr"))
    >>> check_target_language("de", DocumentOptions(target="fr"))
    Traceback (most recent call last):
    regard.errors.InputError: the file declares German (de) as its target language, but the \
translation is into French (fr); translate it into that language.
    """
    declared, target = declared.strip(), options.target
    if options.force_language or not (declared and target):
        return
    if two_letter_code(declared) != two_letter_code(target):
        raise InputError(
            f"the file declares {_named(declared)} as its target language, but the translation is "
            f"into {_named(target)}; {options.language_remedy}."
        )


def _named(tag: str) -> str:
    name = language_name(two_letter_code(tag))
    return tag if name == tag else f"{name} ({tag})"
