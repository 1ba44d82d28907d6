"""Links of two directions made into one set: intersection, union, grow-diag and its final steps.

A forward aligner links each target word to at most one source word, a backward one each source
word to at most one target word. Their intersection is precise, their union is complete; growing
adds links of the union to the intersection where they touch it.

Och and Ney (2003), "A systematic comparison of various statistical alignment models", section 4;
Koehn, Och and Marcu (2003), "Statistical phrase-based translation", section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from regard.alignment.links import Link, Links
from regard.errors import InputError

NEIGHBORS = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))


def intersection(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """The links of both directions.

    >>> sorted(intersection({(0, 0), (1, 1)}, {(1, 1), (2, 1)}))
    [(1, 1)]
    """
    return frozenset(forward) & frozenset(backward)


def union(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """The links of either direction.

    >>> sorted(union({(0, 0), (1, 1)}, {(1, 1), (2, 1)}))
    [(0, 0), (1, 1), (2, 1)]
    """
    return frozenset(forward) | frozenset(backward)


def grow_diag(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """The intersection, grown by links of the union that touch it, diagonally too.

    A link is added if it is a neighbor of a link that is there already and one of its words has no
    link yet; repeated until none can be added. Links are visited in order, so that the result does
    not depend on the order in which they are given.

    >>> sorted(grow_diag({(0, 0), (1, 1), (9, 3)}, {(0, 0), (2, 1)}))
    [(0, 0), (1, 1), (2, 1)]
    """
    candidates = union(forward, backward)
    links = set(intersection(forward, backward))
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    waiting = sorted(links)
    while waiting:
        added = []
        for source, target in waiting:
            for i, j in NEIGHBORS:
                link = source + i, target + j
                if link not in candidates or link in links:
                    continue
                if link[0] not in sources or link[1] not in targets:
                    links.add(link)
                    sources.add(link[0])
                    targets.add(link[1])
                    added.append(link)
        waiting = sorted(added)
    return frozenset(links)


def grow_diag_final_and(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """`grow_diag`, then each link of a direction between two words that both have no link yet.

    The links of the forward direction come first.

    >>> sorted(grow_diag_final_and({(0, 0), (1, 1), (9, 3)}, {(0, 0), (2, 1)}))
    [(0, 0), (1, 1), (2, 1), (9, 3)]
    """
    links = set(grow_diag(forward, backward))
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    for link in (*sorted(forward), *sorted(backward)):
        if link[0] not in sources and link[1] not in targets:
            links.add(link)
            sources.add(link[0])
            targets.add(link[1])
    return frozenset(links)


Symmetrize = Callable[[Collection[Link], Collection[Link]], Links]

SYMMETRIZATIONS: dict[str, Symmetrize] = {
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
    "grow-diag-final-and": grow_diag_final_and,
}
"""The ways to make one set of two directions, by the names that commands use."""


def symmetrize(
    forward: Iterable[Collection[Link]], backward: Iterable[Collection[Link]], method: str
) -> list[Links]:
    """Symmetrize the links of all sentences by the method of a name.

    >>> symmetrize([{(0, 0)}], [{(0, 0), (1, 0)}], "union") == [{(0, 0), (1, 0)}]
    True
    """
    function = SYMMETRIZATIONS.get(method)
    if function is None:
        names = ", ".join(SYMMETRIZATIONS)
        raise InputError(f"method must be one of {names}, got {method!r}.")
    return [function(*both) for both in zip(forward, backward, strict=True)]
