"""Where the optimum must lie
==========================

**Compared:** proved losses with proved lower bounds, and with a known mechanism.

Five designs say where the least loss lies for every ε between them: it does not grow with ε, so it is in the shaded
boxes. Each design has a mechanism in integers above and multipliers below, and the proof kernel has accepted both.
"""

import sfumato as sf
from sfumato.report.curve import curve_figure
from sfumato.report.figure import SERIES

town = sf.grid(6, 6, step="1/2", unit="km")
prior = sf.Prior.from_counts([1, 3, 9, 9, 3, 1] * 6, town)
loss = sf.losses.distance(town)
five = sf.curve(prior, loss, town, [1, 2, 3, 5, 8])

# %%
# Planar Laplace noise with the best remap, at fifteen values of ε, beside it:

epsilons = [f"{k}/2" for k in range(2, 17)]
channels = [sf.planar_laplace(sf.PrivacyType(town, epsilon=epsilon)).channel for epsilon in epsilons]
known = [float(sf.posterior_loss(prior, channel, loss)) for channel in channels]

figure = curve_figure(five)
figure.add_scatter(
    x=[k / 2 for k in range(2, 17)],
    y=known,
    name="planar Laplace, remapped",
    mode="lines",
    line={"color": SERIES[0], "width": 2.5},
)
figure.show()

# %%
# Where the orange curve leaves the boxes it is proved to be not optimal, without a design at that ε.

print([f"{float(best.bound):.5f} ≤ least loss ≤ {float(best.loss):.5f} km" for best in five.designs][:2])
