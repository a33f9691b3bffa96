"""Seven of twenty
===============

**Compared:** what four mechanisms publish of one count, at the same promise.

How many of twenty people have some property? Seven. Leaving out or adding one of them may change the probability of
any output by a factor of at most 2.
"""

import numpy as np

import sfumato as sf
from sfumato.report.figure import SERIES, canvas

count = sf.count_query(20)
privacy = sf.PrivacyType(count, alpha="1/2")
mechanisms = {
    "geometric": sf.geometric(privacy),
    "permute and flip": sf.mechanisms.permute_and_flip(privacy),
    "exponential": sf.exponential(privacy),
    "random response": sf.random_response(privacy),
}
uniform, loss = sf.Prior.uniform(count), sf.losses.distance(count)
for name, mechanism in mechanisms.items():
    error, read = (float(f(uniform, mechanism.channel, loss)) for f in (sf.expected_loss, sf.posterior_loss))
    print(f"{name:17} mean error {error:.2f}, after the best remap {read:.2f}")

# %%
# The geometric mechanism falls by the whole factor of 2 with every step. The exponential mechanism is usually taken
# with half the scale, because its normalisation depends on the secret, and permute-and-flip is between the two. Random
# response spreads all that is not the truth evenly.

figure = canvas(700, 420)
colours = (SERIES[2], SERIES[0], SERIES[4], SERIES[3])
for (name, mechanism), colour in zip(mechanisms.items(), colours, strict=True):
    row = 100 * np.asarray(mechanism.channel.matrix, dtype=float)[7]
    figure.add_scatter(
        x=list(range(21)),
        y=row,
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"size": 6, "color": colour},
    )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="published count", dtick=1, range=[-0.5, 20.5])
figure.update_yaxes(**axis, title_text="probability, %", type="log", tickvals=[0.01, 0.1, 1, 10, 30])
figure.update_layout(
    margin={"l": 64, "r": 24, "t": 24, "b": 56},
    legend={"x": 0.03, "y": 0.05, "xanchor": "left", "yanchor": "bottom"},
)
figure.show()
