"""Never, rarely, sometimes, often, always
=======================================

**Compared:** the optimum with the geometric mechanism, random response and the exponential mechanism.

An ordinal question with five answers. The promise: neighbouring answers differ by a factor of at most e^ε. An error
counts by its size, and the analyst reads each answer with the best remap for the prior.
"""

from fractions import Fraction

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas

answers = sf.line(["never", "rarely", "sometimes", "often", "always"])
prior = sf.Prior(answers, ["3/10", "3/10", "1/5", "3/20", "1/20"])
loss = sf.losses.distance(answers)
factors = [Fraction(k, 10) for k in range(11, 61, 2)]
types = [sf.PrivacyType(answers, alpha=1 / factor) for factor in factors]

# %%
# The optimum is computed in fractions. So is the loss of the geometric mechanism, and the two are *equal*, for every
# prior and every ε: on a line nothing is better if errors count by their size.

optimum = [sf.design(prior, loss, privacy).loss for privacy in types]
known = {
    "geometric": sf.geometric,
    "exponential": sf.exponential,
    "random response": sf.random_response,
}
curves = {name: [sf.posterior_loss(prior, m(privacy).channel, loss) for privacy in types] for name, m in known.items()}
assert curves["geometric"] == optimum

# %%
# Random response treats "never" and "rarely" like "never" and "always". On a scale that is a waste: a factor of 3 for
# neighbours is then a factor of 3 for all, and little is left to read in the answers.

figure = canvas(700, 420)
x = [float(factor) for factor in factors]
styles = {"geometric": SERIES[2], "exponential": SERIES[4], "random response": SERIES[3]}
for name, colour in styles.items():
    figure.add_scatter(
        x=x,
        y=[float(v) for v in curves[name]],
        name=name,
        mode="lines",
        line={"color": colour, "width": 2.5},
    )
figure.add_scatter(
    x=x,
    y=[float(v) for v in optimum],
    name="optimum",
    mode="markers",
    marker={"color": SERIES[1], "size": 7, "symbol": "circle-open", "line": {"width": 2}},
)
blind = float(sf.prior_loss(prior, loss))
figure.add_scatter(
    x=[x[0], x[-1]],
    y=[blind, blind],
    name="nobody asked",
    mode="lines",
    line={"color": ROLES["frame"], "width": 1, "dash": "dash"},
)
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="factor e<sup>ε</sup> between neighbouring answers", range=[1, 6])
figure.update_yaxes(**axis, title_text="expected error, steps of the scale", range=[0, 1.05])
figure.update_layout(
    margin={"l": 64, "r": 24, "t": 24, "b": 56},
    legend={"x": 0.03, "y": 0.05, "xanchor": "left", "yanchor": "bottom"},
)
figure.show()

# %%
# See also :doc:`/guides/surveys` and the proof in :doc:`/theory/geometric`.
