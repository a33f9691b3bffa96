"""One address, three clouds
=========================

**Compared:** what three mechanisms with the same promise publish of one and the same address.

A district of 11 × 11 cells of 200 m, with a centre in the west, a suburb in the south-east and a lake in which nobody
lives. The cross marks one home between the centre and the lake.
"""

import numpy as np

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas

side = 11
town = sf.grid(side, side, step="1/5", unit="km")
y, x = np.mgrid[0:side, 0:side]
density = np.exp(-((x - 3) ** 2 + (y - 7) ** 2) / 6) + 0.5 * np.exp(-((x - 8) ** 2 + (y - 2) ** 2) / 3) + 0.03
density[(x - 8) ** 2 + (y - 7) ** 2 < 5] = 0
prior = sf.Prior.from_counts(np.rint(1000 * density).astype(int).ravel().tolist(), town)
loss = sf.losses.distance(town)
privacy = sf.PrivacyType(town, epsilon=3)
secret = int(np.ravel_multi_index((6, 5), (side, side)))

# %%
# The promise: ε = 3 per km, so that the odds between two homes 200 m apart shift by a factor of at most 1.8.

mechanisms = {
    "optimum": sf.design(prior, loss, privacy).mechanism.channel,
    "planar Laplace": sf.planar_laplace(privacy).channel,
    "exponential": sf.exponential(privacy).channel,
}
clouds = {name: np.asarray(channel.matrix, dtype=float)[secret] for name, channel in mechanisms.items()}

# %%
# The optimum knows where people live: it publishes few cells, in which many could live, and practically never one in
# the lake. The other two do not look at the people; planar Laplace noise piles up at the border, the exponential
# mechanism is wider than it has to be.

figure = canvas(700, 780)
titles = ["the people<br>who live in each cell"]
for name, channel in mechanisms.items():
    metres = 1000 * float(sf.expected_loss(prior, channel, loss))
    titles.append(f"{name}<br>{metres:.0f} m off on average, {int((clouds[name] > 1e-3).sum())} cells above 0.1 %")
figure.set_subplots(rows=2, cols=2, subplot_titles=titles, horizontal_spacing=0.04, vertical_spacing=0.1)
figure.update_annotations(font_size=13)
blue = [
    [0, "#ffffff"],
    [0.05, "#d6ebf8"],
    [0.2, SERIES[5]],
    [0.5, SERIES[1]],
    [1, ROLES["ink"]],
]
most = max(cloud.max() for cloud in clouds.values())
for k, values in enumerate([prior.float_weights, *clouds.values()]):
    panel = {"row": 1 + k // 2, "col": 1 + k % 2}
    figure.add_heatmap(
        z=100 * np.reshape(values, (side, side)),
        zmin=0,
        zmax=100 * (most if k else max(values)),
        colorscale=blue,
        showscale=False,
        hovertemplate="%{z:.2f} %<extra></extra>",
        **panel,
    )
    figure.add_scatter(
        x=[5],
        y=[6],
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        **panel,
        marker={
            "symbol": "x-thin",
            "size": 13,
            "color": SERIES[4],
            "line": {"color": SERIES[4], "width": 3},
        },
    )
    figure.update_yaxes(scaleanchor=f"x{k + 1}" if k else "x", **panel)
frame = {
    "showticklabels": False,
    "ticks": "",
    "constrain": "domain",
    "showgrid": False,
    "zeroline": False,
    "mirror": True,
    "showline": True,
    "linecolor": ROLES["faint"],
}
figure.update_xaxes(**frame)
figure.update_yaxes(**frame)
figure.update_layout(margin={"l": 12, "r": 12, "t": 48, "b": 12})
figure.show()
