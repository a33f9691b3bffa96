"""The tables of paper A, section VI, and further: vertices, kernels and capacities of privacy types.

Rows that the paper does not have follow its own. Kernels are counted exactly where that takes seconds and estimated
beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.numbers import text_above
from sfumato.papers.tables import PaperTable, cell
from sfumato.privacy import PrivacyType, capacities, count_kernels, estimate_kernels, vertices
from sfumato.spaces import FiniteSpace, complete_bipartite, cycle, discrete, grid, hamming, line, star

_COUNT = -1  # Kernels are counted one by one.
_LEAVE = 0  # Kernels are neither counted nor estimated.
_SEED = 2023  # Estimates start from this seed, so that a table is the same twice.

_NOT_PRINTED = ("–", "–", "–", "–")

Row = tuple[str, FiniteSpace, tuple[str, str, str, str], int]


def _types(key: str, title: str, spaces: list[Row], notes: tuple[str, ...] = ()) -> PaperTable:
    """One row a space at e^ε = 2: what the paper prints and what we find; the last entry says how kernels are found."""
    rows: list[dict[str, Any]] = []
    for size, space, printed, samples in spaces:
        privacy = PrivacyType(space, alpha="1/2")
        best = capacities(privacy)
        ours = (_vertices(privacy), _kernels(privacy, samples), best.multiplicative, best.additive)
        names = ("vertices", "kernels", "multiplicative capacity", "additive capacity")
        cells = (cell(text, value) for text, value in zip(printed, ours, strict=True))
        rows.append({"size": size, **dict(zip(names, cells, strict=True))})
    found = [str(row["kernels"]["ours"]) for row in rows]
    closing = tuple(note for sign, note in _ESTIMATES.items() if any(sign in text for text in found))
    return PaperTable(key, title, tuple(rows), notes + closing)


_ESTIMATES = {
    "±": "Numbers with ± are unbiased estimates with one standard deviation.",
    "fewer": "Where no random set was a kernel's there is no estimate: the number is below the bound with confidence "
    "0.99.",
}


def _vertices(privacy: PrivacyType) -> Any:
    """The number of vertices, where the list is not out of reach."""
    space = privacy.space
    return "–" if len(space) > 16 or (len(space) > 9 and space.edges is None) else len(vertices(privacy))


def _kernels(privacy: PrivacyType, samples: int) -> Any:
    if samples == _LEAVE:
        return "–"
    if samples == _COUNT:
        return count_kernels(privacy)
    estimate = estimate_kernels(privacy, samples=samples, seed=_SEED)
    if estimate.fewer_than is not None:
        return f"fewer than {text_above(estimate.fewer_than)}"
    return f"{estimate.count:.3g} ± {estimate.error:.1g}"


def _table_4a() -> PaperTable:
    """Vertices, kernels and capacities of lines."""
    printed = {
        2: ("2", "1", "1.33", "0.33"), 3: ("4", "2", "1.67", "0.5"), 4: ("8", "11", "2", "0.67"),
        5: ("16", "187", "2.33", "0.75"), 6: ("32", "15346", "2.67", "0.83"),
    }  # fmt: skip
    rows: list[Row] = [(str(n), line(n), printed_row, _COUNT) for n, printed_row in printed.items()]
    rows += [("7", line(7), _NOT_PRINTED, _COUNT), ("8", line(8), _NOT_PRINTED, 400_000)]
    return _types("A.table4a", "The line, ln 2 for each unit", rows)


def _table_5a() -> PaperTable:
    """Vertices, kernels and capacities of discrete spaces."""
    printed = {
        2: ("2", "1", "1.33", "0.33"), 3: ("6", "5", "1.5", "0.4"), 4: ("14", "41", "1.6", "0.43"),
        5: ("30", "1291", "1.67", "0.44"),
    }  # fmt: skip
    rows: list[Row] = [(str(n), discrete(n), printed_row, _COUNT) for n, printed_row in printed.items()]
    rows += [("6", discrete(6), _NOT_PRINTED, _COUNT), ("7", discrete(7), _NOT_PRINTED, 400_000)]
    notes = (
        "Corollary 22 states the additive capacity as 1 − 1/(1 + (n − 1)e^ε); the table, and we, have "
        "1 − n/(1 + (n − 1)e^ε).",
    )
    return _types("A.table5a", "Discrete spaces, ε = ln 2", rows, notes)


def _table_6a() -> PaperTable:
    """Vertices, kernels and capacities of square grids with Euclidean distances."""
    rows: list[Row] = [
        ("1 × 1", grid(2, 2), ("18", "403", "1.68", "0.48"), _COUNT),
        ("2 × 2", grid(3, 3), ("4798", "> 10000", "2.5", "0.62"), _LEAVE),
        ("3 × 3", grid(4, 4), ("-", "-", "3.53", "0.79"), _LEAVE),
        ("9 × 9", grid(10, 10), _NOT_PRINTED, _LEAVE),
    ]
    notes = (
        "Sizes count cells: a 1 × 1 grid has 2 × 2 points.",
        "The 3 × 3 points have 4,346 vertices, found with exact distances. What made the printed 4,798 is not known.",
    )
    return _types("A.table6a", "Euclidean grids, ε = ln 2", rows, notes)


def _table_7a() -> PaperTable:
    """Vertices, kernels and capacities of cubes of bits."""
    rows: list[Row] = [
        ("2", hamming(2), ("6", "4", "1.78", "0.56"), _COUNT),
        ("3", hamming(3), ("38", "29275", "2.37", "0.70"), _COUNT),
        ("4", hamming(4), ("-", "-", "3.16", "0.80"), 100_000),
        ("5", hamming(5), _NOT_PRINTED, _LEAVE),
    ]
    notes = ("Three bits have 29,213 kernels, counted in integers. What made the printed 29,275 is not known.",)
    return _types("A.table7a", "Hamming cubes, ε = ln 2", rows, notes)


def _more_spaces() -> PaperTable:
    """The same numbers for cycles, stars and complete bipartite graphs."""
    rows: list[Row] = []
    families: list[tuple[str, Callable[..., FiniteSpace], list[tuple[int, ...]]]] = [
        ("cycle", cycle, [(3,), (4,), (5,), (6,)]),
        ("star", star, [(3,), (4,), (5,)]),
        ("complete bipartite", complete_bipartite, [(2, 2), (2, 3), (3, 3)]),
    ]
    for name, build, sizes in families:
        rows += [(f"{name} {', '.join(map(str, size))}", build(*size), _NOT_PRINTED, _COUNT) for size in sizes]
    rows += [(f"cycle {n}", cycle(n), _NOT_PRINTED, 200_000) for n in (7, 8)]
    rows.append(("star 6", star(6), _NOT_PRINTED, 400_000))
    rows.append(("L1 grid 2 × 3", grid(2, 3, metric="manhattan"), _NOT_PRINTED, _COUNT))
    rows += [(f"L1 grid {a} × {b}", grid(a, b, metric="manhattan"), _NOT_PRINTED, 200_000) for a, b in ((2, 4), (3, 3))]
    return _types("A.more", "Cycles, stars (by leaves), bipartite graphs and L1 grids, ε = ln 2", rows)


def _epsilons() -> PaperTable:
    """How many kernels small spaces have at several e^ε."""
    spaces = {"line 4": line(4), "line 5": line(5), "discrete 4": discrete(4), "cycle 5": cycle(5), "2 × 2": grid(2, 2)}
    rows = []
    for factor in ("11/10", "3/2", "19/10", "2", "21/10", "3", "10"):
        up, _, down = factor.partition("/")
        types = {name: PrivacyType(space, alpha=f"{down or 1}/{up}") for name, space in spaces.items()}
        rows.append({"e^ε": factor, **{name: count_kernels(privacy) for name, privacy in types.items()}})
    notes = (
        "Vertices do not depend on ε, kernels do: e^ε = 2 is a wall at which kernels of one side meet those of the "
        "other, with a count of its own. A tolerance cannot see that.",
    )
    return PaperTable("A.epsilon", "How the number of kernels depends on ε", tuple(rows), notes)


TABLES: dict[str, Callable[[], PaperTable]] = {
    "A.table4a": _table_4a,
    "A.table5a": _table_5a,
    "A.table6a": _table_6a,
    "A.table7a": _table_7a,
    "A.more": _more_spaces,
    "A.epsilon": _epsilons,
}
"""Tables of paper A by key."""
