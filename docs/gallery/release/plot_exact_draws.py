"""Draws, and the distribution that was proved
===========================================

**Compared:** a million exact draws and a million draws by a shortcut with the distribution that the proof speaks of.

A proof is about the distribution that was proved. What is drawn should have that one, bit for bit. The shortcut looks
up eight random bits in a cumulative table, which is quick and nearly right.
"""

import warnings

import numpy as np

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas

privacy = sf.PrivacyType(sf.line(16), alpha="2/3")
mechanism = sf.geometric(privacy)
proved = np.asarray(mechanism.channel.matrix, dtype=float)[5]
draws = 1_000_000

# %%
# A seed is for pictures and tests, and sfumato says so with a warning; otherwise bits come from the operating system.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", sf.draws.InsecureSeed)
    exact = sf.sampler(mechanism).draw(np.full(draws, 5), bits=sf.draws.SeededBits(7))
shortcut = np.searchsorted(
    np.cumsum(proved),
    np.random.default_rng(7).integers(256, size=draws) / 256,
    side="right",
)

# %%
# How far the observed shares are from the proved ones, in standard deviations of a million draws. Two thirds of the
# green dots should be inside the band from −1 to 1. The shortcut is off by ten and more of them, so whoever has many
# outputs can tell, and its privacy is not the one that was proved.

figure = canvas(700, 420)
deviations = {}
for name, outputs in {"exact sampler": exact, "8-bit table": shortcut}.items():
    seen = np.bincount(outputs, minlength=16) / draws
    deviations[name] = (seen - proved) / np.sqrt(proved * (1 - proved) / draws)
for (name, values), colour in zip(deviations.items(), (SERIES[2], SERIES[4]), strict=True):
    figure.add_scatter(
        x=list(range(16)),
        y=values,
        name=name,
        mode="markers+lines",
        marker={"color": colour, "size": 8},
        line={"color": colour, "width": 1},
    )
figure.add_hrect(y0=-1, y1=1, fillcolor=ROLES["region"], opacity=0.3, line_width=0, layer="below")
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="output", dtick=1)
figure.update_yaxes(**axis, title_text="observed − proved, standard deviations")
figure.update_layout(margin={"l": 72, "r": 24, "t": 24, "b": 56})
figure.show()

# %%
# How it is done: :doc:`/theory/sampling`.

assert np.abs(deviations["exact sampler"]).max() < 4 < np.abs(deviations["8-bit table"]).max()
