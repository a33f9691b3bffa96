from __future__ import annotations

from fractions import Fraction
from math import cos

import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch
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
    k_of_n_outputs,
    k_of_n_pairs,
    mixture,
    probabilistic,
    transformed,
)
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
