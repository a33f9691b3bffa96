from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses
from sfumato.errors import NotSupported
from sfumato.theory.universal import UniversalDesign, ball, is_universally_optimal, universal_design, worst_case_regret
from strategies import alphas
from strategies import losses as random_losses


def check(found: UniversalDesign, loss: sf.Loss, privacy: sf.PrivacyType, priors: object = "all") -> None:
    """Both sides by other means: kernels bound the regret from below, cells give that of the mechanism."""
    assert found.exact
    assert (
        worst_case_regret(found.mechanism, loss, privacy, priors=priors, relative=found.relative).lower == found.upper
    )  # type: ignore[arg-type]
    proof = found.certificate
    if proof is None:
        assert found.lower == 0
        return
    assert sum(proof.weights) == 1 and min(proof.weights) >= 0
    for prior, least in zip(proof.priors, proof.least, strict=True):
        assert sf.design(prior, loss, privacy, solver="exact").loss == least
    average = sum(w * v for w, v in zip(proof.weights, proof.least, strict=True))
    together = min(
        sum(w * sf.posterior_loss(p, kernel.channel, loss) for w, p in zip(proof.weights, proof.priors, strict=True))
        for kernel in sf.types.kernels(privacy)
    )
    assert together >= proof.together
    assert found.lower == (together / average - 1 if found.relative and average else together - average)


@given(st.integers(3, 4), alphas(), st.data())
@settings(max_examples=25)
def test_least_regret_on_lines_and_discrete_spaces(n: int, alpha: Fraction, data: st.DataObject) -> None:
    space = data.draw(st.sampled_from([sf.line(n), sf.discrete(n), sf.cycle(n)]))
    privacy = sf.PrivacyType(space, alpha=alpha)
    loss = data.draw(random_losses(space.labels))
    found = universal_design(loss, privacy)
    check(found, loss, privacy)
    assert bool(found.exists) == (found.upper == 0)


def test_relative_regret() -> None:
    privacy = sf.PrivacyType(sf.discrete(3), alpha="1/2")
    loss = losses.bin(privacy.space)
    found = universal_design(loss, privacy, relative=True)
    assert found.lower == Fraction(1, 8)
    check(found, loss, privacy)


def test_sets_of_priors() -> None:
    space = sf.discrete(3)
    privacy, loss = sf.PrivacyType(space, alpha="1/2"), losses.bin(space)
    even, two = sf.Prior.uniform(space), sf.Prior(space, ["1/2", "1/2", 0])
    assert universal_design(loss, privacy, priors="regular").exists
    assert universal_design(loss, privacy, priors=[even]).exists
    pair = universal_design(loss, privacy, priors=[even, two])
    check(pair, loss, privacy, [even, two])
    assert pair.lower == Fraction(1, 42)
    near = universal_design(loss, privacy, priors=ball(even, "1/10"))
    check(near, loss, privacy, ball(even, "1/10"))
    assert 0 < near.lower < pair.lower
    line = sf.PrivacyType(sf.line(4), alpha="1/2")
    odd, around = losses.member(line.space, [0, 2]), ball(sf.Prior.uniform(range(4)), "1/10", line.space)
    check(universal_design(odd, line, priors=around), odd, line, around)


def test_irrational_types_get_proved_bounds() -> None:
    privacy = sf.PrivacyType(sf.grid(2, 2), epsilon=1)
    loss = losses.distance(privacy.space)
    found = universal_design(loss, privacy)
    assert found.upper is not None
    assert 0 < found.lower <= found.upper < found.lower * Fraction(10001, 10000)
    assert not found.exists
    again = worst_case_regret(found.mechanism, loss)
    assert again.lower is not None and found.lower * Fraction(9999, 10000) < again.lower <= found.upper


def test_the_cube_exactly() -> None:
    privacy = sf.PrivacyType(sf.hamming(3), alpha="1/2")
    found = universal_design(losses.bin(privacy.space), privacy)
    assert found.lower == found.upper == Fraction(4, 27)


def test_bounds_where_cells_are_too_many() -> None:
    privacy = sf.PrivacyType(sf.cycle(5), alpha="1/2")
    loss = losses.matrix(privacy.space, [[0, 3, 5, 1, 2], [4, 0, 2, 2, 7], [1, 6, 0, 5, 0]])
    exact = universal_design(loss, privacy)
    assert exact.exact
    methods = set()
    for most in (20, 300):
        loose = universal_design(loss, privacy, most=most)
        methods.add(loose.method)
        assert loose.upper is not None and 0 < loose.lower <= exact.lower <= loose.upper
        regret = worst_case_regret(loose.mechanism, loss)
        assert regret.lower is not None and regret.lower <= loose.upper
    assert {"cutting planes and a search", "cutting planes on few rays"} <= methods


def test_large_types_get_a_mechanism_and_bounds() -> None:
    privacy = sf.PrivacyType(sf.cycle(12), epsilon=1)
    loss = losses.bin(privacy.space)
    found = universal_design(loss, privacy)
    assert found.upper is not None and 0 < found.lower < found.upper < 1
    assert found.certificate is not None and len(found.certificate.priors) == 2
    assert not found.exists
    with pytest.raises(NotSupported, match="relative"):
        universal_design(loss, privacy, relative=True)


def test_a_mechanism_that_serves_all_is_found() -> None:
    privacy = sf.PrivacyType(sf.line(5), alpha="1/3")
    found = universal_design(losses.absolute(privacy.space), privacy)
    assert found.exists and found.upper == 0
    assert is_universally_optimal(found.mechanism, losses.absolute(privacy.space))


def test_trivial_losses_need_no_mechanism() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/3")
    found = universal_design(losses.matrix(privacy.space, [[1, 1, 1]]), privacy)
    assert found.exists and len(found.mechanism.outputs) == 1


def test_progress_is_told() -> None:
    seen: list[tuple[int, float, float]] = []
    privacy = sf.PrivacyType(sf.line(4), alpha="1/2")
    universal_design(losses.member(privacy.space, [0, 2]), privacy, progress=lambda *state: seen.append(state))
    assert seen and all(low <= high + 1e-9 for _, low, high in seen)


@pytest.mark.parametrize("n", [4, 12])
def test_a_type_has_the_mechanism_of_a_theorem_though_its_table_is_rounded(n: int) -> None:
    privacy = sf.PrivacyType(sf.line(n), epsilon=1)
    best = sf.universal.universal_design(sf.losses.distance(privacy.space), privacy)
    assert best.exists and best.exists.witness.name == "single crossing on a line"
    assert best.lower == 0 < best.upper < 1e-12
    assert best.mechanism.proof.checker == "kernel"


@pytest.mark.parametrize("alpha", ["1/3", "1/4", "2/3"])
def test_the_regret_of_no_mechanism_is_printed_below_that_of_the_one_found(alpha: str) -> None:
    privacy = sf.PrivacyType(sf.cycle(5), alpha=alpha)
    found = universal_design(losses.bin(privacy.space), privacy)
    within = re.search(r"nearer than (\S+) to the best", found.exists.reason)
    assert within is not None and found.upper is not None
    assert 0 < Fraction(within[1]) <= found.lower <= found.upper
