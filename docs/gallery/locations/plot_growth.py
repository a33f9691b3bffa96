"""How designs grow
================

**Compared:** two methods on one GPU, with even and uneven priors, on Manhattan grids and with all pairs of cells.

Least expected Euclidean distance on square grids of up to 100 × 100 cells, e^ε = 2 for a step, solved on one NVIDIA
H200 by the interior-point method over arrays and by the first-order method
(:py:mod:`sfumato.lp.first_order`). *All pairs* is Euclidean privacy: every pair of cells that no chain implies.
*Manhattan* promises e^ε to neighbours. Uniform priors have the eight symmetries of
the square, so one column for each orbit is solved for; the uneven prior is a mixture of five bumps without any
symmetry.
"""

from gallery_results import measured

from sfumato.report.figure import SERIES, canvas

# %%
# Secrets, seconds and GiB, one run each of ``benchmarks/bench_gpu.py`` and of ``benchmarks/bench_first_order.py``:
# numbers of a device that few have, so the tables that were kept are read here.


def runs(table: str, kind: str, gap: float) -> list[tuple[int, float, float]]:
    """Rows of a kind of case to a gap: secrets, seconds and GiB, in the order of size."""
    rows = measured(table, "case", "rows", "seconds", "GPU, GiB", "gap asked")
    return sorted(row[1:4] for row in rows if row[0].partition(":")[0] == kind and row[4] == gap)


methods = {
    "first order, Manhattan, uneven prior, gap 1e-3": runs("first_order-gpu", "lumpy", 1e-3),
    "first order, Manhattan, uneven prior, gap 1e-4": runs("first_order-gpu", "lumpy", 1e-4),
    "interior point, all pairs, uniform prior, gap 1e-4": runs("arrays-gpu", "uniform", 1e-4),
    "interior point, Manhattan, uneven prior, gap 1e-4": runs("arrays-gpu", "manhattan", 1e-4),
    "interior point, Manhattan, uniform prior, gap 1e-4": runs("arrays-gpu", "manhattan-uniform", 1e-4),
    "interior point, Manhattan, uniform prior, gap 1e-3": runs("arrays-gpu", "manhattan-uniform", 1e-3),
}

methods = {name: rows for name, rows in methods.items() if rows}

figure = canvas(700, 540)
figure.set_subplots(rows=1, cols=2, subplot_titles=("time", "memory"), horizontal_spacing=0.14)
for colour, (name, rows) in zip(SERIES, methods.items(), strict=False):
    secrets, *values = zip(*rows, strict=True)
    for k, column in enumerate(values, start=1):
        figure.add_scatter(
            x=secrets,
            y=column,
            mode="lines+markers",
            name=name,
            legendgroup=name,
            showlegend=k == 1,
            row=1,
            col=k,
            line={"color": colour, "width": 2},
            marker={"color": colour, "size": 7},
        )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8, "type": "log"}
figure.update_xaxes(
    **axis,
    title_text="secrets",
    tickvals=[100, 400, 1600, 10000],
    ticktext=["100", "400", "1,600", "10,000"],
)
figure.update_yaxes(**axis, tickvals=[0.1, 0.3, 1, 3, 10, 30])
figure.update_yaxes(title_text="seconds", col=1)
figure.update_yaxes(title_text="GiB", col=2)
figure.update_layout(
    margin={"l": 64, "r": 20, "t": 40, "b": 190},
    legend={
        "orientation": "h",
        "x": 0,
        "y": -0.2,
        "xanchor": "left",
        "yanchor": "top",
        "entrywidth": 330,
    },
)
figure.show()

# %%
# On Manhattan grids the matrix was then rounded to integers on the same device and checked entry by entry, with all
# rows of one total; the page on peers has the gaps that are left in integers. The first-order method owes its speed to
# its start: the tight-constraints mechanism with its best remap is nearly the optimum there, and only the entries that
# matter are moved. An uneven prior under all pairs is the hard case: iterations grow with the size.
#
