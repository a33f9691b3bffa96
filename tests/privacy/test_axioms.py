from __future__ import annotations

from fractions import Fraction
from math import cos

import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import InvalidEpsilon, InvalidInput, Mismatch, NotSupported
from sfumato.privacy import predicates as q
from sfumato.privacy.axioms import satisfies_axioms
from sfumato.privacy.predicates_curves import Growth, Line
from sfumato.privacy.predicates_definitions import (
    CONVEXITY,
    EXISTENCE,
    TRANSFORMATION,
    Breach,
    Definition,
    breaks,
    k_anonymity,
    k_of_n_outputs,
    k_of_n_pairs,
    mixture,
    probabilistic,
    strict,
    transformed,
)
from sfumato.privacy.predicates_satisfaction import satisfies_predicate
from sfumato.verdict import Outcome

CONSISTENT = [
    q.pure(epsilon=1),
    q.epsilon_delta(alpha="1/2", delta="1/10"),
    q.epsilon_delta(epsilon=1, delta="1/10", one_sided=True),
    q.gaussian(1),
    q.laplace(epsilon=1),
    q.gumbel(epsilon=1, tail="both"),
    q.exponential(epsilon=1),
    q.trivial(),
    q.from_points([(0, "1/10"), ("2/5", "9/10"), (1, 1)]),
    q.symmetrised(q.gumbel(alpha="1/2")),
]


@pytest.mark.parametrize("predicate", CONSISTENT, ids=repr)
def test_consistent_predicates(predicate: q.Predicate) -> None:
    verdict = satisfies_axioms(predicate)
    assert verdict
    assert [c.number for c in verdict.witness.conditions] == [1, 2, 3, 4, 5, 6]
    assert all(c.verdict for c in verdict.witness.conditions)


def test_cosine_privacy() -> None:
    cosine = q.from_function(lambda a, b: float(b) == cos(a), "cosine privacy")
    verdict = satisfies_axioms(cosine)
    breach = verdict.witness.breach
    assert verdict.outcome is Outcome.FAILS and "refuses the impossible event" in verdict.reason
    assert breach.exempt and breach.axiom == TRANSFORMATION
    assert breach.mechanisms[0].matrix.tolist() == [[1], [1]]
    assert breach.result.matrix.tolist() == [[Fraction(1, 2)] * 2] * 2
    assert breaks(breach, cosine)
    assert not breaks(Breach(breach.axiom, breach.mechanisms, breach.result, breach.post_processing), cosine)


def test_cosine_is_refused_everywhere() -> None:
    # cos a + cos(1 − a) ≥ 1 + cos 1 > 1, so no event and its complement are both allowed
    assert all(cos(k / 100) + cos(1 - k / 100) > 1.5 for k in range(101))


def test_probabilistic_privacy_on_the_printed_example() -> None:
    verdict = satisfies_axioms(probabilistic(delta="1/100", alpha="1/2"))
    breach = verdict.witness.breach
    (before,) = breach.mechanisms
    assert verdict.outcome is Outcome.FAILS and breach.axiom == TRANSFORMATION
    assert (
        before.matrix.tolist()
        == sf.Channel([0, 1], [["0.89", "0.1", "0.01", 0], ["0.79", "0.2", 0, "0.01"]]).matrix.tolist()
    )
    merged = dict(zip(breach.result.outputs, breach.result.matrix.T.tolist(), strict=True))
    assert merged["E"] == [Fraction(1, 10), Fraction(21, 100)]


@pytest.mark.parametrize(("delta", "epsilon"), [("1/100", "1/10"), ("1/2", 3), ("99/100", 5), ("1/1000000", "1/1000")])
def test_probabilistic_privacy_fails_always(delta: str, epsilon: object) -> None:
    definition = probabilistic(delta=delta, epsilon=epsilon)  # type: ignore[arg-type]
    verdict = satisfies_axioms(definition)
    assert verdict.outcome is Outcome.FAILS
    assert breaks(verdict.witness.breach, definition)


def test_probabilistic_privacy_without_exceptions() -> None:
    assert satisfies_axioms(probabilistic(delta=0, alpha="1/2"))
    assert satisfies_axioms(probabilistic(delta=1, alpha="1/2"))


@pytest.mark.parametrize(("k", "n"), [(1, 2), (2, 3), (1, 4), (3, 4)])
def test_k_of_n(k: int, n: int) -> None:
    outputs = k_of_n_outputs(k, n, epsilon="1/10")
    verdict = satisfies_axioms(outputs)
    assert verdict.outcome is Outcome.FAILS and verdict.witness.breach.axiom == TRANSFORMATION
    assert verdict.witness.breach.mechanisms[0].shape == (2, n) and breaks(verdict.witness.breach, outputs)
    for base in (q.pure(alpha="1/2"), q.epsilon_delta(alpha="1/2", delta="3/4"), q.gaussian(1)):
        pairs = k_of_n_pairs(k, n, base)
        verdict = satisfies_axioms(pairs)
        assert verdict.outcome is Outcome.FAILS and verdict.witness.breach.axiom == CONVEXITY
        assert breaks(verdict.witness.breach, pairs)


@pytest.mark.parametrize(("delta", "slack"), [("1/100", "1/20"), ("1/3", "1/3"), ("1/20", "9/10")])
def test_privacy_but_for_some_outputs(delta: str, slack: str) -> None:
    """The form that (c, ε, δ)-privacy has too: (ε, slack) outside outputs of probability δ. Merging breaks it."""
    for promise in ({"alpha": "1/2"}, {"epsilon": 1}, {"alpha": 1}):
        definition = probabilistic(delta=delta, slack=slack, **promise)  # type: ignore[arg-type]
        verdict = satisfies_axioms(definition)
        assert verdict.outcome is Outcome.FAILS and breaks(verdict.witness.breach, definition)
        assert verdict.witness.breach.axiom.startswith("transformation")
        (before,) = verdict.witness.breach.mechanisms
        for channel in (before, verdict.witness.breach.result):  # what is consistent is implied by it: (ε, δ + slack)
            both = Fraction(delta) + Fraction(slack)
            assert satisfies_predicate(channel, q.epsilon_delta(delta=min(both, 1), **promise))  # type: ignore[arg-type]


def test_nothing_to_leave_out_or_nothing_asked() -> None:
    assert satisfies_axioms(probabilistic(delta=0, slack="1/10", alpha="1/2"))
    assert satisfies_axioms(probabilistic(delta="1/10", slack=1, alpha="1/2"))
    assert probabilistic(delta="1/10", slack=1, alpha="1/2").keeps(sf.Channel.identity([0, 1]))


def test_which_outputs_are_left_out_is_tried() -> None:
    """Two outputs together exceed the slack; either may be the exception, but only one is small enough."""
    channel = sf.Channel([0, 1], [["1/10", "3/10", "3/5"], [0, 0, 1]])
    assert probabilistic(delta="1/10", slack="3/10", alpha="1/2").keeps(channel)
    assert not probabilistic(delta="1/10", slack="29/100", alpha="1/2").keeps(channel)
    assert not probabilistic(delta="9/100", slack="3/10", alpha="1/2").keeps(channel)
    many = sf.Channel([0, 1], [["1/14"] * 14 + [0] * 14, [0] * 14 + ["1/14"] * 14])
    with pytest.raises(NotSupported, match="outputs"):
        probabilistic(delta="1/10", slack="1/10", alpha="1/2").keeps(many)
    with pytest.raises(InvalidInput, match="slack"):
        probabilistic(delta="1/10", slack=2, alpha="1/2")


@pytest.mark.parametrize("k", [2, 3, 10])
def test_k_anonymity(k: int) -> None:
    """Numbers of their own in place of quasi-identifiers tell less, and are refused (section 2.2)."""
    definition = k_anonymity(k)
    verdict = satisfies_axioms(definition)
    assert verdict.outcome is Outcome.FAILS and breaks(verdict.witness.breach, definition)
    assert verdict.witness.breach.axiom.startswith("transformation")
    tables = [("a",) * k, ("a",) * k + ("b",) * (k - 1)]
    assert definition.keeps(sf.Channel([0, 1], [[1, 0], [1, 0]], tables))
    assert not definition.keeps(sf.Channel([0, 1], [[1, 0], ["1/2", "1/2"]], tables))
    assert not definition.keeps(sf.Channel.constant([0, 1]))  # no table
    assert definition.keeps(sf.Channel([0, 1], [[1], [1]], [()]))


def test_k_anonymity_without_k() -> None:
    assert satisfies_axioms(k_anonymity(1))
    with pytest.raises(InvalidInput, match="k"):
        k_anonymity(0)


def test_strict_privacy() -> None:
    """With < in place of ≤ both axioms hold; asked of the impossible event as well, nothing is left (section 3.1)."""
    definition = strict(alpha="1/2")
    assert satisfies_axioms(definition)
    border = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    assert not definition.keeps(border) and strict(alpha="2/5").keeps(border)
    assert strict(epsilon="0.694").keeps(border) and not strict(epsilon="0.693").keeps(border)
    assert definition.keeps(sf.Channel([0, 1], [[1, 0], [1, 0]]))  # outputs that never occur do not count
    printed = satisfies_axioms(q.from_function(lambda a, b: a < 2 * b, "strict privacy"))
    assert printed.outcome is Outcome.FAILS and "no channel keeps" in printed.reason
    with pytest.raises(InvalidEpsilon, match="strictly"):
        strict(alpha=1)


def test_k_of_n_at_the_ends() -> None:
    for k in (0, 3):
        assert satisfies_axioms(k_of_n_outputs(k, 3, alpha="1/2"))
        assert satisfies_axioms(k_of_n_pairs(k, 3, q.pure(alpha="1/2")))
    with pytest.raises(InvalidInput, match="k of n"):
        k_of_n_outputs(4, 3, alpha="1/2")


def test_a_curve_below_the_diagonal() -> None:
    predicate = q.from_points([(0, 0), ("1/2", "1/4"), (1, 1)])
    verdict = satisfies_axioms(predicate)
    assert verdict.outcome is Outcome.FAILS and breaks(verdict.witness.breach, predicate)
    assert [c.number for c in verdict.witness.conditions if c.verdict.decided] == [6]


def test_a_curve_that_does_not_end_at_one() -> None:
    predicate = q.from_points([(0, 0), ("1/2", "3/4"), (1, "9/10")])
    verdict = satisfies_axioms(predicate)
    assert verdict.outcome is Outcome.FAILS and verdict.witness.breach.exempt
    low = q.Predicate("low", (Line(Growth(Fraction(1)), Fraction(0), Fraction(-1, 10)),))
    assert satisfies_axioms(low).outcome is Outcome.FAILS
    refusing = q.from_function(lambda a, b: 0 < a < 1)
    verdict = satisfies_axioms(refusing)
    assert verdict.witness.breach.axiom == EXISTENCE and breaks(verdict.witness.breach, refusing)


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lambda a, b: abs(a - b) <= a * a / 100, {3}),
        (lambda a, b: a == b or b >= Fraction(1, 2), {3}),
        (lambda a, b: a != Fraction(1, 3) or b != a, {1, 6}),
        (lambda a, b: b <= 2 * a or (a, b) == (0, 1), {3}),
        (lambda a, b: b <= a + a * a * a, {3}),
    ],
)
def test_black_boxes_that_fail(function: object, numbers: set[int]) -> None:
    predicate = q.from_function(function)  # type: ignore[arg-type]
    verdict = satisfies_axioms(predicate)
    assert verdict.outcome is Outcome.FAILS
    assert breaks(verdict.witness.breach, predicate)
    assert {c.number for c in verdict.witness.conditions if c.verdict.decided} == numbers


@pytest.mark.parametrize(
    "function",
    [lambda a, b: b <= 2 * a and a <= 2 * b, lambda a, b: True, lambda a, b: b < 2 * a or a == b == 0],
)
def test_black_boxes_are_never_proved(function: object) -> None:
    verdict = satisfies_axioms(q.from_function(function))  # type: ignore[arg-type]
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.witness.search.tried > 500 and str(verdict.witness.search.tried) in verdict.reason


def test_densities_in_floats() -> None:
    assert satisfies_axioms(q.from_distribution(stats.gamma(2), 1)).outcome is Outcome.UNDECIDED
    assert satisfies_axioms(q.from_density(abs, 1)).outcome is Outcome.UNDECIDED
    cauchy = q.from_distribution(stats.cauchy(), 1)  # not log-concave
    verdict = satisfies_axioms(cauchy)
    assert verdict.outcome is Outcome.FAILS and breaks(verdict.witness.breach, cauchy)


def test_definitions_of_other_kinds() -> None:
    few = Definition("at most two outputs", lambda channel: len(channel.outputs) < 3)
    assert satisfies_axioms(few).outcome is Outcome.FAILS
    everything = Definition("everything", lambda channel: True)
    verdict = satisfies_axioms(everything)
    assert verdict.outcome is Outcome.UNDECIDED and verdict.witness.search.tried == 400


def test_breaks_is_not_fooled() -> None:
    definition = probabilistic(delta="1/100", alpha="1/2")
    breach = satisfies_axioms(definition).witness.breach
    other = Breach(breach.axiom, breach.mechanisms, breach.mechanisms[0], breach.post_processing)
    assert not breaks(other, definition)
    harmless = transformed(breach.mechanisms[0], sf.Channel.identity(breach.mechanisms[0].outputs))
    assert not breaks(harmless, definition)


def test_mistakes() -> None:
    with pytest.raises(InvalidInput, match="Predicate or a Definition"):
        satisfies_axioms(1)  # type: ignore[arg-type]
    one = sf.Channel([0], [[1, 0]])
    with pytest.raises(InvalidInput, match="weight"):
        mixture(2, one, one)
    with pytest.raises(Mismatch, match="outputs"):
        mixture("1/2", one, sf.Channel([0], [[1]]))


def test_a_curve_that_is_not_concave() -> None:
    predicate = q.from_points([(0, 0), ("1/2", "1/2"), ("3/4", 1), (1, 1)])
    verdict = satisfies_axioms(predicate)
    breach = verdict.witness.breach
    assert breach.axiom == CONVEXITY and breach.weight == Fraction(1, 3) and breaks(breach, predicate)
    assert [m.matrix[:, 0].tolist() for m in breach.mechanisms] == [[0, 0], [Fraction(3, 4), 1]]
    assert breach.result.matrix[:, 0].tolist() == [Fraction(1, 2), Fraction(2, 3)]
