"""From steps to the continuum
===========================

**Compared:** geometric mechanisms on finer and finer lattices, the truncated Laplace mechanism, and a bound for all.

The secret is a number between 0 and 1. On a lattice of N steps the geometric mechanism is the best for every loss
that grows with the error; in the limit it becomes the truncated Laplace mechanism (Theorem 5 of Fernandes,
McIver and Morgan 2021).
"""

from sfumato.mechanisms import continuous as co
from sfumato.report.figure import ROLES, SERIES, canvas

steps = [2, 4, 8, 16, 32, 64, 128, 256]
climbed = co.climb(co.Density.uniform(), co.truncated_laplace(1), co.absolute_error(), steps)
print(f"truncated Laplace: {climbed.limit.value:.6f}")

# %%
# The loss of the geometric mechanism climbs to that of the Laplace mechanism. The bound for every private mechanism on
# the whole interval follows it from below, so in the limit nothing is better than the Laplace mechanism.

figure = canvas(700, 400)
curves = {
    "geometric on N steps": ([rung.geometric for rung in climbed.rungs], SERIES[2]),
    "no mechanism on [0, 1] is below": (
        [rung.floor for rung in climbed.rungs],
        ROLES["frame"],
    ),
}
for name, (values, colour) in curves.items():
    figure.add_scatter(
        x=steps,
        y=values,
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 2.5},
        marker={"color": colour, "size": 7},
    )
figure.add_scatter(
    x=[2, 256],
    y=[climbed.limit.value] * 2,
    name="truncated Laplace",
    mode="lines",
    line={"color": SERIES[0], "width": 2.5, "dash": "dash"},
)
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, title_text="steps N of the lattice", type="log", tickvals=steps)
figure.update_yaxes(**axis, title_text="expected error, uniform prior, ε = 1", range=[0, 0.26])
figure.update_layout(margin={"l": 64, "r": 24, "t": 24, "b": 56}, legend={"y": 0.05, "yanchor": "bottom"})
figure.show()

# %%
# See also :doc:`/theory/continuous`.
