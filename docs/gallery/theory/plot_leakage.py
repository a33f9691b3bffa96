"""How much leaks
==============

**Compared:** the leakage of five mechanisms with one promise, and the most that any mechanism of it can leak.

The same promise does not mean the same leakage. *Multiplicative Bayes capacity* is how many times as likely as before
anybody guesses the secret, whatever the prior. Eight secrets on a line.
"""

from fractions import Fraction

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas

line = sf.line(8)
factors = [Fraction(k, 4) for k in range(5, 33)]
known = {
    "geometric": (sf.geometric, SERIES[2]),
    "permute and flip": (sf.mechanisms.permute_and_flip, SERIES[0]),
    "exponential": (sf.exponential, SERIES[4]),
    "random response": (sf.random_response, SERIES[3]),
    "closest pair": (sf.mechanisms.closest_pair, SERIES[5]),
}
types = [sf.PrivacyType(line, alpha=1 / factor) for factor in factors]
uniform = sf.Prior.uniform(line)

# %%
# Left the capacity, right what Shannon's mutual information says about the uniform prior. The geometric mechanism
# leaks the most there is for the promise; that is what makes it useful, and the promise covers it. What leaks less
# without serving anybody better has been wasted.

figure = canvas(720, 440)
figure.set_subplots(
    rows=1,
    cols=2,
    horizontal_spacing=0.12,
    column_titles=["any guess, any prior", "Shannon, uniform prior"],
)
x = [float(factor) for factor in factors]
for name, (mechanism, colour) in known.items():
    channels = [mechanism(privacy).channel for privacy in types]
    curves = (
        [float(sf.capacity(channel).multiplicative) for channel in channels],
        [float(sf.measures.mutual_information(uniform, channel)) for channel in channels],
    )
    for k, values in enumerate(curves, start=1):
        figure.add_scatter(
            x=x,
            y=values,
            name=name,
            legendgroup=name,
            showlegend=k == 1,
            mode="lines",
            row=1,
            col=k,
            line={"color": colour, "width": 2.5},
        )
most = [float(sf.types.capacities(privacy).multiplicative) for privacy in types]
figure.add_scatter(
    x=x,
    y=most,
    name="most that any mechanism leaks",
    mode="lines",
    row=1,
    col=1,
    line={"color": ROLES["ink"], "width": 1.5, "dash": "dot"},
)
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="factor e<sup>ε</sup> between neighbours", range=[1, 8], dtick=1)
figure.update_yaxes(**axis)
figure.update_yaxes(title_text="multiplicative capacity", range=[1, 7], col=1)
figure.update_yaxes(title_text="mutual information, bits", range=[0, 2.3], col=2)
figure.update_layout(
    margin={"l": 56, "r": 16, "t": 40, "b": 110},
    legend={"orientation": "h", "x": 0, "y": -0.2, "xanchor": "left", "yanchor": "top"},
)
figure.show()

# %%
# See also :doc:`/theory/capacities`.

assert [sf.capacity(sf.geometric(p).channel).multiplicative for p in types] == [
    sf.types.capacities(p).multiplicative for p in types
]
