"""The simplex of priors on three secrets: where mechanisms win, and what each of them regrets.

The regret of a mechanism at a prior is what it loses more than the best mechanism of its type for that prior. The best
is always among the kernels (Fernandes et al. 2023, Corollary 7), so on three secrets it is read off their list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sfumato.arguments import integer, items, text
from sfumato.channels import as_channel, check_secrets
from sfumato.errors import InvalidInput, Mismatch, NotSupported, expect, shown
from sfumato.losses import Loss
from sfumato.losses.loss import as_loss
from sfumato.numbers import Floats, floats
from sfumato.privacy import PrivacyType, kernels
from sfumato.privacy.type import as_type
from sfumato.report.figure import ROLES, SERIES, canvas, caption, tint

_RESOLUTION = 60  # With so many steps along a side the marks touch.
_FINEST = 2000  # With so many steps along a side there are two million marks; more are refused.
_ACROSS = 2  # So many triangles fit side by side into a column of text.
_TIE = 1e-12  # Losses closer than this are drawn as equal; nothing is decided by it.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


@dataclass(frozen=True, eq=False)
class PriorMap:
    """Losses at a grid of priors: the least of the type, and those of mechanisms; one row a prior."""

    priors: Floats
    least: Floats
    losses: dict[str, Floats]

    def regret(self, name: str) -> Floats:
        """What a mechanism loses more than the best, at every prior."""
        if not isinstance(name, str) or name not in self.losses:
            raise Mismatch.unknown("the mechanism of a regret", tuple(self.losses), (name,))
        return np.asarray(self.losses[name] - self.least)


def prior_map(
    mechanisms: Mapping[str, Any], loss: Loss, privacy: PrivacyType, resolution: int = _RESOLUTION
) -> PriorMap:
    """Losses of mechanisms, and the least of their type, over a grid of priors on three secrets.

    Examples
    --------
    >>> import sfumato as sf
    >>> privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    >>> losses = prior_map({"geometric": sf.geometric(privacy)}, sf.losses.absolute(privacy.space), privacy, 10)
    >>> float(losses.regret("geometric").max()) < 1e-12
    True
    """
    privacy = as_type(privacy)
    if len(privacy.space) != 3:
        raise NotSupported(f"a map of priors on {len(privacy.space)} secrets", ["three secrets"])
    if not isinstance(mechanisms, Mapping):
        raise InvalidInput(f"the mechanisms of a map are given by name, as a mapping, found {shown(mechanisms)}")
    loss = as_loss(loss)
    channels = {text(name, "the name of a mechanism"): as_channel(mechanism) for name, mechanism in mechanisms.items()}
    check_secrets("mechanisms, loss and privacy type", privacy.space, loss, *channels.values())
    priors = _prior_grid(resolution)
    least = np.min([_losses(priors, floats(k.channel.matrix), loss) for k in kernels(privacy)], axis=0)
    return PriorMap(priors, least, {name: _losses(priors, floats(c.matrix), loss) for name, c in channels.items()})


def _prior_grid(resolution: int) -> Floats:
    """Priors on three secrets whose weights are multiples of a fraction; one row a prior."""
    resolution = integer(resolution, "the steps along a side", 2, _FINEST)
    steps = np.arange(resolution + 1)
    first, second = (side.ravel() for side in np.meshgrid(steps, steps))
    inside = first + second <= resolution
    return np.asarray(np.column_stack([first, second, resolution - first - second])[inside] / resolution)


def _losses(priors: Floats, matrix: Floats, loss: Loss) -> Floats:
    """Σ_y min_w Σ_x π_x M_xy ℓ(w, x) at every prior."""
    each = np.einsum("kx,xy,wx->kyw", priors, matrix, floats(loss.matrix))
    return np.asarray(each.min(axis=2).sum(axis=1))


def prior_map_figure(losses: PriorMap, secrets: Iterable[Any] = ("x₁", "x₂", "x₃")) -> go.Figure:
    """A triangle that shows which mechanism wins where, then one for the regret of each, in one scale."""
    losses = expect(losses, PriorMap, "what is drawn", "prior_map(mechanisms, loss, privacy) makes one")
    secrets = items(secrets, "the names of the three secrets")
    if len(secrets) != 3 or not losses.losses:
        raise InvalidInput(f"a map shows one mechanism or more on three secrets, found {len(secrets)} secrets")
    names = list(losses.losses)
    titles = ["who loses least", *(f"regret of {name}" for name in names)]
    lines = -(-len(titles) // _ACROSS)
    figure = make_subplots(rows=lines, cols=_ACROSS, subplot_titles=titles, horizontal_spacing=0.02,
                           vertical_spacing=0.1)  # fmt: skip
    places = losses.priors @ _CORNERS
    table = np.array([losses.losses[name] for name in names])
    best = table.min(axis=0)
    shared = (table <= best + _TIE).sum(axis=0) > 1
    weights = [", ".join(f"{s}: {p:.2f}" for s, p in zip(secrets, prior, strict=True)) for prior in losses.priors]
    for k, name in enumerate(names):
        mine = (table[k] <= best + _TIE) & ~shared
        _dots(figure, places[mine], {"color": SERIES[k]}, name, [weights[i] for i in np.flatnonzero(mine)], 0)
    _dots(figure, places[shared], {"color": tint(ROLES["faint"], 0.4)}, "as good as each other",
          [weights[i] for i in np.flatnonzero(shared)], 0)  # fmt: skip
    highest = max(float(losses.regret(name).max()) for name in names)
    for k, name in enumerate(names):
        regret = losses.regret(name)
        scale = {"color": regret, "cmin": 0, "cmax": highest or 1.0, "colorscale": [[0, "#f2f4f6"], [1, SERIES[1]]],
                 "showscale": k == 0, "colorbar": {"title": "regret", "len": 0.7, "thickness": 14}}  # fmt: skip
        words = [f"{where}<br>regret {value:.4f}" for where, value in zip(weights, regret, strict=True)]
        _dots(figure, places, scale, name, words, k + 1, legend=False)
    for k in range(len(titles)):
        at = _at(k)
        ring = np.vstack([_CORNERS, _CORNERS[:1]])
        figure.add_scatter(x=ring[:, 0], y=ring[:, 1], mode="lines", line={"color": ROLES["frame"], "width": 1.2},
                           hoverinfo="skip", showlegend=False, **at)  # fmt: skip
        figure.add_scatter(x=_CORNERS[:, 0], y=_CORNERS[:, 1] + [-0.05, -0.05, 0.05], mode="text", text=list(secrets),
                           hoverinfo="skip", showlegend=False, **at)  # fmt: skip
        figure.update_xaxes(visible=False, range=[-0.08, 1.08], **at)
        figure.update_yaxes(visible=False, range=[-0.14, 1.0], scaleanchor=f"x{k + 1 if k else ''}", **at)
    for k in range(len(titles), lines * _ACROSS):  # places that nothing fills
        figure.update_xaxes(visible=False, **_at(k))
        figure.update_yaxes(visible=False, **_at(k))
    house = canvas(700, 90 + 310 * lines).layout
    figure.update_layout(template=house.template, font=house.font, width=house.width, height=house.height,
                         paper_bgcolor=house.paper_bgcolor, plot_bgcolor=house.plot_bgcolor,
                         hoverlabel=house.hoverlabel, margin={"l": 16, "r": 90, "t": 40, "b": 40},
                         legend={"orientation": "h", "x": 0, "y": -0.02, "yanchor": "top"})  # fmt: skip
    return caption(figure, "Each point is a prior on three secrets. Regret is what a mechanism loses more than the "
                           "best one for that prior; the corners are priors that know the secret.")  # fmt: skip


def _dots(
    figure: go.Figure, places: Floats, marker: dict[str, Any], name: str, words: list[str], panel: int,
    *, legend: bool = True,
) -> None:  # fmt: skip
    figure.add_scatter(x=places[:, 0], y=places[:, 1], mode="markers",
                       marker={"size": 5, "symbol": "hexagon", **marker}, name=name, text=words,
                       hoverinfo="text", showlegend=legend and len(places) > 0, **_at(panel))  # fmt: skip


def _at(panel: int) -> dict[str, int]:
    """Row and column of a triangle."""
    return {"row": panel // _ACROSS + 1, "col": panel % _ACROSS + 1}


def entropy_surface(loss: Loss, resolution: int = 42) -> go.Figure:
    """U_ℓ(π) = min_w Σ_x π_x ℓ(w, x) over the priors on three secrets; each action is one plane of it."""
    loss = as_loss(loss)
    table = floats(loss.matrix)
    if table.shape[1] != 3:
        raise NotSupported(f"the surface of a loss on {table.shape[1]} secrets", ["three secrets"])
    priors = _prior_grid(resolution)
    values = priors @ table.T
    places = priors @ _CORNERS
    best = values.argmin(axis=1)
    figure = canvas(640, 520)
    figure.add_mesh3d(x=places[:, 0], y=places[:, 1], z=values.min(axis=1), intensity=best.astype(float),
                      colorscale=[[k / max(len(table) - 1, 1), SERIES[k % len(SERIES)]] for k in range(len(table))]
                      if len(table) > 1 else None, showscale=False, opacity=0.9, delaunayaxis="z",
                      text=[f"action {loss.actions[w]!s}" for w in best], hoverinfo="text")  # fmt: skip
    figure.update_layout(scene={"xaxis": {"visible": False}, "yaxis": {"visible": False},
                                "zaxis": {"title": "least expected loss"}, "aspectmode": "manual",
                                "aspectratio": {"x": 1, "y": 0.9, "z": 0.7}})  # fmt: skip
    figure.add_scatter3d(x=_CORNERS[:, 0], y=_CORNERS[:, 1], z=table.min(axis=0) - 0.03 * values.max(), mode="text",
                         text=[str(secret) for secret in loss.secrets], hoverinfo="skip", showlegend=False)  # fmt: skip
    return caption(figure, f"The least expected loss of {loss.name or 'a loss'} over priors on three secrets. A loss "
                           "is trivial when the surface is one plane.")  # fmt: skip
