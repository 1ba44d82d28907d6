"""SentencePiece tokens (unigram or BPE), with bytes for characters that training did not see.

The file is an ordinary SentencePiece model: normalization "identity" (`normalize` is applied
before), a space in front of each text, byte fallback, and the special ids of `tokenizer`.
"""

from __future__ import annotations

import io
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Literal

from regard.cores import cores
from regard.errors import InputError
from regard.storage import replace_file
from regard.text.normalization import SPACE_MARK, normalize
from regard.text.tags import append_pieces
from regard.text.tokenizer import (
    BOS,
    EOS,
    FIRST_BYTE,
    MASK,
    PAD,
    SPECIALS,
    UNK,
    UNKNOWN,
    decode_parts,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentencepiece import SentencePieceProcessor

FIRST_PIECE = FIRST_BYTE + 256
SMALLEST = FIRST_PIECE + 12
LARGE_ALPHABET = 1000  # as of Chinese or Japanese, whose rarest characters are spelled in bytes
LONGEST_LINE = 1000  # the trainer aborts the process at 65,536 characters without a space


class SentencePieceTokenizer:
    """A `Tokenizer` of SentencePiece pieces; no character is unknown."""

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = _processor(model)

    @classmethod
    def from_bytes(cls, model: bytes, file: object) -> SentencePieceTokenizer:
        """The tokenizer in a file's bytes; a file of another kind is an error."""
        try:
            tokenizer = cls(model)
            pieces = tokenizer.pieces(range(len(tokenizer)))  # fails for a damaged file
        except (RuntimeError, UnicodeDecodeError) as error:
            raise InputError(
                f"{file}: this is neither a SentencePiece model nor a regard vocabulary; "
                "give the file that training wrote."
            ) from error
        specials = pieces[: MASK + 1]
        spelled = [f"<0x{byte:02X}>" for byte in range(256)]
        if specials != list(SPECIALS) or pieces[FIRST_BYTE:FIRST_PIECE] != spelled:
            raise InputError(
                f"{file}: this SentencePiece model was not trained by regard (its first ids are "
                f"{', '.join(specials)}, not {', '.join(SPECIALS)}); train a tokenizer."
            )
        return tokenizer

    def encode(self, text: str) -> list[int]:
        """The ids of a text's pieces."""
        return self._ids(normalize(text))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, found on all cores."""
        normal = list(map(normalize, texts))
        ids: list[list[int]] = self._processor.encode(normal, num_threads=cores())
        return ids

    def encode_masked(self, text: str) -> list[int]:
        """The ids of a text in which `[MASK]` stands for a piece, with the space before it."""
        ids: list[int] = []
        for index, part in enumerate(normalize(text).split(SPECIALS[MASK])):
            ids += [MASK] * (index > 0)
            within_word = index > 0 and not part.startswith(" ")
            ids += self._unspaced.encode(part.rstrip()) if within_word else self._ids(part.strip())
        return ids

    def encode_with_dropout(
        self, texts: Sequence[str], dropout: float, seed: int
    ) -> list[list[int]]:
        """The ids of texts where each merge of BPE is left out with a probability.

        They depend on `seed` alone: SentencePiece draws from a generator that every thread seeds
        once, so that a thread of its own encodes them.
        """
        import sentencepiece

        def encode() -> list[list[int]]:
            sentencepiece.set_random_generator_seed(seed % 2**32)
            normal = [normalize(text) for text in texts]
            return [
                self._processor.encode(text, enable_sampling=True, alpha=dropout) for text in normal
            ]

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(encode).result()

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        parts = list(map(self._parts.__getitem__, ids))
        try:
            text = "".join(parts)  # type: ignore[arg-type]
        except TypeError:  # there are bytes among them
            text = decode_parts(parts)
        return text.removeprefix(" ")

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces of ids, ▁ for a space and <0x…> for a byte."""
        return list(map(self._pieces.__getitem__, ids))

    def spans(self, text: str, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """The span of each piece, found by following the pieces along the text."""
        normal = normalize(text)
        spans: list[tuple[int, int]] = []
        position, bytes_left = -1, 0  # at -1 is the space that SentencePiece puts in front
        for token in self._ids(normal) if ids is None else ids:
            if FIRST_BYTE <= token < FIRST_PIECE:
                bytes_left = bytes_left or len(normal[position].encode())
                spans.append((position, position + 1))
                bytes_left -= 1
                position += bytes_left == 0
            else:
                piece = self._pieces[token]
                end = position + len(piece)
                start = position + (piece[0] == SPACE_MARK and len(piece) > 1)
                spans.append((max(start, 0), end))
                position = end
        return spans

    def __len__(self) -> int:
        return len(self._processor)

    @cached_property
    def tags(self) -> dict[str, int]:
        """The ids of tags."""
        ids = range(FIRST_PIECE, len(self))
        return {self._pieces[id]: id for id in ids if self._processor.is_control(id)}

    def with_tags(self, tags: Sequence[str]) -> SentencePieceTokenizer:
        """The tokenizer with tags after its pieces; a piece of such a name is an error."""
        for tag in tags:
            if tag in self._pieces:
                raise InputError(f"{tag} is a word of the text already; name the tag differently.")
        return SentencePieceTokenizer(append_pieces(self.model, tags))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the SentencePiece model."""
        replace_file(path, self.model)

    def _ids(self, normal: str) -> list[int]:
        ids: list[int] = self._processor.encode(normal)
        return ids

    @cached_property
    def _pieces(self) -> list[str]:
        return [self._processor.id_to_piece(token) for token in range(len(self))]

    @cached_property
    def _parts(self) -> list[str | int]:
        """What each id is in decoded text: characters, a byte, or nothing."""
        parts: list[str | int] = [""] * FIRST_BYTE
        parts[UNK] = " " + UNKNOWN
        texts = [
            "" if piece in self.tags else piece.replace(SPACE_MARK, " ")
            for piece in self._pieces[FIRST_PIECE:]
        ]
        return [*parts, *range(256), *texts]

    @cached_property
    def num_characters(self) -> NDArray[np.intp]:
        """Of each id the characters that it adds to a text, without spaces; -1 if not known."""
        import numpy as np

        return np.array(
            [
                len("".join(part.split())) if isinstance(part, str) and number >= FIRST_BYTE else -1
                for number, part in enumerate(self._parts)
            ]
        )

    @cached_property
    def _unspaced(self) -> SentencePieceProcessor:
        """The processor for text that continues a word: no space in front."""
        processor = _processor(self.model)
        processor.override_normalizer_spec(add_dummy_prefix=False)
        return processor


def train_sentencepiece(
    lines: Iterable[str],
    vocab_size: int,
    model_type: Literal["unigram", "bpe"] = "unigram",
    seed: int = 0,
    max_lines: int = 200_000,
) -> SentencePieceTokenizer:
    """A tokenizer of at most `vocab_size` ids, of which 5 are special and 256 are bytes.

    A small text gives fewer pieces. Of more than `max_lines` lines a sample is used, drawn by
    `seed`. The same lines give the same model, byte for byte. Digits are single pieces, so that
    unseen numbers can be copied. (BPE trains fifteen times faster than unigram and needs as few
    pieces per text.)
    """
    import sentencepiece

    if vocab_size < SMALLEST:
        raise InputError(f"vocab_size must be at least {SMALLEST}, got {vocab_size}.")
    text = [part for line in map(normalize, lines) for part in _short_parts(line)]
    if len(text) > max_lines:
        drawn = sorted(random.Random(seed).sample(range(len(text)), max_lines))
        text = [text[number] for number in drawn]
    if not text:
        raise InputError("there are no lines to learn SentencePiece pieces from; give some text.")
    counts = Counter("".join(text))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_within_alphabet(text, counts, vocab_size)),
        model_writer=model,
        model_type=model_type,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        character_coverage=0.9995 if len(counts) > LARGE_ALPHABET else 1.0,
        byte_fallback=True,
        split_digits=True,
        normalization_rule_name="identity",
        max_sentence_length=10_000_000,
        shuffle_input_sentence=False,
        seed_sentencepiece_size=max(100_000, 10 * vocab_size),
        num_threads=1,
        minloglevel=2,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        pad_piece=SPECIALS[PAD],
        unk_piece=SPECIALS[UNK],
        bos_piece=SPECIALS[BOS],
        eos_piece=SPECIALS[EOS],
        control_symbols=[SPECIALS[MASK]],
    )
    return SentencePieceTokenizer(model.getvalue())


def _short_parts(line: str) -> list[str]:
    """The line in parts of at most LONGEST_LINE characters, cut at spaces where possible."""
    parts = []
    while len(line) > LONGEST_LINE:
        cut = line.rfind(" ", 1, LONGEST_LINE + 1)
        cut = LONGEST_LINE if cut < 0 else cut
        parts.append(line[:cut])
        line = line[cut:].lstrip(" ")
    return [*parts, line] if line else parts


def _within_alphabet(text: list[str], counts: Counter[str], vocab_size: int) -> list[str]:
    """The lines without the rarest characters, if the vocabulary is too small for all.

    Each character needs its own id, and a quarter of the ids is for longer pieces. Lines are cut at
    the removed characters, which are spelled in bytes.
    """
    room = (vocab_size - FIRST_PIECE) * 3 // 4
    if len(counts) <= room:
        return text
    rare = sorted(counts, key=lambda character: (-counts[character], character))[room:]
    cut = re.compile(f"[{re.escape(''.join(rare))}]+")
    return [part for line in text for part in cut.split(line) if part.strip()]


def _processor(model: bytes) -> SentencePieceProcessor:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    return processor
