"""Promises as curves
==================

**Compared:** pure, approximate, Gaussian and Laplace privacy, and what a geometric mechanism keeps.

If an event has probability a for one secret, how probable may it be for a neighbour? Each promise is a curve: the
closer to the diagonal, the less an observer learns.
"""

import numpy as np

import sfumato as sf
from sfumato import predicates
from sfumato.report.figure import ROLES, SERIES, canvas

a = np.linspace(0, 1, 201)
promises = {
    "pure, ε = 1": (predicates.pure(epsilon=1), SERIES[1], "solid"),
    "(ε, δ) = (1, 1/20)": (
        predicates.epsilon_delta(epsilon=1, delta="1/20"),
        SERIES[1],
        "dot",
    ),
    "Laplace, ε = 1": (predicates.laplace(epsilon=1), SERIES[0], "solid"),
    "Gaussian, μ = 1": (predicates.gaussian(1), SERIES[3], "solid"),
}

# %%
# A mechanism has a curve of its own, a polygon with an event at each corner, taken over all neighbours. The geometric
# mechanism with a factor of 2 keeps pure privacy with ε = ln 2 = 0.69, and less than that it does not keep.

geometric = sf.geometric(sf.PrivacyType(sf.line(6), alpha="1/2"))
kept = sf.privacy.worst_tradeoff(geometric.channel, sf.line(6))
x, y = (np.array([float(v) for v in side]) for side in zip(*kept.points, strict=True))

# %%
# Laplace noise keeps more than its ε says: its curve is below the pure one in the middle. The Gaussian curve has no ε
# at all: it starts steeper than any line, so rare events are not protected by any factor.

figure = canvas(620, 560)
figure.add_scatter(
    x=[0, 1],
    y=[0, 1],
    name="nothing is learned",
    mode="lines",
    line={"color": ROLES["frame"], "width": 1, "dash": "dash"},
)
for name, (promise, colour, dash) in promises.items():
    figure.add_scatter(
        x=a,
        y=promise.upper(a),
        name=name,
        mode="lines",
        line={"color": colour, "width": 2.5, "dash": dash},
    )
figure.add_scatter(
    x=x,
    y=y,
    name="geometric mechanism, factor 2",
    mode="lines+markers",
    line={"color": SERIES[2], "width": 2},
    marker={"size": 7, "color": SERIES[2]},
)
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="probability of an event for one secret", range=[0, 1])
figure.update_yaxes(**axis, title_text="most it may be for a neighbour", range=[0, 1.01])
figure.update_layout(margin={"l": 64, "r": 24, "t": 24, "b": 56}, legend={"y": 0.05, "yanchor": "bottom"})
figure.show()

# %%
# See also :doc:`/theory/predicates`.
