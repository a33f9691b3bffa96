"""Shares recovered from noisy answers
===================================

**Compared:** the truth, unbiased estimates and the likeliest shares, through two mechanisms with one promise.

Six hundred people answer on a scale of five, with a factor of 2 between neighbouring answers. Each single answer
tells little; what do all of them tell about the shares? One survey may be lucky, so two hundred are simulated.
"""

import numpy as np

import sfumato as sf
from sfumato.report.figure import SERIES, canvas

answers = sf.line(["never", "rarely", "sometimes", "often", "always"])
privacy = sf.PrivacyType(answers, alpha="1/2")
people = np.array([180, 210, 114, 66, 30])
rng = np.random.default_rng(5)  # for a picture that stays the same; a release draws with the exact sampler

# %%
# The receiver knows the mechanism, so its noise can be accounted for. The unbiased estimate may come out negative; the
# likeliest shares cannot, and are the same where the unbiased ones are not.

recovered: dict[str, list[np.ndarray]] = {}
for name, mechanism in {"geometric": sf.geometric, "random response": sf.random_response}.items():
    channel = mechanism(privacy).channel.to_floats()
    for _ in range(200):
        released = sum(rng.multinomial(k, row) for k, row in zip(people, channel.matrix, strict=True))
        unbiased = sf.frequencies(channel, released).weights
        likeliest = sf.release.maximum_likelihood(channel, released).prior.float_weights
        recovered.setdefault(f"{name}, unbiased", []).append(unbiased)
        recovered.setdefault(f"{name}, likeliest", []).append(likeliest)
shares = people / people.sum()
for name, estimates in recovered.items():
    off = np.abs(np.array(estimates) - shares).sum(axis=1).mean() / 2
    print(f"{name:26} {100 * off:.0f} % of the people in the wrong place, on average")

# %%
# Bars are the truth. A mark is the mean of two hundred estimates, its line reaches over nine tenths of them. Unbiased
# estimates are right on average and may be negative; the likeliest shares are a little closer to the truth and lean
# away from 0. The geometric mechanism is the more precise one at the ends of the scale, where it may tell far answers
# apart; in the middle the two are about equal. A scale does not make every share easier to recover.

figure = canvas(700, 440)
figure.add_bar(x=list(range(5)), y=100 * shares, name="truth", marker={"color": "#dfe5ea"}, width=0.85)
for k, (name, estimates) in enumerate(recovered.items()):
    colour = SERIES[2] if "geometric" in name else SERIES[3]
    middle = np.mean(estimates, axis=0)
    low, high = np.quantile(estimates, [0.05, 0.95], axis=0)
    figure.add_scatter(
        x=np.arange(5) + 0.18 * (k - 1.5),
        y=100 * middle,
        mode="markers",
        name=name,
        marker={
            "color": colour,
            "size": 9,
            "symbol": "circle-open" if "likeliest" in name else "circle",
            "line": {"width": 2, "color": colour},
        },
        error_y={
            "array": 100 * (high - middle),
            "arrayminus": 100 * (middle - low),
            "color": colour,
            "thickness": 2,
            "width": 4,
        },
    )
axis = {"showline": True, "showgrid": False, "zeroline": False, "ticks": "outside", "title_standoff": 8}
figure.update_xaxes(**axis, tickvals=list(range(5)), ticktext=list(answers.labels))
figure.update_yaxes(**axis, title_text="share of the people, %")
figure.update_layout(margin={"l": 64, "r": 24, "t": 24, "b": 40})
figure.show()

# %%
# How the estimates are made: :doc:`/theory/estimation`.
