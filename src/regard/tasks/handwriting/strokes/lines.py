"""Random lines of English and invented words, so that all pairs of letters occur."""

from __future__ import annotations

import hashlib

import numpy as np

from regard.corpus.splits import Split

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
