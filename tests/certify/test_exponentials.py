"""Bounds of e^x for many distances at once: the kernel's integers, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, isqrt, log, nextafter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

import sfumato as sf
from effort import a_few
from sfumato.certify import exponentials, kernel
from sfumato.certify.exponentials import factors_above, factors_below
from sfumato.certify.mechanism import Dual
from sfumato.certify.repair import private_weights
from sfumato.certify.verify import claim_of
from sfumato.certify.wide import WORDS, integers_of, shortened, store_integer
from sfumato.spaces.distances import Form

GRAIN = 60
CAPS = [1, 2, 5, 2**16, 2**52, 2**61, 2**62 - 1]
PLACES = {False: 78, True: 144}  # binary digits after the point of an exponent, from below and from above


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let compiled code take even few distances."""
    monkeypatch.setattr(exponentials, "_INTERPRETED", 0)


def promise_of(*, epsilon: Any = None, alpha: Any = None, step: Any = None) -> kernel.Promise:
    given = (None if number is None else Fraction(number) for number in (epsilon, alpha, step))
    return kernel.Promise("rows", *given)


def metric_of(form: str, unit: Any = 1) -> kernel.Metric:
    return kernel.Metric(form, Fraction(unit))


def array_of(metric: kernel.Metric, values: list[Any]) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=np.float64 if metric.form == "float" else np.uint64)


def above_or_refuted(promise: kernel.Promise, metric: kernel.Metric, value: Any) -> int | None:
    try:
        return ceil(kernel.factor_above(promise, metric, value) * 2**GRAIN)
    except kernel.Refuted:
        return None


PARTS = {name: getattr(exponentials, f"_{name}") for name in ("distance", "number", "product")}
DISTANCE, NUMBER, PRODUCT = PARTS.values()


@njit
def compiled_exponent(code: Any, word: Any, rate: Any, places: Any, root_places: Any, up: Any, out: Any) -> Any:
    distance, power, steps = DISTANCE(code, word, root_places, up)
    numbers = NUMBER(rate.leading), NUMBER(rate.numerator), NUMBER(rate.denominator)
    down, more, state = PRODUCT(distance, power, *numbers, rate, places)
    store_integer(out, 0, shortened(down))
    return more, state, steps


def assert_exponents(promise: kernel.Promise, metric: kernel.Metric, values: list[Any], *, decided: bool) -> None:
    """The exponents of the kernel, to the last of their units: a wrong one may hide behind what is rounded later."""
    for up in (False, True):
        rate = exponentials._Rate.of(promise, metric, PLACES[up], up)
        for value, word in zip(values, array_of(metric, values).view(np.uint64), strict=True):
            a, b = kernel.exponent_bound(promise, metric, value, up)
            down, rest = divmod(a << PLACES[up], b)
            out = np.zeros(WORDS, dtype=np.uint64)
            more, state, steps = compiled_exponent(
                Form(metric.form).code, word, rate, np.uint64(PLACES[up]), np.uint64(160 if up else 128), up, out
            )
            assert steps == whole_steps(metric, value)
            if down >> (PLACES[up] + 16):
                assert state == exponentials._HUGE
            elif decided or state == exponentials._DECIDED:
                assert (state, integers_of(out), more) == (exponentials._DECIDED, [down], rest > 0)


def whole_steps(metric: kernel.Metric, value: Any) -> int:
    if metric.form == "root":
        return isqrt(value) if isqrt(value) ** 2 == value else -1
    return int(value) if value == int(value) and (metric.form == "rational" or value < 2**53) else -1


def assert_the_kernels(promise: kernel.Promise, metric: kernel.Metric, values: list[Any], cap: int) -> None:
    """Both functions give the kernel's integers."""
    p, q = factors_below(promise, metric, array_of(metric, values), cap)
    expected = [kernel.factor_below(promise, metric, value, cap) for value in values]
    assert list(zip(p.tolist(), q.tolist(), strict=True)) == expected
    near = [value for value in values if above_or_refuted(promise, metric, value) is not None]
    above = factors_above(promise, metric, array_of(metric, near), GRAIN)
    assert above == [above_or_refuted(promise, metric, value) for value in near]


TINY = [5e-324, 2.2250738585072014e-308, 1e-300, 2.0**-200, 2.0**-79, 2.0**-78, nextafter(2.0**-78, 1), 1e-9]
HUGE = [1e17, 2.0**63, 2.0**64, 2.0**65, 1e30, 1e300, 1.7976931348623157e308]
FLOATS = [*TINY, 0.0, -0.0, 0.1, 0.5, 1.0, nextafter(1.0, 2), 2.0, 3.0, 5.0, 7.5, 10.0, 41.0, 42.5, 61.9, 63.0, *HUGE]
INTEGERS = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    10,
    25,
    99,
    100,
    101,
    144,
    6553,
    6554,
    2**16,
    2**20 + 1,
    10**6,
    2**29,
    2**30 - 2,
    2**30 - 1,
]
LONG_INTEGERS = [2**32, 3**20, 10**12, 2**53 + 1, 2**60, 2**61 - 1]
PROMISES = [
    promise_of(epsilon="1/10"),
    promise_of(epsilon=0.1),
    promise_of(epsilon=1),
    promise_of(epsilon="7/3"),
    promise_of(epsilon=Fraction(10**40 + 1, 3 * 10**40)),
    promise_of(epsilon=Fraction(3**200, 7**150)),
    promise_of(epsilon=Fraction(5**300, 3**450)),  # a denominator of more than 384 bits
    promise_of(epsilon=Fraction(1, 10**300)),
    promise_of(epsilon=10**300),
    promise_of(alpha="1/2"),
    promise_of(alpha="1/2", step="1/2"),
    promise_of(alpha="999/1000", step="999/1000"),
    promise_of(alpha=Fraction(2**80 - 1, 2**80)),
    promise_of(alpha=Fraction(2**150 - 1, 2**150)),  # so near 1 that the kernel bounds its logarithm by 0
    promise_of(alpha=Fraction(1, 10**200)),
]


@pytest.mark.parametrize(
    "promise", a_few(PROMISES[::-1], 5), ids=lambda p: str({k: v for k, v in p._asdict().items() if v})[:40]
)
def test_distances_at_every_border(promise: kernel.Promise) -> None:
    for cap in (5, 2**52, 2**62 - 1):
        assert_the_kernels(promise, metric_of("float"), FLOATS, cap)
        assert_the_kernels(promise, metric_of("rational"), INTEGERS + LONG_INTEGERS, cap)
        assert_the_kernels(promise, metric_of("root"), INTEGERS, cap)
    # -0 is none of the doubles that compiled code looks at
    assert_exponents(promise, metric_of("float"), [v for v in FLOATS if str(v) != "-0.0"], decided=True)
    assert_exponents(promise, metric_of("rational"), INTEGERS + LONG_INTEGERS, decided=True)
    assert_exponents(promise, metric_of("root"), INTEGERS, decided=True)


@pytest.mark.parametrize("unit", ["1/10", "1/3", "22/7", Fraction(1, 10**30), Fraction(10**30), Fraction(7, 2**90)])
@pytest.mark.parametrize("given", [{"epsilon": "3/10"}, {"epsilon": 0.3}, {"alpha": "2/3"}], ids=str)
def test_units_of_distance(unit: Any, given: dict[str, Any]) -> None:
    assert_the_kernels(promise_of(**given), metric_of("rational", unit), INTEGERS + LONG_INTEGERS, 2**52)
    assert_the_kernels(promise_of(**given), metric_of("root", unit), INTEGERS, 2**52)


@pytest.mark.parametrize(
    ("unit", "step"), [(1, "1/4"), ("1/2", "1/2"), (3, "1/64"), ("3/2", "1/8")], ids=lambda v: str(v)
)
def test_rational_powers_stay_rational(unit: Any, step: str) -> None:
    promise = promise_of(alpha="1/4", step=step)
    for cap in CAPS:
        assert_the_kernels(promise, metric_of("rational", unit), list(range(70)) + LONG_INTEGERS, cap)
        assert_the_kernels(promise, metric_of("root", unit), [k * k for k in range(40)] + INTEGERS, cap)


@pytest.mark.parametrize("epsilon", ["1/10", "7/10", "1", "13/7"])
def test_factors_next_to_a_power_of_two(epsilon: str) -> None:
    """e^(epsilon·d) crosses a power of two, where the number of digits changes."""
    exact = [k * log(2) / float(Fraction(epsilon)) for k in range(1, 64)]
    near = [value for d in exact for value in (nextafter(d, 0), d, nextafter(d, 100))]
    for cap in CAPS:
        assert_the_kernels(promise_of(epsilon=epsilon), metric_of("float"), near, cap)


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("length", [3**30, 3**100, 3**150, 3**400], ids=lambda k: f"{k.bit_length()} digits")
def test_exponents_next_to_a_whole_number_of_units(up: bool, length: int) -> None:
    """epsilon·d = y + δ / length for an integer y, in the last unit that the kernel keeps: no enclosure decides it."""
    for value, y in ((12345, 987654321 * 2**60 + 1), (7, 2 ** PLACES[up] * 3), (1, 5), (2**29 + 1, 2**70 + 3)):
        for off in (-(length >> 120), -1, 0, 1, length >> 120):
            epsilon = Fraction(y * length + off, value * length * 2 ** PLACES[up])
            around = [max(value - 1, 1), value, value + 1]
            for promise, metric, values in (
                (promise_of(epsilon=epsilon), metric_of("rational"), around),
                (promise_of(epsilon=epsilon), metric_of("float"), list(map(float, around))),
                (promise_of(epsilon=epsilon * value / isqrt(value)), metric_of("root"), [isqrt(value) ** 2, value]),
            ):
                assert_the_kernels(promise, metric, values, 2**52)
                assert_exponents(promise, metric, values, decided=length < 3**150)


@given(st.lists(st.integers(1, kernel.LARGEST["root"]), min_size=1, max_size=50))
def test_square_roots_of_integers(values: list[int]) -> None:
    near = [v + off for v in values for off in (0, isqrt(v) ** 2 - v, isqrt(v) ** 2 - v - 1)]
    assert_exponents(promise_of(epsilon=1), metric_of("root"), [v for v in near if v > 0], decided=True)


rationals = st.builds(
    Fraction,
    st.one_of(st.integers(1, 1000), st.integers(1, 2**130)),
    st.one_of(st.integers(1, 1000), st.integers(1, 2**130), st.integers(1, 2**500)),
)
promises = st.one_of(
    rationals.map(lambda r: promise_of(epsilon=r)),
    st.floats(1e-6, 1e3).map(lambda r: promise_of(epsilon=r)),
    rationals.map(lambda r: promise_of(alpha=Fraction(r.denominator, r.numerator + r.denominator))),
)
distances = st.one_of(
    st.tuples(st.just("float"), st.floats(0, allow_infinity=False, allow_nan=False).map(abs)),
    st.tuples(st.just("float"), st.floats(0, 100)),
    st.tuples(st.just("rational"), st.one_of(st.integers(1, 1000), st.integers(1, kernel.LARGEST["rational"]))),
    st.tuples(st.just("root"), st.one_of(st.integers(1, 1000), st.integers(1, kernel.LARGEST["root"]))),
    st.tuples(st.just("root"), st.integers(1, 2**15 - 1).map(lambda k: k * k)),
)


@given(promises, rationals, st.lists(distances, min_size=1, max_size=30), st.sampled_from(CAPS), st.data())
@settings(max_examples=150)
def test_any_distance(
    promise: kernel.Promise, unit: Fraction, listed: list[tuple[str, Any]], cap: int, data: st.DataObject
) -> None:
    farthest = Fraction(max(value for _, value in listed))
    if farthest and data.draw(st.booleans()):  # distances of the size that e^x is about
        rate = promise.epsilon or kernel.log_bound(1 / promise.alpha, 64, True)
        unit = data.draw(st.integers(1, 100)) / (rate * farthest)
    for form in {form for form, _ in listed}:
        values = [value for of, value in listed if of == form]
        metric = metric_of(form, 1 if form == "float" else unit)
        assert_the_kernels(promise, metric, values, cap)
        assert_exponents(promise, metric, values, decided=False)


CASES = {
    "floats": (promise_of(epsilon="7/10"), metric_of("float"), lambda rng, n: rng.random(n) * 60),
    "floats of a double": (promise_of(epsilon=0.7), metric_of("float"), lambda rng, n: rng.random(n) * 60),
    "floats, alpha": (promise_of(alpha="2/3"), metric_of("float"), lambda rng, n: np.exp(rng.normal(0, 9, n))),
    "roots": (promise_of(epsilon="1/30"), metric_of("root", "1/20"), lambda rng, n: rng.integers(1, 2**30, n)),
    "roots, alpha": (promise_of(alpha="99/100"), metric_of("root"), lambda rng, n: rng.integers(1, 2**24, n)),
    "integers": (promise_of(epsilon="1/3"), metric_of("rational", "1/1000"), lambda rng, n: rng.integers(1, 2**17, n)),
}


@pytest.mark.parametrize("case", CASES)
def test_many_random_distances_without_the_kernel(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are decided by compiled code, as the kernel decides them."""
    promise, metric, draw = CASES[case]
    values = draw(np.random.default_rng(7), 16_000)
    expected = [kernel.factor_below(promise, metric, value, 2**52) for value in values.tolist()]
    near = values[:3000][[above_or_refuted(promise, metric, value) is not None for value in values[:3000].tolist()]]
    near = near[promise_exponents(promise, metric, near) < 60]
    expected_above = [above_or_refuted(promise, metric, value) for value in near.tolist()]

    def refuse(*_: Any) -> None:
        raise AssertionError("left to the kernel")

    for module in (kernel, kernel.promise, kernel.pairs, kernel.bounds):
        monkeypatch.setattr(module, "factor_below", refuse, raising=False)
        monkeypatch.setattr(module, "factor_above", refuse, raising=False)
    p, q = factors_below(promise, metric, values, 2**52)
    assert list(zip(p.tolist(), q.tolist(), strict=True)) == expected
    assert factors_above(promise, metric, near, GRAIN) == expected_above


def promise_exponents(promise: kernel.Promise, metric: kernel.Metric, values: np.ndarray[Any, Any]) -> Any:
    rate = float(promise.epsilon) if promise.alpha is None else -log(promise.alpha)
    lengths = np.sqrt(values) if metric.form == "root" else values
    return rate * float(metric.unit) * lengths


def test_weights_beyond_a_word_are_the_kernels() -> None:
    promise, metric = promise_of(epsilon="7/10"), metric_of("rational")
    p, q = factors_below(promise, metric, np.arange(1, 40, dtype=np.uint64), 2**63)
    assert (p[0], q[0]) == kernel.factor_below(promise, metric, 1, 2**63)


@pytest.mark.parametrize("few", [0, 100])
def test_few_distances_and_none(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponentials, "_INTERPRETED", few)
    promise, metric = promise_of(epsilon="7/10"), metric_of("float")
    p, q = factors_below(promise, metric, np.array([1.5, 0.5, 1.5]), 2**52)
    assert (int(p[1]), int(q[1])) == kernel.factor_below(promise, metric, 0.5, 2**52)
    assert (p[0], q[0]) == (p[2], q[2])
    assert factors_above(promise, metric, np.zeros(0), GRAIN) == []
    assert all(part.size == 0 for part in factors_below(promise, metric, np.zeros(0), 2**52))


def test_a_pair_that_helps_nobody_is_refused_as_by_the_kernel() -> None:
    promise, metric = promise_of(epsilon=1), metric_of("float")
    with pytest.raises(kernel.Refuted, match="far apart"):
        factors_above(promise, metric, np.array([1.0, 1e9]), GRAIN)


def test_forms_are_not_mixed_up() -> None:
    with pytest.raises(TypeError, match="rational"):
        factors_below(promise_of(epsilon=1), metric_of("rational"), np.ones(3), 2**52)


def test_many_pairs_go_to_the_twin_however_few_the_outputs() -> None:
    """With two outputs, two thousand places are only 8 million comparisons, but 2 million bounds of e^x."""
    space = sf.points(np.random.default_rng(9).random((450, 2)))
    privacy = sf.PrivacyType(space, epsilon=2)
    assert sf.prove(np.ones((450, 2), dtype=np.int64), privacy).proof.checker == "compiled twin"
    small = sf.PrivacyType(sf.points(space.coordinates[:40]), epsilon=2)
    assert sf.prove(np.ones((40, 2), dtype=np.int64), small).proof.checker == "kernel"


def test_repair_and_proof_ask_the_kernel_for_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights, pairs and dual numbers of a space with a distance for every pair; one at a time took minutes."""
    rng = np.random.default_rng(8)
    space = sf.points(rng.random((60, 2)))
    privacy, prior, loss = sf.PrivacyType(space, epsilon=2), sf.Prior.uniform(space), sf.losses.distance(space)
    scores = np.exp(-space.distances.floats)
    first = rng.integers(0, 60, 500)
    dual = Dual(first, (first + rng.integers(1, 60, 500)) % 60, rng.integers(0, 60, 500), np.ones(500, dtype=np.int64),
                Fraction(1, 2**40))  # fmt: skip

    def refuse(*_: Any) -> None:
        raise AssertionError("left to the kernel")

    for module in (kernel, kernel.promise, kernel.pairs, kernel.bounds):
        monkeypatch.setattr(module, "factor_below", refuse, raising=False)
        monkeypatch.setattr(module, "factor_above", refuse, raising=False)
    weights = private_weights(scores / scores.sum(axis=1, keepdims=True), privacy)
    claimed = replace(claim_of(prior, weights, 2**52, loss), bound=Fraction(-1), dual=dual)
    proof = sf.prove(weights, privacy, outputs=space.labels, claim=claimed, checker="twin").proof
    assert (proof.pairs, proof.bound, proof.checker) == (60 * 59 // 2, -1, "compiled twin")
