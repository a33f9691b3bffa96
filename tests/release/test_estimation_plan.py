"""Plans: the errors that surveys turn out to have, and shares than which none is worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.release.estimation.estimates import frequencies
from sfumato.release.estimation.plan import plan_curve, survey_plan

SCALE = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2"))
GUESS = sf.Prior(sf.line(4), ["2/5", "3/10", "1/5", "1/10"])


def test_the_error_is_that_of_simulated_surveys() -> None:
    plan, channel = survey_plan(SCALE, guess=GUESS), SCALE.channel.to_floats()
    samples = np.random.default_rng(3).multinomial(2000, GUESS.float_weights @ channel.matrix, size=4000)
    found = samples / 2000 @ frequencies(channel, samples[0]).inverse
    np.testing.assert_allclose(found.std(axis=0), plan.errors(2000, measure="standard error"), rtol=0.05)


def test_a_number_and_its_error_belong_together() -> None:
    plan = survey_plan(SCALE, guess=GUESS)
    for how in ({}, {"measure": "standard error"}, {"level": "0.9"}, {"simultaneous": True}):
        needed = plan.respondents(0.03, **how)  # type: ignore[arg-type]
        assert plan.error(needed, **how) <= 0.03 < plan.error(needed - 1, **how)  # type: ignore[arg-type]
    assert plan.respondents(0.03) / plan.respondents_in_the_clear(0.03) == pytest.approx(plan.inflation, rel=2e-3)
    assert plan.respondents(0.03, simultaneous=True) > plan.respondents(0.03) > plan.respondents(0.03, level="0.9")


def test_warners_survey_by_hand() -> None:
    """Random response with p = 1/4: N times the variance is q(1 − q)/(1 − 2p)²; at one half it is 1."""
    plan = survey_plan(sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), alpha="1/3")))
    assert plan.variances.tolist() == pytest.approx([1, 1]) and plan.inflation == pytest.approx(4)


@pytest.mark.parametrize("mechanism", [SCALE, sf.random_response(sf.PrivacyType(sf.discrete(4), epsilon=2))])
def test_no_shares_are_worse_than_the_worst(mechanism: Any) -> None:
    worst = survey_plan(mechanism, worst=True)
    rng, best = np.random.default_rng(4), np.zeros(4)
    for weights in [*rng.dirichlet([0.3] * 4, size=400), *np.eye(4)]:
        plan = survey_plan(mechanism, guess=sf.Prior(mechanism.secrets, weights))
        assert (plan.variances <= worst.variances * (1 + 1e-9)).all()
        best = np.maximum(best, plan.variances)
    assert (best > 0.97 * worst.variances).all() and worst.guess is None
    assert (worst.clear == 0.25).all()


def test_the_guess_is_the_prior_of_the_claim_or_uniform() -> None:
    assert survey_plan(SCALE).guess is not None
    np.testing.assert_allclose(survey_plan(SCALE).guess.float_weights, 0.25)  # type: ignore[union-attr]
    claimed = sf.certify.claim(GUESS, SCALE, sf.losses.absolute(sf.line(4)))
    assert survey_plan(claimed).guess is claimed.claim.prior  # type: ignore[union-attr]
    sure = survey_plan(SCALE, guess=sf.Prior.point(sf.line(4), 1))
    assert sure.inflation == float("inf") and sure.respondents(0.1) > sure.respondents_in_the_clear(0.1) == 1


def test_curves_fall_with_epsilon() -> None:
    curve = plan_curve(lambda e: sf.geometric(sf.PrivacyType(sf.line(4), epsilon=e)), [2, 1, "1/2"], guess=GUESS)
    needed = [plan.respondents(0.05) for plan in curve.plans]
    assert curve.epsilons == (0.5, 1.0, 2.0) and needed == sorted(needed, reverse=True)
    for wrong in ([], [0], [-1], [float("inf")]):
        with pytest.raises(InvalidInput):
            plan_curve(lambda e: SCALE, wrong)


def test_what_is_refused() -> None:
    plan = survey_plan(SCALE)
    for wrong in (0, -1, float("nan"), "x", 1e-12):
        with pytest.raises(InvalidInput):
            plan.respondents(wrong)  # type: ignore[arg-type]
    for rows in (0, 1.5, -3):
        with pytest.raises(InvalidInput, match="respondents"):
            plan.error(rows)  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match="measure"):
        plan.error(10, measure="variance")
    with pytest.raises(InvalidInput, match="not for both"):
        survey_plan(SCALE, guess=GUESS, worst=True)
    with pytest.raises(InvalidInput, match="objective='shares'"):
        survey_plan(sf.Channel(range(3), [["1/2", "1/2"], ["1/4", "3/4"], ["3/4", "1/4"]]))


def test_an_error_of_whole_shares_is_one_of_percent() -> None:
    plan = survey_plan(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")))
    with pytest.raises(InvalidInput, match=r"3 % is 0\.03"):
        plan.respondents(3)
