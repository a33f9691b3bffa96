"""Sums are more than long lines
=============================

**Compared:** the tight-constraints mechanism, geometric noise scaled to the sensitivity, the exponential mechanism,
and a bound that no mechanism passes.

Ten people have values from 0 to 3, and their sum is published. One person changes it by up to 3, so the usual noise
is three times as wide. But two sums that differ by 7 cannot come from tables that differ in fewer than three people,
which a mechanism may use.
"""

from fractions import Fraction

import numpy as np

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas

total = sf.sum_query(10, 3)
uniform = sf.Prior.uniform(total)
print("the tight-constraints mechanism exists from ε =", sf.types.tight_threshold(total), "on")

# %%
# How often the right sum is published, if all sums are equally likely:

epsilons = np.linspace(0.6, 5, 23).round(2)
chances: dict[str, list[float]] = {name: [] for name in ("bound", "tight constraints", "geometric, ε/3", "exponential")}
for epsilon in map(str, epsilons):
    privacy = sf.PrivacyType(total, epsilon=epsilon)
    narrow = sf.PrivacyType(sf.line(31), epsilon=Fraction(epsilon) / 3)
    chances["bound"].append(float(sf.types.utility_bound(uniform, privacy).value))
    mechanisms = sf.tight_constraints(privacy), sf.geometric(narrow), sf.exponential(privacy)
    for name, mechanism in zip(list(chances)[1:], mechanisms, strict=True):
        chances[name].append(float(sf.bayes_vulnerability(uniform, mechanism.channel)))

# %%
# The green curve lies on the bound: for this prior there is nothing better to be had, at any of these ε.

figure = canvas(700, 420)
styles = (
    (ROLES["frame"], "dash", 5),
    (SERIES[2], "solid", 2.5),
    (SERIES[0], "solid", 2.5),
    (SERIES[4], "solid", 2.5),
)
for (name, values), (colour, dash, width) in zip(chances.items(), styles, strict=True):
    figure.add_scatter(
        x=epsilons,
        y=[100 * v for v in values],
        name=name,
        mode="lines",
        line={"color": colour, "dash": dash, "width": width},
    )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="ε for one person", range=[0.5, 5])
figure.update_yaxes(**axis, title_text="chance to guess the sum, %", range=[0, 100])
figure.update_layout(margin={"l": 64, "r": 24, "t": 24, "b": 56}, legend={"x": 0.03, "xanchor": "left"})
figure.show()

# %%
# See also :doc:`/guides/statistics` and :doc:`/theory/regular`.
