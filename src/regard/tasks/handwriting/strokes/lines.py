"""Built-in handwriting: random lines of text, each written in a random style.

A line is pen movements (N, 3): dx and dy from the last point, and 1 where the pen is lifted after
the point. The unit is the x-height at size 1; y goes up.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.corpus.splits import Split
from regard.errors import InputError
from regard.tasks.handwriting.strokes.glyphs import ALPHABET, Array, Stroke, glyph, resampled


@dataclass(frozen=True)
class WritingStyle:
    """Parameters of a style; the defaults draw the alphabet as it is.

    slant     shift to the right per unit of height
    size      scale of everything
    width     of letters, relative to their height
    spacing   between letters
    slope     of the baseline
    wave      amplitude of slow waves of the baseline
    jitter    standard deviation of the control points of a letter
    tremble   standard deviation of every point
    speed     distance of two points on a straight line
    slowing   how much the pen slows down where it turns
    """

    slant: float = 0.0
    size: float = 1.0
    width: float = 1.0
    spacing: float = 0.4
    slope: float = 0.0
    wave: float = 0.0
    jitter: float = 0.0
    tremble: float = 0.0
    speed: float = 0.28
    slowing: float = 0.35


PLAIN = WritingStyle()


def random_style(random: np.random.Generator) -> WritingStyle:
    """Draw a style."""
    return WritingStyle(
        slant=random.uniform(-0.1, 0.35),
        size=random.uniform(0.85, 1.15),
        width=random.uniform(0.85, 1.15),
        spacing=random.uniform(0.3, 0.5),
        slope=random.normal(0.0, 0.015),
        wave=random.uniform(0.0, 0.06),
        jitter=random.uniform(0.01, 0.035),
        tremble=random.uniform(0.0, 0.01),
        speed=random.uniform(0.24, 0.31),
        slowing=random.uniform(0.25, 0.45),
    )


def write(text: str, style: WritingStyle, random: np.random.Generator) -> Array:
    """Pen movements (N, 3) of `text` in `style`.

    >>> strokes = write("hi", PLAIN, np.random.default_rng(0))
    >>> int(strokes[:, 2].sum())  # h, i and its dot
    3
    """
    _check(text)
    phase, x = random.uniform(0, 2 * np.pi), 0.0
    strokes: list[Array] = []
    for character in text:
        shape = glyph(character)
        for stroke in shape.strokes:
            curve = _curve(stroke, style, x, phase, random)
            strokes.append(resampled(curve, style.speed * style.size, style.slowing))
        space = style.spacing + random.normal(0.0, 0.05 if style.jitter else 0.0)
        x += (shape.width * style.width + max(space, 0.1)) * style.size
    points = np.vstack(strokes)
    if style.tremble:
        points = points + random.normal(0.0, style.tremble, points.shape)
    movements = np.zeros((len(points), 3))
    movements[1:, :2] = np.diff(points, axis=0)
    movements[np.cumsum([len(stroke) for stroke in strokes]) - 1, 2] = 1
    return movements


def _curve(
    stroke: Stroke, style: WritingStyle, left: float, phase: float, random: np.random.Generator
) -> Array:
    """A stroke of the letter that begins at x = `left`, as a curve on the page."""
    control = stroke.control
    if style.jitter:
        control = control + random.normal(0.0, style.jitter, control.shape)
    x = (control[:, 0] * style.width + control[:, 1] * style.slant) * style.size + left
    y = control[:, 1] * style.size + style.slope * x + style.wave * np.sin(0.8 * x + phase)
    return stroke.curve @ np.stack([x, y], 1)


def _check(text: str) -> None:
    if not text.strip():
        raise InputError("there is no text to write; give at least one letter.")
    unknown = sorted(set(text) - set(ALPHABET))
    if unknown:
        raise InputError(
            f"{', '.join(map(repr, unknown))} cannot be written with the built-in alphabet; "
            f"it has {ALPHABET.strip()} and the space."
        )


ENGLISH = """
attention the and of to in is that it was for on are as with they at be this from have or by
one had not but what all were when we there can an your which their if will each about how up
out them then she many some so these would other into has more her two like him see time could
no make than first been its who now people my made over did down only way find use may water
long little very after words called just where most know get through back much go good new
write our me man too any day same right look think also around another came come work three
word must because does part even place well such here take why help put different away again
off went old number great tell men say small every found still between name should home big
give air line set own under read last never us left end along while might next sound below saw
something thought both few those always show large often together asked house world going want
school important until form food keep children feet land side without boy once animal life
enough took sometimes four head above kind began almost live page got earth need far hand high
year mother light country father let night picture being study second soon story since white
ever paper hard near sentence better best across during today however sure knew try told young
sun thing whole hear example heard several change answer room sea against top turned learn
point city play toward five himself usually money seen car morning body upon family later turn
move face door cut done group true half red fish plants quick brown fox jumps lazy dog zebra
quartz jinx vex wizard pyjamas oxygen query jazz quiz box puzzle kayak whisky voyage
"""

ONSETS = """b c d f g h j k l m n p r s t v w z bl br ch cl cr dr fl fr gl gr pl pr qu sh sk sl sn
sp st sw th tr"""
VOWELS = "a e i o u y ai au ea ee ia io oa oo ou ue"
CODAS = "b ck d ft g k l ll m mp n nd ng nt p r rd rk s sh ss st t th x zz"
WORDS = ENGLISH.split()
SYLLABLE = ONSETS.split(), VOWELS.split(), [*[""] * 6, *CODAS.split()]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MIN_CHARS, MAX_CHARS = 4, 18
"""Length of a line."""
SHOWCASE = frozenset({"attention", "regard", "hello world"})
"""Lines used in examples, always in the test split."""


def line_split(text: str) -> Split:
    """The split of a line, by a hash of its text: 80 % train, 10 % dev, 10 % test."""
    if text.lower() in SHOWCASE:
        return "test"
    number = int.from_bytes(hashlib.sha256(text.lower().encode()).digest()[:8], "big") % 10
    return "dev" if number == 0 else "test" if number == 1 else "train"


def random_line(random: np.random.Generator) -> str:
    """A line of random words, cut to a random length."""
    length = int(random.integers(MIN_CHARS, MAX_CHARS + 1))
    text = _word(random)
    while len(text) < length:
        text += _separator(random) + _word(random)
    text = text[:length].rstrip(" -'")
    return text if len(text) > 1 else text + _word(random)[:3]


def _separator(random: np.random.Generator) -> str:
    if random.random() < 0.88:
        return " "
    return str(random.choice([", ", "-", "'", ". ", "! ", "? "]))


def _word(random: np.random.Generator) -> str:
    kind = random.random()
    if kind < 0.45:
        word = str(random.choice(WORDS))
    elif kind < 0.75:
        word = "".join(_syllable(random) for _ in range(int(random.integers(1, 4))))
    elif kind < 0.9:
        letters = LETTERS if random.random() < 0.6 else LETTERS.upper()
        word = "".join(random.choice(list(letters), int(random.integers(2, 6))))
    else:
        return "".join(random.choice(list("0123456789"), int(random.integers(1, 5))))
    case = random.random()
    if case < 0.22:
        word = word[0].upper() + word[1:]
    elif case < 0.28:
        word = word.upper()[:4]
    return word + (str(random.choice(list(".,!?"))) if random.random() < 0.08 else "")


def _syllable(random: np.random.Generator) -> str:
    return "".join(str(random.choice(part)) for part in SYLLABLE)


SPLITS: tuple[Split, ...] = ("train", "dev", "test")


@dataclass(frozen=True, eq=False)
class StrokeLine:
    """A line: its text, and pen movements (N, 3): dx, dy, and 1 where the pen is lifted."""

    text: str
    strokes: NDArray[np.float32]


def sample(split: Split, count: int, seed: int = 0) -> list[StrokeLine]:
    """`count` lines of a split, each in a random style; a longer sample begins with the shorter.

    >>> first, second = sample("train", 2)
    >>> first.text != second.text, first.strokes.shape[1]
    (True, 3)
    """
    if split not in SPLITS:
        raise InputError(f"split must be {', '.join(SPLITS)}, got {split!r}.")
    random = np.random.default_rng([seed, SPLITS.index(split)])
    lines: list[StrokeLine] = []
    while len(lines) < count:
        text = random_line(random)
        if line_split(text) == split:
            strokes = write(text, random_style(random), random)
            lines.append(StrokeLine(text, strokes.astype(np.float32)))
    return lines
