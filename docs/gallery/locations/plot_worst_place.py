"""Fair to everybody, or good on average
=====================================

**Compared:** the mechanism with the least mean loss and the one whose worst-off cell loses least.

The mean is small where many live, and whoever lives elsewhere pays for it. Another objective looks at the worst cell
only.
"""

import numpy as np

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas

side = 8
town = sf.grid(side, side, step="1/4", unit="km")
y, x = np.mgrid[0:side, 0:side]
people = np.rint(80 * np.exp(-((x - 2) ** 2 + (y - 5) ** 2) / 5) + 2).astype(int)
prior = sf.Prior.from_counts(people.ravel().tolist(), town)
loss = sf.losses.distance(town)
privacy = sf.PrivacyType(town, epsilon=3)

# %%
# What each cell loses, in km, under either mechanism.

designs = {name: sf.design(prior, loss, privacy, objective=name) for name in ("expected", "worst secret")}
kilometres = town.distances.floats
lost = {}
for name, best in designs.items():
    channel = best.mechanism.channel
    columns = [town.labels.index(output) for output in channel.outputs]
    lost[name] = (np.asarray(channel.matrix, dtype=float) * kilometres[:, columns]).sum(axis=1)

# %%
# On the left the crowd in the upper left loses little and the far corner loses most. On the right all cells that
# matter lose the same. The price is paid by the crowd, and with it by the mean.

figure = canvas(720, 400)
titles = [
    f"{title}<br>mean {prior.float_weights @ lost[name]:.2f} km, worst {lost[name].max():.2f} km"
    for name, title in (("expected", "least mean"), ("worst secret", "least worst"))
]
figure.set_subplots(rows=1, cols=2, horizontal_spacing=0.05, column_titles=titles)
scale = [[0, SERIES[1]], [0.5, "#f2f4f6"], [1, SERIES[4]]]
for k, values in enumerate(lost.values(), start=1):
    figure.add_heatmap(
        z=values.reshape(side, side),
        zmin=0,
        zmax=max(v.max() for v in lost.values()),
        row=1,
        col=k,
        colorscale=scale,
        showscale=k == 2,
        colorbar={"title": {"text": "km"}, "thickness": 14},
        hovertemplate="%{z:.2f} km<extra></extra>",
    )
    figure.add_scatter(
        x=x.ravel(),
        y=y.ravel(),
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        row=1,
        col=k,
        marker={"size": 2 * np.sqrt(people.ravel()), "color": ROLES["ink"], "opacity": 0.5},
    )
    figure.update_yaxes(scaleanchor="x" if k == 1 else f"x{k}", row=1, col=k)
figure.update_xaxes(visible=False, constrain="domain")
figure.update_yaxes(visible=False, constrain="domain")
figure.update_layout(margin={"l": 8, "r": 8, "t": 56, "b": 8})
figure.show()

# %%
# Discs: how many people live in a cell.
