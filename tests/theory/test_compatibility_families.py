"""Families of answers, and whether they are privacy-compatible."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, dist, inf

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.theory.compatibility import (
    Answers,
    Impossible,
    ball,
    countable_discrete,
    covering,
    cube,
    epsilon_star,
    finite,
    interval,
    privacy_compatible,
    ranges,
    real_line,
    samples,
    sup_ball,
    thresholds,
)
from sfumato.theory.compatibility.families import _range_distance, _threshold_distance
from sfumato.verdict import Outcome

SCALES = [Fraction(1, 3), Fraction(1, 10)]


@pytest.mark.parametrize("family", [interval(), interval("-2", 3), cube(2), cube(3, "euclidean"), ball(2), ball(3, 2)])
def test_described_nets_cover(family: Answers) -> None:
    verdict = privacy_compatible(family, scales=SCALES[:1])
    assert verdict
    net = verdict.witness[0]
    centres = list(net.centres())
    assert len(centres) == net.size
    assert len(set(centres)) <= net.size
    generator = np.random.default_rng(0)
    for point in generator.random((50, 3)):
        answer = _member(family, point)
        centre = net.nearest(answer)
        assert centre in centres
        apart = _distance(family, answer, centre)
        assert apart <= net.radius * (1 + 1e-12)


def _member(family: Answers, point: np.ndarray) -> object:
    if "interval" in family.name:
        low, high = (Fraction(part) for part in family.name[10:-1].split(","))
        return low + (high - low) * Fraction(float(point[0]))
    if "cube" in family.name:
        return tuple(point[: int(family.name[12])].tolist())
    assert family.diameter is not None
    k = int(family.name[-1])
    direction = point[:k] * 2 - 1
    return tuple((direction / max(1.0, float(np.linalg.norm(direction))) * float(family.diameter) / 2).tolist())


def _distance(family: Answers, answer: object, centre: object) -> float:
    a, b = (np.atleast_1d(np.array(value, dtype=float)) for value in (answer, centre))
    return float(np.abs(a - b).max()) if "sup" in family.name else dist(a, b)


def test_interval_nets_are_the_smallest() -> None:
    for radius in (Fraction(1, 7), Fraction(2), Fraction("0.1")):
        net = interval().net
        assert net is not None
        assert net(radius).size == ceil(1 / (2 * radius))


@pytest.mark.parametrize(
    "family", [countable_discrete(), real_line(), real_line("1/2"), sup_ball(), thresholds(), ranges()]
)
def test_packings_refute(family: Answers) -> None:
    verdict = privacy_compatible(family)
    assert verdict.outcome is Outcome.FAILS
    assert isinstance(verdict.witness, Impossible)
    packing = verdict.witness.packing
    assert packing is not None and packing.check(30)
    assert verdict.witness.radius == packing.separation / 2
    assert "Theorem 3.4" in verdict.reason


def test_a_packing_forces_epsilon_up_on_every_finite_part() -> None:
    """ε* of the first n members of a packing grows without bound: ln((n − 1)(1 − δ)/δ) over their distance."""
    packing = sup_ball().packing
    assert packing is not None
    found = []
    for n in (4, 12, 36):
        members = [packing.member(i) for i in range(n)]
        space = sf.FiniteSpace(members, [[packing.distance(a, b) for b in members] for a in members])
        found.append(float(epsilon_star(space, "1/3", "1/2", precision=0.01).low))
    assert found == pytest.approx([np.log(3), np.log(11), np.log(35)], rel=0.02)


def test_the_real_line_without_a_cap_is_another_matter() -> None:
    verdict = privacy_compatible(real_line(None))
    assert verdict
    assert "Theorem 3.4 does not apply" in verdict.reason and "Laplace" in verdict.witness


def test_distances_of_databases() -> None:
    a, b = (Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 2))
    assert _threshold_distance(a, b) == Fraction(1, 2)
    assert _range_distance(a, b) == 1  # the range [1/2, 1/2]
    assert _threshold_distance(a, a) == _range_distance(b, b) == 0
    assert _range_distance((Fraction(0),), (Fraction(1),)) == 1


def test_finite_spaces() -> None:
    for given in (sf.line(9), finite(sf.line(9))):
        verdict = privacy_compatible(given, scales=[1, 2, 20])
        assert verdict
        assert [net.size for net in verdict.witness] == [1, 3, 5]
        for net in verdict.witness:
            assert len(list(net.centres())) == net.size
            assert all(abs(net.nearest(x) - x) <= net.radius for x in range(9))


def test_covering_numbers() -> None:
    assert (
        privacy_compatible(covering(lambda r: ceil(1 / r) ** 2, everywhere=True), scales=["1/2"]).witness[0].size == 4
    )
    open_ended = privacy_compatible(covering(lambda r: ceil(1 / r)))
    assert open_ended.outcome is Outcome.UNDECIDED and "1/32" in open_ended.reason
    refuted = privacy_compatible(covering(lambda r: 3 if r > Fraction(1, 5) else inf))
    assert refuted.outcome is Outcome.FAILS and refuted.witness.scale == Fraction(1, 8)
    assert refuted.witness.radius == Fraction(1, 16)
    unbounded = privacy_compatible(covering(lambda r: inf, diameter=None))
    assert unbounded.outcome is Outcome.UNDECIDED
    with pytest.raises(InvalidInput, match="at least 1"):
        privacy_compatible(covering(lambda r: 0))
    with pytest.raises(InvalidInput, match="function"):
        covering(3)  # type: ignore[arg-type]


def test_samples_are_evidence_only() -> None:
    generator = np.random.default_rng(1)
    verdict = privacy_compatible(samples(generator.random((400, 2))), scales=["0.4", "0.2", "0.1"])
    assert verdict.outcome is Outcome.UNDECIDED and "evidence, not proof" in verdict.reason
    sizes = [one.net for one in verdict.witness]
    assert sizes == sorted(sizes) and all(one.samples == 400 for one in verdict.witness)
    assert 1 < verdict.witness[-1].growth < 3  # two dimensions
    apart = privacy_compatible(samples(sf.discrete(50)), scales=["1/2", "1/4"])
    assert [one.net for one in apart.witness] == [50, 50] and apart.witness[1].growth == 0


def test_unbounded_databases_and_a_packing() -> None:
    packing = countable_discrete().packing
    assert privacy_compatible(Answers("far apart", None, packing=packing)).outcome is Outcome.UNDECIDED


def test_bad_families() -> None:
    for build in (lambda: interval(1, 1), lambda: cube(0), lambda: ball(2, 0), lambda: real_line(0)):
        with pytest.raises(InvalidInput):
            build()
    with pytest.raises(NotSupported):
        cube(2, "taxi")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="scales"):
        privacy_compatible(interval(), scales=[])
    with pytest.raises(InvalidInput, match="family"):
        privacy_compatible(3)  # type: ignore[arg-type]
    assert repr(interval()) == "Answers(interval [0, 1])"
