"""The twin on files about coordinates: the answers and the numbers of the kernel."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import sfumato as sf
from sfumato.certify import kernel, twin_box
from sfumato.certify.box_bounds import box_covering, finite_shape, splits_from_depths
from sfumato.certify.box_certificate import box_certificate
from sfumato.certify.coordinates import BoxBound, BoxClaim, prove_on_box
from sfumato.certify.mechanism import Dual
from sfumato.certify.wide import integers_of, load_integer, store_integer, words_of
from sfumato.channels.prior import Prior
from sfumato.errors import PrivacyViolation
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.spaces.box import box
from sfumato.spaces.splines import rounding_of

METRICS = ["euclidean", "manhattan", "chebyshev"]


def answer(check: Any, header: Any, sections: Any) -> Any:
    """What was proved, or the words of a refusal."""
    try:
        return check(header, sections)
    except (kernel.Refuted, kernel.Unreadable) as error:
        return type(error), str(error), getattr(error, "output", None), getattr(error, "ratio", None)


@st.composite
def certificates(draw: st.DrawFn) -> tuple[Any, Any]:
    """Weights of all sizes on lattices of one to three dimensions, with a loss and now and then a bound."""
    axes, metric = draw(st.integers(1, 3)), draw(st.sampled_from(METRICS))
    where = box((3, 2, "4/3")[:axes], step=(1, 1, "2/3")[:axes], metric=metric, origin=(0, "-1/7", 5)[:axes])
    cuts = st.lists(st.integers(1, 8), min_size=1, max_size=3 if axes == 1 else 1, unique=True)
    breaks = [[0, *(side * Fraction(c, 9) for c in sorted(draw(cuts))), side] for side in where.sides]
    rounding = rounding_of(where, degree=draw(st.integers(1, 2)), breaks=breaks)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    total = draw(st.sampled_from([60, 2**31, 2**61, 2**62 - 1, 2**80]))
    spread = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    first = [int(total * share) for share in (1 - spread * random.random(len(rounding))) / 3]
    weights = np.array([[a, a // 2, total - a - a // 2] for a in first], dtype=object)
    outputs = tuple((Fraction(k, 3), 0.1 * k, 7 - k)[:axes] for k in range(3))
    labels = outputs if axes > 1 else tuple(output[0] for output in outputs)
    prior = Prior.on_cells(random.integers(0, 9, size=where.shape) + 1, where)
    loss = draw(st.sampled_from([Fraction(100), Fraction(2)]))
    claim = BoxClaim(prior, CoordinateLoss(where), loss, draw(st.integers(1, 3)), _bound(draw, where, random))
    privacy = sf.PrivacyType(where, epsilon=draw(st.sampled_from(["1/3", 1, 3, 50])))
    rate = privacy.epsilon * draw(st.sampled_from([1, Fraction(10**40 - 1, 10**40)]))
    written = box_certificate(privacy, rate, rounding, draw(st.integers(0, 2)), labels, weights, total, claim)
    return written.interpreted()


def _bound(draw: st.DrawFn, where: Any, random: Any) -> BoxBound | None:
    parts = tuple(2 if cells == 1 else 1 for cells in where.shape)
    shape = finite_shape(where, parts)
    splits = splits_from_depths(random.integers(0, 2, size=[n - 1 for n in shape]))
    corners, secrets = box_covering(where, parts, splits).losses.shape
    count = draw(st.integers(0, 6))
    pairs = np.array([random.choice(secrets, 2, replace=False) for _ in range(count)]).reshape(count, 2)
    dual = Dual(pairs[:, 0], pairs[:, 1], random.integers(0, corners, count), random.integers(0, 99, count),
                Fraction(1, 2**20))  # fmt: skip
    value = draw(st.sampled_from([Fraction(-1, 2), Fraction(0), Fraction(10)]))
    return draw(st.sampled_from([None, BoxBound(value, parts, splits, dual)]))


@given(certificates())
def test_kernel_and_twin_agree(given_: Any) -> None:
    header, sections = given_
    assert answer(twin_box.check, header, sections) == answer(kernel.check, header, sections)
    if header.total < 2**62:
        assert twin_box.box_loss(header, sections) == kernel.box_loss(header, sections)


@njit
def _roots(words: Any, many: int, found: Any) -> None:
    for k in range(many):
        store_integer(found, k, twin_box._root_above(load_integer(words, k)))


@given(st.lists(st.integers(0, 1 << 78), min_size=1, max_size=20), st.integers(-1, 1))
def test_roots_are_those_of_the_kernel(numbers: list[int], beside: int) -> None:
    """Squares of integers, and their neighbours, are where floats would decide wrongly."""
    squares = [max(0, number * number + beside) for number in numbers] + numbers
    words = words_of(squares)
    found = np.zeros_like(words)
    _roots(words, len(squares), found)
    assert integers_of(found) == [kernel.root(square << (2 * kernel.ROOT), True) for square in squares]


def test_the_twin_is_asked_for_what_is_large() -> None:
    where = box((10, 10), step="1/2", unit="km")
    rounding = rounding_of(where)
    place = np.array([float(point) for point in rounding.axes[0].points])
    first = np.round(1000 * np.exp(-0.2 * np.sqrt(place**2 + 1))).astype(int)
    weights = np.repeat(first, len(place))[:, None] * np.arange(1, 51)
    weights = np.hstack([weights, 2**22 - weights.sum(axis=1, keepdims=True)])
    outputs = [(k, k) for k in range(51)]
    claim = BoxClaim(Prior.uniform(where), CoordinateLoss(where), Fraction(100), 1)
    made = prove_on_box(weights, sf.PrivacyType(where, epsilon="1/2"), rounding, outputs, halvings=2, claim=claim)
    assert made.proof.checker == "compiled twin"
    with pytest.raises(PrivacyViolation, match="output"):
        prove_on_box(weights, sf.PrivacyType(where, epsilon="1/10"), rounding, outputs, halvings=2)


def test_weights_and_rates_that_are_too_long_are_left_to_the_kernel() -> None:
    where = box((1,), step="1/2")
    for rate, total in ((Fraction(10**60 - 1, 10**60), 8), (Fraction(1), 2**90)):
        weights = np.array([[total // 2, total - total // 2]] * 4, dtype=object)
        made = prove_on_box(weights, sf.PrivacyType(where, epsilon=1), rounding_of(where), [0, 1], rate=rate,
                            checker="twin")  # fmt: skip
        assert made.proof.cells == 2
