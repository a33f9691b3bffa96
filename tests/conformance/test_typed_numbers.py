"""Every public function that takes a number from a person: a float means the shortest decimal that prints it.

``TYPED`` has one entry for each such argument, and what comes of it; ``DATA`` names arguments that hold data, which
stay the doubles they are, with the reason. An argument that is annotated as a number and is in neither fails a test.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import sfumato as sf
from sfumato.certify.protocol import Domain
from sfumato.design import objectives
from sfumato.errors import InvalidEpsilon, SfumatoError
from sfumato.mechanisms.continuous import IntervalLoss, absolute_error, squared_error
from sfumato.privacy import predicates
from sfumato.release import cross_table, plan_curve, survey_plan
from sfumato.release.places import Position, coordinates_of
from sfumato.release.terms import Terms
from sfumato.report import respondents_figure, shares_figure
from sfumato.theory import compatibility

ROOMS = ("", ".spaces", ".channels", ".losses", ".measures", ".orders", ".privacy", ".privacy.predicates", ".certify",
         ".mechanisms", ".mechanisms.continuous", ".design", ".design.objectives", ".theory.compatibility",
         ".theory.universal", ".release", ".report")  # fmt: skip

TENTHS, APART = sf.line(11, step="1/10"), sf.line(2, step="3/10")
TWO, THREE = sf.line(2), sf.line(3)
HALF = sf.PrivacyType(THREE, alpha="1/2")
UNIFORM = sf.Prior.uniform(THREE)
BINARY = sf.geometric(sf.PrivacyType(sf.line(2), alpha="1/2"))
NOISY = sf.Channel(TWO, [["2/3", "1/3"], ["1/3", "2/3"]])
CURVE = sf.privacy.TradeOff.through([("1/4", "1/2")])
SQUARES = sf.mechanisms.Lattice((2, 2))  # type: ignore[attr-defined]
PLACES = [(48.9, 2.4), (51.5, -0.1)]
drawer, number = TemporaryDirectory(), count()


@cache
def geometric() -> sf.Mechanism:
    return sf.geometric(sf.PrivacyType(TENTHS, alpha="1/16"))


@cache
def bracket() -> Any:
    return sf.compatibility.epsilon_star(sf.discrete(3), 0, "1/4", precision=0.2)


@cache
def designs() -> sf.design.Curve:
    return sf.curve(UNIFORM, sf.losses.bin(THREE), THREE, ["0.3"], tolerance=0.5)


@cache
def crossed() -> Any:
    return cross_table([BINARY, BINARY], [[0, 0, 1, 1], [0, 1, 0, 1]])


def survey_mechanism(epsilon: Any) -> sf.Mechanism:
    return sf.geometric(sf.PrivacyType(TWO, epsilon=epsilon))


@cache
def one_plan() -> Any:
    return plan_curve(survey_mechanism, [1])


def promised(made: Any) -> Any:
    """What tells a predicate or definition from another."""
    return repr(made), getattr(made, "parts", None)


def ledger(limit: Any = None, alpha: Any = None) -> Any:
    book = sf.Ledger(Path(drawer.name) / f"{next(number)}.ledger", limit=limit)
    if alpha is not None:
        book.set_limit(alpha=alpha)
    return [entry.promise for entry in book.limits()]


def changed_limit(limit: Any) -> Any:
    book = sf.Ledger(Path(drawer.name) / f"{next(number)}.ledger")
    book.set_limit(limit)
    return [entry.promise for entry in book.limits()]


def deltas(book: sf.Ledger) -> Any:
    return [entry.delta for entry in book.limits()]


def changed_delta(delta: Any) -> Any:
    book = sf.Ledger(Path(drawer.name) / f"{next(number)}.ledger")
    book.set_limit(1, delta=delta)
    return deltas(book)


def star(**changed: Any) -> Any:
    found = sf.compatibility.epsilon_star(TENTHS, **{"gamma": "3/10", "delta": "3/10", "precision": 0.2} | changed)
    return found.low, found.high, found.gamma, found.delta


def table(channel: sf.Channel) -> Any:
    return channel.matrix.tolist()


def net(family: Any) -> Any:
    return family.name, family.diameter


Use = Callable[[Any], Any]
PAIR = "epsilon", "alpha"
PEOPLE = "respondents", "respondents_in_the_clear"
PREDICATES = "pure", "epsilon_delta", "laplace", "logistic", "gumbel", "exponential"
TYPED: dict[str, Use] = {
    "choice.probability": lambda v: table(sf.channels.choice(v, NOISY, NOISY)),
    "mixture.weight": lambda v: table(sf.privacy.mixture(v, NOISY, NOISY)),
    "Curve.band.epsilon": lambda v: [end is None for end in designs().band(v)],
    "calibrate.target": lambda v: sf.calibrate(UNIFORM, sf.losses.bin(THREE), THREE, target=v, precision=0.5).high,
    "curve.epsilons": lambda v: sf.curve(UNIFORM, sf.losses.bin(THREE), THREE, [v], tolerance=0.5).epsilons,
    "privacy_compatible.scales":
        lambda v: [n.radius for n in sf.compatibility.privacy_compatible(THREE, scales=[v]).witness],
    "is_uniformly_positive.scales": lambda v: [
        ball.radius for ball in compatibility.is_uniformly_positive([1, 1, 1], THREE, scales=[v]).witness
    ],
    "is_uniformly_positive.answers": lambda v: str(compatibility.is_uniformly_positive(norm(), (0, v))),
    "tradeoff_grid.gammas": lambda v: sf.compatibility.tradeoff_grid(TENTHS, [v], ["1/2"]).gammas,
    "tradeoff_grid.deltas": lambda v: sf.compatibility.tradeoff_grid(TENTHS, ["1/2"], [v]).deltas,
    "best_measure.gamma": lambda v: compatibility.best_measure(APART, v, "1/4").tolist(),
    "best_measure.delta": lambda v: compatibility.best_measure(APART, "3/10", v).tolist(),
    "least_exponential.gamma": lambda v: compatibility.least_exponential(TENTHS, v, "1/4").epsilon,
    "least_exponential.delta": lambda v: compatibility.least_exponential(TENTHS, "3/10", v).epsilon,
    "theorem_34.gamma": lambda v: compatibility.theorem_34(TENTHS, v, "1/4").epsilon,
    "theorem_34.delta": lambda v: compatibility.theorem_34(TENTHS, "3/10", v).epsilon,
    "packing_bound.gamma": lambda v: sf.compatibility.packing_bound(TENTHS, v, "1/4"),
    "packing_bound.delta": lambda v: sf.compatibility.packing_bound(TENTHS, "3/10", v),
    "chance_of_missing.gamma": lambda v: compatibility.chance_of_missing(geometric(), TENTHS, v),
    "has_utility.gamma": lambda v: compatibility.has_utility(geometric(), TENTHS, v, "1/4").witness,
    "has_utility.delta": lambda v: compatibility.has_utility(geometric(), TENTHS, "3/10", v).outcome,
    "epsilon_star.gamma": lambda v: star(gamma=v),
    "epsilon_star.delta": lambda v: star(delta=v),
    "EpsilonStar.achievable.epsilon": lambda v: str(bracket().achievable(v)),
    "database_size.epsilon": lambda v: sf.compatibility.database_size(bracket(), v),
    "compatibility.families.ball.radius": lambda v: net(compatibility.ball(2, v)),
    "covering.diameter": lambda v: net(compatibility.covering(lambda r: 1, diameter=v)),
    "interval.low": lambda v: net(compatibility.interval(v, 3)),
    "interval.high": lambda v: net(compatibility.interval(0, v)),
    "real_line.cap": lambda v: compatibility.real_line(v).packing.separation,  # type: ignore[union-attr]
    "samples.diameter": lambda v: net(compatibility.samples(THREE, diameter=v)),
    "at_most.level": lambda v: objectives.at_most(sf.losses.bin(THREE), v).level,
    "loss_at_most.level": lambda v: objectives.loss_at_most(v).level,
    "displacement_at_most.radius": lambda v: objectives.displacement_at_most(v, "1/2").radius,
    "displacement_at_most.probability": lambda v: objectives.displacement_at_most(1, v).level,
    "weighted.weights": lambda v: objectives.weighted([UNIFORM, sf.Prior(THREE, [1, 0, 0])], [v, 1]).weights.tolist(),
    "universal.prior_sets.ball.radius":
        lambda v: sorted(sf.universal.ball(sf.Prior(TWO, ["1/2", "1/2"]), v).limits.tolist()),
    "UtilitySet.intersection.probability": lambda v: table(
        sf.universal.utility_set(sf.geometric(HALF)).intersection(
            sf.universal.utility_set(sf.geometric(HALF)), v
        ).channel
    ),
    "UtilitySet.scaled.factor":
        lambda v: str(sf.universal.utility_set(sf.geometric(HALF)).scaled(sf.losses.bin(THREE), v)),
    "scale.factor": lambda v: sf.losses.scale(sf.losses.bin(THREE), v).matrix.tolist(),
    "threshold.radius": lambda v: (sf.losses.threshold(TENTHS, v).matrix.tolist(), sf.losses.threshold(TENTHS, v).name),
    "Density.interval": lambda v: sf.continuous.Density(lambda x: 0 * x + 1, (0, v), normalise=True).interval,
    "Density.steps.interval": lambda v: sf.continuous.Density.steps([1], (0, v)).interval,
    "Density.uniform.interval": lambda v: sf.continuous.Density.uniform((v, 3)).interval,
    "continuous.laplace.laplace.interval": lambda v: sf.continuous.laplace(1, interval=(0, v)).interval,
    "truncated_laplace.interval": lambda v: sf.continuous.truncated_laplace(1, interval=(0, v)).interval,
    "IntervalLoss.interval": lambda v: IntervalLoss(lambda w, x: abs(w - x), (0, v)).interval,
    "IntervalLoss.lipschitz": lambda v: IntervalLoss(lambda w, x: abs(w - x), lipschitz=v).lipschitz,
    "absolute_error.interval": lambda v: absolute_error((0, v)).interval,
    "squared_error.interval": lambda v: squared_error((0, v)).interval,
    "geometric.alpha": lambda v: table(sf.geometric(sf.PrivacyType(TWO, alpha="1/4"), alpha=v).channel),
    "multiplicative_kantorovich.alpha": lambda v: sf.orders.multiplicative_kantorovich(
        sf.Prior(THREE, ["1/2", "1/4", "1/4"]), sf.Prior.uniform(THREE), THREE, alpha=v
    ).ratio,
    "Predicate.__call__.a": lambda v: predicates.epsilon_delta(alpha="1/2", delta="3/10")(v, "9/10"),
    "Predicate.__call__.b": lambda v: predicates.epsilon_delta(alpha="1/2", delta="3/10")(0, v),
    "Predicate.bounds.a": lambda v: predicates.pure(alpha="1/2").bounds(v),
    "epsilon_delta.delta": lambda v: promised(predicates.epsilon_delta(alpha="1/2", delta=v)),
    "from_density.shift": lambda v: repr(predicates.from_density(lambda x: x * x / 2, v)),
    "from_distribution.shift": lambda v: promised(predicates.from_distribution(norm(scale=0.1), v)),
    "from_profile.profile": lambda v: promised(predicates.from_profile([(2, v)])),
    "gaussian.mu": lambda v: promised(predicates.gaussian(v)),
    "probabilistic.delta": lambda v: sf.privacy.probabilistic(delta=v, alpha="1/2").keeps(
        sf.Channel(TWO, [["3/10", "7/10"], ["3/10", "7/10"]])
    ),
    "probabilistic.slack": lambda v: repr(sf.privacy.probabilistic(delta="1/10", alpha="1/2", slack=v)),
    "TradeOff.__call__.a": CURVE,
    "TradeOff.power.a": CURVE.power,
    "smallest_epsilon_at.delta": lambda v: sf.privacy.smallest_epsilon_at(NOISY, v),
    "credible_sets.level": lambda v: sf.release.credible_sets(UNIFORM, sf.geometric(HALF), v).level,
    "Frequencies.intervals.level": lambda v: sf.frequencies(BINARY, {0: 3, 1: 5}).intervals(v).tolist(),
    "Frequencies.plot.level": lambda v: sf.frequencies(BINARY, {0: 3, 1: 5}).plot(v).to_json(),
    "CrossTable.intervals.level": lambda v: crossed().intervals(v).tolist(),
    "CrossTable.plot.level": lambda v: crossed().plot(v).to_json(),
    "shares_figure.level": lambda v: shares_figure(sf.frequencies(BINARY, {0: 3, 1: 5}), level=v).to_json(),
    "SurveyPlan.errors.level": lambda v: survey_plan(BINARY).errors(100, level=v).tolist(),
    "SurveyPlan.error.level": lambda v: survey_plan(BINARY).error(100, level=v),
    **{f"SurveyPlan.{name}.level": lambda v, name=name: getattr(survey_plan(BINARY), name)("1/10", level=v)
       for name in PEOPLE},
    **{f"SurveyPlan.{name}.error": lambda v, name=name: getattr(survey_plan(BINARY), name)(v) for name in PEOPLE},
    "plan_curve.epsilons": lambda v: plan_curve(survey_mechanism, [v]).epsilons,
    "respondents_figure.level": lambda v: respondents_figure(one_plan(), "1/10", level=v).to_json(),
    "respondents_figure.error": lambda v: respondents_figure(one_plan(), v).to_json(),
    "Ledger.limit": ledger,
    "Ledger.set_limit.limit": changed_limit,
    "Ledger.set_limit.alpha": lambda v: ledger(alpha=v),
    "Ledger.delta": lambda v: deltas(sf.Ledger(Path(drawer.name) / f"{next(number)}.ledger", limit=1, delta=v)),
    "Ledger.set_limit.delta": changed_delta,
    "most_moved": lambda v: Terms("x", on_unknown="nearest", most_moved=v).share,
    "most_dropped": lambda v: Terms("x", on_unknown="drop", most_dropped=v).share,
    "discrete.distance": lambda v: sf.discrete(3, distance=v).distances.unit,
    "geo.radius_km": lambda v: sf.geo(PLACES, radius_km=v).distances.floats.tolist(),
    "grid.step": lambda v: sf.grid(2, 2, step=v).distances.unit,
    "line.step": lambda v: sf.line(2, step=v).distances.unit,
    "is_uniformly_sensitive.delta": lambda v: sf.spaces.is_uniformly_sensitive(
        lambda x: x, TWO, sf.line(2, step="3/10"), delta=v
    ).outcome,
    **{f"PrivacyType.{name}": lambda v, name=name: _both(sf.PrivacyType(THREE, **{name: v})) for name in PAIR},
    **{f"{which}.{name}": lambda v, name=name, which=which: promised(getattr(predicates, which)(**{name: v}))
       for name in PAIR for which in PREDICATES},
    **{f"profile.{name}": lambda v, name=name: predicates.profile(CURVE_AS_PREDICATE, **{name: v}) for name in PAIR},
    **{f"k_of_n_outputs.{name}":
        lambda v, name=name: repr(sf.privacy.k_of_n_outputs(1, 2, **{name: v})) for name in PAIR},
    **{f"probabilistic.{name}":
        lambda v, name=name: repr(sf.privacy.probabilistic(delta=0, **{name: v})) for name in PAIR},
    **{f"strict.{name}": lambda v, name=name: repr(sf.privacy.strict(**{name: v})) for name in PAIR},
    **{f"database_leakage_bound.{name}": lambda v, name=name: sf.types.database_leakage_bound(3, 2, **{name: v})
       for name in PAIR},
    **{f"TradeOff.delta.{name}": lambda v, name=name: CURVE.delta(**{name: v}) for name in PAIR},
    **{f"smallest_delta.{name}": lambda v, name=name: sf.privacy.smallest_delta(NOISY, **{name: v}) for name in PAIR},
    **{f"continuous.laplace.laplace.{name}": lambda v, name=name: _both(sf.continuous.laplace(**{name: v}).privacy)
       for name in PAIR},
    **{f"truncated_laplace.{name}": lambda v, name=name: _both(sf.continuous.truncated_laplace(**{name: v}).privacy)
       for name in PAIR},
    **{f"lattice_tight_constraints.{name}":
       lambda v, name=name: _both(sf.mechanisms.lattice_tight_constraints(SQUARES, **{name: v})
                                  .privacy) for name in PAIR},
    **{f"has_lattice_tight_constraints.{name}":
       lambda v, name=name: str(sf.mechanisms.has_lattice_tight_constraints(SQUARES, **{name: v})) for name in PAIR},
    **{f"integer_noise.{name}":
        lambda v, name=name: sf.release.integer_noise(**{name: v}).plan.noise.rate for name in PAIR},
    "box.sides": lambda v: sf.box((v, v), step=v).sides[0],
    "box.step": lambda v: sf.box((v, v), step=v).step[0],
    "box.origin": lambda v: sf.box((v, v), step=v, origin=(v, v)).origin[0],
    "earth_box.south": lambda v: sf.spaces.earth_box(v, 2, sides=(1, 1), step=1).frame.south,  # type: ignore[union-attr]
    "earth_box.west": lambda v: sf.spaces.earth_box(48, v, sides=(1, 1), step=1).frame.west,  # type: ignore[union-attr]
    "earth_box.north": lambda v: sf.spaces.earth_box(0, 2, v, 3, step=1).sides,
    "earth_box.east": lambda v: sf.spaces.earth_box(48, 0, 49, v, step=1).sides,
    "earth_box.step": lambda v: sf.spaces.earth_box(48, 2, sides=(3, 3), step=v).step[0],
    "earth_box.sides": lambda v: sf.spaces.earth_box(48, 2, sides=(v, v), step="1/10").sides[0],
    "earth_box.margin": lambda v: sf.spaces.earth_box(48, 2, sides=(1, 1), step=1, margin=v).frame,
    "square_cells.south": lambda v: sf.spaces.square_cells(v, 2, sides=(1, 1), step=1).coordinates[0][0],
    "square_cells.west": lambda v: sf.spaces.square_cells(48, v, sides=(1, 1), step=1).coordinates[0][1],
    "square_cells.north": lambda v: len(sf.spaces.square_cells(0, 2, v, 3, step=100)),
    "square_cells.east": lambda v: len(sf.spaces.square_cells(48, 0, 49, v, step=100)),
    "square_cells.step": lambda v: len(sf.spaces.square_cells(48, 2, sides=(3, 3), step=v)),
    "square_cells.sides": lambda v: len(sf.spaces.square_cells(48, 2, sides=(v, v), step="1/10")),
    "ground_range.length": lambda v: sf.spaces.ground_range(v, sf.spaces.earth_box(48, 2, sides=(1, 1), step=1)),
    "Lattice.step": lambda v: sf.mechanisms.Lattice((2, 2), step=v).step[0],  # type: ignore[attr-defined]
    # annotated by what they hold, not by what they take
    "InfiniteGeometric": lambda v: sf.mechanisms.InfiniteGeometric(v).alpha,
    "Interval.low": lambda v: sf.continuous.Interval(v, 9).low,
    "Interval.high": lambda v: sf.continuous.Interval(0, v).high,
    "within": lambda v: coordinates_of(
        Position("x", "y"), Domain.of(sf.grid(2, 2)),
        on_unknown="error", within=v,
    ).within,
}  # fmt: skip

CURVE_AS_PREDICATE = predicates.from_tradeoff(CURVE)

DATA = {
    "graph.edges": "edges are a table of data",
    "function.value": "a function of the caller's, whose values are data",
    "IntervalLoss.actions": "a list of actions is data",
    "lattice_loss.actions": "a list of actions is data",
    "weighted_counts.weights": "weights of rows are data",
    "Density.steps.weights": "a histogram is data",
    "polygon.corners": "points of a curve are data",
    "from_points.points": "points of a curve are data",
    "TradeOff.through.points": "points of a curve are data",
    "to_box.latitude": "a coordinate of a record is data: a float is the number it stores",
    "to_box.longitude": "a coordinate of a record is data: a float is the number it stores",
    "to_earth.point": "a point is data",
    "Bound.radius": "made by displacement_at_most, of a length that was read there",
}

FLOATS_BY_NATURE = {"tolerance", "precision", "time_limit", "confidence", "interval", "slack", "near", "breaks",
                    "offsets"}  # fmt: skip
"""How exact an answer shall be and how long it may take: nothing is decided at the border of these."""


def _both(privacy: Any) -> Any:
    return privacy.epsilon, privacy.alpha


def public() -> Iterator[tuple[str, Any]]:
    """Every public function and class once, and its methods, those of its bases in the package too."""
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(f"sfumato{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or not callable(value) or id(value) in seen:
                continue
            seen.add(id(value))
            yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', name)}", value
            if inspect.isclass(value):
                ours = [base for base in value.__mro__ if base.__module__.startswith("sfumato")]
                for key in dict.fromkeys(key for base in ours for key in vars(base)):
                    member = getattr(value, key)
                    if callable(member) and (not key.startswith("_") or key == "__call__"):
                        yield f"{value.__module__}.{value.__qualname__}.{key}", member


def arguments(pattern: str) -> Iterator[str]:
    """Names of the arguments whose annotation matches."""
    for name, value in public():
        try:
            parameters = inspect.signature(value).parameters.values()
        except (TypeError, ValueError):
            continue
        yield from (f"{name}.{p.name}" for p in parameters if re.search(pattern, str(p.annotation)))


def known(argument: str, names: Any) -> bool:
    return any(argument.endswith(f".{name}") for name in names)


def test_every_argument_that_is_a_number_is_in_the_table() -> None:
    missing = [a for a in arguments(r"\b(Number|Length)\b") if not known(a, TYPED) and not known(a, DATA)]
    assert not missing, f"say in TYPED what comes of a float there, or in DATA why it is data: {missing}"


def test_the_table_has_nothing_that_is_gone() -> None:
    annotated = list(arguments("."))
    gone = [name for name in (*TYPED, *DATA) if "." in name and not any(a.endswith(f".{name}") for a in annotated)]
    assert not gone


def test_floats_are_asked_for_only_where_nothing_is_decided() -> None:
    """A function that takes a float takes no decimal; results, which are classes, are made by us."""
    plain = [a for a in arguments(r"\bfloat\b") if not re.search(r"Callable", a)]
    functions = {name for name, value in public() if not inspect.isclass(value)}
    asked = {a.rsplit(".", 1)[1] for a in plain if a.rsplit(".", 1)[0] in functions and not known(a, DATA)}
    assert asked <= FLOATS_BY_NATURE | {"c", "progress", "anchors", "radii", "directions", "frame", "number"}


SPELLINGS: dict[str, Callable[[str], Any]] = {
    "float": float, "float64": np.float64, "float32": np.float32, "Decimal": Decimal, "text": str,
    "array of no dimension": lambda text: np.array(float(text)),
}  # fmt: skip


@pytest.mark.parametrize("argument", TYPED)
def test_a_float_means_the_decimal_that_prints_it(argument: str) -> None:
    assert Fraction(0.3) != Fraction(3, 10) != Fraction(float(np.float32(0.3)))
    meant = TYPED[argument](Fraction(3, 10))
    slow = argument.startswith("best_measure")  # linear programs: one spelling is enough, the reader is the same
    for spelling in [float] if slow else SPELLINGS.values():
        assert TYPED[argument](spelling("0.3")) == meant


HUGE = {
    "1e999999999": "1e999999999", "-1e999999999": "-1e999999999", "1e-999999999": "1e-999999999",
    "wide digits": "1e９９９９９９９９９", "a million digits": "9" * 10**6, "a long quotient": "1/" + "9" * 10**4,
    "Decimal": Decimal("1e999999999"), "small Decimal": Decimal("1e-999999999"), "int": 10**10000,
    "Fraction": Fraction(1, 10**10000), "nan": float("nan"), "inf": float("inf"),
}  # fmt: skip


@pytest.mark.parametrize("argument", TYPED)
def test_what_is_too_large_to_be_read_is_refused_at_once(argument: str) -> None:
    for value in HUGE.values():
        with pytest.raises(SfumatoError) as caught:
            TYPED[argument](value)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("argument", TYPED)
@pytest.mark.parametrize("value", [1e300, 1e-300, -1e300], ids=str)
def test_what_is_large_is_answered_or_refused(argument: str, value: float) -> None:
    """An answer, or one of our errors: nothing raw, no warning, and no number that is worked out for ever."""
    try:
        answer = TYPED[argument](value)
    except SfumatoError as error:
        answer = str(error)
    assert answer is not None


EPSILONS = [name for name in TYPED if re.search(r"epsilons?$|limit$", name)]
WITH_ALPHA = [name for name in EPSILONS if name.replace("epsilon", "alpha") in TYPED and name.endswith("epsilon")]


@pytest.mark.parametrize("argument", EPSILONS)
def test_logarithms_are_understood_wherever_an_epsilon_is(argument: str) -> None:
    for text in ("ln(2)/0.5", "2*ln(2)", "ln(2)/30"):
        TYPED[argument](text)
    with pytest.raises(InvalidEpsilon, match="in two ways: say with parentheses"):
        TYPED[argument]("ln 3/2")


@pytest.mark.parametrize("argument", WITH_ALPHA)
def test_a_logarithm_is_the_alpha_that_it_stands_for(argument: str) -> None:
    assert len(WITH_ALPHA) > 15
    assert TYPED[argument]("ln(2)/0.5") == TYPED[argument.replace("epsilon", "alpha")](Fraction(1, 4))
