"""Designs on boxes: what is returned is proved, no better than its bound, and no worse than what was shown."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import count, product
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sfumato as sf
from effort import a_few
from sfumato import watch
from sfumato.design.boxes import optimal
from sfumato.design.boxes.bound import box_bound, classes_bound, splits_of
from sfumato.design.boxes.finite import FiniteProblem, bends
from sfumato.design.boxes.moments import density_moments
from sfumato.design.boxes.prices import _without_small, prices
from sfumato.design.boxes.program import box_program
from sfumato.design.boxes.symmetry import turns
from sfumato.design.boxes.table import TOTAL, integer_weights
from sfumato.errors import InvalidInput, InvalidPrior, NotSupported
from sfumato.lp.cone.general import solve_blocks
from sfumato.mechanisms.box_noise import noise_on_box
from sfumato.spaces.box import NORMS, Box
from sfumato.spaces.splines import rounding_of
from sfumato.watch import Watch

METRICS = tuple(NORMS)


def asked(box: Box, **promise: Any) -> tuple[sf.Prior, Any, sf.PrivacyType]:
    """A uniform prior, the distance and a promise."""
    return sf.Prior.uniform(box), sf.losses.distance(box), sf.PrivacyType(box, **promise or {"epsilon": 4})


@pytest.mark.parametrize("metric", METRICS)
def test_a_design_is_proved_with_its_loss_and_bound(metric: str) -> None:
    box = sf.box((1, 1), step="1/4", metric=metric)
    design = sf.design(*asked(box), tolerance=0.2)
    proof = design.mechanism.proof
    assert design.gap <= 0.2 and not design.stopped
    assert (proof.loss, proof.bound) == (design.loss, design.bound)
    assert sf.verify(design.mechanism, checker="kernel")
    told = design.mechanism.density((Fraction(1, 3), Fraction(1, 7)))
    assert sum(told.weights) == 1


def test_the_loss_is_what_draws_lose_on_average() -> None:
    """The proved loss is an upper bound by convexity: close above the mean over a fine raster of points."""
    box = sf.box((1, 1), step="1/3")
    design = sf.design(*asked(box), tolerance=0.3)
    outputs = np.array([[float(c) for c in y] for y in design.mechanism.outputs])
    raster = (np.arange(12) + 0.5) / 12
    mean = 0.0
    for point in product(raster, raster):
        chances = np.array([float(p) for p in design.mechanism.density(point).weights])
        mean += float(chances @ np.linalg.norm(outputs - np.array(point), axis=1)) / 144
    assert mean <= float(design.loss) <= 1.02 * mean


def test_a_prior_that_is_uneven_is_hidden_better_where_people_are() -> None:
    box = sf.box((4, 2), step=1, unit="km")
    counts = np.array([[9, 9], [3, 1], [1, 0], [0, 1]])
    design = sf.design(sf.Prior.on_cells(counts, box), *asked(box, alpha="1/2")[1:], tolerance=0.25)
    assert design.gap <= 0.25
    left = sum(float(y[0]) < 2 for y in design.mechanism.outputs)
    assert left > len(design.mechanism.outputs) / 2


def test_outputs_may_be_given() -> None:
    box = sf.box((1, 1), step="1/3")
    corners = [(0, 0), (0, 1), (1, 0), (1, 1)]
    design = sf.design(*asked(box), outputs=corners, tolerance=0.5)
    assert set(design.mechanism.outputs) <= {(Fraction(a), Fraction(b)) for a, b in corners}
    free = sf.design(*asked(box), tolerance=0.2)
    assert design.bound <= free.loss < design.loss


def test_what_was_shown_is_what_is_returned_or_less() -> None:
    shown: list[Any] = []
    design = sf.design(*asked(sf.box((1, 1), step="1/4")), tolerance=0.15, progress=shown.append)
    values = [state.value for state in shown if np.isfinite(state.value)]
    bounds = [state.bound for state in shown if np.isfinite(state.bound)]
    assert values and float(design.loss) <= min(values) and float(design.bound) >= max(bounds) * (1 - 1e-12)
    assert any(state.stage for state in shown)


def test_who_interrupts_gets_the_best_so_far() -> None:
    def impatient(state: Any) -> None:
        if state.stage.startswith("bound"):
            raise KeyboardInterrupt

    design = sf.design(*asked(sf.box((1, 1), step="1/4")), tolerance=1e-3, progress=impatient)
    assert design.stopped and sf.verify(design.mechanism)


def test_no_time_is_enough_for_a_mechanism_that_tells_nothing() -> None:
    design = sf.design(*asked(sf.box((1, 1), step="1/4")), time_limit=0)
    assert design.stopped and sf.verify(design.mechanism)


def test_a_box_too_large_for_a_table_gets_the_same_noise_everywhere() -> None:
    box = sf.box((200, 200), step=10)
    design = sf.design(*asked(box, epsilon=1))
    assert "same noise everywhere" in design.method and design.gap < 0.05
    assert sf.verify(design.mechanism)


def test_time_that_is_up_before_a_program_has_a_point_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for a mechanism nor for a bound: what there is is returned."""
    ticks = count()
    monkeypatch.setattr(watch, "working_time", lambda: float(next(ticks)))
    for limit in (10.0, 15.0, 20.0, 30.0, 45.0):
        design = sf.design(*asked(sf.box((1, 1), step="1/4")), tolerance=1e-3, time_limit=limit)
        assert design.stopped and design.loss >= design.bound


def test_a_bound_that_takes_long_does_not_keep_the_lattice_from_being_refined(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    plain = optimal.BoxSearch._raise

    def slow(search: Any, mesh: float, how: str) -> None:
        plain(search, mesh, how)
        now[0] += 30.0

    monkeypatch.setattr(optimal.BoxSearch, "_raise", slow)
    monkeypatch.setattr(watch, "working_time", lambda: now[0])
    monkeypatch.setattr(optimal, "MESHES", (1.0, 0.5, 0.25))
    design = sf.design(*asked(sf.box(1, step="1/4"), epsilon=8), tolerance=1e-4, time_limit=100)
    assert design.stopped and now[0] == 30.0
    assert len(design.mechanism.rounding) > 30


def test_who_interrupts_a_bound_need_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(optimal, "splits_of", interrupted)
    design = sf.design(*asked(sf.box((1, 1), step="1/4")), tolerance=1e-3)
    assert design.stopped and design.bound == 0


def test_outputs_are_told_as_they_were_given() -> None:
    """Not as floats, and not shifted by an origin and back in floats."""
    box = sf.box((1,), step="1/4", origin="1/10")
    given = ["1/3", "0.7", 1.0, Fraction(1, 7)]
    design = sf.design(*asked(box, epsilon=2), outputs=given, tolerance=0.5)
    assert set(design.mechanism.outputs) == {Fraction(1, 3), Fraction(7, 10), 1, Fraction(1, 7)}


@pytest.mark.parametrize("epsilon", a_few([10**6, 10**30], 1))
def test_few_outputs_in_a_box_that_is_large_beside_them(epsilon: int) -> None:
    """No lattice in step with 1/ε fits, and a coarse one does far better than to tell nothing."""
    box = sf.box((1,), step="1/4")
    design = sf.design(*asked(box, epsilon=epsilon), outputs=["1/4", "3/4"], tolerance=0.5)
    assert Fraction(1, 8) <= design.loss < Fraction(13, 100)


@pytest.mark.parametrize("epsilon", ["1/10", "1/1000000000"])
@pytest.mark.parametrize("sides", [(1,), (1, 1)])
def test_small_epsilons_have_bounds_too(epsilon: str, sides: tuple[int, ...]) -> None:
    """Where nothing can be told, the best guess is proved to be that: what is fine is said by the box, not by 1/ε."""
    design = sf.design(*asked(sf.box(sides, step="1/5"), epsilon=epsilon), tolerance=0.04)
    assert design.gap <= 0.04


def test_bad_input_says_what_to_change() -> None:
    box, other = sf.box((1, 1), step="1/4"), sf.box((1, 1), step="1/2")
    prior, loss, privacy = asked(box)
    with pytest.raises(InvalidPrior, match="needs a prior"):
        sf.design(None, loss, privacy)
    with pytest.raises(InvalidInput, match="promise is about"):
        sf.design(prior, sf.losses.distance(other), privacy)
    with pytest.raises(InvalidInput):
        sf.design(sf.Prior.uniform(other), loss, privacy)
    with pytest.raises(InvalidInput, match=r"losses\.distance"):
        sf.design(prior, sf.losses.distance(sf.grid(4, 4)), privacy)
    with pytest.raises(NotSupported, match="objective"):
        sf.design(prior, loss, privacy, objective="worst secret")
    with pytest.raises(NotSupported, match="finite list"):
        sf.prove([[1]], privacy)
    with pytest.raises(InvalidInput, match="2 coordinates"):
        sf.design(prior, loss, privacy, outputs=[1, 2])
    with pytest.raises(InvalidInput, match="at least one point"):
        sf.design(prior, loss, privacy, outputs=[])
    with pytest.raises(InvalidInput, match="given twice"):
        sf.design(prior, loss, privacy, outputs=[("1/2", 1), (0.5, 1)])


# ----------------------------------------------------------------- the parts


@pytest.mark.parametrize("metric", METRICS)
def test_one_column_of_each_orbit_is_enough(metric: str) -> None:
    box = sf.box((1, 1), step="1/4", metric=metric)
    rounding, density = rounding_of(box), np.full((4, 4), 1 / 16)
    weighed, loss = density_moments(rounding, density, 2), sf.losses.distance(box)
    centres = np.array(list(product((np.arange(4) + 0.5) / 4, repeat=2)))
    group = turns(box, [axis.breaks for axis in rounding.axes], density)
    assert len(group) == 8
    values = []
    for some in (group, group[:1]):
        program = box_program(rounding, weighed, loss, centres, 4.0, 0, some)
        solution = solve_blocks(program.program, tolerance=1e-6)
        table = program.whole(solution.matrix)
        assert np.allclose(table.sum(axis=1), 1, atol=1e-8)
        values.append(float((program.cost * table).sum()))
        assert values[-1] == pytest.approx(solution.value, rel=1e-9)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@given(
    low=st.lists(st.integers(-6, 6), min_size=2, max_size=3),
    side=st.floats(0.2, 1.0),
    metric=st.sampled_from(METRICS),
    places=st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_a_norm_bends_no_more_in_a_box_than_is_said(
    low: list[int], side: float, metric: str, places: list[float]
) -> None:
    start, sides = np.array(low, dtype=np.float64) * side, np.full(len(low), side)
    most = float(bends(start, sides, metric))
    between = np.array(places[: len(low)])
    interpolated = sum(
        np.prod(np.where(corner, between, 1 - between)) * np.linalg.norm(start + sides * corner, ord=NORMS[metric])
        for corner in map(np.array, product((0, 1), repeat=len(low)))
    )
    assert interpolated - np.linalg.norm(start + sides * between, ord=NORMS[metric]) <= most + 1e-9


@pytest.mark.parametrize("metric", METRICS)
def test_a_bound_is_below_the_best_with_many_outputs(metric: str) -> None:
    """Brute force: the finite problem with outputs on a fine grid, all pairs, by a linear program."""
    box = sf.box((1, "2/3"), step="1/3", metric=metric)
    density, rate = np.array([0.3, 0.1, 0.05, 0.2, 0.25, 0.1]), 3.0
    problem = FiniteProblem(
        box, (1, 1), density, rate, turns(box, [box.breaks(0), box.breaks(1)], density.reshape(3, 2))
    )
    price = prices(problem, 3, 1, 1e-5, Watch())
    splits, slack = splits_of(problem, price, 3, Watch())
    bound = float(box_bound(problem, price, splits, slack, Watch()).value)
    secrets = problem.places * problem.step
    outputs = np.array(list(product(np.linspace(0, 2 / 3, 9), np.linspace(0, 1 / 3, 5))))
    cost = density[:, None] * np.linalg.norm(secrets[:, None] - outputs[None], ord=NORMS[metric], axis=2)
    n, m = cost.shape
    rows = []
    for x, z in product(range(n), repeat=2):
        if x != z:
            for y in range(m):
                row = np.zeros((n, m))
                row[x, y], row[z, y] = 1, -np.exp(problem.logs[x, z])
                rows.append(row.ravel())
    sums = np.kron(np.eye(n), np.ones(m))
    best = linprog(cost.ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(n), method="highs").fun
    assert 0.85 * best <= bound <= best * (1 + 1e-9)


def test_integer_rows_have_one_sum_and_room() -> None:
    matrix = np.random.default_rng(1).dirichlet(np.ones(5), size=7)
    weights = integer_weights(matrix)
    assert (weights.sum(axis=1) == TOTAL).all() and (weights > 0).all()
    assert np.allclose(weights / TOTAL, matrix, atol=1e-5)


@pytest.mark.parametrize("alike", [True, False])
def test_classes_of_cells_prove_less_than_all_of_them(alike: bool) -> None:
    """On an interval nothing is taken off for outputs, so the classes are all that is lost."""
    street = sf.box((3,), step="1/4")
    density = np.full(12, 1 / 12) if alike else np.arange(1, 13) / 78
    problem = FiniteProblem(street, (1,), density, 2.0, turns(street, [street.breaks(0)], density))
    price = prices(problem, 0, 0, 1e-6, Watch())
    whole = box_bound(problem, price, *splits_of(problem, price, 0, Watch(), 1e-6), Watch())
    parts = classes_bound(problem, (2,), 0, 0, 1e-6, Watch())
    assert 0.8 * whole.value < parts.value < whole.value
    assert {*(parts.dual.first % 2 == parts.dual.second % 2).tolist()} == {True}
    if alike:  # the cells might as well be twice as wide
        wide = sf.box((3,), step="1/2")
        coarse = FiniteProblem(wide, (1,), np.full(6, 1 / 6), 2.0, turns(wide, [wide.breaks(0)], np.full(6, 1 / 6)))
        price = prices(coarse, 0, 0, 1e-6, Watch())
        same = box_bound(coarse, price, *splits_of(coarse, price, 0, Watch(), 1e-6), Watch())
        assert float(parts.value) == pytest.approx(float(same.value), rel=2e-3)


def test_a_box_of_many_cells_has_a_bound() -> None:
    """Two thousand cells are more than one program of all of them takes."""
    street = sf.box((2,), step="1/1000")
    found = sf.design(sf.Prior.uniform(street), sf.losses.distance(street), sf.PrivacyType(street, epsilon=1),
                      tolerance=0.05)  # fmt: skip
    claim = found.mechanism.claim
    assert claim.bound is not None and max(claim.bound.strides) > 1
    assert found.gap <= 0.05 and found.mechanism.proof.bound == found.bound


def test_an_interval_too_large_for_a_table_may_have_a_time_limit() -> None:
    box = sf.box((1,), step="1/20")
    design = sf.design(*asked(box, epsilon=300), time_limit=600)
    assert float(design.loss) * 300 < 1.002 and design.gap < 0.01 and not design.stopped


@pytest.mark.parametrize(("epsilon", "seconds"), a_few([(20, 0.05), (20, 0.0), (10**5, 0.0)], 2))
@pytest.mark.parametrize("sides", [(10,), (10, 10), (10, 10, 10)])
def test_nothing_is_worse_than_silence_however_short_the_time(
    sides: tuple[int, ...], epsilon: int, seconds: float
) -> None:
    question = asked(sf.box(sides, step=1), epsilon=epsilon)
    design = sf.design(*question, time_limit=seconds)
    assert float(design.loss) <= optimal.silent_loss(*question, None) * 1.0001
    assert design.bound <= design.loss


def test_a_lattice_of_a_million_steps_along_an_axis_is_laid_out_in_time() -> None:
    begun = process_time()
    sf.design(*asked(sf.box((10, 10), step=1), epsilon=10**5), time_limit=5)
    assert process_time() - begun < 1.2 * 5 + 5


def test_noise_in_little_time_has_wider_steps_and_not_a_high_floor() -> None:
    design = sf.design(*asked(sf.box((10, 10), step=1), epsilon=20), time_limit=0.01)
    assert float(design.loss) < 2 * 2 / 20


@pytest.mark.parametrize(("epsilon", "more"), [(0.05, 0.0), (0.2, 0.1), (1.0, 0.1), (4.0, 0.1)])
def test_a_box_of_many_cells_is_told_no_worse_than_noise_however_short_the_time(epsilon: float, more: float) -> None:
    """40,000 cells that people fill unevenly; noise that stays where it is loses 2/ε."""
    box, rng = sf.box((200, 200), step=1), np.random.default_rng(5)
    people = sf.Prior.on_cells((1 + 20 * rng.exponential(size=box.shape) ** 2).astype(int).tolist(), box)
    design = sf.design(people, sf.losses.distance(box), sf.PrivacyType(box, epsilon=epsilon), time_limit=0.01)
    assert float(design.loss) < 2 / epsilon * (1 + more)


@pytest.mark.parametrize(
    ("sides", "step"), [((200, 200), 1), ((40, 40, 40), 1), ((3000,), 1), ((10, 10), 10), ((30, 30), "1/16")]
)
def test_noise_in_no_time_at_all_loses_little_more_than_with_much(sides: tuple[int, ...], step: Any) -> None:
    box = sf.box(sides, step=step)
    question = sf.Prior.uniform(box), sf.losses.distance(box), sf.PrivacyType(box, epsilon=1)
    hurried = noise_on_box(*question, Watch(0.0))
    assert hurried.claim is not None and float(hurried.claim.value) < 1.25 * len(sides)


def test_people_close_together_in_a_large_box_are_not_served_by_noise() -> None:
    """Noise loses 2/ε wherever people are; who tells nothing, and knows where they are, may lose less."""
    box = sf.box((100, 100), step=1)
    counts = np.zeros(box.shape, dtype=int)
    counts[40:43, 50] = 5, 9, 2
    question = sf.Prior.on_cells(counts.tolist(), box), sf.losses.distance(box), sf.PrivacyType(box, epsilon=1)
    design = sf.design(*question, time_limit=3)
    assert float(design.loss) <= optimal.silent_loss(*question, None) * 1.0001 < 1


@pytest.mark.parametrize("epsilon", a_few([10**9, 10**20], 1))
def test_a_box_too_large_for_a_bound_is_said_to_be(epsilon: int) -> None:
    design = sf.design(*asked(sf.box((1, 1), step="1/4"), epsilon=epsilon), outputs=[(0.25, 0.25), (0.75, 0.75)])
    assert not design.bound and "without a bound: the smallest finite problem for one has" in design.method


@pytest.mark.parametrize(
    ("sides", "step"), [((2, "1/2", "7/2"), (1, "1/4", "7/2")), ((2, 10), ("1/100", 10))], ids=["cuboid", "strip"]
)
def test_cells_that_are_long_along_one_axis_have_a_bound(sides: tuple[Any, ...], step: tuple[Any, ...]) -> None:
    """Each axis is cut for itself: cells as wide as the shortest side would be too many."""
    box = sf.box(sides, step=step)
    design = sf.design(*asked(box, epsilon="1/2"), tolerance=0.5, time_limit=60)
    assert design.gap <= 0.5 and "without a bound" not in design.method


@pytest.mark.parametrize("epsilon", ["1e-20", "1e-30"])
@pytest.mark.parametrize("outputs", [None, [(0.5, 0.5), (0, 1)]])
def test_where_next_to_nothing_may_be_told_nothing_is(epsilon: str, outputs: Any) -> None:
    """Below a certain ε what could be told is less than floats hold."""
    design = sf.design(*asked(sf.box((1, 1), step="1/4"), epsilon=epsilon), outputs=outputs)
    assert len(design.mechanism.outputs) == 1 and design.method == "nothing is told"
    assert design.gap < 0.03


def test_a_lattice_is_finer_where_people_are() -> None:
    """Along each axis on its own: here people stand at the low end of the first one, and evenly along the second."""
    box = sf.box((5, 5), step="1/2")
    counts = np.where(np.arange(10)[:, None] < 3, 40, 1) * np.ones((10, 10), dtype=int)
    prior, loss, privacy = sf.Prior.on_cells(counts.tolist(), box), sf.losses.distance(box), sf.PrivacyType(box, 1)
    design = sf.design(prior, loss, privacy, tolerance=0.2)
    first, second = (np.array([float(w) for w in axis.widths[1:-1]]) for axis in design.mechanism.rounding.axes)
    middle = np.array([float(t) for t in design.mechanism.rounding.axes[0].breaks])[:-1] + first / 2
    assert first[middle < 1.5].mean() < 0.8 * first[middle > 1.5].mean()
    assert np.ptp(second) < 1e-9


def test_a_finer_lattice_where_people_are_loses_less_than_an_even_one(monkeypatch: pytest.MonkeyPatch) -> None:
    box = sf.box((20,), step="1/2")
    prior = sf.Prior.on_cells([40] * 8 + [1] * 32, box)
    question = prior, sf.losses.distance(box), sf.PrivacyType(box, epsilon=1)
    finer = optimal.approximate_loss(*question, None, 0.1, Watch(), None)

    def even(box: Any, density: Any, axis: int, many: int) -> list[Fraction]:
        return [box.sides[axis] * Fraction(k, many) for k in range(many + 1)]

    monkeypatch.setattr(optimal, "breaks_along", even)
    assert finer < optimal.approximate_loss(*question, None, 0.1, Watch(), None)


@pytest.mark.parametrize(
    ("sides", "epsilon", "mesh", "most"), [((1,), 8, 0.25, 0.003), ((1, 1), 8, 1.0, 0.025), ((1, 1), 4, 0.5, 0.007)]
)
def test_the_default_outputs_cost_little(
    sides: Any, epsilon: int, mesh: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside outputs that are twice as close along each axis, on the same lattice: the numbers of the theory page."""
    box, plain, losses = sf.box(sides, step="1/20"), optimal.BoxSearch._outputs, []
    for closer in (1.0, 2.0):
        search = optimal.BoxSearch(*asked(box, epsilon=epsilon), box, None, 1e-3, Watch(), None)
        monkeypatch.setattr(search, "_outputs", partial(plain, search, closer=closer))
        search.table = search.silent()
        search._improve(mesh)
        losses.append(search.table.value)
    assert 0 <= 1 - losses[1] / losses[0] < most


def test_corners_are_as_many_as_the_time_is_enough_for() -> None:
    """A town with an uneven prior on 20 × 20 cells: half a minute is not enough for the finest cubes."""
    town = sf.box((20, 20), step=1)
    counts = np.random.default_rng(5).integers(1, 30, size=(20, 20)).tolist()
    prior, privacy = sf.Prior.on_cells(counts, town), sf.PrivacyType(town, epsilon="3/4")
    question = optimal.box_question(prior, sf.losses.distance(town), privacy, None)

    def levels(near: int) -> list[int]:
        searches = [optimal.BoxSearch(*question, 0.05, Watch(limit), None) for limit in (None, 600, 30, 1)]
        return [search._in_time(2, 400, near) for search in searches]

    assert levels(400)[0] == 2 and levels(400) == sorted(levels(400), reverse=True) and levels(400)[-1] == 0
    assert sum(levels(100)) > sum(levels(400))  # who is far need not be asked


def test_small_prices_are_forgone() -> None:
    price = _without_small(np.array([1.0, 1e-5, -0.1, 2.0, 1e-4]))
    assert price.tolist() == [1.0, 0.0, -0.1, 2.0, 0.0]


@pytest.mark.parametrize("norm", ["euclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 2, 2)])
def test_who_tells_nothing_stands_where_least_is_lost(shape: tuple[int, ...], norm: Any) -> None:
    """The middle, where the search for that place begins, is one of the points: it must be left all the same."""
    space = sf.box(shape, step=1, metric=norm)
    counts = 1 + 50 * np.random.default_rng(5).exponential(size=shape) ** 3
    prior = sf.Prior.on_cells(counts.astype(int).tolist(), space)
    loss, rate = sf.losses.distance(space), sf.PrivacyType(space, epsilon="1/10")
    fine = np.stack(np.meshgrid(*[np.arange(0, side + 0.1, 0.25) for side in shape], indexing="ij"), axis=-1)
    outputs = [tuple(point) for point in fine.reshape(-1, len(shape)).tolist()]
    free, given = (optimal.silent_loss(prior, loss, rate, told) for told in (None, outputs))
    assert free <= 1.01 * given  # for the maximum norm in space the best place is not looked for
