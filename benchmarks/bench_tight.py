"""The tight-constraints mechanism on Euclidean grids, beside ``qif.mechanism.d_privacy.tight_constraints``.

Every line runs in a process of its own, so that its memory is its own; the figure is the largest resident size minus
that before the call. qif returns the full matrix in floats and proves nothing. sfumato's table is a matrix of
integers that the proof kernel's twin has checked; its lattice is never a matrix, and its proof covers all rows.
"""

from __future__ import annotations

import resource
from statistics import median
from time import perf_counter
from typing import Any

from isolation import NoResult, isolated
from timing import Table

EPSILON = 1.0
QIF_SIDES = (10, 20, 30, 40, 100)  # the last takes some minutes and several GB
TABLE_SIDES = (10, 20, 30, 40)
LATTICE_SIDES = (30, 40, 100, 300, 1000)


def main() -> None:
    """Measure and report."""
    columns = ("grid", "what", "first call, s", "median, s", "memory, MB", "chance of the truth", "÷ qif")
    table = Table("tight", "Tight constraints on Euclidean grids, ε = 1", columns)
    peer: dict[int, float] = {}
    for side in QIF_SIDES:
        answer = isolated(by_qif, side, seconds=600)
        _add(table, side, "qif tight_constraints", answer, peer)
        if not isinstance(answer, NoResult):
            peer[side] = answer["median"]
    for side in TABLE_SIDES:
        _add(table, side, "sfumato, proved table", isolated(by_table, side, seconds=600), peer)
    for side in LATTICE_SIDES:
        _add(table, side, "sfumato, proved lattice", isolated(by_lattice, side, seconds=600), peer)
    table.finish()


def _add(table: Table, side: int, what: str, answer: Any, peer: dict[int, float]) -> None:
    if isinstance(answer, NoResult):
        table.add(f"{side} × {side}", what, str(answer), "—", "—", "—", "—")
        return
    ratio = answer["median"] / peer[side] if side in peer else "—"
    table.add(
        f"{side} × {side}", what, answer["first"], answer["median"], answer["memory"], f"{answer['utility']:.6f}", ratio
    )  # fmt: skip


def by_qif(side: int) -> dict[str, float]:
    """The peer: a dense linear system."""
    import numpy as np
    import qif

    places = np.stack(np.meshgrid(range(side), range(side), indexing="ij"), axis=-1).reshape(-1, 2)
    # distances are looked up, so that the callback costs as little as a callback can
    lengths = (EPSILON * np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))).tolist()
    count = side * side

    def work() -> Any:
        return qif.mechanism.d_privacy.tight_constraints(count, lambda x, y: lengths[x][y])

    result = _timed(work, 3 if side <= 20 else 0)
    result["utility"] = float(np.trace(result.pop("value")) / count)
    return result


def by_table(side: int) -> dict[str, float]:
    """Our table of integers, proved; the space is new each time."""
    import numpy as np

    import sfumato as sf
    from sfumato.mechanisms.tight import tight_constraints

    result = _timed(lambda: tight_constraints(sf.PrivacyType(sf.grid(side, side), epsilon=EPSILON)), 3)
    mechanism = result.pop("value")
    result["utility"] = float(np.trace(mechanism.weights / mechanism.total) / side**2)
    return result


def by_lattice(side: int) -> dict[str, float]:
    """Our lattice: solved, proved, one row evaluated."""
    from sfumato.mechanisms.lattice import Lattice
    from sfumato.mechanisms.tight import lattice_tight_constraints

    def work() -> Any:
        mechanism = lattice_tight_constraints(Lattice((side, side)), epsilon=EPSILON)
        mechanism.row_weights((side // 3, side // 2))
        return mechanism

    result = _timed(work, 3)
    result["utility"] = float(result.pop("value").utility)
    return result


def _timed(function: Any, repeats: int) -> dict[str, Any]:
    before = _resident()
    start = perf_counter()
    value = function()
    first = perf_counter() - start
    later = []
    for _ in range(repeats):
        start = perf_counter()
        value = function()
        later.append(perf_counter() - start)
    return {"value": value, "first": first, "median": median(later or [first]), "memory": _resident() - before}


def _resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
