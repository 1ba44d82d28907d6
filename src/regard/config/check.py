"""Checks of settings; a wrong value is an `InputError` of one sentence."""

from __future__ import annotations

from typing import Any

from regard.errors import InputError

LARGEST = 2**31 - 1
"""The largest whole number that a setting or a flag may be."""


def at_least(settings: Any, least: float, *names: str) -> None:
    """Check that each named number is `least` or more."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value >= least:
            raise InputError(f"{_full_name(settings, name)} must be at least {least}, got {value}.")


def fraction(settings: Any, *names: str) -> None:
    """Check that each named number is from 0 to below 1."""
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise InputError(
                f"{_full_name(settings, name)} must be from 0 to below 1, got {value}."
            )


def divides(settings: Any, what: str, divisor: int, name: str) -> None:
    """Check that the named number is a multiple of `divisor`."""
    value = getattr(settings, name)
    if value % divisor:
        raise InputError(
            f"{_full_name(settings, name)} must be a multiple of {divisor} ({what}), got {value}."
        )


def _full_name(settings: Any, name: str) -> str:
    section = getattr(settings, "SECTION", "model")
    return f"{section}.{name}"
