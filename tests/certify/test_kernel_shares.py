"""What the kernel says of claims about shares, beside brute force that shares no line with it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from math import inf, isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.certificate import certificate_of

QUESTION = sf.line(["never", "rarely", "sometimes", "often"])


def told(space: sf.FiniteSpace, objective: Any = "shares", **promise: Any) -> tuple[Any, dict[str, Any]]:
    """Header and sections of a design."""
    best = sf.design(None, None, sf.PrivacyType(space, **promise), objective=objective)
    return certificate_of(best.mechanism).interpreted()


# ----------------------------------------------------------------- corners


def brute_corners(n: int, distances: dict[tuple[int, int], float]) -> set[tuple[float, ...]]:
    """Heights that some spanning tree of tight pairs gives, in any directions, and that keep all distances."""
    found = set()
    pairs = sorted(distances)
    for tree in combinations(pairs, n - 1):
        for signs in product((1, -1), repeat=n - 1):
            heights: dict[int, float] = {0: 0.0}
            for _ in range(n):
                for (x, z), sign in zip(tree, signs, strict=True):
                    if x in heights and z not in heights:
                        heights[z] = heights[x] + sign * distances[x, z]
                    if z in heights and x not in heights:
                        heights[x] = heights[z] - sign * distances[x, z]
            if len(heights) == n and all(abs(heights[x] - heights[z]) <= d + 1e-9 for (x, z), d in distances.items()):
                found.add(tuple(round(heights[x] - max(heights.values()), 6) + 0.0 for x in range(n)))
    return found


def kernel_corners(space: sf.FiniteSpace) -> set[tuple[float, ...]]:
    header, sections = certificate_of(sf.exponential(space_type(space))).interpreted()
    n = len(space)
    pairs = list(kernel.pairs_to_check(header, sections, n, {"implied": 0}))
    ruler = kernel.Ruler(header.metric, [value for _, _, value in pairs])
    lengths = [(x, z, ruler.length(value)) for x, z, value in pairs]
    found = set()
    for heights in kernel.corners(lengths, n, ruler):
        top = ruler.highest(heights)
        drops = [ruler.bounds(tuple(t - h for t, h in zip(top, height, strict=True)))[0] for height in heights]
        found.add(tuple(round(-float(drop), 6) + 0.0 for drop in drops))
    return found


def space_type(space: sf.FiniteSpace) -> sf.PrivacyType:
    return sf.PrivacyType(space, epsilon="0.7")


SPACES = [
    sf.line(2), sf.line(5), sf.line(4, step="2/3"), sf.discrete(4), sf.cycle(4), sf.cycle(5), sf.grid(2, 2),
    sf.grid(2, 3),
    sf.grid(2, 2, metric="manhattan"), sf.hamming(2), sf.points([[0, 0], [1, 0.3], [2.2, 1], [0.1, 3]]),
    sf.graph([(0, 1, 1), (1, 2, 2), (2, 3, "1/2"), (3, 0, 1), (0, 2, "5/2")]),
]  # fmt: skip


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_corners_are_those_of_brute_force(space: sf.FiniteSpace) -> None:
    table = space.distances.floats
    every = {(x, z): float(table[x, z]) for x, z in combinations(range(len(space)), 2)}
    assert kernel_corners(space) == brute_corners(len(space), every)


@pytest.mark.parametrize("seed", range(8))
def test_corners_of_random_metrics(seed: int) -> None:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 7, size=(5, 5))
    edges = [(x, z, int(lengths[x, z])) for x, z in combinations(range(5), 2)]
    space = sf.graph(edges)
    table = space.distances.floats
    every = {(x, z): float(table[x, z]) for x, z in combinations(range(5), 2)}
    assert kernel_corners(space) == brute_corners(5, every)


def test_square_free_parts() -> None:
    for value in range(1, 400):
        factor, radical = kernel.square_free(value)
        assert factor**2 * radical == value
        assert all(radical % (p * p) for p in range(2, isqrt(radical) + 1))


# ----------------------------------------------------------------- values and bounds


def exact_variance(header: dict[str, Any], sections: dict[str, Any], weights: list[Fraction]) -> Fraction:
    """tr W⁻¹ − |p|² in fractions, by Gauss and Jordan on the whole."""
    n, m = len(header.secrets), len(header.outputs)
    rows = [kernel.integers(sections["weights"], header.widths["weights"], x * m, m) for x in range(n)]
    table = [[Fraction(w, header.total) for w in row] for row in rows]
    seen = [sum(weights[x] * table[x][y] for x in range(n)) for y in range(m)]
    inside = [
        [sum(table[x][y] * table[z][y] / seen[y] for y in range(m)) for z in range(n)]
        + [Fraction(int(x == z)) for z in range(n)]
        for x in range(n)
    ]
    for k in range(n):
        pivot = next(i for i in range(k, n) if inside[i][k])
        inside[k], inside[pivot] = inside[pivot], inside[k]
        inside[k] = [v / inside[k][k] for v in inside[k]]
        for i in range(n):
            if i != k and inside[i][k]:
                inside[i] = [a - inside[i][k] * b for a, b in zip(inside[i], inside[k], strict=True)]
    return sum(inside[x][n + x] for x in range(n)) - sum(w * w for w in weights)


@pytest.mark.parametrize("space", [sf.line(3), sf.discrete(3), sf.cycle(4), sf.grid(2, 2)], ids=lambda s: s.name)
def test_the_variance_is_that_of_fractions(space: sf.FiniteSpace) -> None:
    header, sections = told(space, epsilon=1)
    value = kernel.variance(header, sections)
    exact = exact_variance(header, sections, [Fraction(1, len(space))] * len(space))
    assert exact <= value <= exact * (1 + Fraction(1, 10**30))


def test_false_numbers_are_refuted() -> None:
    header, sections = told(QUESTION, alpha="1/2")
    assert set(kernel.check(header, sections)) >= {"loss", "bound"}
    for name, by in (("loss", -1), ("bound", 1)):
        claims = header.claims._replace(**{name: getattr(header.claims, name) + Fraction(by, 10**9)})
        forged = header._replace(claims=claims)
        with pytest.raises(kernel.Refuted, match=r"variance is|numbers prove"):
            kernel.check(forged, sections)


def changed(sections: dict[str, Any], name: str, change: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    values = np.frombuffer(sections[name], dtype="<f8").copy()
    return {**sections, name: change(values).astype("<f8").tobytes()}


@pytest.mark.parametrize("space", [QUESTION, sf.discrete(4), sf.cycle(5), sf.grid(2, 2)], ids=lambda s: s.name)
def test_prices_that_are_too_low_prove_nothing(space: sf.FiniteSpace) -> None:
    header, sections = told(space, epsilon="0.9")
    for x in range(len(space)):
        lower = changed(sections, "share_prices", lambda prices, x=x: prices - 1e-4 * (np.arange(len(prices)) == x))
        with pytest.raises(kernel.Refuted, match="corner"):
            kernel.check_corners(header, lower)
    with pytest.raises(kernel.Refuted, match="corner"):
        kernel.check_corners(header, changed(sections, "share_prices", np.negative))
    larger = changed(sections, "share_dual", lambda dual: 1.001 * dual)
    with pytest.raises(kernel.Refuted, match="corner"):
        kernel.check_corners(header, larger)


def test_numbers_that_are_no_numbers() -> None:
    header, sections = told(QUESTION, alpha="1/2")
    for name in ("workload", "share_dual", "share_prices"):
        for value in (inf, -inf, float("nan")):
            with pytest.raises(kernel.Unreadable, match="finite"):
                kernel.check(
                    header, changed(sections, name, lambda v, value=value: np.where(np.arange(len(v)), v, value))
                )


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda claims: claims.update(kind="share"), "does not check a claim"),
        (lambda claims: claims.update(extra=1), "which this kernel does not know"),
        (lambda claims: claims.update(workload_unit="-1"), "unit of a workload"),
        (lambda claims: claims.update(workload_unit="0"), "unit of a workload"),
        (lambda claims: claims.update(criterion="worst secret"), "one distribution, or about the worst"),
        (lambda claims: claims.update(loss="1e3"), "fraction in decimal digits"),
        (lambda claims: claims.update(workload_name="x\n PROVED"), "no short text"),
    ],
)
def test_headers_that_lie(edit: Callable[[dict[str, Any]], None], words: str) -> None:
    best = sf.design(None, None, sf.PrivacyType(QUESTION, alpha="1/2"), objective="shares")
    written = certificate_of(best.mechanism)
    edit(written.header["claims"])
    with pytest.raises(sf.errors.InvalidInput, match=words):
        written.interpreted()


def test_outputs_that_say_too_little() -> None:
    header, sections = told(sf.line(3), alpha="1/2")
    same = sf.prove([[1], [1], [1]], sf.PrivacyType(sf.line(3), alpha="1/2"))
    other, constant = certificate_of(same).interpreted()
    widths = {**header.widths, "weights": other.widths["weights"]}
    forged = header._replace(outputs=other.outputs, total=other.total, widths=widths)
    with pytest.raises(kernel.Refuted, match="do not determine"):
        kernel.check(forged, {**sections, "weights": constant["weights"]})


def test_several_distributions_and_their_mixture() -> None:
    space = sf.line(3)
    corners = [sf.Prior(space, row) for row in ([1, 0, 0], [0, 1, 0], [0, 0, 1])]
    header, sections = told(space, sf.objectives.shares(priors=corners), alpha="1/2")
    proved = kernel.check(header, sections)
    generator = np.random.default_rng(5)
    for _ in range(20):
        counts = generator.integers(1, 30, 3).tolist()
        weights = [Fraction(c, sum(counts)) for c in counts]
        assert exact_variance(header, sections, weights) <= proved["loss"]
    nothing = {**sections, "mixture": bytes(len(sections["mixture"]))}
    with pytest.raises(kernel.Unreadable, match="mixture"):
        kernel.check(header, nothing)
    tilted = {**sections, "mixture": np.array([1, 0, 0], dtype=f"<u{header.widths['mixture']}").tobytes()}
    with pytest.raises(kernel.Refuted):
        kernel.check(header, tilted)


def test_too_many_corners_are_refused() -> None:
    ruler = kernel.Ruler(kernel.Metric("rational", Fraction(1)), [])
    with pytest.raises(kernel.Unreadable, match="corners"):
        next(kernel.corners([(x, x + 1, (1,)) for x in range(17)], 18, ruler))


def test_infinite_distances_have_no_corners() -> None:
    header, sections = told(QUESTION, alpha="1/2")
    far = np.frombuffer(sections["distances"], dtype="<u8").copy()
    far[0] = kernel.UNBOUNDED
    with pytest.raises(kernel.Unreadable, match="finite distances"):
        kernel.check_corners(header, {**sections, "distances": far.tobytes()})


def test_files_keep_the_claim(tmp_path: Path) -> None:
    best = sf.design(None, None, sf.PrivacyType(QUESTION, epsilon=1), objective=sf.objectives.shares("cumulative"))
    sf.save(best.mechanism, tmp_path / "survey.sfm")
    again = sf.load(tmp_path / "survey.sfm")
    assert again.claim.workload.rows == ("never", "rarely", "sometimes")
    assert (again.claim.value, again.claim.bound) == (best.loss, best.bound)
    assert again.proof.checker == "kernel"
    assert sf.load(tmp_path / "survey.sfm", checker="twin").proof.loss == best.loss
    said = "\n".join(
        kernel.report_of_proof(*(lambda h, s, d: (h, kernel.check(h, s), d))(*kernel.read(tmp_path / "survey.sfm")))
    )
    assert "unbiased estimates of 'cumulative shares' from N answers" in said
