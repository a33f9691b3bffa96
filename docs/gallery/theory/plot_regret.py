"""Best for everybody, where there is such a thing
===============================================

**Compared:** the least worst-case regret on four spaces, and the regret of random response and tight constraints
there.

Guessing one of four secrets. A mechanism without regret is the best for every prior at once. On a line there is
always one, on a star from a factor of 2 on, on a cycle and on a discrete space never.
"""

from fractions import Fraction

import sfumato as sf
from sfumato.report.figure import SERIES, canvas

spaces = {
    "a line": sf.line(4),
    "a star": sf.spaces.star(3),
    "a cycle": sf.cycle(4),
    "all equally far": sf.discrete(4),
}
factors = [Fraction(k) for k in ("5/4", "3/2", "2", "3", "4", "6", "8")]

# %%
# All regrets are exact fractions: the blue curve has weights on priors that prove that no mechanism is below it.

figure = canvas(720, 520)
figure.set_subplots(
    rows=2,
    cols=2,
    shared_xaxes=True,
    shared_yaxes=True,
    subplot_titles=list(spaces),
    horizontal_spacing=0.05,
    vertical_spacing=0.1,
)
for k, space in enumerate(spaces.values()):
    loss = sf.losses.bin(space)
    curves: dict[str, list[float | None]] = {
        "random response": [],
        "tight constraints": [],
        "least possible": [],
    }
    for factor in factors:
        privacy = sf.PrivacyType(space, alpha=1 / factor)
        curves["random response"].append(float(sf.universal.worst_case_regret(sf.random_response(privacy), loss).upper))
        exists = sf.types.has_tight_constraints(privacy)
        tight = sf.universal.worst_case_regret(sf.tight_constraints(privacy), loss) if exists else None
        curves["tight constraints"].append(float(tight.upper) if tight else None)
        curves["least possible"].append(float(sf.universal.universal_design(loss, privacy).upper))
    for (name, values), colour in zip(curves.items(), (SERIES[3], SERIES[2], SERIES[1]), strict=True):
        figure.add_scatter(
            x=[float(f) for f in factors],
            y=values,
            name=name,
            legendgroup=name,
            showlegend=k == 0,
            mode="lines+markers",
            row=1 + k // 2,
            col=1 + k % 2,
            line={
                "color": colour,
                "width": 2.5,
                "dash": "dot" if "least" in name else "solid",
            },
            marker={"color": colour, "size": 5},
        )

# %%
# Where tight constraints exists on a tree, such as a line or a star, it has no regret; on a star it exists from a
# factor of 2 on. On the cycle it has some, and as little as any mechanism can have; on the discrete space it is random
# response, and for strong promises a little less is possible.

axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, type="log", tickvals=[1.25, 1.5, 2, 3, 4, 6, 8])
figure.update_yaxes(**axis, range=[-0.02, 0.28])
figure.update_xaxes(title_text="factor e<sup>ε</sup> between neighbours", row=2)
figure.update_yaxes(title_text="worst-case regret", col=1)
figure.update_layout(
    margin={"l": 64, "r": 16, "t": 36, "b": 96},
    legend={"orientation": "h", "x": 0, "y": -0.16, "xanchor": "left", "yanchor": "top"},
)
figure.show()

# %%
# See also :doc:`/theory/universal` and :doc:`/theory/universal_trees`.
