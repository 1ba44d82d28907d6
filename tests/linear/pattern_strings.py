"""Strings that a regular expression may take long for, made from the expression itself.

An expression is slow where it can read the same characters in many ways, or from many positions.
So for each of its repetitions there is a shortest text that leads to it, the repeated part many
times, and an end that fits nothing; and each of its characters and words many times, alone and
beside each other.
"""

import re
from itertools import islice, product
from re import _constants as ops
from re import _parser as parser

COMMON = " \t\n\ra1_-.,:;/\\<>\"'`|()[]{}=&#%$@*!?é字"
"""Characters that stand for a class if it has them, besides those that the expression names."""
NOTHING = "\x00"
"""An end that hardly any expression has."""
REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
LOOKS = (ops.ASSERT, ops.ASSERT_NOT)
CATEGORIES = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
}
OPPOSITES = {
    ops.CATEGORY_NOT_DIGIT: ops.CATEGORY_DIGIT,
    ops.CATEGORY_NOT_SPACE: ops.CATEGORY_SPACE,
    ops.CATEGORY_NOT_WORD: ops.CATEGORY_WORD,
}


class PatternReader:
    """What a compiled expression consists of.

    words   its characters, its runs of literal characters, and one of each of its classes
    pumps   the text before each repetition without a small limit, and what is repeated
    """

    def __init__(self, pattern):
        self.words = []
        self.pumps = []
        self.named = ""
        self.groups = {}
        source = pattern.pattern
        source = source.decode("latin-1") if isinstance(source, bytes) else source
        tree = parser.parse(source, pattern.flags & ~re.UNICODE)
        self._name(tree)
        for variant in range(3):
            self._walk(list(tree), "", variant)
            self._word(self._example(tree, variant))
        self.words = [word for word in dict.fromkeys(self.words) if word]
        self.pumps = list(dict.fromkeys(self.pumps))

    def _name(self, tree):
        """Collect the characters and the runs of characters that are written out."""
        run = ""
        for op, argument in tree:
            if op in (ops.LITERAL, ops.NOT_LITERAL):
                self.named += chr(argument)
            if op is ops.LITERAL:
                run += chr(argument)
                continue
            self._word(run)
            run = ""
            if op is ops.IN:
                for kind, value in argument:
                    if kind is ops.LITERAL:
                        self.named += chr(value)
                    elif kind is ops.RANGE:
                        self.named += chr(value[0])
            for inner in children(op, argument):
                self._name(inner)
        self._word(run)

    def _word(self, word):
        if word and len(word) <= 100:
            self.words += (word, word[0])

    def _walk(self, nodes, before, variant):
        """Collect the repetitions in a sequence of nodes that comes after a text."""
        for op, argument in nodes:
            inside = before
            if op in REPEATS:
                lowest, highest, inner = argument
                pump = self._example(inner, variant)
                if highest - lowest > 30 and pump:
                    self.pumps += ((before, pump), (before, self._example(inner, variant + 1)))
                    self.words.append(pump)
            for inner in children(op, argument):
                self._walk(list(inner), inside, variant)
            before += self._example([(op, argument)], variant)

    def _example(self, nodes, variant):
        """A short text that some nodes match, but for what they look at around it."""
        made = ""
        for op, argument in nodes:
            if op is ops.LITERAL:
                made += chr(argument)
            elif op in (ops.ANY, ops.NOT_LITERAL, ops.IN):
                fitting = self._fitting(op, argument)
                made += fitting[variant % len(fitting)]
            elif op in REPEATS:
                lowest, highest, inner = argument
                made += self._example(inner, variant) * min(max(lowest, variant % 2), highest)
            elif op is ops.BRANCH:
                made += self._example(argument[1][variant % len(argument[1])], variant)
            elif op is ops.SUBPATTERN:
                self.groups[argument[0]] = self._example(argument[3], variant)
                made += self.groups[argument[0]]
            elif op is ops.ATOMIC_GROUP:
                made += self._example(argument, variant)
            elif op is ops.GROUPREF:
                made += self.groups.get(argument, "")
        return made

    def _fitting(self, op, argument):
        """Characters that one node matches."""
        if op is ops.ANY:
            return list("a `\\|")
        items = [(ops.NEGATE, None), (ops.LITERAL, argument)] if op is ops.NOT_LITERAL else argument
        known = [c for c in dict.fromkeys(self.named + COMMON) if is_in(c, items)]
        self.words += known[:4]
        first = next(
            (v[0] if k is ops.RANGE else v for k, v in items if k in (ops.RANGE, ops.LITERAL)), 97
        )
        return known or [chr(first)]


def children(op, argument):
    """The sequences of nodes inside of a node."""
    if op in REPEATS:
        return [argument[2]]
    if op is ops.BRANCH:
        return argument[1]
    if op is ops.SUBPATTERN:
        return [argument[3]]
    if op is ops.ATOMIC_GROUP:
        return [argument]
    return [argument[1]] if op in LOOKS else []


def is_in(character, items):
    """Whether a character is in a class."""
    code, found, negated = ord(character), False, False
    for kind, value in items:
        if kind is ops.NEGATE:
            negated = True
        elif kind is ops.LITERAL:
            found |= code == value
        elif kind is ops.RANGE:
            found |= value[0] <= code <= value[1]
        elif value in CATEGORIES:
            found |= CATEGORIES[value](character)
        else:
            found |= not CATEGORIES[OPPOSITES[value]](character)
    return found != negated


def attacks(pattern, most=None):
    """What strings for an expression consist of: what stands before, is repeated, and stands after.

    most  how many there are at most; the likeliest come first
    """
    reader = PatternReader(pattern)
    ends = ("", NOTHING, "\n" + NOTHING)
    made = {}
    for (before, pump), end in product(reader.pumps, ends):
        made[before, pump, "", end] = None
        if not end and before + pump:
            made["", before + pump, "", end] = None
    for word, end in product(reader.words, ends[:2]):
        made["", word, "", end] = None
    for one, other in product(reader.words[:12], repeat=2):
        made["", one + other, "", ""] = None
        made[one, other, "", NOTHING] = None
        made["", one, other, one] = None
    return list(islice(made, most))


def attack_text(attack, size):
    """The text of an attack."""
    before, pump, then, end = attack
    number = max(1, (size - len(before)) // len(pump + then))
    return before + pump * number + then * number + end
