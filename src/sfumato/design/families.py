"""Kinds of questions, each a record: whoever compares or searches asks the record, and tests for no kind.

Places are a list of secrets with a loss for each action; points are the coordinates of a box, all of which are
secrets; shares are those of a population, estimated by a survey, so that no single answer has a loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.design.boxes.known import known_on_box
from sfumato.design.comparison_places import compare_for_loss
from sfumato.design.comparison_rows import Comparison
from sfumato.design.comparison_shares import compare_for_shares
from sfumato.design.objectives import EXPECTED, Objective
from sfumato.errors import NotSupported
from sfumato.spaces.box import Box
from sfumato.spaces.finite import FiniteSpace


@dataclass(frozen=True, eq=False)
class DesignFamily:
    """What a kind of question is asked.

    Parameters
    ----------
    name
        As the documentation calls it.
    compare
        Known mechanisms beside each other, from prior, loss, promise, objective and the terms of a comparison.
    """

    name: str
    compare: Callable[..., Comparison]

    def __repr__(self) -> str:
        return f"DesignFamily({self.name})"


def _compare_places(prior: Any, loss: Any, privacy: Any, objective: Objective, **terms: Any) -> Comparison:
    if not objective.plain:
        raise NotSupported("a comparison under limits or for the worst", ["the expected loss", "shares"])
    return compare_for_loss(prior, loss, privacy, **terms)


def _compare_points(
    prior: Any, loss: Any, privacy: Any, objective: Objective, *, mechanisms: Any, optimal: bool | None, **terms: Any
) -> Comparison:
    if not objective.plain or mechanisms is not None:
        what = "an objective" if mechanisms is None else "mechanisms by name"
        raise NotSupported(f"{what} in a comparison on a box", ["the expected loss of all that are known there"])
    return known_on_box(prior, loss, privacy, optimal=False if optimal is None else optimal, **terms)


def _compare_shares(prior: Any, loss: Any, privacy: Any, objective: Objective, **terms: Any) -> Comparison:
    if loss is not None:
        raise NotSupported("a loss beside an objective about shares", ["compare_known(prior, None, privacy, …)"])
    return compare_for_shares(prior, privacy, objective, **terms)


PLACES = DesignFamily("places", _compare_places)
POINTS = DesignFamily("points", _compare_points)
SHARES = DesignFamily("shares", _compare_shares)


def family_of(space: FiniteSpace | Box, objective: Objective = EXPECTED) -> DesignFamily:
    """Which kind of question is asked of a space."""
    if objective.criterion == "shares":
        return SHARES
    return POINTS if isinstance(space, Box) else PLACES
