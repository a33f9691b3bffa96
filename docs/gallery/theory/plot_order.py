"""Which mechanism tells more
==========================

**Compared:** eleven ways to disclose one of four secrets on a line, each with each.

A mechanism is higher than another if the other one can be simulated from what it gives out, by somebody who never
sees the secret; then nobody has a reason to prefer the other one. All but one promise e^ε = 2 to neighbours.
"""

import sfumato as sf
from sfumato.report.hasse import hasse_figure

strict, loose = (sf.PrivacyType(sf.line(4), alpha=alpha) for alpha in ("1/2", "2/3"))
known = {
    "geometric": sf.geometric(strict),
    "staircase": sf.mechanisms.staircase(strict),
    "exponential": sf.exponential(strict),
    "permute and flip": sf.mechanisms.permute_and_flip(strict),
    "random response": sf.random_response(strict),
    "closest pair": sf.mechanisms.closest_pair(strict),
}
halves = {
    f"{name}, which\u00a0half?": sf.remap(known[name].channel, lambda y: "low" if y < 2 else "high")
    for name in ("geometric", "exponential", "random response")
}
weaker = {"geometric, e^ε\u00a0=\u00a03/2": sf.geometric(loose)}
nothing = {"nothing": sf.Channel.constant(strict.space)}

# %%
# - The **geometric** mechanism is above the **exponential** one with the same promise, and so is **permute and flip**;
#   they cannot simulate each other. The **staircase** mechanism is the geometric one here, only its outputs have other
#   names.
# - **Random response** is not below the geometric mechanism, although the geometric mechanism is at least as good for
#   every prior and every loss that grows with the distance: there is a question for which it is worse, and the verdict
#   brings it.
# - Ask only **which half** the secret is in, and random response is below the geometric mechanism after all.
# - Four of them are maximal *among these*. Which ones are maximal among all mechanisms of the promise is another
#   question, answered by kernels (:doc:`/theory/types`).

hasse_figure(sf.orders.hasse({**known, **weaker, **halves, **nothing})).show()

# %%
# Every line of the diagram is a stochastic matrix and every missing one a prior with a gain, both found in rationals
# (:doc:`/theory/refinement`). The question for which random response is better than the geometric mechanism:

verdict = sf.refines(known["random response"], known["geometric"])
question = verdict.witness
better = sf.measures.posterior_vulnerability(question.prior, known["random response"], question.gain)
worse = sf.measures.posterior_vulnerability(question.prior, known["geometric"], question.gain)
print(verdict.outcome, better, worse)
assert not verdict and better > worse

# %%
# And which half it is:

assert sf.refines(halves["random response, which\u00a0half?"], known["geometric"])

# %%
# Functions: :py:mod:`sfumato.orders.maximal`, :py:mod:`sfumato.report.hasse`.
