"""Nobody too far off
==================

**Compared:** the optimum with and without a limit on displacement, and planar Laplace noise.

A small mean may hide a few who are sent across the town. A limit holds for every cell: here at most one in five may
be published more than 1 km from home.
"""

import numpy as np

import sfumato as sf
from sfumato import objectives
from sfumato.report.figure import ROLES, SERIES, canvas

city = sf.grid(6, 6, step="1/2", unit="km")
people = [
    [1, 2, 4, 3, 1, 0],
    [3, 9, 22, 14, 4, 1],
    [5, 24, 60, 41, 9, 2],
    [4, 18, 47, 66, 17, 3],
    [2, 6, 19, 25, 12, 2],
    [0, 1, 3, 5, 3, 1],
]
prior = sf.Prior.from_counts(np.ravel(people).tolist(), city)
loss = sf.losses.distance(city)
privacy = sf.PrivacyType(city, alpha="1/16")  # the odds double every 250 m

# %%
# Three mechanisms that promise the same:

limited = objectives.expected(limits=objectives.displacement_at_most(1, "1/5"))
channels = {
    "optimum": sf.design(prior, loss, privacy).mechanism.channel,
    "optimum with the limit": sf.design(prior, loss, privacy, objective=limited).mechanism.channel,
    "planar Laplace": sf.planar_laplace(privacy).channel,
}
for name, channel in channels.items():
    print(f"{name}: {float(sf.expected_loss(prior, channel, loss)):.3f} km on average")

# %%
# For each distance: how likely the unluckiest cell is to be published farther away than that. The limit moves the
# curve under the dot, and the mean grows by a few metres.

radii = np.arange(0, 3.55, 0.02)
figure = canvas(700, 420)
for (name, channel), colour in zip(channels.items(), (SERIES[1], SERIES[2], SERIES[0]), strict=True):
    columns = [city.labels.index(output) for output in channel.outputs]
    matrix, away = (
        np.asarray(channel.matrix, dtype=float),
        city.distances.floats[:, columns],
    )
    worst = [float((matrix * (away > r + 1e-9)).sum(axis=1).max()) for r in radii]
    figure.add_scatter(
        x=radii,
        y=[100 * w for w in worst],
        name=name,
        mode="lines",
        line={"color": colour, "width": 2.5, "shape": "hv"},
    )
figure.add_scatter(
    x=[1],
    y=[20],
    mode="markers",
    name="the limit",
    marker={"size": 11, "color": ROLES["ink"]},
)
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="distance, km", range=[0, 3.5])
figure.update_yaxes(**axis, title_text="chance to be farther off, unluckiest cell, %", range=[0, 100])
figure.update_layout(margin={"l": 64, "r": 24, "t": 24, "b": 56})
figure.show()
