"""Designs of random small problems beside the optimum in rationals, and of problems at the ends of what floats hold.

``benchmarks/bench_random_designs.py`` does the same for ten thousand problems.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import sfumato as sf
from random_designs import KINDS, checked, random_problem

SEED, EACH = 1, 12  # problems of a kind
SOLVERS = ["auto", "interior", "highs"]


@pytest.mark.parametrize("kind", KINDS)
def test_loss_and_bound_bracket_the_optimum_and_the_kernel_accepts(kind: str) -> None:
    first = [*KINDS].index(kind)
    found = []
    for number in range(first, first + EACH * len(KINDS), len(KINDS)):
        question = random_problem(SEED, number)
        assert question.kind == kind
        solvers = ("auto", "interior", *(["highs"] if number // len(KINDS) % 7 == 0 else []))
        found += [(number, made) for made in checked(question, solvers)]
    assert not [(number, made) for number, made in found if made.complaints]
    assert len(found) >= 4 * EACH  # two solvers, two promises
    assert sum(made.near_zero for _, made in found) <= len(found) / 5  # most have a loss to speak of


@pytest.mark.parametrize("number", [605, 1706, 9605, 9909])
def test_small_costs_and_tiny_columns_are_not_lost_in_tolerances(number: int) -> None:
    """Stakes of 1e-16, and columns of 1e-9 in what generation begins with: HiGHS takes both for zeros if it is let."""
    found = [*checked(random_problem(SEED, number), ("highs", "column-generation"))]
    assert len(found) >= 4 and not [made.complaints for made in found if made.complaints]


def test_the_same_number_is_the_same_problem() -> None:
    first, second = random_problem(3, 17), random_problem(3, 17)
    assert first.prior.weights.tolist() == second.prior.weights.tolist()
    assert first.loss.matrix.tolist() == second.loss.matrix.tolist()
    assert (first.rational.alpha, first.irrational.epsilon) == (second.rational.alpha, second.irrational.epsilon)
    assert {random_problem(3, number).kind for number in range(len(KINDS))} == set(KINDS)


def test_a_wrong_bound_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself can fail: a design for a stricter promise is no optimum of this one."""
    question = random_problem(SEED, 12)
    original = sf.design

    def for_half(prior: sf.Prior, loss: sf.Loss, privacy: sf.PrivacyType, **options: object) -> sf.Design:
        return original(prior, loss, sf.PrivacyType(privacy.space, epsilon=privacy.rate / 2), **options)  # type: ignore[arg-type]

    monkeypatch.setattr(sf, "design", for_half)
    complaints = [said for made in checked(question, ("interior",)) for said in made.complaints]
    assert complaints and all("bound above the optimum" in said or "NotSupported" in said for said in complaints)


FAR = {"two": sf.line(2), "line": sf.line(5), "discrete": sf.discrete(4), "cycle": sf.cycle(5), "grid": sf.grid(2, 3)}


@pytest.mark.parametrize(("name", "solver"), [*product(FAR, SOLVERS)])
def test_factors_beyond_the_floats(name: str, solver: str) -> None:
    """e^{εd} = e^2000 for neighbours: the secret may as well be told."""
    space = FAR[name]
    prior = sf.Prior.from_counts(range(1, len(space) + 1), space)
    for loss in (sf.losses.bin(space), sf.losses.distance(space)):
        made = sf.design(prior, loss, sf.PrivacyType(space, epsilon=2000), solver=solver)
        assert sf.verify(made.mechanism, checker="kernel")
        # an error of probability e^-2000 < 2^-2880 is unavoidable, and 12 times that is enough
        assert -1e-9 < made.bound <= Fraction(12, 2**2880)
        assert 0 <= made.loss < 1e-9


@pytest.mark.parametrize(("solver", "power"), [("exact", 1000), *product(SOLVERS, [1000, 3000, 8000])])
def test_rational_factors_beyond_the_floats(solver: str, power: int) -> None:
    """Two secrets at α = 2^-power: no mechanism has less than 1/(1 + 2^power)."""
    space = sf.line(2)
    least = Fraction(1, 1 + 2**power)
    privacy = sf.PrivacyType(space, alpha=Fraction(1, 2**power))
    made = sf.design(sf.Prior.uniform(space), sf.losses.bin(space), privacy, solver=solver)
    assert made.bound <= least <= made.loss < 1e-9
    assert sf.verify(made.mechanism, checker="kernel")


LONG = {
    "a step of 100": (sf.line(4, step=100), "99/100"),
    "a step of 1/100": (sf.discrete(3, distance="1/100"), Fraction(9, 10) ** 100),
    "many digits": (sf.discrete(3, distance=40), "0.123456789"),
    "many digits on a grid": (sf.grid(2, 3, metric="manhattan", step=50), "0.987654321"),
    "beyond the floats": (sf.cycle(4), Fraction(1, 2**1500)),
    "next to 1": (sf.spaces.star(3), 1 - Fraction(1, 2**1500)),
    "in threes": (sf.line(2, step=3), 1 - Fraction(1, 2**8000)),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("solver", SOLVERS)
def test_rational_factors_too_long_for_the_kernel(name: str, solver: str) -> None:
    """The kernel takes short rationals as they are and encloses others: a design must not rest on the long ones."""
    space, alpha = LONG[name]
    for prior in (sf.Prior.uniform(space), sf.Prior.from_counts(range(1, len(space) + 1), space)):
        made = sf.design(prior, sf.losses.bin(space), sf.PrivacyType(space, alpha=alpha), solver=solver)
        assert sf.verify(made.mechanism, checker="kernel")
        assert made.bound <= made.loss
        assert made.gap <= 1e-4 or made.loss < 1e-9


@pytest.mark.parametrize(("name", "solver", "epsilon"), [*product(FAR, SOLVERS, ["1e-12", "1e-30", "1e-300"])])
def test_next_to_no_disclosure(name: str, solver: str, epsilon: str) -> None:
    """M(x) ≥ e^{−εD} M(z), so the least loss lies between e^{−εD} V and V, the loss without disclosure."""
    space = FAR[name]
    prior, loss = sf.Prior.from_counts(range(1, len(space) + 1), space), sf.losses.distance(space)
    made = sf.design(prior, loss, sf.PrivacyType(space, epsilon=epsilon), solver=solver)
    blind = Fraction(sf.prior_loss(prior, loss))
    assert made.bound <= blind * (1 + Fraction(1, 10**15))
    assert made.loss >= blind * (1 - 6 * Fraction(epsilon))
    assert made.gap <= 1e-4
    assert sf.verify(made.mechanism, checker="kernel")


@pytest.mark.parametrize("promise", [{"epsilon": "0.7"}, {"alpha": "1/2"}, {"epsilon": 2000}, {"epsilon": "1e-12"}])
@pytest.mark.parametrize("solver", SOLVERS)
def test_one_secret_one_action_nothing_at_stake(solver: str, promise: dict[str, str]) -> None:
    """Where nothing can be gained the loss is known, whatever the promise."""
    single, space = sf.line(1), sf.cycle(4)
    prior = sf.Prior.from_counts([1, 0, 3, 4], space)
    cases = [
        (sf.Prior.uniform(single), sf.Loss([*"ab"], single, [[3], [-2]]), single, Fraction(-2)),
        (prior, sf.Loss([*"a"], space, [[1, 2, 3, -4]]), space, Fraction(1 + 9 - 16, 8)),
        (prior, sf.Loss([*"abc"], space, [[0] * 4] * 3), space, Fraction(0)),
        (prior, sf.Loss([*"ab"], space, [[5] * 4] * 2), space, Fraction(5)),
        (prior, sf.Loss([*"ab"], space, [[-5] * 4, [-4] * 4]), space, Fraction(-5)),
    ]
    for given, loss, where, least in cases:
        made = sf.design(given, loss, sf.PrivacyType(where, **promise), solver=solver)  # type: ignore[arg-type]
        assert made.loss == least
        assert made.bound <= least and made.gap <= 1e-12
        assert set(made.remap) == set(made.mechanism.outputs)
        assert sf.verify(made.mechanism, checker="kernel")
