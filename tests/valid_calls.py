"""One call that works for every public function, constructor and method; :data:`CALLS` fails a test where one lacks.

A method's first argument is the value it belongs to. Each entry is a function, so that what a call uses up (generators,
files, ledgers) is new each time; values that never change are built once.
"""

from __future__ import annotations

import warnings
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
from sfumato.design import compatibility
from sfumato.draws.randomness import SeededBits
from sfumato.mechanisms import Lattice
from sfumato.privacy import Endpoint
from sfumato.privacy.predicates_curves import Growth
from sfumato.release.ledger import Ledger

__all__ = ["CALLS", "Given", "noun"]


class Given(NamedTuple):
    """What a call is given."""

    positional: tuple[Any, ...]
    named: dict[str, Any]


def given(*positional: Any, **named: Any) -> Given:
    """The arguments, as they would be written."""
    return Given(positional, named)


@cache
def noun(name: str) -> Any:
    """A value that several calls share, built when it is first needed."""
    return NOUNS[name]()


def ones(word: str) -> int:
    """A query on the words of a Hamming space."""
    return word.count("1")


def _mechanism() -> sf.Mechanism:
    return sf.prove([[4, 1, 1], [2, 2, 2], [1, 1, 4]], noun("privacy"))


def _saved(name: str = "valid.sfm") -> str:
    path = Path(mkdtemp(dir=".")) / name
    sf.save(noun("mechanism"), path)
    return str(path)


def _rows() -> str:
    path = Path(mkdtemp(dir=".")) / "rows.csv"
    path.write_text("id,x\n1,0\n2,1\n3,2\n")
    return str(path)


def _ledger() -> Ledger:
    ledger = Ledger(Path(mkdtemp(dir=".")) / "valid.ledger")
    ledger.charge(dataset="people", column="x", mechanism=noun("mechanism"))
    return ledger


def _for_opendp() -> sf.Mechanism:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return noun("mechanism")


def _seeded() -> SeededBits:
    with warnings.catch_warnings(action="ignore", category=sf.InsecureSeed):
        return SeededBits(1)


NOUNS: dict[str, Callable[[], Any]] = {
    "space": lambda: sf.line(3),
    "square": lambda: sf.grid(2, 2),
    "flat": lambda: sf.discrete(3),
    "bits": lambda: sf.hamming(2),
    "privacy": lambda: sf.PrivacyType(noun("space"), alpha="1/2"),
    "irrational": lambda: sf.PrivacyType(noun("space"), epsilon=1),
    "flat privacy": lambda: sf.PrivacyType(noun("flat"), alpha="1/2"),
    "pair privacy": lambda: sf.PrivacyType(sf.line(2), alpha="1/2"),
    "square privacy": lambda: sf.PrivacyType(noun("square"), epsilon=1),
    "prior": lambda: sf.Prior(noun("space"), ["1/2", "1/4", "1/4"]),
    "other prior": lambda: sf.Prior(noun("space"), ["1/4", "1/4", "1/2"]),
    "flat prior": lambda: sf.Prior.uniform(noun("flat")),
    "mechanism": _mechanism,
    "channel": lambda: noun("mechanism").channel,
    "identity": lambda: sf.Channel.identity(noun("space")),
    "bit channel": lambda: sf.Channel(range(2), [["3/4", "1/4"], ["1/4", "3/4"]]),
    "loss": lambda: sf.losses.absolute(noun("space")),
    "gain": lambda: sf.losses.guess(noun("space")),
    "hyper": lambda: sf.hyper(noun("prior"), noun("channel")),
    "design": lambda: sf.design(noun("prior"), noun("loss"), noun("privacy")),
    "curve": lambda: sf.curve(noun("prior"), noun("loss"), noun("space"), ["1/2", 1]),
    "predicate": lambda: sf.predicates.epsilon_delta(delta="1/10", alpha="1/2"),
    "definition": lambda: sf.probabilistic(delta="1/10", alpha="1/2"),
    "tradeoff": lambda: sf.tradeoff(noun("channel"), 0, 1),
    "breach": lambda: sf.satisfies_axioms(sf.probabilistic(delta="1/10", alpha="1/2")).witness.breach,
    "interval": lambda: co.Interval(Fraction(0), Fraction(1)),
    "density": co.Density.uniform,
    "laplace": lambda: co.laplace(1),
    "truncated": lambda: co.truncated_laplace(alpha="1/16"),
    "pixelated": lambda: co.pixelate(noun("truncated"), 4),
    "smear": lambda: co.smear(noun("truncated"), 2),
    "error": co.absolute_error,
    "halves": lambda: sf.Prior.uniform(co.lattice_space(2)),
    "lattice loss": lambda: co.lattice_loss(noun("error"), 2),
    "lattice": lambda: Lattice((2, 2)),
    "cells": lambda: sf.lattice_tight_constraints(noun("lattice"), epsilon=3),
    "product": lambda: sf.product_mechanism(noun("mechanism"), noun("mechanism")),
    "star": lambda: sf.epsilon_star(noun("space"), 1, "1/4"),
    "chains": lambda: sf.is_uniformly_sensitive(ones, noun("bits"), noun("space")).witness,
    "seeded": _seeded,
    "kernels": lambda: sf.kernels(noun("privacy")),
}  # fmt: skip


def _n(*names: str, **named: Any) -> Callable[[], Given]:
    """Nouns by position; further arguments by name, as they are."""
    return lambda: given(*map(noun, names), **named)


def _with(first: str, *rest: Any, **named: Any) -> Callable[[], Given]:
    """One noun, then plain values."""
    return lambda: given(noun(first), *rest, **named)


def _plain(*positional: Any, **named: Any) -> Callable[[], Given]:
    return lambda: given(*positional, **named)


RELEASED = [0, 1, 2, 2, 1, 0, 0]
SCORE = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]

SPACES = {
    "FiniteSpace": lambda: given(["a", "b"], [[0, 1], [1, 0]], "km", "two"),
    "FiniteSpace.distance": _with("space", 0, 1),
    "FiniteSpace.index": _with("space", 1),
    "FiniteSpace.restrict": _with("space", [0, 1]),
    "complete_bipartite": _plain(1, 2),
    "count_query": _plain(2),
    "cycle": _plain(4),
    "discrete": _plain(3),
    "geo": lambda: given([(48.9, 2.4), (51.5, -0.1)]),
    "graph": lambda: given([("a", "b", "0.3"), ("b", "c", "0.4")]),
    "grid": _plain(2, 2),
    "hamming": _plain(2),
    "induced": lambda: given(ones, noun("bits")),
    "is_uniformly_sensitive": lambda: given(ones, noun("bits"), noun("space")),
    "isometries": _n("space"),
    "k_count_query": _plain(2, 2),
    "line": _plain(3),
    "lipschitz_constant": lambda: given(ones, noun("bits"), noun("space")),
    "points": lambda: given([[0.1, 0.7], [0.3, 0.2]]),
    "query": lambda: given(sum, values=[0, 1], individuals=2),
    "star": _plain(3),
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
    "choice": lambda: given("1/2", noun("channel"), noun("channel")),
    "hyper": _n("prior", "channel"),
    "joint": _n("prior", "channel"),
    "normalise": lambda: given([[1, 2], [3, 4]]),
    "oblivious": lambda: given(noun("channel"), ones, noun("bits")),
    "output_distribution": _n("prior", "channel"),
    "parallel": _n("channel", "channel"),
    "posterior": lambda: given(noun("prior"), noun("channel"), 0),
    "remap": lambda: given(noun("channel"), str),
    "restrict": _with("channel", [0, 1]),
}

LOSSES = {
    "Gain": lambda: given(["a", "b"], noun("space"), [[0, 1, 2], [1, 0, 1]]),
    "Gain.at": _with("gain", 0, 1),
    "Loss": lambda: given(["a", "b"], noun("space"), [[0, 1, 2], [1, 0, 1]]),
    "Loss.at": _with("loss", 0, 1),
    "is_monotone": _n("loss", "space"),
    "is_single_crossing": _n("loss", "space"),
    "is_strictly_monotone": _n("loss", "space"),
    "is_trivial": _n("loss"),
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
    **{name: _n("prior", "channel") for name in ("bayes_risk", "bayes_vulnerability", "conditional_guessing_entropy",
       "conditional_min_entropy", "conditional_shannon_entropy", "min_mutual_information", "mutual_information")},
    **{name: _n("prior") for name in ("guessing_entropy", "min_entropy", "shannon_entropy")},
    **{name: _n("prior", "channel", "loss") for name in ("expected_loss", "optimal_remap", "posterior_loss")},
    "capacity": _n("channel"),
    "leakage": _n("prior", "channel"),
    "optimal_action": _n("prior", "loss"),
    "posterior_vulnerability": _n("prior", "channel", "gain"),
    "prior_loss": _n("prior", "loss"),
    "prior_vulnerability": _n("prior", "gain"),
    "respects_sufficiency": lambda: given(measures.dobrushin, tries=20),
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
    "hasse": lambda: given({"a": noun("channel"), "b": noun("identity")}),
    "hyper_distance": _n("hyper", "hyper", "space"),
    "hyper_refines": _n("hyper", "hyper"),
    "kantorovich": _n("prior", "other prior", "space"),
    "loss_lipschitz": _n("loss", "space"),
    "maximal_channels": lambda: given({"a": noun("channel"), "b": noun("identity")}),
    "refines": _n("channel", "identity"),
}

PRIVACY = {
    "PrivacyType": _with("space", alpha="1/2"),
    "PrivacyType.exact_factor": _with("privacy", 1),
    "PrivacyType.factor": _with("privacy", 0, 1),
    "PrivacyType.factor_bounds": _with("privacy", 1),
    "PrivacyType.rate_bounds": _with("privacy", 32),
    "Predicate.allows": _with("predicate", Fraction(1, 2), Fraction(1, 2)),
    "Predicate.bounds": _with("predicate", "1/2"),
    "Predicate.lower": _with("predicate", [0.25, 0.5]),
    "Predicate.tradeoff": _with("predicate", [0.25, 0.5]),
    "Predicate.upper": _with("predicate", [0.25, 0.5]),
    "RegularRegion.contains": lambda: given(sf.regular_region(noun("privacy")), noun("prior")),
    "TradeOff.delta": _with("tradeoff", alpha="1/2"),
    "TradeOff.delta_bounds": lambda: given(noun("tradeoff"), Growth(Fraction(2))),
    "TradeOff.power": _with("tradeoff", "1/2"),
    "TradeOff.through": lambda: given([(0, 0), ("1/4", "1/2"), (1, 1)]),
    "breaks": lambda: given(noun("breach"), noun("definition")),
    "database_leakage_bound": _plain(3, 2, alpha="1/2"),
    "decompose": _n("channel", "privacy"),
    "estimate_kernels": _with("privacy", samples=1000, seed=1),
    "is_ball_size_symmetric": _n("space"),
    "is_kernel": _n("channel", "privacy"),
    "is_regular": _n("prior", "privacy"),
    "is_vertex_mechanism": _n("channel", "privacy"),
    "k_of_n_outputs": _plain(1, 2, alpha="1/2"),
    "k_of_n_pairs": lambda: given(1, 2, noun("predicate")),
    "leakage_bound": _n("prior", "privacy"),
    "maximally_sufficient": _n("channel", "privacy"),
    "mixture": lambda: given("1/2", noun("channel"), noun("channel")),
    "optimal_utility": _n("prior", "privacy"),
    "orbits": _n("kernels"),
    "probabilistic": _plain(delta="1/10", alpha="1/2"),
    "ratio_bounds": lambda: given([[0, 2], [2, 0]]),
    "regular_threshold": _n("prior", "space"),
    "row_distance": _with("channel", 0, 1),
    "row_graphs": _n("channel", "privacy"),
    "satisfies": _n("channel", "privacy"),
    "satisfies_axioms": _n("definition"),
    "smallest_delta": _with("channel", alpha="1/2"),
    "smallest_epsilon": _n("channel", "space"),
    "smallest_epsilon_at": _with("channel", "1/10"),
    "symmetry_classes": _n("space"),
    "tight_threshold": _n("space"),
    "tightest_pair": _n("channel", "space"),
    "together_private": _n("privacy", "irrational"),
    "tradeoff": _with("channel", 0, 1),
    "utility_bound": _n("prior", "privacy"),
    "worst_tradeoff": _n("channel"),
    "privacy.Endpoint.decimal": lambda: given(Endpoint(Fraction(1, 3), Fraction(1, 2)), 3),
    "privacy.rational_power": lambda: given(Fraction(1, 4), Fraction(1, 2)),
    "privacy.satisfies_predicate": _n("channel", "predicate"),
    **{name: _n("privacy") for name in ("capacities", "corner_priors", "count_kernels", "each_kernel",
       "has_tight_constraints", "kernels", "regular_region", "similarity", "vertices")},
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
    "InfiniteGeometric": lambda: given(Fraction(1, 2)),
    "InfiniteGeometric.cumulative": lambda: given(sf.InfiniteGeometric(Fraction(1, 2)), 0, 1),
    "InfiniteGeometric.probability": lambda: given(sf.InfiniteGeometric(Fraction(1, 2)), 0, 1),
    "InfiniteGeometric.truncated": lambda: given(sf.InfiniteGeometric(Fraction(1, 2)), 0, 2),
    "LatticeMechanism.row": _with("cells", (0, 1)),
    "LatticeMechanism.sample": _with("cells", (0, 1)),
    "LatticeMechanism.verify_pair": _with("cells", (0, 1), (1, 1)),
    "LatticeMechanism.row_weights": _with("cells", (0, 1)),
    "LatticeMechanism.weights": _with("cells", (0, 1)),
    "Staircase": lambda: given(Fraction(1, 2), 2, 1),
    "Staircase.beyond": lambda: given(sf.Staircase(Fraction(1, 2), 2, 1), 1),
    "Staircase.probability": lambda: given(sf.Staircase(Fraction(1, 2), 2, 1), 1),
    "binary": _n("pair privacy"),
    **{name: _n("privacy") for name in ("closest_pair", "geometric", "staircase", "stretched_geometric",
       "pixelated_laplace", "tight_constraints", "exponential", "permute_and_flip")},
    **{name: _n("flat privacy") for name in ("dual_random_response", "random_response")},
    "hamming_kernel": lambda: given(sf.PrivacyType(noun("bits"), alpha="1/2")),
    **{name: _n("square privacy") for name in ("planar_geometric", "planar_laplace")},
    "compare_known": _n("prior", "loss", "privacy"),
    "has_lattice_tight_constraints": _with("lattice", epsilon=3),
    "lattice_threshold": lambda: given(Lattice((10, 10)), digits=3),
    "lattice_tight_constraints": _with("lattice", epsilon=3),
    "membership": _with("flat privacy", [0]),
    "one_against_rest": _with("flat privacy", 0),
    "product_mechanism": _n("mechanism", "mechanism"),
    "mechanisms.Lattice": lambda: given((2, 2)),
    "mechanisms.Lattice.lengths": _with("lattice", (1, 1)),
    "mechanisms.Lattice.promise": _with("lattice", epsilon=1),
    "mechanisms.ProductMechanism.row": _with("product", (0, 1)),
    "mechanisms.ProductMechanism.row_weights": _with("product", (0, 1)),
    "mechanisms.ProductMechanism.weights": _with("product", (0, 1)),
    "mechanisms.true_epsilon": _n("mechanism"),
}  # fmt: skip

CONTINUOUS = {
    "Density": lambda: given(lambda x: 1 + 0 * x, (0, 1)),
    "Density.cumulative": _with("density", [0.25, 0.5]),
    "Density.steps": lambda: given(["1/3", "2/3"]),
    "Density.uniform": _plain((0, 2)),
    "laplace": _plain(1),
    "truncated_laplace": _plain(1),
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
    "continuous.lattice_loss": _with("error", 2),
    "continuous.lattice_space": _plain(2),
    "continuous.line_hyper_distance": _n("hyper", "hyper"),
    "continuous.on_lattice": _with("pixelated", 2),
    "continuous.pixelate": _with("truncated", 4),
    "continuous.pixelated_mechanism": _with("pixelated", 2),
    "continuous.posterior_loss": _n("density", "truncated", "error"),
    "continuous.smear": _with("truncated", 2),
    "continuous.squared_error": _plain((0, 1)),
    "continuous.step_loss": _with("error", 2),
    "continuous.stepped": _with("pixelated", 2),
    "continuous.theorem_14_constant": _n("truncated"),
}

DESIGN = {
    "Curve.band": _with("curve", "3/4"),
    "UtilitySet.contains": lambda: given(sf.utility_set(noun("mechanism")), noun("loss")),
    "UtilitySet.intersection": lambda: given(sf.utility_set(noun("mechanism")), sf.utility_set(noun("mechanism"))),
    "UtilitySet.lifted": lambda: given(sf.utility_set(noun("mechanism")), noun("loss")),
    "UtilitySet.restricted": lambda: given(sf.utility_set(noun("mechanism")), [0, 1]),
    "UtilitySet.scaled": lambda: given(sf.utility_set(noun("mechanism")), noun("loss"), 2),
    "UtilitySet.sum": lambda: given(sf.utility_set(noun("mechanism")), noun("loss"), noun("loss")),
    "ball": _with("prior", "1/10"),
    "calibrate": lambda: given(noun("prior"), noun("loss"), noun("space"), target="1/2", precision=0.1),
    "curve": lambda: given(noun("prior"), noun("loss"), noun("space"), [1]),
    "design": _n("prior", "loss", "privacy"),
    "hull": lambda: given([noun("prior"), noun("other prior")]),
    "impossibility": _n("loss", "privacy"),
    "is_universally_optimal": _n("mechanism", "loss"),
    "universal_design": _n("loss", "privacy"),
    "utility_set": _n("mechanism"),
    "worst_case_regret": _n("mechanism", "loss"),
    "objectives.as_objective": _plain("expected"),
    "objectives.at_most": _with("loss", 1),
    "objectives.ceiling": lambda: given(sf.objectives.loss_at_most(1), noun("loss"), noun("space")),
    "objectives.displacement_at_most": _plain(1, "1/2"),
    "objectives.expected": _plain(then="worst secret"),
    "objectives.loss_at_most": _plain(1),
    "objectives.weighted": lambda: given([noun("prior"), noun("other prior")], ["1/2", "1/2"]),
    "objectives.worst_prior": lambda: given([noun("prior"), noun("other prior")]),
    "objectives.worst_secret": lambda: given(limits=()),
    "database_size": _with("star", "1/2"),
    "epsilon_star": _with("space", 1, "1/4"),
    "finite_function": lambda: given(ones, noun("bits"), noun("space")),
    "packing_bound": _with("space", "1/2", "1/4"),
    "privacy_compatible": _n("space"),
    "tradeoff_grid": lambda: given(noun("space"), [1], ["1/4"]),
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
    "least_exponential": _with("space", 1, "1/4"),
    "net_measure": _n("space"),
    "normalised": lambda: given(sf.finite_function(ones, noun("bits"), noun("space"))),
    "real_line": _plain(1),
    "samples": _n("space"),
    "theorem_34": _with("space", 1, "1/4"),
}

CERTIFY = {
    "claim": _n("prior", "mechanism", "loss"),
    "load": lambda: given(_saved()),
    "prove": lambda: given([[4, 1, 1], [2, 2, 2], [1, 1, 4]], noun("privacy")),
    "quantise": lambda: given(np.full((3, 3), 1 / 3), noun("privacy")),
    "repair": lambda: given(np.full((3, 3), 1 / 3), noun("privacy")),
    "save": lambda: given(noun("mechanism"), "valid.sfm"),
    "verify": _n("mechanism"),
}

RELEASE = {
    "Ledger": lambda: given(str(Path(mkdtemp(dir=".")) / "new.ledger")),
    "Ledger.charge": lambda: given(_ledger(), dataset="people", column="x", mechanism=noun("mechanism")),
    "Ledger.left": lambda: given(_ledger(), "people", "x"),
    "Ledger.left_delta": lambda: given(_ledger(), "people", "x"),
    "Ledger.set_limit": lambda: given(_ledger(), 5, dataset="people", column="x"),
    "Ledger.spent": lambda: given(_ledger(), "people"),
    "Mechanism.row_weights": _with("mechanism", 0),
    "Mechanism.release": lambda: given(noun("mechanism"), __import__("pandas").DataFrame({"x": [0, 1, 2]}), "x"),
    "Place": _plain("lat", "lon"),
    "Position": _plain("x", "y"),
    "SeededBits": _plain(1),
    "SeededBits.words": _with("seeded", 2),
    "SystemBits.words": lambda: given(sf.SystemBits(), 2),
    "Sampler.draw": lambda: given(sf.sampler(noun("mechanism")), [0, 1]),
    "Sampler.draw_keyed": lambda: given(
        sf.sampler(noun("mechanism")),
        [0, 1],
        np.arange(32, dtype=np.uint8).reshape(2, 16),
        bytes(32),
        secret_never_changes=True,
    ),
    "integer_noise": _plain(1),
    "sampler": _n("mechanism"),
    "release_table": lambda: given(noun("mechanism"), __import__("pandas").DataFrame({"x": [0, 1, 2]}), "x"),
    "release_key": lambda: given(str(Path(mkdtemp(dir=".")) / "new.key")),
    "release_file": lambda: given(noun("mechanism"), _rows(), str(Path(mkdtemp(dir=".")) / "out.csv"), "x"),
    "opendp_measurement": lambda: given(_for_opendp()),
    "opendp_rows": lambda: given(_for_opendp(), 3),
    "privacy_loss": _with("channel", 0, 1),
    "worst_privacy_loss": _n("channel"),
    "CredibleSets.of": lambda: given(sf.credible_sets(noun("prior"), noun("channel")), 0),
    "Posteriors.of": lambda: given(sf.posteriors(noun("prior"), noun("channel")), 0),
    "Posteriors.rows": lambda: given(sf.posteriors(noun("prior"), noun("channel")), RELEASED),
    "credible_sets": _n("prior", "channel"),
    "frequencies": _with("channel", RELEASED),
    "nearest_prior": lambda: given(noun("space"), np.array([0.5, 0.6, -0.1])),
    "output_counts": _with("channel", RELEASED),
    "posteriors": _n("prior", "channel"),
    "remap_rows": lambda: given(noun("prior"), noun("channel"), noun("loss"), RELEASED),
    "iterative_bayesian_update": _with("channel", RELEASED, steps=5),
    "maximum_likelihood": _with("channel", RELEASED),
}

REPORT = {
    "audit": _n("channel", "privacy"),
    "report": lambda: given(noun("design"), str(Path(mkdtemp(dir=".")) / "page.html"), compare=False),
    "simplex": _n("privacy", "channel"),
}

CALLS: dict[str, Callable[[], Given]] = {
    **SPACES, **CHANNELS, **LOSSES, **MEASURES, **ORDERS, **PRIVACY, **MECHANISMS, **CONTINUOUS, **DESIGN,
    **{f"design.compatibility.{name}": call for name, call in COMPATIBILITY.items()},
    **CERTIFY, **RELEASE, **REPORT,
}  # fmt: skip
