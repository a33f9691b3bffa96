"""The survey that is best left unanswered
=======================================

**Compared:** two instructions for a survey, and what somebody who knows the prior makes of the answers.

A survey asks: *have you attempted to commit a crime within the last six months?* Nobody wants to be caught by the
answer, so people are told to answer by chance. Two instructions are on the table (Kifer and Lin 2012, Fig. 8):

- **M₁**: say the truth with probability 2/3, else the opposite;
- **M₂**: say "Yes", whatever is true.

M₂ is a joke: a drawer full of forms that all say "Yes" is worth as much as an empty one. But let us choose by the
book. We believe that three quarters of the people did it, an answer that is a lie costs 1, a true one costs nothing,
and the expected cost is to be small.
"""

from fractions import Fraction

import sfumato as sf
from sfumato.measures.utility import bayes_utility, expected_utility
from sfumato.report.figure import ROLES, SERIES, canvas

answers = ("Yes", "No")
belief = sf.Prior(answers, ["3/4", "1/4"])
m1 = sf.Channel(answers, [["2/3", "1/3"], ["1/3", "2/3"]], answers)
m2 = sf.Channel(answers, [[1, 0], [1, 0]], answers)
lie = sf.losses.bin(answers)
print(sf.expected_loss(belief, m1, lie), sf.expected_loss(belief, m2, lie))
assert (sf.expected_loss(belief, m1, lie), sf.expected_loss(belief, m2, lie)) == (
    Fraction(1, 3),
    Fraction(1, 4),
)

# %%
# The book recommends the joke. It does so for everybody who believes in more than two thirds of "Yes":

beliefs = [sf.Prior(answers, [Fraction(k, 48), 1 - Fraction(k, 48)]) for k in range(49)]
lines = {
    "M₁, answers taken as they are": [sf.expected_loss(b, m1, lie) for b in beliefs],
    "M₂, always “Yes”": [sf.expected_loss(b, m2, lie) for b in beliefs],
    "M₁, answers read by somebody who knows the prior": [sf.posterior_loss(b, m1, lie) for b in beliefs],
}
figure = canvas(700, 440)
styles = ((SERIES[0], 2.5, "solid"), (SERIES[1], 2.5, "solid"), (ROLES["ink"], 2, "dot"))
for (name, losses), (colour, width, dash) in zip(lines.items(), styles, strict=True):
    figure.add_scatter(
        x=[float(b.weights[0]) for b in beliefs],
        y=[float(v) for v in losses],
        mode="lines",
        name=name,
        line={"color": colour, "width": width, "dash": dash},
    )
figure.add_vline(x=0.75, line={"color": ROLES["faint"], "width": 1, "dash": "dash"}, layer="below")
figure.add_annotation(
    x=0.75,
    y=0.95,
    text="the belief of the example",
    xanchor="right",
    yanchor="top",
    showarrow=False,
    xshift=-6,
    font={"color": ROLES["frame"], "size": 13},
)
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(
    **axis,
    title_text="believed probability that the true answer is “Yes”",
    range=[0, 1],
    dtick=0.25,
)
figure.update_yaxes(
    **axis,
    title_text="expected loss",
    range=[0, 1],
    tickvals=[0, 0.25, 1 / 3, 0.5, 1],
    ticktext=["0", "1/4", "1/3", "1/2", "1"],
)
figure.update_layout(
    margin={"l": 64, "r": 24, "t": 96, "b": 56},
    legend={"x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
)
figure.show()

# %%
# **What went wrong.** Whoever has the forms of M₁ can make those of M₂: cross out every answer and write "Yes". Nobody
# can do it the other way round. So M₁ is at least as good for any purpose at all, and this can be decided, not only
# felt:

print(sf.refines(m2, m1).outcome, "and", sf.refines(m1, m2).outcome)
assert sf.refines(m2, m1) and not sf.refines(m1, m2)

# %%
# The mistake is to read answers literally. Somebody who knows how they were made, and believes what we believe, will
# take a "No" from M₁ for a sign, weigh it against the belief, and still guess "Yes". This reader does as well with M₁
# as with M₂ here, better wherever the two curves above part, and never worse: the dotted line.

print(sf.optimal_remap(belief, m1, lie))
assert sf.posterior_loss(belief, m1, lie) == sf.posterior_loss(belief, m2, lie) == Fraction(1, 4)
even = sf.Prior.uniform(answers)
assert (sf.posterior_loss(even, m1, lie), sf.posterior_loss(even, m2, lie)) == (
    Fraction(1, 3),
    Fraction(1, 2),
)

# %%
# **A rule for measures.** A measure of utility should never rise when an output is worked on by somebody who does not
# know the secret: the *axiom of sufficiency*. Expected loss breaks it, expected loss after the best remap does not,
# and ``respects_sufficiency`` knows both. For the first it finds this very survey:

verdict = sf.measures.respects_sufficiency(expected_utility(belief, lie))
print(verdict)
channel, processing = verdict.witness
assert channel.matrix.tolist() == m1.matrix.tolist()
assert sf.cascade(channel, processing).matrix.tolist() == m2.matrix.tolist()
print(sf.measures.respects_sufficiency(bayes_utility(belief, lie)))

# %%
# More about such measures: :doc:`/theory/utility`.
