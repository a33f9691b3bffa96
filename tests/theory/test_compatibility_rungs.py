"""One ε for one γ: what it says holds, and the kernel agrees."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.closure import close_integers
from sfumato.theory.compatibility import rungs
from sfumato.theory.compatibility.rungs import Level, PrivacyTypes
from sfumato.theory.compatibility.utility import chance_of_missing, utility

POINTS = sf.points(np.random.default_rng(5).random((12, 2)).round(3).tolist())


@pytest.mark.parametrize(
    ("space", "gamma", "epsilon"), [(sf.line(10), 1, "1/2"), (POINTS, "0.3", 6), (sf.grid(3, 3), 1, 12)], ids=str
)
def test_a_rung(space: sf.FiniteSpace, gamma: str, epsilon: str) -> None:
    types = PrivacyTypes(space)
    level = Level(utility(space, gamma), types)
    rung = level.solve(Fraction(epsilon), 1e-3)
    assert rung.epsilon == Fraction(epsilon)
    assert rung.bound <= rung.missing <= rung.bound * (1 + 2e-3)
    assert (close_integers(rung.weights.astype(np.uint64), types.bounds(rung.epsilon)) == rung.weights).all()
    assert sf.verify(rung.mechanism)
    assert chance_of_missing(rung.mechanism, space, gamma) == rung.missing
    near, far = Fraction(rung.bound) * Fraction(999, 1000), Fraction(rung.bound) / 2
    for chance in (near, far):
        refuted = rung.refutation(chance)
        assert refuted is not None and sf.verify(refuted)
        assert refuted.proof.bound is not None and refuted.proof.bound > chance
    assert rung.refutation(rung.missing) is None
    counts = [len(rung.refutation(chance).claim.dual.values) for chance in (near, far)]  # type: ignore[union-attr]
    assert counts[1] < counts[0]


def test_privacy_types_are_shared() -> None:
    types = PrivacyTypes(sf.line(4))
    assert types.at(Fraction(1)) is types.at(Fraction(1))
    assert types.bounds(Fraction(1)) is types.bounds(Fraction(1))


def test_rows_that_lack_too_much_are_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounding alone does not make a private table, repair does."""
    monkeypatch.setattr(rungs, "_ROOMS", ())
    rung = Level(utility(sf.line(6), 1), PrivacyTypes(sf.line(6))).solve(Fraction(1), 1e-3)
    assert sf.verify(rung.mechanism)
    assert rung.bound <= rung.missing <= rung.bound * (1 + 3e-3)


def test_large_spaces_go_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rungs, "_LARGEST_COMPILED", 3)
    rung = Level(utility(sf.line(6), 1), PrivacyTypes(sf.line(6))).solve(Fraction(1), 1e-3)
    assert rung.bound <= rung.missing <= rung.bound * (1 + 3e-3)
    assert rung.refutation(Fraction(rung.bound) / 2) is not None


def test_what_the_kernel_does_not_accept_is_no_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    rung = Level(utility(sf.line(6), 1), PrivacyTypes(sf.line(6))).solve(Fraction(1), 1e-3)
    optimist = rungs.rounded_bound

    def too_much(*arguments: object) -> object:
        bound = optimist(*arguments)  # type: ignore[arg-type]
        return rungs.replace(bound, value=bound.value * Fraction(11, 10))

    monkeypatch.setattr(rungs, "rounded_bound", too_much)
    assert rung.refutation(rung.missing) is None
