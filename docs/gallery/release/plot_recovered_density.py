"""A city, released and recovered
==============================

**Compared:** the truth, what was released, and four ways to recover the one from the other.

Sixty thousand people live on a grid of 24 × 24 cells of 250 m, none of them in the river. Each one's cell is released
by the tight-constraints mechanism at ε = 2 per km of streets: for neighbouring cells no output is more than e^{1/2} =
1.65 times as likely as for the other. What can the receiver say about the city?
"""

import numpy as np

import sfumato as sf
from sfumato.report.figure import SERIES, canvas

side, rows = 24, 60_000
space = sf.grid(side, side, metric="manhattan", step="1/4", unit="km")
channel = sf.tight_constraints(sf.PrivacyType(space, epsilon=2)).channel.to_floats()
y, x = np.mgrid[0:side, 0:side] / side
hills = (
    (1.0, 0.3, 0.35, 0.01),
    (0.6, 0.25, 0.75, 0.02),
    (0.9, 0.75, 0.7, 0.006),
    (0.1, 0.5, 0.5, 0.5),
)
height = sum(h * np.exp(-((x - u) ** 2 + (y - v) ** 2) / width) for h, u, v, width in hills)
height = np.where(np.abs(x - 0.55 - 0.1 * np.sin(6 * y)) < 0.05, 0.0, height).ravel()  # nobody lives in the river
rng = np.random.default_rng(3)  # for a picture that stays the same; a release draws with the exact sampler
people = rng.multinomial(rows, height / height.sum())
released = sum(rng.multinomial(k, row) for k, row in zip(people, channel.matrix, strict=True))

# %%
# Four estimates, and the total variation distance of each to the truth:

unbiased = sf.frequencies(channel, released)
panels = {
    "the truth": people / rows,
    "as released": released / rows,
    "unbiased": unbiased.weights,
    "prior nearest to that": unbiased.nearest_prior().float_weights,
    "maximum likelihood": sf.release.maximum_likelihood(channel, released).prior.float_weights,
    "Bayesian updates, stopped": sf.release.iterative_bayesian_update(channel, released).prior.float_weights,
}
errors = {name: float(np.abs(values - people / rows).sum() / 2) for name, values in panels.items()}
print("\n".join(f"{name:26} {error:.2f}" for name, error in errors.items()))

# %%
# *As released* everything is blurred. The *unbiased* estimate undoes the blur and multiplies the noise by more than it
# undoes: checkerboards of large weights of both signs (orange is negative). The *prior nearest to it* has no negative
# weights and is still mostly noise. The *maximum of the likelihood* is proved to be one, to a gap of 10⁻⁸ a row, and
# sits on a few cells: the likeliest density is not a likely one. The iterative *Bayesian updates*, stopped when the
# outputs are fitted as well as the truth would fit them, are closest.

figure = canvas(700, 500)
figure.set_subplots(
    rows=2,
    cols=3,
    subplot_titles=list(panels),
    horizontal_spacing=0.03,
    vertical_spacing=0.08,
)
figure.update_annotations(font_size=14)
density = [[0, SERIES[4]], [0.5, "#ffffff"], [0.75, SERIES[1]], [1, "#222222"]]
most = float(panels["the truth"].max())
for k, values in enumerate(panels.values()):
    panel = {"row": 1 + k // 3, "col": 1 + k % 3}
    figure.add_heatmap(
        z=values.reshape(side, side),
        zmin=-most,
        zmax=most,
        colorscale=density,
        showscale=False,
        hovertemplate="%{z:.3%}<extra></extra>",
        **panel,
    )
    figure.update_yaxes(scaleanchor=f"x{k + 1}" if k else "x", **panel)
figure.update_xaxes(visible=False, constrain="domain")
figure.update_yaxes(visible=False, constrain="domain")
figure.update_layout(margin={"l": 10, "r": 10, "t": 40, "b": 10})
figure.show()

# %%
# That order is not a law. It turns with ε: where the channel blurs little, all four agree and the unbiased estimate
# has error bars of its own (:doc:`/theory/estimation`). Two ε on a small grid:

small = sf.grid(6, 6, metric="manhattan")
homes = np.array([40, 2, 1, 1, 2, 30] * 6) * 10
for epsilon in ("1/2", "4"):
    blur = sf.tight_constraints(sf.PrivacyType(small, epsilon=epsilon)).channel.to_floats()
    counts = sum(rng.multinomial(k, row) for k, row in zip(homes, blur.matrix, strict=True))
    estimates = (
        sf.frequencies(blur, counts).weights,
        sf.release.iterative_bayesian_update(blur, counts).prior.weights,
    )
    off = [float(np.abs(weights - homes / homes.sum()).sum() / 2) for weights in estimates]
    print(f"ε = {epsilon:4} unbiased {off[0]:.3f}, Bayesian updates {off[1]:.3f}")

# %%
# On 315,055 pickups in New York, at several ε and on 2,500 cells, with the earth mover's distance in km: ``python
# benchmarks/bench_estimation.py``.
#
# Functions: :py:mod:`sfumato.release.estimation.estimates`, :py:mod:`sfumato.release.estimation.likelihood`.
