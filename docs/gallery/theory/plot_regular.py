"""Regular priors
==============

**Compared:** the priors that the bound of tight constraints covers, for four promises and on two spaces.

For *regular* priors there is a formula for how often the secret can be guessed, and the tight-constraints mechanism
reaches it where it exists. On three secrets the regular priors are a triangle inside the triangle of all priors.
"""

from fractions import Fraction

import numpy as np

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas, tint

spaces = {"on a line": sf.line(3), "all equally far": sf.discrete(3)}
corners = np.array([[0, 0], [0.5, 3**0.5 / 2], [1, 0]])

# %%
# The corners of the region are what a receiver believes who started from the uniform prior and saw an output that
# points to one secret as strongly as the promise allows. On both spaces more priors are regular the weaker the promise
# is, and in the limit all. On a line the region is flatter: what points to the middle leaves both ends possible.

figure = canvas(720, 430)
figure.set_subplots(rows=1, cols=2, column_titles=list(spaces), horizontal_spacing=0.04)
for k, space in enumerate(spaces.values(), start=1):
    for factor, strength in (("8", 0.25), ("4", 0.5), ("2", 0.75), ("4/3", 1.0)):
        privacy = sf.PrivacyType(space, alpha=1 / Fraction(factor))
        places = np.array([prior.float_weights for prior in sf.types.corner_priors(privacy)]) @ corners
        ring = np.vstack([places, places[:1]])
        figure.add_scatter(
            x=ring[:, 0],
            y=ring[:, 1],
            mode="lines",
            fill="toself",
            fillcolor=tint(SERIES[1], strength),
            line={"color": "#ffffff", "width": 1.5},
            name=f"e<sup>ε</sup> = {factor}",
            legendgroup=factor,
            showlegend=k == 1,
            hoverinfo="name",
            row=1,
            col=k,
        )
    ring = np.vstack([corners, corners[:1]])
    figure.add_scatter(
        x=ring[:, 0],
        y=ring[:, 1],
        mode="lines",
        line={"color": ROLES["frame"], "width": 1.5},
        showlegend=False,
        hoverinfo="skip",
        row=1,
        col=k,
    )
    figure.add_scatter(
        x=corners[:, 0],
        y=corners[:, 1] + [-0.05, 0.05, -0.05],
        mode="text",
        showlegend=False,
        text=["x₁", "x₂", "x₃"],
        hoverinfo="skip",
        row=1,
        col=k,
    )
    figure.add_scatter(
        x=[0.5],
        y=[3**0.5 / 6],
        mode="markers",
        name="uniform prior",
        showlegend=k == 1,
        legendgroup="uniform",
        marker={"color": SERIES[0], "size": 9},
        row=1,
        col=k,
    )
    figure.update_yaxes(scaleanchor="x" if k == 1 else f"x{k}", row=1, col=k)
figure.update_xaxes(visible=False, range=[-0.08, 1.08])
figure.update_yaxes(visible=False, range=[-0.1, 0.96])
below = {"orientation": "h", "x": 0.5, "y": -0.02, "xanchor": "center", "yanchor": "top"}
figure.update_layout(margin={"l": 8, "r": 8, "t": 40, "b": 48}, legend=below)
figure.show()

# %%
# See also :doc:`/theory/regular`.
