"""Is it the one in the middle?
============================

**Compared:** the geometric mechanism and the one of least regret, under every prior on three secrets.

On a line of three secrets the geometric mechanism is the best for every loss with single crossings
(:doc:`/theory/geometric`). The question whether the secret is the one in the middle is none of these.
"""

import sfumato as sf
from sfumato.report.priors import prior_map, prior_map_figure

privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
loss = sf.losses.member(privacy.space, [1])
least = sf.universal.universal_design(loss, privacy)
mechanisms = {"geometric": sf.geometric(privacy), "the least-regret one": least.mechanism}

# %%
# There is a mechanism without regret all the same, for every prior, and it is not the geometric one:

prior_map_figure(prior_map(mechanisms, loss, privacy)).show()
assert least.upper == 0 < sf.universal.worst_case_regret(mechanisms["geometric"], loss).lower

# %%
# Functions: :py:mod:`sfumato.report.priors`, :py:mod:`sfumato.theory.universal`.
