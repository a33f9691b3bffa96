"""The figures of the gallery: each is drawn when the pages are built, from exact answers of the package."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go

import sfumato as sf
from sfumato.design.universal import universal_design
from sfumato.report.priors import prior_map, prior_map_figure


def priors() -> go.Figure:
    """Two mechanisms of one type and the one of least regret, over all priors on three secrets."""
    privacy = sf.PrivacyType(sf.discrete(3), alpha="1/2")
    loss = sf.losses.bin(privacy.space)
    mechanisms = {
        "random response": sf.random_response(privacy),
        "closest pair": sf.closest_pair(privacy),
        "the least-regret one": universal_design(loss, privacy).mechanism,
    }
    return prior_map_figure(prior_map(mechanisms, loss, privacy))


def priors_on_a_line() -> go.Figure:
    """The same on a line, for the question whether the secret is the one in the middle."""
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    loss = sf.losses.member(privacy.space, [1])
    mechanisms = {
        "geometric": sf.geometric(privacy),
        "the least-regret one": universal_design(loss, privacy).mechanism,
    }
    return prior_map_figure(prior_map(mechanisms, loss, privacy))


FIGURES: dict[str, Callable[[], go.Figure]] = {"priors": priors, "priors_on_a_line": priors_on_a_line}
"""Every figure by the name of its file."""
