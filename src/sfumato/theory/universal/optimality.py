"""Is a mechanism best for every prior? A verdict with its ground, or with a prior and a better mechanism."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.arguments import integer
from sfumato.channels.channel import Channel, as_channel
from sfumato.errors import NotSupported
from sfumato.losses.loss import Loss
from sfumato.measures.uncertainty import posterior_loss
from sfumato.numbers import TABLE_ROUNDING, text_above, text_below
from sfumato.privacy.type import PrivacyType
from sfumato.theory.universal.answers import Better
from sfumato.theory.universal.cells import LARGEST_MOST, MOST_RAYS
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.prior_sets import Priors, PriorSet, prior_set
from sfumato.theory.universal.question import ReducedLoss, member_of, pose, type_of
from sfumato.theory.universal.refute import refute
from sfumato.theory.universal.regret import loss_cells, regret_on
from sfumato.theory.universal.theorems import OptimalityGround, theorem
from sfumato.verdict import Verdict, fails, holds, undecided

_MOST_SECRETS = 10  # Beyond, cells or rays are too many to list for any loss that matters at all secrets.
_SEARCH_FIRST = 7  # From so many secrets on a short search comes before the enumeration, which may take seconds.


def is_universally_optimal(
    mechanism: Any,
    loss: Loss,
    privacy: PrivacyType | None = None,
    *,
    priors: Priors = "all",
    starts: int = 50,
    most: int = MOST_RAYS,
) -> Verdict:
    """Whether no mechanism of the type has a smaller expected loss for any prior (paper A, Definition 3).

    Theorems are asked first, then a search, then all vertices of cells in exact arithmetic.

    Parameters
    ----------
    mechanism
        A mechanism or a channel of the type.
    privacy
        The type; that of the mechanism by default.
    priors
        ``"all"``, ``"regular"``, a list of priors (their hull), or a ball.
    starts
        Of the search for a counter-example.
    most
        Vertices of cells kept at a time before the enumeration gives up.

    Returns
    -------
    Verdict
        *holds* with an :class:`OptimalityGround`: a theorem whose hypotheses were checked, or ``cells``. A table that
        is rounded from the mechanism of a theorem, as every table of an irrational one is, is so up to its rounding,
        and ``regret`` of the ground is a proved bound on what that costs. *fails* with a
        :class:`Better`: a prior, a mechanism and two exact losses. *undecided* with what was tried and, where known, a
        :class:`Regret` or, where rounding may be all that makes another mechanism better, that :class:`Better`.

    Examples
    --------
    >>> import sfumato as sf
    >>> line = sf.PrivacyType(sf.line(5), alpha="1/2")
    >>> verdict = is_universally_optimal(sf.geometric(line), sf.losses.squared(line.space))
    >>> bool(verdict), verdict.witness.name
    (True, 'single crossing on a line')
    >>> middle = is_universally_optimal(sf.geometric(line), sf.losses.member(line.space, [2]))
    >>> print(middle)
    fails: for the prior (0, 2/9, 5/9, 2/9, 0) another mechanism loses 1/9 less
    >>> middle.witness.gap
    Fraction(1, 9)
    >>> rounded = sf.geometric(sf.PrivacyType(sf.line(5), epsilon=1))
    >>> verdict = is_universally_optimal(rounded, sf.losses.squared(sf.line(5)))
    >>> bool(verdict), verdict.witness.name, verdict.witness.regret < 1e-13
    (True, 'single crossing on a line', True)
    """
    question = pose(loss, type_of(mechanism, privacy))
    channel = member_of(mechanism, question.privacy)
    among = prior_set(priors, question.privacy)
    starts, most = integer(starts, "starts", 0, LARGEST_MOST), integer(most, "most", 1, LARGEST_MOST)
    ground = theorem(question, channel)
    if ground is not None:
        return holds(str(ground), ground)
    verdict = _searched(question, channel, among, starts, most)
    rounded = not question.privacy.exact or not as_channel(mechanism).exact
    if rounded and isinstance(verdict.witness, Better) and verdict.witness.gap <= TABLE_ROUNDING * question.unit:
        return undecided(
            f"{verdict.reason}, no more than the rounding of the table may cost: whether what it is rounded from is "
            "universally optimal is not known",
            verdict.witness,
        )
    return verdict


def _searched(question: ReducedLoss, channel: Channel, among: PriorSet, starts: int, most: int) -> Verdict:
    program = LeastLoss(question)
    n = len(question.relevant)
    tried = 0
    if n >= _SEARCH_FIRST:
        tried = min(starts, 5)
        better = refute(question, channel, among, program, tried)
        if better is not None:
            return _failed(better)
    if len(question.privacy.space) <= _MOST_SECRETS:
        try:
            return _enumerated(question, channel, among, program, most)
        except NotSupported:
            pass
    better = refute(question, channel, among, program, starts - tried, seed=tried) if starts > tried else None
    if better is not None:
        return _failed(better)
    infinite = question.privacy.space.distances.infinite.any()
    listed = "mechanisms are listed for finite distances only" if infinite else "its cells are too many to list"
    return undecided(f"no theorem applies, {listed}, and a search from {starts} starts found nothing better")


def _enumerated(question: ReducedLoss, channel: Channel, among: PriorSet, program: LeastLoss, most: int) -> Verdict:
    cells = loss_cells(question, channel, among, most)
    regret = regret_on(question, cells, program)
    if regret.upper == 0 and question.exact:
        count = f"{regret.vertices} vertices of cells"
        return holds(
            f"cells: nothing is better at any of {count}", OptimalityGround("cells", f"{count}, in exact arithmetic")
        )
    assert regret.prior is not None and regret.better is not None
    losses = (Fraction(posterior_loss(regret.prior, one, question.exact_loss)) for one in (channel, regret.better))
    better = Better(regret.prior, regret.better, *losses)
    if better.gap > 0:
        return _failed(better)
    assert regret.upper is not None
    return undecided(f"its regret is at most {text_above(regret.upper)}, and no counter-example was proved", regret)


def _failed(better: Better) -> Verdict:
    weights = [str(w) for w in better.prior.weights]
    if max(map(len, weights)) > 12 or len(weights) > 12:
        weights = [f"{float(w):.3g}" for w in better.prior.weights[:12]] + ["…"] * (len(weights) > 12)
    gap = str(better.gap) if len(str(better.gap)) <= 16 else text_below(better.gap, 3)
    return fails(f"for the prior ({', '.join(weights)}) another mechanism loses {gap} less", better)
