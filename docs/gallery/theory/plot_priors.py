"""Where a mechanism wins
======================

**Compared:** three mechanisms of one promise, with each other and with the best one for each prior on three secrets.

A mechanism is chosen once and used under many priors. The triangles show all priors on three secrets: which of the
mechanisms loses least there, and the *regret* of each, what it loses more than the best mechanism of the type for
that very prior (:doc:`/theory/universal`).
"""

from fractions import Fraction

import sfumato as sf
from sfumato.report.priors import prior_map, prior_map_figure

privacy = sf.PrivacyType(sf.discrete(3), alpha="1/2")
loss = sf.losses.bin(privacy.space)
response, pair = sf.random_response(privacy), sf.mechanisms.closest_pair(privacy)
mechanisms = {
    "random response": response,
    "closest pair": pair,
    "a coin between them": sf.channels.choice("1/2", response.channel, pair.channel),
}

# %%
# Guessing the secret on a discrete space, e^ε = 2. Random response is the best for priors that are nearly even, the
# closest-pair mechanism for those that hesitate between x₁ and one other secret. No mechanism is the best everywhere;
# the least worst-case regret is exactly 1/24, and random response happens to attain it. A coin that chooses between
# the two has the mean of their regrets.

prior_map_figure(prior_map(mechanisms, loss, privacy)).show()
assert (
    sf.universal.universal_design(loss, privacy).upper
    == Fraction(1, 24)
    == sf.universal.worst_case_regret(response, loss).upper
)

# %%
# Functions: :py:mod:`sfumato.report.priors`.
