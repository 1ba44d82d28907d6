"""One set of links from two: source to target and target to source.

Both sets are (source word, target word) links of one sentence. `grow_diag` and
`grow_diag_final_and` are the heuristics of Koehn, Och and Marcu (2003), "Statistical phrase-based
translation", with links visited in a fixed order.
"""

from __future__ import annotations

from collections.abc import Collection

from regard.alignment.links import Link, Links

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def intersection(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """The links that both have: few, and mostly right."""
    return frozenset(forward) & frozenset(backward)


def union(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """The links that either has."""
    return frozenset(forward) | frozenset(backward)


def grow_diag(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """The intersection, and links of the union that touch it and link a word that had none.

    >>> sorted(grow_diag({(0, 0), (1, 1), (3, 3)}, {(0, 0), (0, 1)}))
    [(0, 0), (0, 1), (1, 1)]
    """
    return frozenset(_grown(forward, backward))


def grow_diag_final_and(forward: Collection[Link], backward: Collection[Link]) -> Links:
    """`grow_diag`, then links of either direction between two words that both have none.

    >>> sorted(grow_diag_final_and({(0, 0), (1, 1), (3, 3)}, {(0, 0), (0, 1)}))
    [(0, 0), (0, 1), (1, 1), (3, 3)]
    """
    links = _grown(forward, backward)
    sources, targets = {s for s, _ in links}, {t for _, t in links}
    for direction in (forward, backward):
        for source, target in sorted(direction):
            if source not in sources and target not in targets:
                links.add((source, target))
                sources.add(source)
                targets.add(target)
    return frozenset(links)


def _grown(forward: Collection[Link], backward: Collection[Link]) -> set[Link]:
    wide = union(forward, backward)
    links = set(intersection(forward, backward))
    sources, targets = {s for s, _ in links}, {t for _, t in links}
    grew = True
    while grew:
        grew = False
        for source, target in sorted(links):  # those of the round before; new ones wait their turn
            for down, right in NEIGHBOURS:
                link = (source + down, target + right)
                fresh = link[0] not in sources or link[1] not in targets
                if fresh and link in wide and link not in links:
                    links.add(link)
                    sources.add(link[0])
                    targets.add(link[1])
                    grew = True
    return links
