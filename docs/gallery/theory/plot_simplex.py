"""Everything a private mechanism can make of a prior
==================================================

**Compared:** the posteriors of the geometric, the exponential and the random-response mechanism, and all that are
private.

Each point of the triangle is a distribution over three secrets on a line, each corner certainty. Seeing an output
moves the receiver from the uniform prior in the middle to a posterior; the promise e^ε = 2 keeps all posteriors in
the shaded region.
"""

import sfumato as sf

privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
mechanisms = {
    "geometric": sf.geometric(privacy),
    "exponential": sf.exponential(privacy),
    "random response": sf.random_response(privacy),
}

# %%
# A mechanism is a disc for each posterior, its area how likely that posterior is. The geometric mechanism reaches
# corners of the region: it tells as much as the promise allows. The exponential mechanism stays well inside. Random
# response reaches other points of the border, which is why neither can simulate the other.

figure = sf.simplex(privacy, mechanisms)
figure.show()
assert not sf.refines(mechanisms["random response"], mechanisms["geometric"])
assert not sf.refines(mechanisms["geometric"], mechanisms["random response"])

# %%
# A region has finitely many corners, and with them all mechanisms of the promise are known (:doc:`/theory/types`).

print(len(sf.types.vertices(privacy)), "vertices,", sf.types.count_kernels(privacy), "kernels")
