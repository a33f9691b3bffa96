"""What an accuracy costs
======================

**Compared:** the least ε of any mechanism with packing bounds below and exponential mechanisms above.

The secret is one of 13 places on a line. The output shall lie within γ of it with probability at least 1 − δ,
whatever the secret is. ε* is the smallest ε for which any mechanism does that (:doc:`/theory/compatibility`).
"""

import sfumato as sf
from sfumato.report.figure import ROLES, SERIES, canvas
from sfumato.theory.compatibility import least_exponential, theorem_34

space, gammas, deltas = sf.line(13), range(1, 6), ("1/20", "1/5")
grid = sf.compatibility.tradeoff_grid(space, gammas, deltas, precision=0.02)

# %%
# - The blue curve is ε* itself, enclosed to 2 %: at its upper end there is a mechanism in integers, at its lower end
#   there are multipliers that leave no room for one, and the kernel has accepted both.
# - Below it, a **packing**: balls of radius γ that do not meet. If the output must hit the ball of one secret, it must
#   hit those of its neighbours hardly less often, and they all share the little that may go wrong.
# - Above it, **exponential mechanisms**: with the uniform base measure, and with the best base measure that was found.
#   The dashed curve is what the proof of Theorem 3.4 of Kleinberg and Ligett (2010) promises for such a mechanism. The
#   proof wants to show that ε* is finite, and gives away a factor of 8 to 18 here.

figure = canvas(700, 500)
figure.set_subplots(
    rows=1,
    cols=2,
    shared_yaxes=True,
    horizontal_spacing=0.04,
    subplot_titles=[f"δ = {delta}" for delta in deltas],
)
for j, delta in enumerate(deltas):
    curves = {
        "Theorem 3.4, uniform base": [float(theorem_34(space, g, delta, base="uniform").epsilon) for g in gammas],
        "exponential, uniform base": [least_exponential(space, g, delta).epsilon for g in gammas],
        "exponential, best base found": [least_exponential(space, g, delta, base="best").epsilon for g in gammas],
        "ε*, proved from both sides": grid.high[:, j].tolist(),
        "packing": [float(sf.compatibility.packing_bound(space, g, delta).epsilon) for g in gammas],
    }
    styles = (
        (ROLES["faint"], "dash"),
        (SERIES[4], "solid"),
        (SERIES[0], "solid"),
        (SERIES[1], "solid"),
        (SERIES[2], "solid"),
    )
    for (name, values), (colour, dash) in zip(curves.items(), styles, strict=True):
        shown = [value or None for value in values]  # a packing of one ball says nothing
        figure.add_scatter(
            x=list(gammas),
            y=shown,
            name=name,
            legendgroup=name,
            showlegend=j == 0,
            row=1,
            col=j + 1,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2},
            marker={"size": 6, "color": colour},
        )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="radius γ", dtick=1)
figure.update_yaxes(**axis, type="log", tickvals=[0.1, 0.2, 0.5, 1, 2, 5, 10, 20])
figure.update_yaxes(title_text="ε", col=1)
figure.update_layout(
    margin={"l": 64, "r": 16, "t": 36, "b": 130},
    legend={"orientation": "h", "x": 0, "y": -0.18, "xanchor": "left", "yanchor": "top"},
)
figure.show()

# %%
# At one radius, in order:

star = sf.compatibility.epsilon_star(space, 2, "1/20")
bounds = [
    sf.compatibility.packing_bound(space, 2, "1/20").epsilon,
    star.low,
    star.high,
    least_exponential(space, 2, "1/20").epsilon,
    theorem_34(space, 2, "1/20", base="uniform").epsilon,
]
print([round(float(value), 3) for value in bounds])
assert bounds == sorted(bounds)

# %%
# Whole curves come from ``sf.compatibility.tradeoff_grid``, with a proof at both ends of every value. Functions:
# :py:mod:`sfumato.theory.compatibility`.
