"""One call that works for every public function, constructor and method; :data:`CALLS` fails a test where one lacks.

A method's first argument is the value it belongs to. Each entry is a function, so that what a call uses up (generators,
files, ledgers) is new each time; values that never change are built once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import numpy as np

import sfumato as sf
from sfumato import continuous as co
from sfumato import measures
from sfumato.mechanisms import Lattice
from sfumato.privacy import Endpoint
from sfumato.privacy.predicates_curves import Growth
from sfumato.theory import compatibility
from valid_nouns import for_opendp, ledger_of, noun, ones, rows, saved

__all__ = ["CALLS", "Given", "noun"]


class Given(NamedTuple):
    """What a call is given."""

    positional: tuple[Any, ...]
    named: dict[str, Any]


def given(*positional: Any, **named: Any) -> Given:
    """The arguments, as they would be written."""
    return Given(positional, named)


def _n(*names: str, **named: Any) -> Callable[[], Given]:
    """Nouns by position; further arguments by name, as they are."""
    return lambda: given(*map(noun, names), **named)


def _with(first: str, *rest: Any, **named: Any) -> Callable[[], Given]:
    """One noun, then plain values."""
    return lambda: given(noun(first), *rest, **named)


def _plain(*positional: Any, **named: Any) -> Callable[[], Given]:
    return lambda: given(*positional, **named)


RELEASED = [0, 1, 2, 2, 1, 0, 0]


def _crossed() -> Any:
    return sf.release.cross_table([noun("channel")] * 2, [RELEASED, RELEASED])


def _scale(epsilon: Any) -> Any:
    return sf.geometric(sf.PrivacyType(noun("space"), epsilon=epsilon))


SCORE = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]

AREAS = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": [[[x, 48], [x + 1, 48], [x + 1, 49], [x, 48]]]},
            "properties": {"name": f"area {x}", "people": x},
        }
        for x in (2, 3)
    ],
}

_HIDING: dict[str, Any] = {"box": sf.box((2, 2), step=1, unit="km"), "tolerance": 0.9}


def _plane() -> Any:
    return __import__("pandas").DataFrame({"x": [0.5, 1.5], "y": [1.0, 1.2]})


@cache
def _hidden() -> Any:
    return sf.hide(_plane(), "1 km", **_HIDING)


SPACES = {
    "FiniteSpace": lambda: given(["a", "b"], [[0, 1], [1, 0]], "km", "two"),
    "FiniteSpace.distance": _with("space", 0, 1),
    "FiniteSpace.index": _with("space", 1),
    "FiniteSpace.restrict": _with("space", [0, 1]),
    "spaces.complete_bipartite": _plain(1, 2),
    "count_query": _plain(2),
    "cycle": _plain(4),
    "discrete": _plain(3),
    "geo": lambda: given([(48.9, 2.4), (51.5, -0.1)]),
    "elastic": lambda: given(noun("space"), [1, 2, 3]),
    "spaces.area_column": lambda: given(AREAS, "people"),
    "spaces.areas": lambda: given(AREAS, labels="name"),
    "spaces.h3_cells": _plain((48.85, 2.34, 48.86, 2.36), 8),
    "spaces.roads": lambda: given([("a", "b", 0.3), ("b", "c", 0.4)], {"a": (48, 2), "b": (48, 2.1), "c": (48.1, 2)}),
    "spaces.square_cells": _plain(48, 2, sides=(10, 10), step=5),
    "spaces.counts_on_cells": _with("town", [48.01, 48.02], [2.01, 2.02], [3, 4]),
    "spaces.earth_box": _plain(48, 2, sides=(10, 10), step=5),
    "spaces.ground_range": lambda: given("1.5", noun("town")),
    "spaces.ground_stretch": _n("town"),
    "spaces.ground_words": _n("town"),
    "spaces.to_box": _with("town", 48.01, 2.01),
    "spaces.from_degrees": _plain([51.5], [-0.1], "EPSG:27700"),
    "spaces.to_degrees": _plain([530000.0], [180000.0], "EPSG:27700"),
    "spaces.to_earth": _with("town", (1, 2)),
    "graph": lambda: given([("a", "b", "0.3"), ("b", "c", "0.4")]),
    "grid": _plain(2, 2),
    "box": _plain((2, 2), step=1),
    "spaces.Box": lambda: given((Fraction(2),), (Fraction(1),)),
    "spaces.Box.breaks": lambda: given(sf.box((2, 2), step=1), 0),
    "Prior.on_cells": lambda: given([[1, 2], [0, 1]], sf.box((2, 2), step=1)),
    "losses.CoordinateLoss.at": lambda: given(sf.losses.distance(sf.box((2, 2), step=1)), [[0.0, 0.0]], [[1.0, 1.0]]),
    "hamming": _plain(2),
    "spaces.induced": lambda: given(ones, noun("bits")),
    "spaces.is_uniformly_sensitive": lambda: given(ones, noun("bits"), noun("space")),
    "spaces.isometries": _n("space"),
    "spaces.k_count_query": _plain(2, 2),
    "line": _plain(3),
    "spaces.lipschitz_constant": lambda: given(ones, noun("bits"), noun("space")),
    "points": lambda: given([[0.1, 0.7], [0.3, 0.2]]),
    "query": lambda: given(sum, values=[0, 1], individuals=2),
    "spaces.star": _plain(3),
    "sum_query": _plain(2, 2),
    "spaces.Chains.chain": _with("chains", 0, 2),
    "spaces.Distances": lambda: given(sf.spaces.Form.RATIONAL, np.array([[0, 1], [1, 0]])),
    "spaces.Distances.bounds": lambda: given(noun("space").distances, 1),
    "spaces.Distances.compare": lambda: given(noun("space").distances, 1, Fraction(1)),
    "spaces.Distances.exceeds": lambda: given(noun("space").distances, 1, Fraction(1)),
    "spaces.Distances.parse": lambda: given([[0, 1], [1, 0]], "distances", 2),
}

CHANNELS = {
    "Channel": lambda: given(noun("space"), [[0.5, 0.5], [0.25, 0.75], [1, 0]]),
    "Channel.constant": _n("space"),
    "Channel.deterministic": lambda: given(noun("space"), str),
    "Channel.identity": _n("space"),
    "Channel.row": _with("channel", 0),
    "Prior": lambda: given(noun("space"), ["1/2", "1/4", "1/4"]),
    "Prior.from_counts": lambda: given([1, 2, 3], noun("space")),
    "Prior.point": _with("space", 0),
    "Prior.uniform": _n("space"),
    "cascade": _n("channel", "channel"),
    "channels.as_channel": _n("channel"),
    "channels.as_prior": _n("prior"),
    "channels.check_secrets": lambda: given("prior and channel", noun("prior"), noun("channel")),
    "channels.secrets_of": _n("space"),
    "channels.choice": lambda: given("1/2", noun("channel"), noun("channel")),
    "hyper": _n("prior", "channel"),
    "channels.joint": _n("prior", "channel"),
    "channels.normalise": lambda: given([[1, 2], [3, 4]]),
    "channels.oblivious": lambda: given(noun("channel"), ones, noun("bits")),
    "channels.output_distribution": _n("prior", "channel"),
    "parallel": _n("channel", "channel"),
    "posterior": lambda: given(noun("prior"), noun("channel"), 0),
    "remap": lambda: given(noun("channel"), str),
    "channels.restrict": _with("channel", [0, 1]),
}

LOSSES = {
    "Gain": lambda: given(["a", "b"], noun("space"), [[0, 1, 2], [1, 0, 1]]),
    "Gain.at": _with("gain", 0, 1),
    "Loss": lambda: given(["a", "b"], noun("space"), [[0, 1, 2], [1, 0, 1]]),
    "Loss.at": _with("loss", 0, 1),
    "losses.has_dominating_action": _n("loss"),
    "losses.is_monotone": _n("loss", "space"),
    "losses.is_single_crossing": _n("loss", "space"),
    "losses.is_strictly_monotone": _n("loss", "space"),
    "losses.is_trivial": _n("loss"),
    "losses.absolute": _n("space"),
    "losses.add": _n("loss", "loss"),
    "losses.bin": _n("space"),
    "losses.default": _n("space"),
    "losses.distance": _n("space"),
    "losses.function": lambda: given(noun("space"), lambda w, x: abs(w - x)),
    "losses.guess": _n("space"),
    "losses.lift": lambda: given(noun("loss"), sf.line(4)),
    "losses.matrix": lambda: given(noun("space"), SCORE),
    "losses.member": _with("space", [0, 1]),
    "losses.nib": _n("space"),
    "losses.restrict_loss": _with("loss", [0, 1]),
    "losses.scale": _with("loss", 2),
    "losses.squared": _n("space"),
    "losses.threshold": _with("space", 1),
}

MEASURES = {
    **{name: _n("prior", "channel") for name in (
       "measures.bayes_risk", "bayes_vulnerability", "measures.conditional_guessing_entropy",
       "measures.conditional_min_entropy", "measures.conditional_shannon_entropy",
       "measures.min_mutual_information", "measures.mutual_information"
    )},
    **{name: _n("prior") for name in (
       "measures.guessing_entropy", "measures.min_entropy", "measures.shannon_entropy"
    )},
    **{name: _n("prior", "channel", "loss") for name in (
       "expected_loss", "optimal_remap", "posterior_loss"
    )},
    "capacity": _n("channel"),
    "measures.additive_capacity": _n("prior", "channel"),
    "measures.bayes_risk_capacity": _n("channel"),
    "measures.shannon_capacity": _n("channel"),
    "measures.share_variance": _n("prior", "channel"),
    "measures.recoverable": _n("channel"),
    "measures.workload": lambda: given("cumulative", noun("space")),
    "measures.mean_workload": lambda: given(noun("space"), list(range(len(noun("space"))))),
    "leakage": _n("prior", "channel"),
    "measures.optimal_action": _n("prior", "loss"),
    "measures.posterior_vulnerability": _n("prior", "channel", "gain"),
    "prior_loss": _n("prior", "loss"),
    "measures.prior_vulnerability": _n("prior", "gain"),
    "measures.respects_sufficiency": lambda: given(measures.dobrushin, tries=20),
    "measures.UtilityMeasure.compared": lambda: given(measures.determinant, noun("channel")),
    "measures.bayes_utility": _n("prior", "loss"),
    "measures.branching": lambda: given(noun("channel"), measures.total_variation),
    "measures.branching_measure": lambda: given("widest", max, tries=20),
    "measures.divergence": _plain("absolute"),
    "measures.divergence_utility": lambda: given(noun("prior"), "absolute"),
    "measures.expected_utility": _n("prior", "loss"),
    "measures.is_convex_homogeneous": lambda: given(max, 3, tries=20),
    "measures.largest_gain": _n("prior", "gain"),
    "measures.polygon": lambda: given([(0, 1), (1, 0), (2, 1)]),
    **{f"measures.{name}": _n("channel") for name in ("determinant", "discrimination", "dobrushin",
       "gram_determinant")},
    **{f"measures.{name}": lambda: given(np.array([0.1, 0.2, 0.3])) for name in ("chi_squared", "shannon",
       "total_variation")},
}  # fmt: skip

ORDERS = {
    "orders.hasse": lambda: given({"a": noun("channel"), "b": noun("identity")}),
    "orders.hyper_distance": _n("hyper", "hyper", "space"),
    "orders.hyper_refines": _n("hyper", "hyper"),
    "orders.kantorovich": _n("prior", "other prior", "space"),
    "orders.loss_lipschitz": _n("loss", "space"),
    "orders.max_refines": _n("channel", "identity"),
    "orders.multiplicative_kantorovich": _n("prior", "other prior", "space", alpha="1/2"),
    "orders.privacy_refines": _n("channel", "identity"),
    "orders.refinement_distance": _n("channel", "identity", "prior"),
    "orders.maximal_channels": lambda: given({"a": noun("channel"), "b": noun("identity")}),
    "refines": _n("channel", "identity"),
}

PRIVACY = {
    "PrivacyType": _with("space", alpha="1/2"),
    "PrivacyType.exact_factor": _with("privacy", 1),
    "PrivacyType.factor": _with("privacy", 0, 1),
    "PrivacyType.factor_bounds": _with("privacy", 1),
    "PrivacyType.rate_bounds": _with("privacy", 32),
    "predicates.Predicate.allows": _with("predicate", Fraction(1, 2), Fraction(1, 2)),
    "predicates.Predicate.bounds": _with("predicate", "1/2"),
    "predicates.Predicate.lower": _with("predicate", [0.25, 0.5]),
    "predicates.Predicate.tradeoff": _with("predicate", [0.25, 0.5]),
    "predicates.Predicate.upper": _with("predicate", [0.25, 0.5]),
    "types.RegularRegion.contains": lambda: given(sf.types.regular_region(noun("privacy")), noun("prior")),
    "privacy.TradeOff.delta": _with("tradeoff", alpha="1/2"),
    "privacy.TradeOff.delta_bounds": lambda: given(noun("tradeoff"), Growth(Fraction(2))),
    "privacy.TradeOff.power": _with("tradeoff", "1/2"),
    "privacy.TradeOff.through": lambda: given([(0, 0), ("1/4", "1/2"), (1, 1)]),
    "privacy.breaks": lambda: given(noun("breach"), noun("definition")),
    "types.database_leakage_bound": _plain(3, 2, alpha="1/2"),
    "types.decompose": _n("channel", "privacy"),
    "types.estimate_kernels": _with("privacy", samples=200, seed=1),
    "types.is_ball_size_symmetric": _n("space"),
    "types.is_kernel": _n("channel", "privacy"),
    "types.is_maximally_sufficient": _n("channel", "privacy"),
    "types.is_regular": _n("prior", "privacy"),
    "types.is_vertex_mechanism": _n("channel", "privacy"),
    "privacy.k_anonymity": _plain(2),
    "privacy.k_of_n_outputs": _plain(1, 2, alpha="1/2"),
    "privacy.k_of_n_pairs": lambda: given(1, 2, noun("predicate")),
    "types.leakage_bound": _n("prior", "privacy"),
    "types.maximally_sufficient": _n("channel", "privacy"),
    "types.more_sufficient": lambda: given(sf.Channel.constant(noun("space")), noun("privacy")),
    "privacy.mixture": lambda: given("1/2", noun("channel"), noun("channel")),
    "types.optimal_utility": _n("prior", "privacy"),
    "types.orbits": _n("kernels"),
    "privacy.probabilistic": _plain(delta="1/10", alpha="1/2"),
    "privacy.ratio_bounds": lambda: given([[0, 2], [2, 0]]),
    "types.regular_threshold": _n("prior", "space"),
    "privacy.row_distance": _with("channel", 0, 1),
    "types.row_graphs": _n("channel", "privacy"),
    "satisfies": _n("channel", "privacy"),
    "privacy.strict": _plain(alpha="1/2"),
    "privacy.satisfies_axioms": _n("definition"),
    "privacy.smallest_delta": _with("channel", alpha="1/2"),
    "smallest_epsilon": _n("channel", "space"),
    "privacy.smallest_epsilon_at": _with("channel", "1/10"),
    "types.symmetry_classes": _n("space"),
    "types.tight_threshold": _n("space"),
    "tightest_pair": _n("channel", "space"),
    "privacy.together_private": _n("privacy", "irrational"),
    "privacy.tradeoff": _with("channel", 0, 1),
    "types.utility_bound": _n("prior", "privacy"),
    "privacy.worst_tradeoff": _n("channel"),
    "types.Endpoint.decimal": lambda: given(Endpoint(Fraction(1, 3), Fraction(1, 2)), 3),
    "privacy.rational_power": lambda: given(Fraction(1, 4), Fraction(1, 2)),
    "privacy.satisfies_predicate": _n("channel", "predicate"),
    **{name: _n("privacy") for name in (
       "types.capacities", "types.corner_priors", "types.count_kernels", "types.each_kernel",
       "types.has_tight_constraints", "types.kernels", "types.regular_region", "types.similarity",
       "types.vertices"
    )},
    "predicates.as_predicate": _n("predicate"),
    "predicates.epsilon_delta": _plain(delta="1/10", alpha="1/2"),
    "predicates.from_density": _plain(abs, 1),
    "predicates.from_distribution": lambda: given(__import__("scipy.stats").stats.norm(), 1),
    "predicates.from_function": lambda: given(lambda a, b: b <= 2 * a),
    "predicates.from_points": lambda: given([(0, "1/10"), (1, 1)]),
    "predicates.from_profile": lambda: given([(2, "1/10")]),
    "predicates.from_tradeoff": _n("tradeoff"),
    "predicates.gaussian": _plain(1),
    "predicates.inscribed": _n("predicate"),
    "predicates.profile": _with("predicate", alpha="1/2"),
    "predicates.symmetrised": _n("predicate"),
    "predicates.tradeoff_of": _n("predicate"),
    **{f"predicates.{name}": _plain(epsilon=1) for name in ("exponential", "gumbel", "laplace", "logistic", "pure")},
}  # fmt: skip

MECHANISMS = {
    "mechanisms.InfiniteGeometric": lambda: given(Fraction(1, 2)),
    "mechanisms.InfiniteGeometric.cumulative": lambda: given(sf.mechanisms.InfiniteGeometric(Fraction(1, 2)), 0, 1),
    "mechanisms.InfiniteGeometric.probability": lambda: given(sf.mechanisms.InfiniteGeometric(Fraction(1, 2)), 0, 1),
    "mechanisms.InfiniteGeometric.truncated": lambda: given(sf.mechanisms.InfiniteGeometric(Fraction(1, 2)), 0, 2),
    "mechanisms.LatticeMechanism.row": _with("cells", (0, 1)),
    "mechanisms.LatticeMechanism.sample": _with("cells", (0, 1)),
    "mechanisms.LatticeMechanism.verify_pair": _with("cells", (0, 1), (1, 1)),
    "mechanisms.LatticeMechanism.row_weights": _with("cells", (0, 1)),
    "mechanisms.Staircase": lambda: given(Fraction(1, 2), 2, 1),
    "mechanisms.Staircase.beyond": lambda: given(sf.mechanisms.Staircase(Fraction(1, 2), 2, 1), 1),
    "mechanisms.Staircase.probability": lambda: given(sf.mechanisms.Staircase(Fraction(1, 2), 2, 1), 1),
    "mechanisms.binary": _n("pair privacy"),
    **{name: _n("privacy") for name in (
       "mechanisms.closest_pair", "geometric", "mechanisms.staircase", "mechanisms.stretched_geometric",
       "mechanisms.pixelated_laplace", "tight_constraints", "exponential", "mechanisms.permute_and_flip"
    )},
    **{name: _n("flat privacy") for name in (
       "mechanisms.dual_random_response", "random_response", "mechanisms.hadamard_response",
       "mechanisms.subset_selection", "mechanisms.unary_encoding"
    )},
    "mechanisms.laplace_noise": lambda: given(sf.PrivacyType(noun("strip"), epsilon=1), parts=2),
    "mechanisms.noise_on_box": lambda: given(
        sf.Prior.uniform(noun("strip")), sf.losses.distance(noun("strip")), sf.PrivacyType(noun("strip"), epsilon=1)
    ),
    "mechanisms.noise_table": lambda: given(noun("strip noise")),
    "smooth": lambda: given(sf.geometric(sf.PrivacyType(sf.line(6), epsilon=1)), noun("strip"), halvings=1),
    "mechanisms.hamming_kernel": lambda: given(sf.PrivacyType(noun("bits"), alpha="1/2")),
    **{name: _n("square privacy") for name in (
       "mechanisms.planar_geometric", "planar_laplace"
    )},
    "compare_known": _n("prior", "loss", "privacy"),
    "mechanisms.has_lattice_tight_constraints": _with("lattice", epsilon=3),
    "mechanisms.lattice_threshold": lambda: given(Lattice((10, 10)), digits=3),
    "mechanisms.lattice_tight_constraints": _with("lattice", epsilon=3),
    "mechanisms.membership": _with("flat privacy", [0]),
    "mechanisms.one_against_rest": _with("flat privacy", 0),
    "mechanisms.product_mechanism": _n("mechanism", "mechanism"),
    "mechanisms.Lattice": lambda: given((2, 2)),
    "mechanisms.ProductMechanism.row": _with("product", (0, 1)),
    "mechanisms.ProductMechanism.row_weights": _with("product", (0, 1)),
    "mechanisms.true_epsilon": _n("mechanism"),
    "mechanisms.truncated_geometric": _with("privacy", -1, 4),
}  # fmt: skip

CONTINUOUS = {
    "continuous.Density": lambda: given(lambda x: 1 + 0 * x, (0, 1)),
    "continuous.Density.cumulative": _with("density", [0.25, 0.5]),
    "continuous.Density.steps": lambda: given(["1/3", "2/3"]),
    "continuous.Density.uniform": _plain((0, 2)),
    "continuous.laplace": _plain(1),
    "continuous.truncated_laplace": _plain(1),
    "continuous.Interval": lambda: given(Fraction(0), Fraction(1)),
    "continuous.IntervalLoss": lambda: given(lambda w, x: abs(w - x), (0, 1), lipschitz=1),
    "continuous.Laplace.density": _with("laplace", 0.5, 0.25),
    "continuous.Laplace.mass_between": _with("laplace", 0.5, 0.25, 0.75),
    "continuous.Laplace.promise_on": _with("laplace", 4),
    "continuous.Pixelated.mass": _with("pixelated", 0.5, 1),
    "continuous.Smear.density": _with("smear", 1, 0.25),
    "continuous.Smear.edge_sums": _with("smear", 4),
    "continuous.Smear.pixelated": _with("smear", 4),
    "continuous.Stepped.mass": lambda: given(co.stepped(noun("pixelated"), 2), 0.5, 1),
    "continuous.SteppedChannel.mass": lambda: given(co.stepped(co.on_lattice(noun("pixelated"), 2)), 0.5, 1),
    "continuous.TruncatedLaplace.cumulative": _with("truncated", 0.5, 0.25),
    "continuous.TruncatedLaplace.edge_sums": _with("truncated", 2, 4),
    "continuous.TruncatedLaplace.density": _with("truncated", 0.5, 0.25),
    "continuous.TruncatedLaplace.mass_between": _with("truncated", 0.5, 0.25, 0.75),
    "continuous.TruncatedLaplace.promise_on": _with("truncated", 4),
    "continuous.TruncatedLaplace.mass": _with("truncated", 0.5, 0),
    "continuous.absolute_error": _plain((0, 1)),
    "continuous.as_density": _n("density"),
    "continuous.climb": lambda: given(noun("density"), noun("truncated"), noun("error"), [1, 2]),
    "continuous.enclosed_loss": _n("halves", "truncated", "lattice loss"),
    "continuous.gather": _with("density", 4),
    "continuous.geometric_refinement": _with("truncated", 2, 4),
    "continuous.laplace_gap": _n("halves", "truncated", "lattice loss"),
    "continuous.lattice": _plain(2),
    "continuous.lattice_geometric": _with("truncated", 2),
    "continuous.is_legal": _n("loss"),
    "continuous.lattice_loss": _with("error", 2),
    "continuous.lattice_space": _plain(2),
    "continuous.line_hyper_distance": _n("hyper", "hyper"),
    "continuous.on_lattice": _with("pixelated", 2),
    "continuous.pixelate": _with("truncated", 4),
    "continuous.pixelated_mechanism": _with("pixelated", 2),
    "continuous.posterior_loss": _n("density", "truncated", "error"),
    "continuous.smear": _with("truncated", 2),
    "continuous.smear_bound": _with("truncated", 2),
    "continuous.squared_error": _plain((0, 1)),
    "continuous.step_loss": _with("error", 2),
    "continuous.stepped": _with("pixelated", 2),
    "continuous.theorem_14_constant": _n("truncated"),
}

DESIGN = {
    "design.known_mechanism": lambda: given("exponential", noun("privacy")),
    "design.Curve.band": _with("curve", "3/4"),
    "universal.UtilitySet.contains": lambda: given(sf.universal.utility_set(noun("mechanism")), noun("loss")),
    "universal.UtilitySet.intersection": lambda: given(
        sf.universal.utility_set(noun("mechanism")), sf.universal.utility_set(noun("mechanism"))
    ),
    "universal.UtilitySet.lifted": lambda: given(sf.universal.utility_set(noun("mechanism")), noun("loss")),
    "universal.UtilitySet.restricted": lambda: given(sf.universal.utility_set(noun("mechanism")), [0, 1]),
    "universal.UtilitySet.scaled": lambda: given(sf.universal.utility_set(noun("mechanism")), noun("loss"), 2),
    "universal.UtilitySet.sum": lambda: given(sf.universal.utility_set(noun("mechanism")), noun("loss"), noun("loss")),
    "universal.ball": _with("prior", "1/10"),
    "calibrate": lambda: given(noun("prior"), noun("loss"), noun("space"), target="1/2", precision=0.1),
    "curve": lambda: given(noun("prior"), noun("loss"), noun("space"), [1]),
    "design.design": _n("prior", "loss", "privacy"),
    "universal.exists_for_all_losses": _n("privacy"),
    "universal.hull": lambda: given([noun("prior"), noun("other prior")]),
    "universal.impossibility": _n("loss", "privacy"),
    "universal.is_optimal_for_all_losses": _n("mechanism"),
    "universal.is_universally_optimal": _n("mechanism", "loss"),
    "universal.universal_design": _n("loss", "privacy"),
    "universal.utility_set": _n("mechanism"),
    "universal.worst_case_regret": _n("mechanism", "loss"),
    "objectives.as_objective": _plain("expected"),
    "objectives.at_most": _with("loss", 1),
    "objectives.ceiling": lambda: given(sf.objectives.loss_at_most(1), noun("loss"), noun("space")),
    "objectives.displacement_at_most": _plain(1, "1/2"),
    "objectives.expected": _plain(then="worst secret"),
    "objectives.loss_at_most": _plain(1),
    "objectives.shares": lambda: given("cumulative", priors=[noun("prior")]),
    "objectives.weighted": lambda: given([noun("prior"), noun("other prior")], ["1/2", "1/2"]),
    "objectives.worst_prior": lambda: given([noun("prior"), noun("other prior")]),
    "objectives.worst_secret": lambda: given(limits=()),
    "compatibility.database_size": _with("star", "1/2"),
    "compatibility.epsilon_star": _with("space", 1, "1/4"),
    "compatibility.finite_function": lambda: given(ones, noun("bits"), noun("space")),
    "compatibility.packing_bound": _with("space", "1/2", "1/4"),
    "compatibility.privacy_compatible": _n("space"),
    "compatibility.tradeoff_grid": lambda: given(noun("space"), [1], ["1/4"]),
}

COMPATIBILITY = {
    "EpsilonStar.achievable": _with("star", 1),
    "Packing.check": lambda: given(compatibility.countable_discrete().packing, 3),
    "ball": _plain(2),
    "best_measure": _with("space", 1, "1/4"),
    "chance_of_missing": lambda: given(noun("mechanism"), noun("space"), 1),
    "covering": lambda: given(lambda radius: 1 / radius),
    "cube": _plain(2),
    "finite": _n("space"),
    "has_utility": lambda: given(noun("mechanism"), noun("space"), 1, "1/2"),
    "interval": _plain(0, 1),
    "is_uniformly_positive": lambda: given([1, 2, 1], noun("space")),
    "least_exponential": _with("space", 1, "1/4"),
    "net_measure": _n("space"),
    "normalised": lambda: given(sf.compatibility.finite_function(ones, noun("bits"), noun("space"))),
    "real_line": _plain(1),
    "samples": _n("space"),
    "theorem_34": _with("space", 1, "1/4"),
}

CERTIFY = {
    "certify.claim": _n("prior", "mechanism", "loss"),
    "load": lambda: given(saved()),
    "prove": lambda: given([[4, 1, 1], [2, 2, 2], [1, 1, 4]], noun("privacy")),
    "quantise": lambda: given(np.full((3, 3), 1 / 3), noun("privacy")),
    "repair": lambda: given(np.full((3, 3), 1 / 3), noun("privacy")),
    "save": lambda: given(noun("mechanism"), "valid.sfm"),
    "verify": _n("mechanism"),
}

RELEASE = {
    "Ledger": lambda: given(str(Path(mkdtemp(dir=".")) / "new.ledger")),
    "Ledger.charge": lambda: given(ledger_of(), dataset="people", column="x", mechanism=noun("mechanism")),
    "Ledger.left": lambda: given(ledger_of(), "people", "x"),
    "Ledger.left_delta": lambda: given(ledger_of(), "people", "x"),
    "Ledger.set_limit": lambda: given(ledger_of(), 5, dataset="people", column="x"),
    "Ledger.spent": lambda: given(ledger_of(), "people"),
    "Mechanism.row_weights": _with("mechanism", 0),
    "Mechanism.release": lambda: given(noun("mechanism"), __import__("pandas").DataFrame({"x": [0, 1, 2]}), "x"),
    "release.coordinate_reference": lambda: given(rows()),
    "release.Geometry": _plain("geometry", beside=["office"]),
    "release.Place": _plain("lat", "lon"),
    "release.Position": _plain("x", "y"),
    "draws.SeededBits": _plain(1),
    "draws.SeededBits.words": _with("seeded", 2),
    "draws.SystemBits.words": lambda: given(sf.draws.SystemBits(), 2),
    "release.Sampler.draw": lambda: given(sf.sampler(noun("mechanism")), [0, 1]),
    "release.Sampler.draw_keyed": lambda: given(
        sf.sampler(noun("mechanism")),
        [0, 1],
        np.arange(32, dtype=np.uint8).reshape(2, 16),
        bytes(32),
        secret_never_changes=True,
    ),
    "release.integer_noise": _plain(1),
    "sampler": _n("mechanism"),
    "release.release_key": lambda: given(str(Path(mkdtemp(dir=".")) / "new.key")),
    "release_table": lambda: given(noun("mechanism"), __import__("pandas").DataFrame({"x": [0, 1, 2]}), "x"),
    "release_file": lambda: given(noun("mechanism"), rows(), str(Path(mkdtemp(dir=".")) / "out.csv"), "x"),
    "hide.hide": lambda: given(_plane(), "1 km", **_HIDING),
    "hide.Wish": lambda: given(hide="1 km", **_HIDING),
    "hide.Hidden.report": lambda: given(_hidden(), str(Path(mkdtemp(dir=".")) / "page.html")),
    "hide.Hidden.save": lambda: given(_hidden(), str(Path(mkdtemp(dir=".")) / "hidden.sfm")),
    "release.opendp_measurement": lambda: given(for_opendp()),
    "release.opendp_rows": lambda: given(for_opendp(), 3),
    "release.privacy_loss": _with("channel", 0, 1),
    "release.worst_privacy_loss": _n("channel"),
    "release.CredibleSets.of": lambda: given(sf.release.credible_sets(noun("prior"), noun("channel")), 0),
    "release.Posteriors.of": lambda: given(sf.release.posteriors(noun("prior"), noun("channel")), 0),
    "release.Posteriors.rows": lambda: given(sf.release.posteriors(noun("prior"), noun("channel")), RELEASED),
    "release.credible_sets": _n("prior", "channel"),
    "frequencies": _with("channel", RELEASED),
    "release.Frequencies.intervals": lambda: given(sf.frequencies(noun("channel"), RELEASED)),
    "release.Frequencies.plot": lambda: given(sf.frequencies(noun("channel"), RELEASED)),
    "release.frequencies_by": _with("channel", RELEASED, [0, 0, 0, 0, 1, 1, 1]),
    "release.weighted_counts": _with("channel", RELEASED, [1, 2, 1, 2, 1, 2, 1]),
    "release.WeightedCounts.along": lambda: given(
        sf.release.weighted_counts(noun("channel"), RELEASED, [1, 2, 1, 2, 1, 2, 1]), 0
    ),
    "release.cross_table": lambda: given([noun("channel")] * 2, [RELEASED, RELEASED], names=("one", "two")),
    "release.CrossTable.intervals": lambda: given(_crossed()),
    "release.CrossTable.marginal": lambda: given(_crossed(), 1),
    "release.CrossTable.plot": lambda: given(_crossed()),
    "release.spent_on_answers": lambda: given([noun("mechanism")], ["one"]),
    "release.released_counts": lambda: given(rows(), "x", [[0, 1, 2]]),
    "release.survey_plan": lambda: given(noun("channel"), guess=noun("prior")),
    "release.SurveyPlan.error": lambda: given(sf.release.survey_plan(noun("channel")), 100),
    "release.SurveyPlan.errors": lambda: given(sf.release.survey_plan(noun("channel")), 100),
    "release.SurveyPlan.respondents": lambda: given(sf.release.survey_plan(noun("channel")), 0.1),
    "release.SurveyPlan.respondents_in_the_clear": lambda: given(sf.release.survey_plan(noun("channel")), 0.1),
    "release.plan_curve": lambda: given(_scale, [1, 2]),
    "release.nearest_prior": lambda: given(noun("space"), np.array([0.5, 0.6, -0.1])),
    "release.output_counts": _with("channel", RELEASED),
    "release.posteriors": _n("prior", "channel"),
    "release.remap_rows": lambda: given(noun("prior"), noun("channel"), noun("loss"), RELEASED),
    "release.iterative_bayesian_update": _with("channel", RELEASED, steps=5),
    "release.maximum_likelihood": _with("channel", RELEASED),
}

REPORT = {
    "audit": _n("channel", "privacy"),
    "report.report": lambda: given(noun("design"), str(Path(mkdtemp(dir=".")) / "page.html"), compare=False),
    "simplex": _n("privacy", "channel"),
    **{
        f"{kind}.to_pandas": _with(kind.lower(), exact=True)
        for kind in ("Channel", "Gain", "Hyper", "Loss", "Mechanism", "Prior")
    },
    "papers.compared": lambda: given(sf.papers.PaperTable("X", "", ({"a": {"agree": True}},))),
    "report.PriorMap.regret": lambda: given(noun("prior map"), "one"),
    "report.comparison_figure": lambda: given(sf.compare_known(noun("prior"), noun("loss"), noun("privacy"))),
    "report.curve_figure": lambda: given(sf.curve(noun("prior"), noun("loss"), noun("space"), [1, 2])),
    "report.entropy_surface": _n("loss"),
    "report.hasse_figure": lambda: given(sf.orders.hasse({"one": noun("channel")})),
    "report.prior_map": lambda: given({"one": noun("channel")}, noun("loss"), noun("privacy"), resolution=4),
    "report.prior_map_figure": _n("prior map"),
    "report.respondents_figure": lambda: given(sf.release.plan_curve(_scale, [1, 2]), 0.1),
    "report.shares_figure": lambda: given(sf.frequencies(noun("channel"), RELEASED), title="x"),
}

CALLS: dict[str, Callable[[], Given]] = {
    **SPACES, **CHANNELS, **LOSSES, **MEASURES, **ORDERS, **PRIVACY, **MECHANISMS, **CONTINUOUS, **DESIGN,
    **{f"compatibility.{name}": call for name, call in COMPATIBILITY.items()},
    **CERTIFY, **RELEASE, **REPORT,
}  # fmt: skip
