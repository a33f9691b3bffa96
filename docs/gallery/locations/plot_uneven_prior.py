"""If people live elsewhere than thought
=====================================

**Compared:** mechanisms made for an even and for a lumpy prior, used where people live, and the optimum for each
case.

A design needs to know where people live. Here the truth moves from evenly spread (left) to three crowded quarters
(right), and two mechanisms are kept that were made for one of the two ends.
"""

from fractions import Fraction

import numpy as np

import sfumato as sf
from sfumato.report.figure import SERIES, canvas

side = 7
town = sf.grid(side, side, step="1/2", unit="km")
y, x = np.mgrid[0:side, 0:side]
crowds = sum(h * np.exp(-((x - u) ** 2 + (y - v) ** 2) / 0.7) for h, u, v in ((9, 1, 1), (5, 5, 2), (7, 3, 5)))
lumpy = sf.Prior.from_counts(np.rint(100 * crowds + 1).astype(int).ravel().tolist(), town)
even = sf.Prior.uniform(town)
loss = sf.losses.distance(town)
privacy = sf.PrivacyType(town, epsilon=2)

# %%
# A mechanism that was made for another prior may be used as it is, or by a receiver who knows the true one and remaps.

shares = [Fraction(k, 12) for k in range(13)]
truths = [
    sf.Prior(
        town,
        [s * a + (1 - s) * b for a, b in zip(lumpy.weights, even.weights, strict=True)],
    )
    for s in shares
]
designs = {"even": sf.design(even, loss, privacy), "lumpy": sf.design(lumpy, loss, privacy)}
curves = {"optimum for the truth": [float(sf.design(truth, loss, privacy).loss) for truth in truths]}
for name, best in designs.items():
    channel = best.mechanism.channel
    curves[f"made for {name}"] = [float(sf.expected_loss(truth, channel, loss)) for truth in truths]
    curves[f"made for {name}, remapped"] = [float(sf.posterior_loss(truth, channel, loss)) for truth in truths]

# %%
# Made for crowds, a mechanism sends everybody to them, which is bad where there are none, and no remap mends it. Made
# for evenness, it loses less at the other end once its outputs are remapped. If in doubt, be even.

for name, k in (("lumpy", 0), ("even", -1)):
    excess = curves[f"made for {name}, remapped"][k] / curves["optimum for the truth"][k] - 1
    print(f"made for {name}, used at the other end: {excess:.0%} more than the optimum")

figure = canvas(700, 420)
styles = (
    (SERIES[1], "solid"),
    (SERIES[2], "solid"),
    (SERIES[2], "dot"),
    (SERIES[3], "solid"),
    (SERIES[3], "dot"),
)
for (name, losses), (colour, dash) in zip(curves.items(), styles, strict=True):
    figure.add_scatter(
        x=[float(100 * s) for s in shares],
        y=losses,
        name=name,
        mode="lines",
        line={"color": colour, "width": 2.5, "dash": dash},
    )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(
    **axis,
    title_text="share of the people who live in the crowded quarters, %",
    range=[0, 100],
)
figure.update_yaxes(**axis, title_text="mean distance, km", rangemode="tozero")
figure.update_layout(
    margin={"l": 64, "r": 24, "t": 24, "b": 56},
    legend={"x": 0.02, "y": 0.03, "xanchor": "left", "yanchor": "bottom"},
)
figure.show()
