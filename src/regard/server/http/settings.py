"""The limits of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from regard.config.schema import (
    Flag,
    NonNegativeFloat,
    NonNegativeInt,
    Options,
    PositiveFloat,
    PositiveInt,
)
from regard.errors import InputError
from regard.hosts import LOOPBACK, is_host_name


@dataclass(frozen=True)
class ServerSettings(Options):
    """The limits of a server."""

    SECTION: ClassVar[str] = ""

    characters: Annotated[PositiveInt, Flag("max-characters")] = 20_000
    """Maximum of one request, all its texts together."""
    texts: Annotated[PositiveInt, Flag("max-texts")] = 500
    """Maximum of one request."""
    waiting: Annotated[PositiveInt, Flag("max-waiting")] = 512
    """Requests that may wait; one more gets a 503."""
    per_address: Annotated[NonNegativeInt, Flag("max-per-address")] = 256
    """Requests of one address that are received or answered at once; one more gets a 503; 0: no
    limit."""
    together: PositiveInt = 256
    """Sentences translated together, of any requests; 1: one by one."""
    linger: NonNegativeFloat = 0.002
    """Seconds that an idle server waits for more requests before it starts."""
    timeout: Annotated[PositiveFloat, Flag(metavar="S")] = 60.0
    """Seconds after which a request gets a 503."""
    rate: NonNegativeInt = 0
    """Requests a minute of one key or address; 0: no limit."""
    wrong_keys: NonNegativeInt = 60
    """Requests a minute of one address with a wrong key; 0: no limit."""
    key_required: Annotated[bool, Flag("require-key")] = False
    """Refuse requests without a key."""
    parse_seconds: PositiveFloat = 10.0
    """Seconds for which a document or a page may be read, and as many for writing it; each megabyte
    of it has a tenth more."""
    parse_memory: PositiveInt = 1 << 30
    """Bytes that this may take; each byte of the document has a hundred more."""
    keep_files: float = 1800.0
    """Seconds for which a translated file can be downloaded."""
    cors: Annotated[tuple[str, ...], Flag(metavar="ORIGIN")] = ()
    """Origin whose pages may use the server, as https://example.org; * is all."""
    hosts: Annotated[tuple[str, ...], Flag("allowed-host", "NAME")] = LOOPBACK
    """Name that the server answers to, as example.org, *.example.org or * (all), besides localhost
    and, unless it listens at a loopback address, this computer's name and all addresses."""
    metrics: bool = True
    """Whether /metrics is there, at the same port."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.hosts:
            if not is_host_name(name):
                raise InputError(
                    "a host must be a name without scheme and port, as example.org or "
                    f"*.example.org, got {name!r}."
                )

    @property
    def body_bytes(self) -> int:
        """Most bytes of a request: JSON may take six for a character, a form nine."""
        return 65_536 + 12 * self.characters
