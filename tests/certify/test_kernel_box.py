"""Claims about boxes: a loss bounded by convexity, a bound for all mechanisms with whatever outputs."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import linprog

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.box_bounds import box_covering, finite_prior, finite_shape, splits_from_depths
from sfumato.certify.certificate import Certificate
from sfumato.certify.coordinates import BoxBound, BoxClaim, BoxMechanism, prove_on_box
from sfumato.certify.file import to_bytes
from sfumato.certify.mechanism import Dual
from sfumato.certify.noise import noise_certificate
from sfumato.certify.sections import Section
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidChannel, InvalidFile, InvalidInput
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box, box
from sfumato.spaces.splines import rounding_of

ORDERS = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}
METRICS = sorted(ORDERS)


def written_box(where: Box) -> kernel.WrittenBox:
    return kernel.WrittenBox(where.sides, where.shape, where.metric)


@given(
    metric=st.sampled_from(METRICS),
    sides=st.sampled_from(
        [((1,), "1/4", (2,)), ((3, 2), 1, (1, 2)), ((2, "9/7"), ("1/2", "3/7"), (1, 1)), ((2, 2, 1), 1, (1, 1, 2)),
         ((3, "2001/1000"), ("1/2", "667/1000"), (1, 1)), (("1/3", 10**6), ("1/9", 10**6), (1, 3))]
    ),
    seed=st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_the_kernel_lowers_losses_as_the_arrays_do(metric: str, sides: Any, seed: int) -> None:
    where, parts = box(sides[0], step=sides[1], metric=metric), sides[2]
    shape = finite_shape(where, parts)
    splits = splits_from_depths(np.random.default_rng(seed).integers(0, 3, size=[n - 1 for n in shape]))
    arrays, alone = box_covering(where, parts, splits), kernel.LoweredLosses(written_box(where), list(parts), splits)
    assert alone.unit == arrays.unit
    assert alone.corners == [tuple(corner) for corner in arrays.corners.tolist()]
    assert np.array_equal(np.transpose([alone.column(x) for x in range(arrays.losses.shape[1])]), arrays.losses)


def mechanism(where: Box, degree: int, seed: int, **given: Any) -> BoxMechanism:
    random = np.random.default_rng(seed)
    breaks = [[0, side * Fraction(int(random.integers(1, 6)), 6), side] for side in where.sides]
    rounding = rounding_of(where, degree=degree, breaks=breaks)
    weights = random.integers(5, 9, size=(len(rounding), 3))
    weights[:, 2] = 40 - weights[:, 0] - weights[:, 1]
    outputs = [tuple(o + s * Fraction(k, 3) for o, s in zip(where.origin, where.sides, strict=True)) for k in range(3)]
    labels = [output[0] for output in outputs] if where.dimension == 1 else outputs
    return prove_on_box(weights, sf.PrivacyType(where, epsilon=100), rounding, labels, **given)


def upper(made: BoxMechanism, prior: Prior, parts: int) -> Fraction:
    """What the kernel bounds the loss by."""
    claim = BoxClaim(prior, CoordinateLoss(made.box), Fraction(10**6), parts)
    claimed = prove_on_box(made.weights, made.privacy, made.rounding, made.outputs, claim=claim)
    return kernel.box_loss(*claimed.as_certificate().interpreted())


def lost_at(made: BoxMechanism, prior: Prior, point: tuple[float, ...]) -> float:
    """Density of the prior times the loss at a point, counted from the origin."""
    where = made.box
    exact = [Fraction(x) + o for x, o in zip(point, where.origin, strict=True)]
    cell = tuple(min(int(x // float(s)), n - 1) for x, s, n in zip(point, where.step, where.shape, strict=True))
    mass = float(prior[cell if where.dimension > 1 else cell[0]]) / float(np.prod([float(s) for s in where.step]))
    shares = np.array(made.density(exact).weights, dtype=float)
    outputs = np.array([output if isinstance(output, tuple) else (output,) for output in made.outputs], dtype=float)
    return mass * float(shares @ np.linalg.norm(outputs - np.array(exact, float), ord=ORDERS[where.metric], axis=1))


@settings(max_examples=15)
@given(metric=st.sampled_from(METRICS), degree=st.integers(1, 2), seed=st.integers(0, 10**6))
def test_the_loss_on_an_interval_lies_just_above_its_integral(metric: str, degree: int, seed: int) -> None:
    where = box((2,), step="1/2", metric=metric, origin=("1/3",))
    prior = Prior.on_cells(np.random.default_rng(seed).integers(0, 5, size=4) + np.array([1, 0, 0, 0]), where)
    made = mechanism(where, degree, seed)
    kinks = [float(x) for x in (*made.rounding.axes[0].breaks[1:-1], *where.breaks(0)[1:-1])]
    kinks += [float(y - where.origin[0]) for y in made.outputs[1:-1]]
    integral = quad(lambda x: lost_at(made, prior, (x,)), 0, 2, points=sorted(set(kinks)), limit=200)[0]
    coarse, fine = (float(upper(made, prior, parts)) for parts in (2, 16))
    assert integral <= fine + 1e-9
    assert fine <= coarse <= integral + 0.05
    assert fine <= integral + 0.002


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("sides", "cells", "raster"), [((1, 2), (2, 1), 24), ((1, 2, 1), (2, 1, 1), 8)])
def test_the_loss_on_a_box_lies_just_above_its_mean_on_a_raster(
    metric: str, sides: Any, cells: Any, raster: int
) -> None:
    step = [Fraction(side, n) for side, n in zip(sides, cells, strict=True)]
    where = box(sides, step=step, metric=metric, origin=(-1,) * len(sides))
    prior, made = Prior.on_cells(np.array([3, 1]).reshape(cells), where), mechanism(where, 2, 5)
    places = [(np.arange(raster) + 0.5) / raster * side for side in sides]
    mean = np.prod(sides) * np.mean([lost_at(made, prior, point) for point in product(*places)])
    # a raster of midpoints is off by a square of its step
    assert mean - 0.2 / raster**2 <= upper(made, prior, 8) <= mean + 0.02


def dual_of(where: Box, parts: tuple[int, ...], splits: bytes, prior: Prior, epsilon: float) -> tuple[float, Dual]:
    """The optimum of the finite problem by HiGHS, and its multipliers as integers."""
    found = box_covering(where, parts, splits)
    secrets, corners = found.secrets, len(found.corners)
    masses = finite_prior(np.array(prior.weights, dtype=float).reshape(where.shape), parts)
    masses = masses / masses.sum()
    costs = masses[:, None] * found.losses.T * float(found.unit)
    n = len(secrets)
    rows, keys = [], []
    for x, z in permutations(range(n), 2):
        factor = np.exp(epsilon * np.linalg.norm(secrets[x] - secrets[z], ord=ORDERS[where.metric]))
        for w in range(corners):
            row = np.zeros((n, corners))
            row[x, w], row[z, w] = 1, -factor
            rows.append(row.ravel())
            keys.append((x, z, w))
    sums = np.kron(np.eye(n), np.ones(corners))
    solved = linprog(costs.ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(n), method="highs")
    values = np.round(np.maximum(0, -solved.ineqlin.marginals) * 2**40).astype(np.int64)
    used = np.flatnonzero(values)
    first, second, action = np.array(keys)[used].T
    return solved.fun, Dual(first, second, action, values[used], Fraction(1, 2**40))


CASES = [((1,), "1/4", (1,)), ((2, 1), 1, (1, 2)), (("3/2", 2), ("3/4", 1), (1, 1))]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("sides", CASES)
def test_multipliers_of_the_finite_problem_prove_a_bound(metric: str, sides: Any, tmp_path: Path) -> None:
    where, parts = box(sides[0], step=sides[1], metric=metric, unit="km"), sides[2]
    shape = finite_shape(where, parts)
    splits = splits_from_depths(np.random.default_rng(3).integers(0, 2, size=[n - 1 for n in shape]))
    prior = Prior.on_cells(np.arange(1, len(where) + 1).reshape(where.shape), where)
    optimum, dual = dual_of(where, parts, splits, prior, 2.0)
    weights = np.full((len(rounding_of(where)), 1), 7)
    middle = tuple(side / 2 for side in where.sides)

    def claimed(value: float, **changed: Any) -> BoxMechanism:
        bound = BoxBound(Fraction(value), parts, splits, dual)
        claim = BoxClaim(prior, CoordinateLoss(where), Fraction(100), 1, BoxBound(**vars(bound) | changed))
        outputs = [middle if where.dimension > 1 else middle[0]]
        return prove_on_box(weights, sf.PrivacyType(where, epsilon=2), rounding_of(where), outputs, claim=claim)

    made = claimed(optimum - 1e-6)
    assert made.proof.bound == Fraction(optimum - 1e-6) > 0
    with pytest.raises(InvalidChannel, match="the dual numbers prove"):
        claimed(optimum + 1e-6)
    with pytest.raises(InvalidFile, match="no covering"):
        claimed(optimum - 1e-6, splits=splits[:-1])
    with pytest.raises(InvalidFile, match="no covering"):
        claimed(optimum - 1e-6, splits=splits + b"\0")
    if 1 in splits:
        with pytest.raises((InvalidFile, InvalidChannel)):
            claimed(optimum - 1e-6, splits=splits_from_depths(np.zeros([n - 1 for n in shape], dtype=int)))
    sf.save(made, tmp_path / "m.sfm")
    again = sf.load(tmp_path / "m.sfm")
    assert again.proof == made.proof
    assert again.claim.bound.splits == splits and again.claim.bound.parts == parts
    assert again.claim.prior.weights.tolist() == prior.weights.tolist()
    said = "\n".join(kernel.report_of_proof(*reported(tmp_path / "m.sfm")))
    assert "the expected distance of outputs from the points is at most 100" in said
    assert "no mechanism on the box, with whatever outputs, has less than 0." in said


def reported(path: Path) -> tuple[Any, Any, str]:
    header, sections, digest = kernel.read(path)
    return header, kernel.check(header, sections), digest


def test_a_loss_that_is_claimed_too_low_is_refused() -> None:
    where = box((2,), step="1/2")
    prior, made = Prior.uniform(where), mechanism(where, 2, 1)
    least = upper(made, prior, 3)
    claim = BoxClaim(prior, CoordinateLoss(where), least, 3)
    proved = prove_on_box(made.weights, made.privacy, made.rounding, made.outputs, claim=claim)
    assert proved.proof.loss == least
    low = BoxClaim(prior, CoordinateLoss(where), least - Fraction(1, 10**40), 3)
    with pytest.raises(InvalidChannel, match=r"not .* as claimed"):
        prove_on_box(made.weights, made.privacy, made.rounding, made.outputs, claim=low)


BOUND = {"bound": "0", "bound_parts": [1], "dual_unit": "1"}
CHANGES: dict[str, tuple[Any, str]] = {
    "another kind": ({"kind": "loss"}, "'loss'"),
    "no parts": ({"parts": 0}, "parts"),
    "many parts": ({"parts": 65}, "parts"),
    "a word too many": ({"criterion": "expected"}, "'criterion'"),
    "a unit without a bound": ({"dual_unit": "1"}, "no bound"),
    "a unit of zero": (BOUND | {"dual_unit": "0"}, "not positive"),
    "a negative unit": (BOUND | {"dual_unit": "-1"}, "not positive"),
    "parts of another box": (BOUND | {"bound_parts": [1, 1]}, "parts"),
    "parts without end": (BOUND | {"bound_parts": [10**9]}, "parts"),
    "parts that are true": (BOUND | {"bound_parts": [True]}, "parts"),
    "a bound without its sections": (BOUND, "sections"),
    "a loss that is a float": ({"loss": 1.5}, "decimal digits"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_claims_about_a_box_that_the_kernel_does_not_read(name: str, tmp_path: Path) -> None:
    changed, words = CHANGES[name]
    where = box((2,), step="1/2")
    claim = BoxClaim(Prior.uniform(where), CoordinateLoss(where), Fraction(9), 1)
    written = mechanism(where, 2, 1, claim=claim).as_certificate()
    written.header["claims"].update(json.loads(json.dumps(changed)))
    (tmp_path / "m.sfm").write_bytes(to_bytes(written))
    with pytest.raises(kernel.Unreadable, match=words):
        kernel.read(tmp_path / "m.sfm")


def test_large_tables_are_checked_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers, and the same words about a violation, however few coefficients are held at a time."""
    for where in (box((2,), step="1/2"), box((2, 1), step="1/2"), box((1, 1, 1), step="1/2")):
        claim = BoxClaim(Prior.uniform(where), CoordinateLoss(where), Fraction(9), 2)
        header, sections = mechanism(where, 2, 4, claim=claim).as_certificate().interpreted()
        low = header._replace(promise=header.promise._replace(rate=Fraction(1, 10)))
        said = []
        for size in (1 << 16, 7, 1):
            monkeypatch.setattr(kernel.splines, "AT_ONCE", size)
            with pytest.raises(kernel.Refuted, match="becomes likelier") as caught:
                kernel.check(low, sections)
            said.append((str(caught.value), kernel.box_loss(header, sections), kernel.check(header, sections)))
        assert said[0] == said[1] == said[2]


def test_more_than_can_be_checked_is_not_read() -> None:
    where = box((1, 1), step=1)
    claim = BoxClaim(Prior.uniform(where), CoordinateLoss(where), Fraction(9), 1)
    written = mechanism(where, 2, 1, claim=claim).as_certificate()
    claims = BOUND | {"bound_parts": [512, 512]}
    written.header["claims"].update(claims)
    written.sections.update({"splits": Section(1, bytes(511 * 511)), "dual": Section(1, b"")})
    written.sections.update({f"dual_{part}": Section(4, b"") for part in ("from", "to", "action")})
    with pytest.raises(kernel.Unreadable, match="losses of corners"):
        kernel.parse(to_bytes(written))
    fine = [str(Fraction(k, 2000)) for k in range(2001)]
    written.header.update({"claims": {}, "lattice": {"degree": 1, "halvings": 2, "breaks": [fine, fine]}})
    with pytest.raises(kernel.Unreadable, match="after halvings"):
        kernel.parse(to_bytes(written))


def crafted(name: str) -> Certificate:
    """A few hundred bytes that would take the kernel minutes or hours: zeros pack into nothing."""
    if name == "offsets":
        space = box((1, 1, 1), step=1)
        table, total = np.zeros((90,) * 3, dtype=object), (3 + 2 * 89) ** 3
        privacy = PrivacyType(space, epsilon=1)
        return noise_certificate(privacy, Fraction(1), rounding_of(space), 1, table, 1, total)
    plane = box((1, 1), step=1)
    claim = BoxClaim(Prior.uniform(plane), CoordinateLoss(plane), Fraction(9), 1)
    written = mechanism(plane, 2, 1, claim=claim).as_certificate()
    header, sections = written.header, written.sections
    if name == "parts":
        fine = [str(Fraction(k, 60)) for k in range(61)]
        header["lattice"]["breaks"], header["claims"]["parts"] = [fine, fine], 60
    if name == "outputs":
        fine = [str(Fraction(k, 60)) for k in range(61)]
        header["lattice"] |= {"breaks": [fine, fine], "halvings": 2}
        header |= {"outputs": [[k, 0] for k in range(300)], "total": "300", "claims": {}}
        del sections["prior"]
    if name == "a long rate":
        fine = [str(Fraction(k, 600)) for k in range(601)]
        header["lattice"]["breaks"] = [fine, fine]
        header["promise"] = {"kind": "coordinates", "epsilon": "1", "rate": f"{10**3998}/{10**3998 + 1}"}
    if name == "cubes":
        header["claims"].update(BOUND | {"bound_parts": [60, 60]})
        sections["splits"] = Section(1, (b"\1" + bytes(4)) * 59**2)
        sections |= {"dual": Section(1, b""), **{f"dual_{end}": Section(4, b"") for end in ("from", "to", "action")}}
    rows = math.prod(len(along) + 1 for along in header["lattice"]["breaks"])
    sections["weights"] = Section(1, b"\1" * (rows * len(header["outputs"])))
    return Certificate(header, sections)


@pytest.mark.parametrize("name", ["offsets", "parts", "outputs", "a long rate", "cubes"])
def test_a_small_file_does_not_ask_for_more_than_its_size_allows(name: str) -> None:
    data = to_bytes(crafted(name))
    assert len(data) < 30_000
    with pytest.raises(kernel.Unreadable, match="numbers to be computed"):
        kernel.parse(data)


@pytest.mark.parametrize("sides", [(2,), (2, 1), (1, 1, 1)])
def test_the_effort_of_a_file_is_not_below_what_is_computed(sides: Any) -> None:
    where = box(sides, step="1/2")
    claim = BoxClaim(Prior.uniform(where), CoordinateLoss(where), Fraction(9), 3)
    header, sections = mechanism(where, 2, 4, claim=claim).as_certificate().interpreted()
    products = len(header.outputs) * math.prod(len(forms) for forms, *_ in kernel.loss_axes(header))
    computed = kernel.check(header, sections)["comparisons"] + products
    assert computed <= kernel.effort(header, {}) <= 6 * computed


@pytest.mark.parametrize(
    ("sides", "step", "strides"), [((1,), "1/6", (2,)), ((1,), "1/6", (3,)), ((2, 2), "1/2", (2, 2))]
)
@pytest.mark.parametrize("metric", METRICS)
def test_classes_of_secrets_prove_the_sum_of_what_each_proves(metric: str, sides: Any, step: str, strides: Any) -> None:
    """Each class has a finite problem of its own; none of them asks more than the problem of all secrets."""
    where, axes = box(sides, step=step, metric=metric), len(sides)
    once, shape = (1,) * axes, np.array(where.shape)
    counts = np.random.default_rng(5).integers(1, 9, size=shape)
    prior = Prior.on_cells(counts, where)
    coarse = box(sides, step=tuple(s * m for s, m in zip(where.step, strides, strict=True)), metric=metric)
    splits = splits_from_depths(np.zeros(shape // strides - 1, dtype=int))
    numbers, total, parts = np.arange(len(where)).reshape(where.shape), 0.0, []
    for start in product(*map(range, strides)):
        own = tuple(slice(r, None, m) for r, m in zip(start, strides, strict=True))
        share = Fraction(int(counts[own].sum()), int(counts.sum()))
        value, dual = dual_of(coarse, once, splits, Prior.on_cells(counts[own], coarse), 2.0)
        total += float(share) * value
        whole = np.floor(dual.values * float(share)).astype(np.int64)
        parts.append((numbers[own].ravel()[dual.first], numbers[own].ravel()[dual.second], dual.action, whole))
    first, second, action, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    joined = Dual(first, second, action, values, Fraction(1, 2**40))
    if axes == 1 or metric == "manhattan":  # nothing is taken off for outputs between secrets
        everything, _ = dual_of(where, once, splits_from_depths(np.zeros(shape - 1, dtype=int)), prior, 2.0)
        assert total <= everything + 1e-9

    def answers(value: float, dual: Dual) -> list[Any]:
        bound = BoxBound(Fraction(value), once, splits, dual, strides)
        claim = BoxClaim(prior, CoordinateLoss(where), Fraction(100), 1, bound)
        middle = [tuple(side / 2 for side in where.sides) if axes > 1 else where.sides[0] / 2]
        found: list[Any] = []
        for checker in ("kernel", "twin"):
            try:
                made = prove_on_box(
                    np.full((len(rounding_of(where)), 1), 7), PrivacyType(where, epsilon=2), rounding_of(where), middle,
                    claim=claim, checker=checker,  # type: ignore[arg-type]
                )  # fmt: skip
                found.append(made.proof.bound)
            except (InvalidChannel, InvalidFile, InvalidInput) as error:
                found.append(type(error))
        return found

    assert answers(total - 1e-6, joined) == [Fraction(total - 1e-6)] * 2
    assert answers(total + 1e-6, joined) == [InvalidChannel] * 2
    across = Dual(np.append(first, 0), np.append(second, 1), np.append(action, 0), np.append(values, 1), joined.unit)
    assert answers(total - 1e-6, across) == [InvalidChannel] * 2  # of another class, to whom nothing is promised here
    strides = (5,) * axes
    assert answers(total - 1e-6, joined) == [InvalidInput] * 2
