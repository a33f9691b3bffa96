"""Two thousand places
===================

**Compared:** the best mechanism, planar Laplace noise and the exponential mechanism, both with the best remap, for
2,000 cities and for 2,000 cells of New York, at three ε, with 20 outputs and with all.

Secrets are the 2,000 largest cities of the United States with their population for a prior, and the 2,000 busiest
cells of New York with the number of taxi pickups. The loss is the distance in km to the place that is reported, and
every pair of places keeps its promise: e^ε = 2 for the distance on the horizontal axis. Laplace noise is added to the
position and followed by the nearest output; then both it and the exponential mechanism get the remap that is best for
who knows the prior.
"""

from gallery_results import measured

from sfumato.report.figure import SERIES, canvas

# %%
# Expected distance in km, for each distance for which e^ε = 2, as ``benchmarks/bench_cities.py`` measured it. The
# benchmark takes an hour, so its kept tables are read here; the page on peers shows them, with proved gaps and seconds.

columns = ("e^ε = 2 for, km", "design", "Laplace remapped", "exponential remapped")
places = {
    "cities of the United States": {
        "all outputs": measured("cities-all", *columns),
        "20 outputs": measured("cities-many", *columns),
    },
    "New York": {
        "all outputs": measured("pickups-all", *columns),
        "20 outputs": measured("pickups-many", *columns),
    },
}
mechanisms = ("best mechanism, proved", "planar Laplace, remapped", "exponential, remapped")

figure = canvas(700, 480)
figure.set_subplots(rows=1, cols=2, subplot_titles=tuple(places), horizontal_spacing=0.12)
for column, cases in enumerate(places.values(), start=1):
    for (outputs, rows), dash in zip(cases.items(), ("solid", "dot"), strict=True):
        distances, *losses = zip(*rows, strict=True)
        for name, colour, values in zip(mechanisms, SERIES, losses, strict=False):
            figure.add_scatter(
                x=distances,
                y=values,
                mode="lines+markers",
                name=f"{name}, {outputs}",
                showlegend=column == 1,
                row=1,
                col=column,
                line={"color": colour, "width": 2, "dash": dash},
                marker={"color": colour, "size": 7},
            )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8, "type": "log"}
for column, (ways, ticks) in enumerate((((10, 30, 100), (10, 30, 100, 300)), ((0.1, 0.3, 1), (0.3, 1, 3))), start=1):
    figure.update_xaxes(
        **axis, title_text="km for which e^ε = 2", tickvals=ways, ticktext=[f"{way:g}" for way in ways], col=column
    )
    figure.update_yaxes(**axis, tickvals=ticks, ticktext=[f"{way:g}" for way in ticks], col=column)
figure.update_yaxes(title_text="expected distance, km", col=1)
figure.update_layout(
    margin={"l": 64, "r": 20, "t": 40, "b": 125},
    legend={"orientation": "h", "x": 0, "y": -0.22, "xanchor": "left", "yanchor": "top", "entrywidth": 300},
)
figure.show()

# %%
# With 20 outputs most of what is lost is lost on the way to the nearest of them, whatever the mechanism. With all of
# them the best mechanism gains most where places are far apart in terms of the promise. The stricter the promise, the
# more places have a say in each output, the longer a design takes and the larger the gap it leaves.
#
# Functions: :py:mod:`sfumato.design`.
