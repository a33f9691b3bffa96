"""What the last bits of floating-point noise tell
===============================================

**Compared:** Laplace noise in floating-point numbers with the geometric mechanism in integers.

On paper, Laplace noise added to 0 and to 1 gives the same numbers with different probabilities. In floating-point
arithmetic some results come from 0 only, and some from 1 only (Mironov 2012). Whoever sees one of those knows the
secret, whatever ε was promised.
"""

import numpy as np

import sfumato as sf
from sfumato.report.figure import SERIES, canvas


def noise(uniforms: np.ndarray, signs: np.ndarray, epsilon: float) -> np.ndarray:
    """The textbook recipe: a sign and a logarithm."""
    return signs * (np.log(uniforms) / epsilon)


def comes_from(secret: float, outputs: np.ndarray, epsilon: float) -> np.ndarray:
    """Whether any of the uniforms near the right one gives exactly these outputs, bit for bit."""
    reached = np.zeros(len(outputs), dtype=bool)
    for sign in (-1.0, 1.0):
        wanted = np.rint(np.exp(np.minimum(sign * (outputs - secret) * epsilon, 0)) * 2.0**53)
        for shift in range(-40, 41):
            uniforms = np.clip(wanted + shift, 1, 2.0**53) / 2.0**53
            reached |= secret + noise(uniforms, np.full(len(outputs), sign), epsilon) == outputs
    return reached


# %%
# Ten thousand results for the secret 0 at each ε. Does 1 give the same result, for any random number at all?

rng = np.random.default_rng(1)
epsilons = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0]
betrayed = []
for epsilon in epsilons:
    results = noise(1 - rng.random(10_000), rng.choice([-1.0, 1.0], 10_000), epsilon)
    assert comes_from(0.0, results, epsilon).all()
    betrayed.append(100 * float(1 - comes_from(1.0, results, epsilon).mean()))

# %%
# The geometric mechanism is a table of integers. No output has weight 0 for any secret, and what is drawn has exactly
# these weights.

integers = []
for epsilon in map(str, epsilons):
    matrix = sf.geometric(sf.PrivacyType(sf.line(12), epsilon=epsilon)).channel.matrix
    integers.append(100 * float(np.mean(matrix[1][matrix[0] > 0] == 0)))

figure = canvas(700, 400)
for name, values, colour in (
    ("Laplace noise in floating point", betrayed, SERIES[0]),
    ("geometric, exact draws", integers, SERIES[2]),
):
    figure.add_scatter(
        x=epsilons,
        y=values,
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 2.5},
        marker={"color": colour, "size": 7},
    )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(
    **axis,
    title_text="ε that was promised",
    type="log",
    tickvals=[0.05, 0.1, 0.2, 0.5, 1, 2],
)
figure.update_yaxes(**axis, title_text="results that give the secret away, %", range=[-3, 100])
figure.update_layout(margin={"l": 64, "r": 24, "t": 24, "b": 56})
figure.show()

# %%
# How exact draws are made: :doc:`/theory/sampling`.
