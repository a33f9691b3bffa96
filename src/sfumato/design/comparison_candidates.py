"""What a comparison is made of: candidates built for a promise one after the other, measured, as rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.arguments import flag, items, one_of, optional_function
from sfumato.certify.mechanism import Mechanism
from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.design.comparison_rows import OPTIMAL, Compared
from sfumato.design.result import Design
from sfumato.errors import Infeasible, InvalidInput, NotSupported, SolverError, UndecidedError, keyword, shown
from sfumato.mechanisms.exponential import true_epsilon
from sfumato.mechanisms.proved import LARGEST_TABLE
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.privacy.satisfaction import satisfies, smallest_epsilon
from sfumato.privacy.type import PrivacyType
from sfumato.verdict import Verdict, holds
from sfumato.watch import Watch

MOST_SECONDS = 10
"""A design beside known mechanisms gets so many seconds; what it has by then is proved, with its bound."""

Candidates = Iterable[str] | Mapping[str, Any] | None

_LARGEST_DESIGN = 100  # Up to so many secrets the best is looked for unasked: two seconds without symmetries.
_LARGEST_EXACT = 2**12  # Up to so many entries measures are computed in fractions.


@dataclass(frozen=True, eq=False)
class ComparisonTerms:
    """Which mechanisms are compared, whether the best is beside them, how long it may take, and who is told."""

    mechanisms: Candidates
    optimal: bool | None
    time_limit: float | Watch | None
    progress: Callable[[Any], Any] | None

    def __post_init__(self) -> None:
        optional_function(self.progress, "progress")
        if self.optimal is not None:
            flag(self.optimal, "optimal")


def compared_candidates(
    row: Callable[[str, Any], Compared], best: Callable[..., Design], privacy: PrivacyType, terms: ComparisonTerms
) -> tuple[list[Compared], dict[str, str]]:
    """Rows of all candidates that exist, and of the best mechanism where it is looked for; why others are left out."""
    progress, optimal, mechanisms = terms.progress, terms.optimal, terms.mechanisms
    rows: list[Compared] = []
    left_out: dict[str, str] = {}
    for name, candidate in _candidates(mechanisms, privacy).items():
        if progress is not None:
            progress(name)
        try:
            verdict = MECHANISMS[name].applies(privacy) if candidate is MECHANISMS.get(name) else None
            if verdict is not None and verdict.outcome != "holds":
                left_out[name] = verdict.reason
                continue
            made = candidate if isinstance(candidate, Mechanism | Channel) else candidate(privacy)
        except (NotSupported, Infeasible, UndecidedError) as refusal:
            left_out[name] = str(refusal)
            continue
        rows.append(row(name, made))
    if optimal is None and mechanisms is None:  # all known ones are compared
        optimal = len(privacy.space) <= _LARGEST_DESIGN
        if not optimal:
            left_out[OPTIMAL] = (
                f"the best of all mechanisms is looked for unasked on at most {_LARGEST_DESIGN} secrets, here are "
                f"{len(privacy.space)}; {keyword('optimal', True)} looks for it all the same"
            )
    if optimal:
        if progress is not None:
            progress(OPTIMAL)
        try:
            found = best(time_limit=MOST_SECONDS if terms.time_limit is None else terms.time_limit)
            rows.append(replace(row(OPTIMAL, found.mechanism), bound=found.bound))
        except (NotSupported, Infeasible, UndecidedError, SolverError) as refusal:
            left_out[OPTIMAL] = str(refusal)
    return rows, left_out


def _candidates(mechanisms: Candidates, privacy: PrivacyType) -> Mapping[str, Any]:
    """What is to be compared, by name: known mechanisms, or mechanisms, channels and constructors of one's own."""
    if len(privacy.space) > LARGEST_TABLE:
        raise NotSupported(f"a comparison on {len(privacy.space)} secrets", [f"at most {LARGEST_TABLE}"])
    if mechanisms is None:
        return MECHANISMS
    if isinstance(mechanisms, Mapping):
        for name, value in mechanisms.items():
            if not isinstance(value, Mechanism | Channel) and not callable(value):
                raise InvalidInput(f"{shown(name)} is no mechanism, channel or constructor: {type(value).__name__}")
        return mechanisms
    return {name: MECHANISMS[name] for name in names_of_known(mechanisms)}


def names_of_known(mechanisms: Any) -> list[str]:
    """Names of known mechanisms as somebody lists them."""
    if isinstance(mechanisms, Mapping):
        raise NotSupported("mechanisms of one's own in a comparison on a box", ["names of known mechanisms"])
    names = [mechanisms] if isinstance(mechanisms, str) else items(mechanisms, "known mechanisms")
    return [one_of(name, tuple(MECHANISMS), "known mechanism") for name in names]


def measured_row(
    name: str, made: Any, privacy: PrivacyType, exactly: bool, value: str, measures: Callable[[Channel], dict[str, Any]]
) -> Compared:
    """A candidate as a row: what is measured of its channel, the ε that it needs, whether the promise is proved.

    ``value`` names the measure that is compared.
    """
    check_secrets(f"{name} and privacy type", privacy.space, made)
    mechanism, channel = made if isinstance(made, Mechanism) else None, _channel_of(made, exactly)
    epsilon = smallest_epsilon(channel, privacy.space) if mechanism is None else true_epsilon(mechanism)
    found = {"channel": channel, "epsilon": epsilon, **measures(channel)}
    return Compared(name, found[value], found, promise_kept(made, privacy), mechanism)


def _channel_of(made: Any, exactly: bool) -> Channel:
    """The channel to measure: in fractions for small exact questions, in floats otherwise."""
    if not isinstance(made, Mechanism):
        return as_channel(made)
    if (exactly and made.weights.size <= _LARGEST_EXACT) or made.weights.dtype == object:
        return made.channel if exactly else made.channel.to_floats()
    table = made.weights.astype(np.float64)
    return Channel(made.secrets, table / table.sum(axis=1, keepdims=True), made.outputs)


def promise_kept(made: Any, privacy: PrivacyType) -> Verdict:
    """Whether the promise is kept: by a proof of it or of a stricter one, else decided now."""
    if isinstance(made, Mechanism) and made.privacy.space is privacy.space:
        same = (made.privacy.epsilon, made.privacy.alpha) == (privacy.epsilon, privacy.alpha)
        if same or made.privacy.rate_bounds(128)[1] <= privacy.rate_bounds(128)[0]:
            return holds(f"proved: {made.proof}", made.proof)
    return satisfies(as_channel(made), privacy)
