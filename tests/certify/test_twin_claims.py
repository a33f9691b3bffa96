"""Claims before the twin: the kernel's answer on losses, never a higher bound, and hardly a lower one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify import kernel, twin_claims
from sfumato.certify.certificate import certificate, certificate_of
from sfumato.certify.mechanism import Ceiling, Claim, Dual
from sfumato.design import objectives
from sfumato.errors import InvalidChannel
from sfumato.numbers import common_denominator
from strategies import graphs

Case = tuple[Any, dict[str, bytes]]

SPACES = st.one_of(st.sampled_from([sf.line(4), sf.grid(2, 3), sf.discrete(5), sf.line(1)]), graphs())
PROMISES = st.sampled_from([{"alpha": "1/2"}, {"alpha": "2/3"}, {"epsilon": "0.37"}, {"epsilon": 9}])


@st.composite
def claims(draw: Any, span: int = 20, bound: bool = False) -> Case:
    """Any weights with equal rows, any doubles as losses, any dual numbers; the claimed numbers are still to be set."""
    space = draw(SPACES)
    privacy = sf.PrivacyType(space, **draw(PROMISES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, actions = len(space), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    weights = rng.integers(0, 2 ** draw(st.sampled_from([3, 30, 55])), (n, m))
    weights[:, 0] += weights.sum(axis=1).max() + 1 - weights.sum(axis=1)
    criterion = draw(st.sampled_from(["expected", "worst secret", "worst prior"]))
    priors = tuple(sf.Prior.from_counts(rng.integers(0, 9, n) + (np.arange(n) == k % n), space) for k in range(2))
    ceilings = tuple(
        Ceiling(sf.Loss(range(actions), space, doubles(rng, (actions, n), span)), Fraction(rng.integers(-9, 9)),
                rng.integers(0, 2**50, n))
        for _ in range(draw(st.integers(0, 2)))
    )  # fmt: skip
    loss = sf.Loss(range(actions), space, doubles(rng, (actions, n), span))
    claim = Claim(
        priors[0], loss, tuple(rng.integers(0, actions, m).tolist()), Fraction(0),
        Fraction(0) if bound else None, duals(rng, privacy, actions) if bound else None,
        criterion, priors if criterion == "worst prior" else (), (2, 3) if criterion == "worst prior" else (), ceilings,
    )  # fmt: skip
    return certificate(privacy, tuple(range(m)), weights, int(weights[0].sum()), claim).interpreted()


def doubles(rng: np.random.Generator, shape: tuple[int, ...], span: int) -> np.ndarray[Any, Any]:
    """Numbers of both signs and of many sizes, zeros among them."""
    return np.where(rng.random(shape) < 0.2, 0.0, rng.normal(size=shape) * 2.0 ** rng.integers(-span, span + 1, shape))


def duals(rng: np.random.Generator, privacy: sf.PrivacyType, actions: int) -> Dual:
    first, second = privacy.space.pairs
    if not len(first):
        return Dual(*(np.zeros(0, dtype=np.int64) for _ in range(4)))
    chosen, count = rng.integers(0, len(first), 12), 12
    ends = np.where(rng.random(count) < 0.5, [first[chosen], second[chosen]], [second[chosen], first[chosen]])
    return Dual(ends[0], ends[1], rng.integers(0, actions, count), rng.integers(0, 2**56, count), Fraction(1, 2**50))


def rows(case: Case) -> list[list[int]]:
    header, sections = case
    m = len(header.outputs)
    width = header.widths["weights"]
    return [kernel.integers(sections["weights"], width, x * m, m) for x in range(len(header.secrets))]


def answer(check: Any, *arguments: Any) -> Any:
    try:
        return check(*arguments)
    except kernel.Refuted as error:
        return str(error)


@given(claims(), st.sampled_from([0, Fraction(1, 10**30)]))
@settings(max_examples=150)
def test_both_say_the_same_of_a_loss(case: Case, off: Fraction) -> None:
    header, sections = case
    words = answer(kernel.check_loss, header, sections)
    assert answer(twin_claims.check_loss, header, sections) == words
    lost = twin_claims.sums_of_secrets(
        np.array(rows(case)), np.frombuffer(sections["loss"]).reshape(-1, len(header.secrets)),
        np.frombuffer(sections["remap"], dtype="<u4").astype(np.int64),
    )  # fmt: skip
    unit = lost[1] * header.claims.loss_unit / header.total
    spent = [unit * value for value in lost[0]]
    right = max(spent)
    if header.claims.criterion != "worst secret":
        right = max(kernel.expectation(counts, spent) for counts in kernel.priors_of(header, sections))
    header = header._replace(claims=header.claims._replace(loss=right + off))
    said = answer(kernel.check_loss, header, sections)
    assert answer(twin_claims.check_loss, header, sections) == said
    assert isinstance(said, str) == (off != 0) or "is claimed" in str(said)


@given(claims(bound=True))
@settings(max_examples=150)
def test_a_bound_is_never_higher_than_the_kernels_and_hardly_lower(case: Case) -> None:
    header, sections = case
    proved = twin_claims.proved_bound(header, sections)
    header = header._replace(claims=header.claims._replace(bound=proved))
    assert kernel.check_bound(header, sections) == proved
    # less than a unit of the dual numbers for each secret and factor
    more = proved + len(header.secrets) * Fraction(1, 2**40)
    header = header._replace(claims=header.claims._replace(bound=more))
    with pytest.raises(kernel.Refuted):
        kernel.check_bound(header, sections)


@given(claims(span=400))
@settings(max_examples=30)
def test_tables_that_span_too_much_are_left_to_the_kernel(case: Case) -> None:
    header, sections = case
    try:
        said = answer(twin_claims.check_loss, header, sections)
    except twin_claims.TooLong:
        return
    assert said == answer(kernel.check_loss, header, sections)


def designed(**options: Any) -> sf.Design:
    space = sf.grid(4, 4)
    return sf.design(
        sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon="0.7"), solver="interior",
        **options,
    )  # fmt: skip


OBJECTIVES = {
    "plain": objectives.expected(),
    "worst": objectives.worst_secret(),
    "limit": objectives.expected(limits=objectives.displacement_at_most(2, "1/2")),
}


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_designs_stand_before_the_twin(objective: objectives.Objective) -> None:
    made = designed(objective=objective)
    header, sections = certificate_of(made.mechanism).interpreted()
    assert twin_claims.check_loss(header, sections) == made.loss
    assert twin_claims.check_bound(header, sections) == made.bound
    claim = made.mechanism.claim
    assert claim is not None and claim.bound is not None
    for wrong, words in ((replace(claim, bound=claim.bound + Fraction(1, 100)), "dual numbers prove"),
                         (replace(claim, value=claim.value - Fraction(1, 10**12)), "the loss is")):  # fmt: skip
        with pytest.raises(InvalidChannel, match=words):
            sf.prove(made.mechanism.weights, made.mechanism.privacy, outputs=made.mechanism.outputs, claim=wrong,
                     checker="twin")  # fmt: skip


def test_damaged_claims_cannot_be_read() -> None:
    header, sections = certificate_of(designed().mechanism).interpreted()
    broken = {
        "loss": np.full(len(sections["loss"]) // 8, np.nan).tobytes(),
        "remap": np.full(len(sections["remap"]) // 4, 99, dtype="<u4").tobytes(),
        "prior": bytes(len(sections["prior"])),
    }
    for name, data in broken.items():
        with pytest.raises(kernel.Unreadable):
            twin_claims.check_loss(header, sections | {name: data})
    count = len(sections["dual_to"]) // 4
    for name in ("dual_from", "dual_action"):
        with pytest.raises(kernel.Unreadable, match="no constraint"):
            twin_claims.check_bound(header, sections | {name: np.full(count, 99, dtype="<u4").tobytes()})
    with pytest.raises(kernel.Unreadable, match="no constraint"):
        twin_claims.check_bound(header, sections | {"dual_from": sections["dual_to"]})


def test_duals_need_a_promise() -> None:
    """Two islands: nothing is promised between them, and of a graph only edges count."""
    space = sf.graph({(0, 1): 1, (2, 3): 1}, labels=range(4))
    loss = sf.losses.bin(space)
    for first, second in ((0, 2), (1, 3)):
        dual = Dual(np.array([first]), np.array([second]), np.array([0]), np.array([1]))
        claim = Claim(sf.Prior.uniform(space), loss, (0,), Fraction(3, 4), Fraction(0), dual)
        header, sections = certificate(
            sf.PrivacyType(space, epsilon=1), (0,), np.ones((4, 1), dtype=np.int64), 1, claim
        ).interpreted()
        with pytest.raises(kernel.Refuted, match="nothing is promised"):
            twin_claims.check_bound(header, sections)


@pytest.mark.parametrize("size", [3, 70])
def test_sums_of_any_numbers(size: int) -> None:
    """Doubles, small integers and fractions, below and above the size from which code is compiled."""
    rng = np.random.default_rng(size)
    weights, remap = rng.integers(0, 2**50, (size, size)), rng.permutation(size)
    whole = rng.integers(-5, 5, (size, size))
    tables = [whole, whole / 7, sf.Loss(range(size), range(size), (whole * Fraction(1, 3)).tolist()).matrix,
              whole * 2.0 ** rng.integers(-300, 300, (size, size))]  # fmt: skip
    for table in tables:
        sums, unit = twin_claims.exact_sums(weights, table, remap)
        integers, denominator = common_denominator(table)
        expected = (integers[remap].T * weights).sum(axis=1)
        assert [value * unit for value in sums] == [Fraction(int(v), denominator) for v in expected]
