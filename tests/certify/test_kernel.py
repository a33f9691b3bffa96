"""The kernel's arithmetic against ball arithmetic, and its decisions against plain fractions."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from examples import truncated_geometric
from sfumato import errors, losses
from sfumato.certify import Claim, Dual, kernel
from sfumato.certify.bundle import kernel_file
from sfumato.certify.certificate import certificate, kernel_terms
from sfumato.numbers import exp_bounds, log_bounds
from strategies import exact_private_channels, privacy_types


@given(st.fractions(0, 3000, max_denominator=10**9), st.sampled_from([62, 128, 200]))
@settings(max_examples=300)
def test_exponential_is_bounded_on_both_sides(x: Fraction, bits: int) -> None:
    low, high = exp_bounds(x, 2 * bits)
    for up in (False, True):
        m, k = kernel.exp_bound(x.numerator, x.denominator, bits, up)
        value = m * Fraction(2) ** k
        assert value >= high if up else value <= low
        assert abs(value / low - 1) < Fraction(1, 2 ** (bits - 2))


@given(st.fractions(1, 10**6, max_denominator=10**6).filter(lambda v: v > 1))
def test_logarithm_is_bounded_on_both_sides(v: Fraction) -> None:
    low, high = log_bounds(v, 200)
    assert kernel.log_bound(v, 128, False) <= low
    assert kernel.log_bound(v, 128, True) >= high
    assert kernel.log_bound(v, 128, True) - kernel.log_bound(v, 128, False) < Fraction(1, 2**110)


@given(
    st.fractions() | st.fractions(Fraction(1, 10**25), Fraction(1, 10**15)) | st.integers(2**79, 2**90).map(Fraction)
)
def test_bounds_are_told_rounded_to_their_side(number: Fraction) -> None:
    above, below = Fraction(kernel.number_text(number, 1)), Fraction(kernel.number_text(number, -1))
    assert below <= number <= above and above - below <= abs(number) * Fraction(1, 2**51)
    assert kernel.number_text(Fraction(2) ** 1024, 1) == "about 2^1024"  # beyond all doubles


@given(privacy_types(smallest=-9, largest=3), st.integers(1, 2**70))
@settings(max_examples=200)
def test_factors_are_below_and_sharp(privacy: sf.PrivacyType, cap: int) -> None:
    promise, metric = kernel_terms(privacy)
    for value in np.unique(privacy.space.ruler.values).tolist():
        if value == 0:
            continue
        p, q = kernel.factor_below(promise, metric, value, cap)
        low, high = privacy.factor_bounds(value, 300)
        assert Fraction(p, q) <= high
        assert Fraction(p, q) <= low or low == high
        assert Fraction(p, q) >= min(cap, low) * (1 - Fraction(1, 2**59))
        assert kernel.factor_above(promise, metric, value) >= low
        if cap < 2**62:
            assert p < 2**62
            assert q < 2**62
        if low == high and low.numerator <= cap:
            assert Fraction(p, q) == low


@given(exact_private_channels())
@settings(max_examples=100)
def test_private_channels_are_proved(case: tuple[sf.Channel, sf.PrivacyType]) -> None:
    channel, privacy = case
    mechanism = sf.prove(channel, privacy, checker="kernel")
    assert (mechanism.channel.matrix == channel.matrix).all()
    assert mechanism.proof.checker == "kernel"


@st.composite
def tables(draw: Any) -> tuple[np.ndarray[Any, Any], sf.PrivacyType]:
    """Integer tables with one total, near the border: some private, some off by one unit."""
    privacy = draw(privacy_types(largest=0.5))
    n, m = len(privacy.space), draw(st.integers(1, 4))
    total = draw(st.sampled_from([50, 2**20, 2**60, 2**75]))
    scores = np.exp(-privacy.rate / 2 * np.minimum(privacy.space.distances.floats, 1e3))[:, :m]
    rows = []
    for row in scores / scores.sum(axis=1, keepdims=True):
        weights = [int(v * 2**50) * total // 2**50 + draw(st.integers(0, 1)) for v in row]
        weights[draw(st.integers(0, len(weights) - 1))] += total - sum(weights)
        rows.append([max(0, w) for w in weights])
    largest = max(map(sum, rows))
    for row in rows:
        row[0] += largest - sum(row)
    assert len(rows) == n
    return np.array(rows, dtype=object), privacy


def brute_force(table: Any, privacy: sf.PrivacyType, total: int) -> bool:
    promise, metric = kernel_terms(privacy)
    first, second = privacy.space.pairs
    for x, z in [*zip(first, second, strict=True), *zip(second, first, strict=True)]:
        p, q = kernel.factor_below(promise, metric, privacy.space.distances.values[x, z].item(), total)
        if any(a * q > p * b for a, b in zip(table[x], table[z], strict=True)):
            return False
    return True


@given(tables())
@settings(max_examples=300)
def test_packed_comparison_is_the_plain_one(case: tuple[Any, sf.PrivacyType]) -> None:
    table, privacy = case
    total = int(table[0].sum())
    written = certificate(privacy, tuple(range(table.shape[1])), table, total)
    if brute_force(table, privacy, total):
        assert kernel.check(*written.interpreted())["total"] == total
    else:
        with pytest.raises(kernel.Refuted) as caught:
            kernel.check(*written.interpreted())
        assert caught.value.ratio > caught.value.bound


THREE = sf.PrivacyType(sf.discrete(3), alpha="1/2")


def test_one_unit_too_much_is_refused_with_its_pair() -> None:
    assert sf.prove([[2, 1, 1], [1, 2, 1], [1, 1, 2]], THREE)
    with pytest.raises(
        errors.PrivacyViolation, match=r"weight 5 for 1 and 2 for 0: 2\.5 times as much, at most 2 allowed"
    ) as caught:
        sf.prove([[4, 2, 2], [2, 5, 1], [2, 2, 4]], THREE)
    assert caught.value.pair == (1, 0)
    assert caught.value.ratio == Fraction(5, 2)
    assert caught.value.bound == 2
    with pytest.raises(errors.InvalidChannel, match="sum to 5"):
        sf.prove([[2, 1, 1], [1, 3, 1], [1, 1, 2]], THREE)


def spoiled(part: str, change: Any, space: sf.FiniteSpace | None = None) -> None:
    """Check a certificate of three points in a row after a change that makes its chains a lie."""
    space = sf.points([[0, 0], [1, 1], [2, 2]]) if space is None else space  # squares of distances are kept
    privacy = sf.PrivacyType(space, epsilon=1)
    header, sections = certificate(privacy, (0, 1), np.array([[2, 1], [2, 1], [2, 1]]), 3).interpreted()
    sections[part] = change(sections[part])
    kernel.check(header, sections)


def test_chains_are_checked() -> None:
    assert spoiled("via", lambda data: data) is None  # type: ignore[func-returns-value]
    none = kernel.NOWHERE  # entries for the pairs (0, 1), (0, 2), (1, 2): only (0, 2) has a point between
    for wrong, error in (
        ([2, 1, none], kernel.Refuted),
        ([none, 0, none], kernel.Unreadable),
        ([none, 7, none], kernel.Unreadable),
    ):
        with pytest.raises(error):
            spoiled("via", lambda _, wrong=wrong: np.array(wrong, dtype="<u4").tobytes())
    with pytest.raises(kernel.Refuted, match="between"):
        spoiled("distances", lambda _: np.array([2, 7, 2], dtype="<u8").tobytes())
    with pytest.raises(kernel.Unreadable, match="zero"):
        spoiled("distances", lambda _: np.array([0, 8, 8], dtype="<u8").tobytes())
    with pytest.raises(kernel.Refuted, match="between"):
        spoiled("distances", lambda _: np.array([kernel.UNBOUNDED, 8, 2], dtype="<u8").tobytes())
    with pytest.raises(kernel.Refuted, match="between"):
        spoiled("distances", lambda _: np.array([2, 3, 2], dtype="<u8").tobytes(), sf.grid(1, 3))  # whole distances


# --- claims


def claimed(value: Fraction) -> sf.Mechanism:
    """Binary randomised response at e^ε = 2 with a claimed Bayes risk."""
    space = sf.line(2)
    claim = Claim(sf.Prior.uniform(space), losses.bin(space), (0, 1), value)
    return sf.prove([[2, 1], [1, 2]], sf.PrivacyType(space, alpha="1/2"), claim=claim)


def test_a_loss_is_what_it_is() -> None:
    assert claimed(Fraction(1, 3)).proof.loss == Fraction(1, 3)
    with pytest.raises(errors.InvalidChannel, match="as claimed"):
        claimed(Fraction(1, 4))


def reference_bound(prior: Any, table: Any, dual: Any, factors: Any) -> Fraction:
    n, actions = len(prior), len(table)
    reduced = [[prior[x] * table[w][x] for w in range(actions)] for x in range(n)]
    for (x, z, w), value in dual.items():
        reduced[x][w] += value
        reduced[z][w] -= factors[x][z] * value
    return sum((min(row) for row in reduced), Fraction(0))


def test_bounds_follow_from_duals() -> None:
    # For the uniform prior and ℓ_bin with e^ε = 2 the best possible is 1/3; Z = 1/6 on M(0)(0) ≤ 2 M(1)(0)
    # and on M(1)(1) ≤ 2 M(0)(1) proves it: S = [[1/6, 1/2 − 1/3], [1/6, 1/6]].
    space = sf.line(2)
    sixth = Dual(
        np.array([0, 1]), np.array([1, 0]), np.array([0, 1]), np.array([2**60 // 6] * 2), unit=Fraction(1, 2**60)
    )
    close = Fraction(1, 3) - Fraction(1, 2**50)
    claim = Claim(sf.Prior.uniform(space), losses.bin(space), (0, 1), Fraction(1, 3), close, sixth)
    privacy = sf.PrivacyType(space, alpha="1/2")
    mechanism = sf.prove([[2, 1], [1, 2]], privacy, claim=claim)
    assert mechanism.proof.bound == close
    too_high = Claim(claim.prior, claim.loss, claim.remap, claim.value, Fraction(1, 3) + Fraction(1, 2**50), sixth)
    with pytest.raises(errors.InvalidChannel, match="less than the claimed"):
        sf.prove([[2, 1], [1, 2]], privacy, claim=too_high)


@given(st.lists(st.integers(0, 5), min_size=18, max_size=18), st.sampled_from(["1/2", "2/3"]))
@settings(max_examples=60)
def test_bounds_agree_with_a_reference_and_never_exceed_the_optimum(numbers: list[int], alpha: str) -> None:
    space = sf.line(3)
    privacy = sf.PrivacyType(space, alpha=alpha)
    prior, loss = sf.Prior(space, ["1/4", "1/2", "1/4"]), losses.absolute(space)
    keys = [(x, z, w) for x, z in ((0, 1), (1, 0), (1, 2), (2, 1)) for w in range(3)]
    dual = {k: Fraction(v, 64) for k, v in zip(keys, numbers, strict=False)}
    factors = {x: {z: 1 / privacy.alpha ** abs(x - z) for z in range(3)} for x in range(3)}  # type: ignore[operator]
    expected = reference_bound(prior.weights, loss.matrix, dual, factors)
    x, z, w = (np.array(part) for part in zip(*dual, strict=True))
    made = Dual(x, z, w, np.array([int(v * 64) for v in dual.values()]), unit=Fraction(1, 64))
    geometric = truncated_geometric(3, Fraction(alpha))
    value = sf.posterior_loss(prior, geometric, loss)
    remap = tuple(sf.optimal_remap(prior, geometric, loss).values())
    mechanism = sf.prove(geometric, privacy, claim=Claim(prior, loss, remap, value, expected, made))
    assert mechanism.proof.bound == expected <= value
    with pytest.raises(errors.InvalidChannel):
        sf.prove(geometric, privacy, claim=Claim(prior, loss, remap, value, expected + Fraction(1, 10**9), made))


def test_a_header_is_read_once_into_values_that_stay() -> None:
    """What JSON gave is left as it is, and no check can change what is promised or claimed."""
    written = certificate(THREE, (0, 1), np.array([[2, 1], [2, 1], [2, 1]]), 3)
    told = json.loads(json.dumps(written.header)) | {"sections": []}
    before = copy.deepcopy(told)
    header = kernel.interpret(told)
    assert told == before and header == kernel.interpret(told)
    for value, name in ((header, "total"), (header.promise, "alpha"), (header.metric, "unit"), (header.space, "name")):
        with pytest.raises(AttributeError):
            setattr(value, name, None)


# --- alone


def test_the_kernel_runs_alone(tmp_path: Path) -> None:
    space = sf.grid(3, 3, unit="km")
    scores = np.exp(-0.35 * space.distances.floats)
    fixed = sf.repair(scores / scores.sum(axis=1, keepdims=True), sf.PrivacyType(space, epsilon="0.7"))
    file = tmp_path / "grid.sfm"
    digest = sf.save(fixed.mechanism, file)
    run = [sys.executable, "-I", "-S", str(kernel_file())]
    good = subprocess.run([*run, str(file)], capture_output=True, text=True, check=False)
    assert good.returncode == 0
    assert "PROVED private with epsilon = 7/10 per 'km'" in good.stdout
    assert digest in good.stdout
    damaged = tmp_path / "damaged.sfm"
    damaged.write_bytes(file.read_bytes()[:-1] + b"\0")
    bad = subprocess.run([*run, str(damaged)], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert "checksum" in bad.stdout
    assert subprocess.run(run, capture_output=True, check=False).returncode == 2


def test_names_of_files_write_no_line_of_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\nPROVED\x1b[2J\u202e.sfm"
    sf.save(sf.geometric(sf.PrivacyType(sf.line(2), alpha="1/2")), path)
    assert kernel.main([str(path)]) == 0
    said = capsys.readouterr().out
    path.write_bytes(b"nothing")
    assert kernel.main([str(path)]) == 2
    for text in (said, capsys.readouterr().out):
        assert text.count("PROVED\\x1b[2J\\u202e.sfm") == 1 and not text.startswith("PROVED") and "\nPROVED" not in text


def test_the_kernel_imports_the_standard_library_only() -> None:
    code = (
        "import sys, runpy; runpy.run_path(sys.argv[1], run_name='kernel'); "
        "print(sorted({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names)))"
    )
    out = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(kernel_file())], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "['__main__']" or out.stdout.strip() == "[]"
