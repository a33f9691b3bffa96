"""What the kernel proves beside an expected loss: worst secrets, the worst of several priors, limits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.mechanism import Claim
from sfumato.design import objectives
from sfumato.errors import InvalidChannel, InvalidInput

SPACE = sf.line(4)
LOSS = sf.losses.absolute(SPACE)
PRIVACY = sf.PrivacyType(SPACE, alpha="1/3")
PRIOR = sf.Prior(SPACE, ["1/2", "1/4", "1/4", 0])
OBJECTIVES = {
    "worst secret": objectives.worst_secret(),
    "worst prior": objectives.worst_prior([PRIOR, sf.Prior.uniform(SPACE)]),
    "limited": objectives.expected(limits=[objectives.loss_at_most("4/5"), objectives.displacement_at_most(2, "1/20")]),
}


@pytest.fixture(params=sorted(OBJECTIVES))
def made(request: Any) -> sf.Design:
    return sf.design(PRIOR, LOSS, PRIVACY, objective=OBJECTIVES[request.param])


def proved(made: sf.Design, claim: Claim) -> sf.Mechanism:
    return sf.prove(made.mechanism.weights, PRIVACY, outputs=made.mechanism.outputs, claim=claim)


def test_files_keep_everything(made: sf.Design, tmp_path: Path) -> None:
    path = tmp_path / "made.sfm"
    sf.save(made.mechanism, path)
    back = sf.load(path, checker="kernel")
    before, after = made.mechanism.claim, back.claim
    assert before is not None and after is not None
    assert back.proof.digest == made.mechanism.proof.digest
    assert (after.value, after.bound, after.criterion, after.mixture) == (
        before.value, before.bound, before.criterion, before.mixture)  # fmt: skip
    assert after.prior.weights.tolist() == before.prior.weights.tolist()
    assert [c.level for c in after.ceilings] == [c.level for c in before.ceilings]
    header, sections, digest = kernel.read(path)
    said = "\n".join(kernel.report_of_proof(header, kernel.check(header, sections), digest))
    assert kernel.CRITERIA[before.criterion] in said
    assert said.count("for every secret the limit") == len(before.ceilings)


def test_a_smaller_loss_is_refuted(made: sf.Design) -> None:
    claim = made.mechanism.claim
    assert claim is not None
    with pytest.raises(InvalidChannel, match="the loss is"):
        proved(made, replace(claim, value=claim.value - Fraction(1, 10**9)))


def test_a_higher_bound_is_refuted(made: sf.Design) -> None:
    claim = made.mechanism.claim
    assert claim is not None and claim.bound is not None
    with pytest.raises(InvalidChannel, match="less than the claimed"):
        proved(made, replace(claim, bound=claim.bound + Fraction(1, 10**9)))


def test_a_bound_that_forgets_to_pay_for_limits_is_refuted() -> None:
    """The prices of a limit lower the bound by price times level; a smaller level must not go through."""
    made = sf.design(PRIOR, LOSS, PRIVACY, objective=OBJECTIVES["limited"])
    claim = made.mechanism.claim
    assert claim is not None
    priced = [c for c in claim.ceilings if c.prices is not None and np.any(c.prices)]
    assert priced, "no limit is tight, the test shows nothing"
    free = tuple(replace(c, prices=np.zeros(4, dtype=np.int64)) for c in claim.ceilings)
    with pytest.raises(InvalidChannel, match="less than the claimed"):
        proved(made, replace(claim, ceilings=free))
    looser = tuple(replace(c, level=c.level + Fraction(1, 100)) for c in claim.ceilings)
    with pytest.raises(InvalidChannel, match="less than the claimed"):
        proved(made, replace(claim, ceilings=looser))
    tighter = tuple(replace(c, level=c.level - Fraction(1, 10**6)) for c in claim.ceilings)
    with pytest.raises(InvalidChannel, match="is claimed"):
        proved(made, replace(claim, bound=None, dual=None, ceilings=tighter))


def test_the_expectation_is_no_worst_secret() -> None:
    plain = sf.design(PRIOR, LOSS, PRIVACY)
    claim = plain.mechanism.claim
    assert claim is not None
    with pytest.raises(InvalidChannel, match="the loss is"):
        proved(plain, replace(claim, criterion="worst secret"))
    with pytest.raises(InvalidInput, match="unknown criterion"):
        proved(plain, replace(claim, criterion="best secret"))  # type: ignore[arg-type]


def test_units_of_limits_have_a_short_common_multiple() -> None:
    ceilings = [{"unit": f"1/{10**3900 + 2 * k + 1}", "level": "1"} for k in range(6)]
    claims = {"kind": "loss", "loss": "1", "loss_unit": "1", "actions": [0], "ceilings": ceilings}
    with pytest.raises(kernel.Unreadable, match="no common multiple that is short enough"):
        kernel.interpret_claims(claims)
