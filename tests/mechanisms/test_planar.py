from __future__ import annotations

from itertools import pairwise
from math import atan2, cos, exp, inf, pi, sin

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k1

import sfumato as sf
from sfumato.mechanisms.exponential import exponential, needed_epsilon, true_epsilon
from sfumato.mechanisms.planar import (
    planar_geometric,
    planar_geometric_masses,
    planar_laplace,
    planar_laplace_masses,
    plane_of,
)


def polar(x: tuple[float, float], y: tuple[float, float], epsilon: float) -> float:
    """The mass of a rectangle in the first quadrant, one side of it away from the origin, by angles.

    Along a ray the radial integral of ε²r e^{−εr} is (1 + εr)e^{−εr} at its start minus that at its end.
    """

    def beyond(r: float) -> float:
        return (1 + epsilon * r) * exp(-epsilon * r) if r < inf else 0.0

    def ray(t: float) -> float:
        c, s = max(cos(t), 1e-300), max(sin(t), 1e-300)
        first, last = max(x[0] / c, y[0] / s), min(x[1] / c, y[1] / s)
        return beyond(first) - beyond(last) if last > first else 0.0

    corners = {0.0, pi / 2} | {atan2(b, a) for a in x for b in y if a < inf and b < inf}
    edges = sorted(corners)
    parts = (quad(ray, a, b, epsabs=0, epsrel=1e-13, limit=400)[0] for a, b in pairwise(edges))
    return sum(parts) / (2 * pi)


@pytest.mark.parametrize(("epsilon", "step"), [(1.0, 1.0), (0.05, 1.0), (4.0, 1.5), (30.0, 1.0)])
def test_cells_strips_and_quadrants_against_integrals_over_angles(epsilon: float, step: float) -> None:
    """An inner cell, a strip and a corner, seen from the corner (0, 0) of a 5 × 5 grid."""
    plane = plane_of(sf.grid(5, 5, step=str(step)))
    masses = planar_laplace_masses(plane, epsilon).reshape(5, 5, 5, 5)[0, 0]
    for a, b in ((1, 1), (2, 3), (3, 1)):
        cell = [((k - 0.5) * step, (k + 0.5) * step) for k in (a, b)]
        assert masses[a, b] == pytest.approx(polar(cell[0], cell[1], epsilon), rel=1e-11)
    strip = ((3.5 * step, inf), (1.5 * step, 2.5 * step))
    assert masses[4, 2] == pytest.approx(polar(*strip, epsilon), rel=1e-10)
    corner = ((3.5 * step, inf), (3.5 * step, inf))
    assert masses[4, 4] == pytest.approx(polar(*corner, epsilon), rel=1e-10)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (3, 7)])
def test_the_masses_of_a_row_add_up_by_themselves(shape: tuple[int, int], epsilon: float) -> None:
    """Nothing divides them. And the mass beyond a line at distance c is ∫_c^∞ ε²t/π K₁(εt) dt, whatever the cells."""
    plane = plane_of(sf.grid(*shape))
    masses = planar_laplace_masses(plane, epsilon)
    assert np.abs(masses.sum(axis=1) - 1).max() < 1e-14
    if shape[1] > 1 and epsilon < 100:
        last = masses.reshape(*shape, *shape)[0, 0].sum(axis=0)[-1]
        half_plane = quad(
            lambda t: epsilon**2 * t / pi * k1(epsilon * t), shape[1] - 1.5, inf, epsabs=0, epsrel=1e-13, limit=400
        )[0]
        assert last == pytest.approx(half_plane, rel=1e-10)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_planar_geometric_is_a_sum_over_the_lattice(epsilon: float) -> None:
    reach = int(45 / epsilon) + 6
    k = np.arange(-reach, reach + 1)
    noise = np.exp(-epsilon * np.hypot(k[:, None], k[None, :]))
    noise /= noise.sum()
    shape = (3, 4)
    masses = planar_geometric_masses(plane_of(sf.grid(*shape)), epsilon).reshape(*shape, *shape)
    for x in ((0, 0), (1, 2), (2, 1)):
        expected = np.zeros(shape)
        rows, columns = (np.clip(k + place, 0, side - 1) for place, side in zip(x, shape, strict=True))
        np.add.at(expected, (rows[:, None], columns[None, :]), noise)
        assert np.abs(masses[x] / expected - 1).max() < 1e-11


def test_small_steps_cost_no_accuracy() -> None:
    """Gauss' rule for sums beside five million terms: two by two points, 1/ε = 50 steps."""
    k = np.arange(2300.0)
    quarter = np.exp(-0.02 * np.hypot(k[:, None], k[None, :]))
    axis, inside = quarter[0, 1:].sum(), quarter[1:, 1:].sum()
    total = 1 + 4 * axis + 4 * inside
    stay, leave = 1 + 2 * axis + inside, inside
    found = planar_geometric_masses(plane_of(sf.grid(2, 2)), 0.02)
    assert found[0, 0] == pytest.approx(stay / total, rel=1e-12)
    assert found[0, 3] == pytest.approx(leave / total, rel=1e-12)


def test_the_remapped_noise_needs_less_and_comes_near_on_larger_grids() -> None:
    needed = []
    for side in (2, 3, 5, 9):
        mechanism = planar_laplace(sf.PrivacyType(sf.grid(side, side), epsilon=1))
        assert mechanism.provenance["nominal epsilon"] == 1
        assert mechanism.privacy.rate == mechanism.provenance["smallest epsilon"] == true_epsilon(mechanism)
        assert mechanism.provenance["epsilon of the masses"] == pytest.approx(mechanism.privacy.rate, abs=1e-8)
        needed.append(mechanism.privacy.rate)
    assert needed == sorted(needed)
    assert needed[0] == pytest.approx(0.841325, abs=1e-6)
    assert 0.999 < needed[-1] < 1


def test_finer_cells_come_nearer_to_the_nominal_epsilon() -> None:
    """The same square of side 4 in ever more cells."""
    rates = [planar_laplace(sf.PrivacyType(sf.grid(n, n, step=f"4/{n}"), epsilon=1)).privacy.rate for n in (2, 4, 8)]
    assert rates == sorted(rates)
    assert rates[0] < 0.9
    assert 0.998 < rates[-1] < 1


def test_densities_at_the_centres_need_more() -> None:
    space = sf.grid(5, 5)
    mechanism = planar_laplace(sf.PrivacyType(space, epsilon=1), cells="centres")
    assert 1.29 < mechanism.privacy.rate < 1.35
    table = np.exp(-space.distances.floats)
    table /= table.sum(axis=1, keepdims=True)
    assert np.abs(mechanism.weights / mechanism.total - table).max() < 1e-13
    with pytest.raises(sf.errors.PrivacyViolation):
        sf.prove(mechanism.weights, sf.PrivacyType(space, epsilon=1), outputs=mechanism.outputs)
    kept = planar_laplace(sf.PrivacyType(space, epsilon=1), cells="centres", within=True)
    same = exponential(sf.PrivacyType(space, epsilon=1), calibration="exact")
    assert kept.provenance["nominal epsilon"] == pytest.approx(same.provenance["beta"], rel=1e-9)


def test_within_a_promise_there_is_less_noise() -> None:
    privacy = sf.PrivacyType(sf.grid(3, 3), epsilon=1)
    prior, loss = sf.Prior.uniform(privacy.space), sf.losses.distance(privacy.space)
    hoped, just = planar_laplace(privacy), planar_laplace(privacy, within=True)
    assert just.privacy is privacy
    assert just.provenance["nominal epsilon"] > 1.01
    assert 1 - 1e-9 < just.provenance["smallest epsilon"] <= 1
    assert sf.expected_loss(prior, just.channel, loss) < sf.expected_loss(prior, hoped.channel, loss)


def test_the_geometric_noise_needs_exactly_its_epsilon_as_soon_as_there_is_an_inner_point() -> None:
    privacy = sf.PrivacyType(sf.grid(3, 4), epsilon="0.7")
    mechanism = planar_geometric(privacy)
    assert mechanism.privacy is privacy
    assert mechanism.provenance["smallest epsilon"] == pytest.approx(0.7, rel=1e-12)
    without = planar_geometric(sf.PrivacyType(sf.grid(2, 2), epsilon="0.7"))
    assert without.privacy.rate < 0.66
    within = planar_geometric(sf.PrivacyType(sf.grid(2, 2), epsilon="0.7"), within=True)
    assert within.provenance["nominal epsilon"] > 0.74
    assert 0.7 - 1e-9 < within.provenance["smallest epsilon"] <= 0.7


def test_strong_and_weak_noise() -> None:
    """Probabilities below the smallest weight are lifted; the proof is about the integers."""
    for epsilon in ("1/1000", 20, 100):
        for build in (planar_laplace, planar_geometric):
            mechanism = build(sf.PrivacyType(sf.grid(4, 4), epsilon=epsilon))
            assert sf.verify(mechanism)
            assert mechanism.privacy.rate <= float(sf.PrivacyType(sf.line(2), epsilon=epsilon).rate)
    near = planar_laplace(sf.PrivacyType(sf.grid(4, 4), epsilon=100))
    assert (np.diagonal(near.weights) > 0.999 * near.total).all()


def test_places_too_far_apart_for_doubles_are_refused() -> None:
    towns = sf.points([[1000 * (k // 2), k % 2] for k in range(4)])
    with pytest.raises(sf.errors.NotSupported, match="a smaller epsilon"):
        sf.mechanisms.planar_laplace(sf.PrivacyType(towns, epsilon=1000))


def test_which_spaces() -> None:
    shuffled = sf.grid(3, 3).restrict(sf.grid(3, 3).labels[::-1])
    matrix = planar_laplace_masses(plane_of(shuffled), 1.0)
    assert np.allclose(matrix, planar_laplace_masses(plane_of(sf.grid(3, 3)), 1.0)[::-1, ::-1])
    for space in (
        sf.line(4),
        sf.grid(3, 3, metric="manhattan"),
        sf.grid(2, 2, 2),
        sf.discrete(4),
        sf.grid(3, 3).restrict(sf.grid(3, 3).labels[:8]),
        sf.points([[0, 0], [1, 0], [0, 2], [1, 2], [5, 5]]),
        sf.points([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.001]]),
        sf.geo([(48.0, 2.0), (49.0, 2.0), (48.0, 3.0), (49.0, 3.0)]),
    ):
        with pytest.raises(sf.errors.NotSupported, match="planar noise"):
            plane_of(space)
    with pytest.raises(sf.errors.NotSupported, match="2500"):
        plane_of(sf.grid(51, 50))
    with pytest.raises(sf.errors.NotSupported, match="cells"):
        planar_laplace(sf.PrivacyType(sf.grid(2, 2), epsilon=1), cells="round")  # type: ignore[arg-type]
    one = planar_laplace(sf.PrivacyType(sf.grid(1, 1), epsilon=1))
    assert one.weights.tolist() == [[one.total]]
    assert needed_epsilon(np.ones((1, 1)), sf.grid(1, 1)) == 0


@pytest.mark.parametrize(("shape", "equal"), [((1, 2), True), ((2, 2), True), ((1, 3), False), ((2, 3), False)])
def test_centres_need_the_nominal_epsilon_only_where_all_points_see_the_same_distances(
    shape: tuple[int, int], equal: bool
) -> None:
    """Then all sums of rows are equal, and this is the tight-constraints mechanism."""
    privacy = sf.PrivacyType(sf.grid(*shape), epsilon=1)
    made = planar_laplace(privacy, cells="centres")
    assert bool(sf.types.is_ball_size_symmetric(privacy.space)) is equal
    assert (made.privacy.rate < 1 + 1e-9) is equal and made.privacy.rate < 2
    if equal:
        tight = sf.tight_constraints(privacy)
        assert np.abs(made.channel.to_floats().matrix - tight.channel.to_floats().matrix).max() < 1e-12
