"""A warning where shares are lost: the best mechanism for a loss per person may merge answers."""

from __future__ import annotations

import warnings

from sfumato.certify.mechanism import Mechanism
from sfumato.design.shares.columns import kind_of_rays
from sfumato.measures.shares import recoverable
from sfumato.verdict import Outcome

_MOST_SECRETS = 60  # Answers of a question; longer lists are no questionnaires, and take long to decide.


class SharesLost(UserWarning):
    """The shares of a population cannot be recovered from answers through a mechanism."""


def lost_shares(mechanism: Mechanism, *, named: bool = False) -> str:
    """A sentence where secrets may be answers of a question and the outputs do not determine their shares; else none.

    Places and the answers of queries are none. With ``named``, only labels that are texts on a line or at one distance
    are answers: a program that hides numbers or words of bits need not hear of shares each time.
    """
    space = mechanism.privacy.space
    on_a_map = space.ground is not None or (space.coordinates is not None and space.coordinates.shape[1] > 1)
    if on_a_map or len(space) > _MOST_SECRETS or not (_has_named_answers(mechanism) if named else not space.answers):
        return ""
    verdict = recoverable(mechanism.channel)
    if verdict.outcome is not Outcome.FAILS:
        return ""
    return (
        "shares of the answers cannot be recovered from this mechanism: "
        f"{verdict.reason}. If you want to estimate them, ask for objective = 'shares', without a loss"
    )


def _has_named_answers(mechanism: Mechanism) -> bool:
    texts = all(isinstance(label, str) for label in mechanism.privacy.space.labels)
    return texts and kind_of_rays(mechanism.privacy) in ("tree", "one distance")


def warn_of_lost_shares(mechanism: Mechanism) -> None:
    """Say so, where shares are lost."""
    sentence = lost_shares(mechanism, named=True)
    if sentence:
        warnings.warn(sentence, SharesLost, stacklevel=3)
