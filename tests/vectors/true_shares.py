"""True files that claim a variance of estimates of shares: trees, equal distances, and cones that are walked through.

Tables and prices are those of designs, rounded to a few binary digits.
"""

from __future__ import annotations

from collections.abc import Sequence

from vectors.parts import File, doubles, flat, numbers, rows
from vectors.tight import largest_bound, least_loss
from vectors.true_rows import HALF, ONE

Pairs = dict[str, tuple[File, File, str]]
"""What is true, what claims a unit more, and the reason."""

EVERYTHING, LITTLE = "8", "-1000000"  # until the least loss and the largest bound are found


def shares(
    file: File, workload: Sequence[Sequence[float]], dual: Sequence[Sequence[float]], prices: Sequence[float]
) -> File:
    """The file with a claim about shares under an even prior, with a bound if there are prices."""
    n = len(file.header["secrets"])
    claims = {"kind": "shares", "loss": EVERYTHING, "criterion": "expected", "workload_unit": "1"}
    parts = {"prior": numbers([1] * n), "workload": doubles(flat(workload))}
    if prices:
        claims["bound"] = LITTLE
        parts |= {"share_dual": doubles(flat(dual)), "share_prices": doubles(prices)}
    return File({**file.header, "claims": claims}, {**file.sections, **parts})


def identity(n: int) -> list[list[float]]:
    """Every share for itself."""
    return [[float(x == z) for z in range(n)] for x in range(n)]


def alone(form: str) -> File:
    """One secret, whose distances have a form although there are none."""
    return shares(rows([[1, 2]], [], ONE, form=form), [[1.0]], [[1.0]], [1.125])


def cases() -> dict[str, tuple[File, str]]:
    """Files whose loss and bound are to be made tight."""
    pair = rows([[1, 2], [2, 1]], [1], HALF, edges=[(0, 1)])
    line = rows([[8, 4, 2], [4, 6, 4], [2, 4, 8]], [1, 1], HALF, edges=[(0, 1), (1, 2)])
    equal = rows([[5, 2, 2], [2, 5, 2], [2, 2, 5]], [1, 1, 1], ONE)
    square = rows([[4, 2, 2, 1], [2, 4, 1, 2], [2, 1, 4, 2], [1, 2, 2, 4]], [1, 1, 2, 2, 1, 1], ONE, form="root")
    floats = rows([[5, 3, 2], [3, 4, 3], [3, 3, 4]], [0.75, 1.5, 1.0], ONE, form="float")
    lines = [[2.375, -1.625, -0.4375], [-1.625, 3.5625, -1.625], [-0.4375, -1.625, 2.375]]
    alike = [[1.75 if x == z else -0.75 for z in range(3)] for x in range(3)]
    squared = [[1.75, -0.625, -0.625, -0.25], [-0.625, 1.75, -0.25, -0.625], [-0.625, -0.25, 1.75, -0.625],
               [-0.25, -0.625, -0.625, 1.75]]  # fmt: skip
    worst = shares(pair, identity(2), [[2.5, -2.0], [-2.0, 2.5]], [2.5625, 2.5625])
    mean = [[0.0, 1.0, 2.0]]
    return {
        "shares": (shares(pair, identity(2), [[2.5, -2.0], [-2.0, 2.5]], [2.5625, 2.5625]), "two answers of one edge"),
        "shares-line": (shares(line, identity(3), lines, [1.625, 5.625, 1.625]), "the corners of a tree"),
        "shares-equal": (shares(equal, identity(3), alike, [1.8125] * 3), "all distances are one length"),
        "shares-square": (shares(square, identity(4), squared, [1.8125] * 4), "corners that are walked through"),
        "shares-floats": (shares(floats, identity(3), alike, [4.0] * 3), "distances are doubles"),
        "shares-alpha": (
            shares(equal.saying(promise={"kind": "rows", "alpha": "1/3"}), identity(3), alike, [2.25] * 3),
            "the corners are made of ln 3"),
        "shares-without-a-bound": (shares(line, identity(3), [], []), "a variance alone"),
        "shares-mean": (
            shares(line, mean, [[-1.0, 0.0, 1.0]], [1.5, 0.5, 1.5])
            .about("claims", workload_name="mean", workload_unit="1/2"), "a workload of one row, in halves"),
        "shares-worst-prior": (
            worst.about("claims", criterion="worst prior")
            .holding(prior=numbers([1, 3, 3, 1]), mixture=numbers([1, 1])), "the worst mixture of two priors"),
        "shares-long-frequencies": (
            shares(equal, identity(3), alike, [1.8125] * 3)
            .holding(prior=numbers([2**300 + 1, 2**300 + 7, 2**300 + 3])),
            "frequencies whose common multiple is too long are rounded"),
        "shares-rank": (
            shares(rows([[1, 1], [1, 1]], [1], HALF), [[1.0, 1.0]], [[1.0, 1.0]], [2.125, 2.125]),
            "outputs that say nothing determine what is certain"),
        "shares-one-secret": (alone("rational"), "one secret has one corner"),
        "shares-one-secret-float": (alone("float"), "one secret has no distances, whatever their form would be"),
        "shares-one-secret-root": (alone("root"), "the same with roots"),
    }  # fmt: skip


def true_shares() -> Pairs:
    """All of them, their numbers made tight, with what claims a unit more."""
    found: Pairs = {}
    for name, (file, reason) in cases().items():
        true, false = least_loss(file)
        if "bound" in file.header["claims"]:
            true, false = largest_bound(true)
        found[name] = true, false, reason
    return found
