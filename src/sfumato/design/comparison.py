"""Known mechanisms side by side, and the best one beside them where it is found in a second or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.channels.prior import Prior
from sfumato.design.comparison_rows import Candidates, Comparison, ComparisonTerms
from sfumato.design.families import design_family
from sfumato.design.objectives import Objective, as_objective
from sfumato.errors import expect
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss
from sfumato.privacy.type import PrivacyType
from sfumato.watch import Watch


def compare_known(
    prior: Prior | None,
    loss: Loss | CoordinateLoss | None,
    privacy: PrivacyType,
    *,
    mechanisms: Candidates = None,
    optimal: bool | None = None,
    objective: Objective | str = "expected",
    time_limit: float | Watch | None = None,
    progress: Callable[[Any], Any] | None = None,
) -> Comparison:
    """Every known mechanism that exists for a promise, beside the others and the best one.

    Rows are sorted by their ``value``: on a list of secrets what somebody loses who takes the best action for each
    output (:mod:`~sfumato.design.families_places` has what else is measured), on a box what is lost at most with
    outputs as they are (:mod:`~sfumato.design.boxes.known`), for a survey N times the variance of estimates
    (:mod:`~sfumato.design.families_shares`).

    Parameters
    ----------
    mechanisms
        Names of :data:`MECHANISMS`, or a mapping from names to mechanisms, channels or constructors of one's own;
        all known ones by default. On a box names, or a mapping to mechanisms for its points; by default noise, the
        exponential mechanism made smooth, and interpolated anchors.
    optimal
        Whether to design the best mechanism for this loss and prior and put it beside them, with the bound that
        proves it. By default if all known ones are compared, on at most 100 secrets; ``left_out["optimal"]`` says why
        it is not there. On a box only if asked for, within 3 %.
    objective
        ``"expected"``, or ``"shares"`` (and ``objectives.shares(workload)``) with no loss: then what counts is the
        variance of estimated shares, and the prior is the guessed distribution (None: uniform).
    time_limit
        Seconds for the best mechanism, ten by default. On a box for all rows: what has not begun by then is left out,
        with the reason.
    progress
        Called with the name of each mechanism before it is built; on a box with the state of the design too.

    Examples
    --------
    >>> from sfumato.losses import absolute
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(5), alpha="1/4")
    >>> found = compare_known(Prior.uniform(privacy.space), absolute(privacy.space), privacy,
    ...                       mechanisms=["exponential", "permute_and_flip", "geometric"])
    >>> print(found)
    absolute, PrivacyType(line(5), alpha=1/4), 1.2 without disclosure
    mechanism             loss  remapped   needs ε  leaks ×   leaks +  proved
    geometric          0.39125   0.39125   1.38629      3.4      0.48   holds
    permute_and_flip  0.663203  0.663203   1.19735  2.71074  0.342148   holds
    exponential       0.811273  0.811273  0.896746  2.27436  0.254873   holds
    >>> print(compare_known(None, None, privacy, objective="shares", mechanisms=["geometric", "unary_encoding"]))
    shares, PrivacyType(line(5), alpha=1/4), 0.8 in the clear
    mechanism       N × variance  respondents  recovered  outputs  needs ε  proved
    geometric            2.87889          1 ×        yes        5  1.38629   holds
    unary_encoding       8.36705      2.906 ×        yes       32  1.38629   holds
    """
    wanted = as_objective(objective)
    privacy = expect(privacy, PrivacyType, "a promise", "PrivacyType(space, epsilon=…)")
    terms = ComparisonTerms(mechanisms, optimal, time_limit, progress)
    return design_family(privacy.space, wanted).compare(prior, loss, privacy, wanted, terms)
