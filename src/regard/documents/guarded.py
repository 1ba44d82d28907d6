"""Parse and render documents; every unexpected error of a reader becomes an `InputError`.

Documents are untrusted, and their readers use libraries that raise errors of many types. The trace
of an unexpected error is logged, since the reader should have reported what is wrong with the
document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from regard.documents.projection import LinkedTranslation
from regard.errors import InputError

LOGGER = logging.getLogger("regard.documents")
LOGGER.addHandler(logging.NullHandler())  # a command shows traces with --debug only

Rendered = TypeVar("Rendered", covariant=True)


class Renderable(Protocol[Rendered]):
    """What a reader makes of a file: a `Document`, or a `TextDocument`, which renders text."""

    @property
    def texts(self) -> list[str]: ...
    @property
    def has_markup(self) -> bool: ...
    def render(self, translations: Sequence[LinkedTranslation]) -> Rendered: ...


@dataclass(frozen=True)
class GuardedDocument(Generic[Rendered]):
    """A document whose errors are those of input.

    form  its format, for the log
    name  of the file, for errors
    """

    document: Renderable[Rendered]
    form: str
    name: str

    @property
    def texts(self) -> list[str]:
        """The texts to be translated."""
        with _guard(self.form, self.name, "read"):
            return self.document.texts

    @property
    def has_markup(self) -> bool:
        """Whether a text has inline elements or code, which are placed by word links."""
        with _guard(self.form, self.name, "read"):
            return self.document.has_markup

    def render(self, translations: Sequence[LinkedTranslation]) -> Rendered:
        """The file with translations of its texts."""
        with _guard(self.form, self.name, "written"):
            return self.document.render(translations)


def guarded(
    read: Callable[[], Renderable[Rendered]], form: str, name: str
) -> GuardedDocument[Rendered]:
    """What `read` makes of a document of a format, guarded from here on."""
    with _guard(form, name, "read"):
        return GuardedDocument(read(), form, name)


@contextmanager
def _guard(form: str, name: str, action: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if str(error).startswith(name):
            raise
        raise InputError(f"{name}: {error}") from error
    except Exception as error:
        LOGGER.error("a document of the format %s could not be %s", form, action, exc_info=True)
        raise InputError(
            f"{name}: the document cannot be {action} as {form} ({type(error).__name__}); save it "
            "again, or convert it to another format."
        ) from error
