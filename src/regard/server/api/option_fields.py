"""Fields of requests, from the dataclasses of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, Field, create_model

from regard.config.schema import HttpField, Range, first_sentence, helps_of, options_of

Body = TypeVar("Body", bound=BaseModel)


def option_field(section: Any, name: str, **more: Any) -> Any:
    """A field of a request with the summary of an option, for whose values it has its own type."""
    return Field(description=first_sentence(helps_of(section)[name]) + ".", **more)


def with_options(section: Any) -> Callable[[type[Body]], type[Body]]:
    """Add to a request the options that requests may have, within their ranges."""

    def add(body: type[Body]) -> type[Body]:
        fields: dict[str, Any] = {}
        for name, option in options_of(section).items():
            field, limits = option.mark(HttpField), option.mark(Range) or Range()
            if field is not None:
                fields[name] = (
                    option.type,
                    Field(
                        option.default,
                        description=option.summary,
                        ge=limits.at_least,
                        le=field.at_most,
                    ),
                )
        return create_model(
            body.__name__, __base__=body, __module__=body.__module__, __doc__=body.__doc__, **fields
        )

    return add
