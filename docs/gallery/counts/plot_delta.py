"""What δ buys
===========

**Compared:** the best mechanisms under (ε, δ)-privacy with the best ones under pure ε-privacy.

A count from 0 to 7. Pure privacy bounds the odds of every event; (ε, δ)-privacy lets events slip through whose
probability is at most δ. Is it worth it?
"""

from fractions import Fraction

import sfumato as sf
from sfumato import predicates
from sfumato.report.figure import SERIES, canvas

line = sf.line(8)
prior, loss = sf.Prior.uniform(line), sf.losses.absolute(line)
deltas = [
    "1/100000",
    "1/10000",
    "1/3000",
    "1/1000",
    "1/300",
    "1/100",
    "1/50",
    "1/30",
    "1/20",
    "1/12",
    "1/10",
]

# %%
# Each point is a linear program, solved and proved: no mechanism that keeps the promise has a smaller mean error.

figure = canvas(700, 420)
for epsilon, colour in (("1/2", SERIES[0]), ("1", SERIES[1]), ("2", SERIES[2])):
    promises = [predicates.epsilon_delta(epsilon=epsilon, delta=delta) for delta in deltas]
    losses = [float(sf.design(prior, loss, None, under=(promise, line)).loss) for promise in promises]
    pure = float(sf.design(prior, loss, sf.PrivacyType(line, epsilon=epsilon)).loss)
    where = [float(Fraction(delta)) for delta in deltas]
    figure.add_scatter(
        x=where,
        y=losses,
        name=f"ε = {epsilon} with δ",
        mode="lines+markers",
        line={"color": colour, "width": 2.5},
        marker={"size": 6, "color": colour},
    )
    figure.add_scatter(
        x=[where[0], where[-1]],
        y=[pure, pure],
        name=f"ε = {epsilon} without",
        mode="lines",
        line={"color": colour, "width": 1.5, "dash": "dash"},
    )

# %%
# As long as δ is as small as it should be, well below one in a thousand, it buys nothing that could be seen. One in
# ten buys a lot; but a mechanism that publishes one secret in ten outright keeps that promise too.

axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(
    **axis,
    title_text="δ",
    type="log",
    tickvals=[1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    ticktext=["0.00001", "0.0001", "0.001", "0.01", "0.1"],
)
figure.update_yaxes(**axis, title_text="mean error of the published count", range=[0, 1.4])
figure.update_layout(
    margin={"l": 64, "r": 24, "t": 84, "b": 56},
    legend={
        "orientation": "h",
        "x": 0,
        "y": 1.02,
        "xanchor": "left",
        "yanchor": "bottom",
        "entrywidth": 150,
    },
)
figure.show()

# %%
# See also :doc:`/theory/predicates` and :doc:`/theory/design`.
