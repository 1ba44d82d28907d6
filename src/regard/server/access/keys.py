"""API keys: random, stored as hashes, compared in constant time.

A line of the file is a name, the SHA-256 of the key, and its rights: `rate=N` requests a minute,
`admin` to reload models. A key has 256 random bits, so that a plain hash cannot be inverted by
guessing.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from regard.errors import InputError
from regard.storage import atomic_path

_LINE = re.compile(
    r"(?P<name>[\w.-]{1,64}) (?P<digest>[0-9a-f]{64})(?: rate=(?P<rate>[0-9]{1,9}))?"
    r"(?P<admin> admin)?"
)


@dataclass(frozen=True)
class Key:
    """A key's entry.

    rate   requests a minute; None: the server's, 0: no limit
    admin  whether it may reload models
    """

    name: str
    digest: str
    rate: int | None = None
    admin: bool = False

    def line(self) -> str:
        """The entry's line in the file."""
        rate = "" if self.rate is None else f" rate={self.rate}"
        return f"{self.name} {self.digest}{rate}{' admin' if self.admin else ''}"


def read_keys(path: str | Path) -> tuple[Key, ...]:
    """The keys of a file."""
    keys = []
    for number, line in enumerate(_read_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise InputError(
                f"{path}, line {number}: this is no key; `regard serve --make-key` writes them."
            )
        rate = None if match["rate"] is None else int(match["rate"])
        keys.append(Key(match["name"], match["digest"], rate, bool(match["admin"])))
    return tuple(keys)


def make_key(path: str | Path, name: str, *, rate: int | None = None, admin: bool = False) -> str:
    """A new key, whose hash is added at the file's end; the key itself is nowhere else."""
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise InputError(f"a key's name must be letters, digits, . _ or -, got {name!r}.")
    if rate is not None and rate < 0:
        raise InputError(f"a key's rate must not be negative, got {rate}; 0 is no limit.")
    exists = Path(path).is_file()
    if exists and any(key.name == name for key in read_keys(path)):
        raise InputError(f"{path}: there is a key {name} already; choose another name.")
    before = Path(path).read_text(encoding="utf-8") if exists else ""
    secret = secrets.token_urlsafe(32)
    line = Key(name, _digest(secret), rate, admin).line()
    _replace(path, before + "\n" * (before[-1:] not in ("", "\n")) + line + "\n")
    return secret


def revoke_key(path: str | Path, name: str) -> None:
    """Remove a key's line; all others stay as their owner wrote them."""
    names = [key.name for key in read_keys(path)]
    if name not in names:
        known = f"its keys are {', '.join(names)}" if names else "it has no keys"
        raise InputError(f"{path}: there is no key {name}; {known}.")
    _replace(path, "".join(line for line in _read_lines(path) if line.split()[:1] != [name]))


def find_key(given: str, keys: tuple[Key, ...]) -> Key | None:
    """The entry of a key, which is compared with all of them."""
    digest = _digest(given)
    match = None
    for key in keys:
        if hmac.compare_digest(digest, key.digest):
            match = key
    return match


def _read_lines(path: str | Path) -> list[str]:
    """The lines of a file, with their ends."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: this is no file of keys; `regard serve --make-key` writes one."
        ) from None


def _replace(path: str | Path, text: str) -> None:
    """Write a file that belongs to whom it belonged before: the server must read it again."""
    try:
        before = Path(path).stat()
    except FileNotFoundError:
        before = None
    with atomic_path(path) as draft:
        draft.write_text(text, encoding="utf-8")
        if before is not None:
            with suppress(PermissionError):  # of another user: a group may still be kept
                os.chown(draft, before.st_uid, before.st_gid)
            draft.chmod(stat.S_IMODE(before.st_mode))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
