"""Universal optimality in paper A (Fernandes, McIver, Palamidessi, Ding 2023): existence, impossibility, Figure 3."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfumato.losses import Loss, absolute, bin, has_dominating_action, is_monotone, is_trivial, matrix, nib
from sfumato.mechanisms import closest_pair
from sfumato.papers.tables import PaperTable, exact_cell
from sfumato.privacy import PrivacyType
from sfumato.report.priors import entropy_surface
from sfumato.spaces import FiniteSpace, cycle, discrete, grid, hamming, line, star
from sfumato.theory.universal import impossibility, is_universally_optimal, universal_design


def theorem_10() -> PaperTable:
    """On every space the closest-pair mechanism is universally optimal for some monotone loss that is not trivial."""
    rows = []
    for space in (line(4), discrete(4), star(3), cycle(5), hamming(2), grid(2, 2, metric="manhattan")):
        for alpha in ("1/2", "1/5"):
            privacy = PrivacyType(space, alpha=alpha)
            mechanism, loss = closest_pair(privacy), _on_the_closest_pair(space)
            verdict = is_universally_optimal(mechanism, loss)
            rows.append({
                "space": space.name, "alpha": alpha,
                "loss is monotone": exact_cell("holds", str(is_monotone(loss, space).outcome)),
                "loss is trivial": exact_cell("fails", str(has_dominating_action(loss).outcome)),
                "universally optimal": exact_cell("holds", str(verdict.outcome)), "ground": verdict.reason,
            })  # fmt: skip
    notes = (
        "The loss is ℓ_bin with the two closest secrets as its only actions, which is monotone in every metric. The "
        "paper takes 0 at all other secrets instead of 1, which is as good, and not monotone on lines and on discrete "
        "spaces of three or more.",
    )
    return PaperTable(
        "A.theorem10", "Theorem 10: a universally optimal mechanism exists for some monotone loss", tuple(rows), notes
    )


def _on_the_closest_pair(space: FiniteSpace) -> Loss:
    """0 for naming the secret, 1 otherwise, where only the two closest secrets can be named."""
    nearest = int(space.pair_distances.floats.argmin())
    pair = [int(end[nearest]) for end in space.pairs]
    return matrix(space, bin(space).matrix[pair], actions=[space.labels[x] for x in pair])


def theorem_12() -> PaperTable:
    """On discrete spaces none is universally optimal for a strictly monotone loss with three actions or more."""
    rows = []
    for n in (3, 4):
        space = discrete(n)
        two = matrix(space, bin(space).matrix[:2], actions=space.labels[:2])
        for name, loss in (("bin", bin(space)), ("absolute", absolute(line(n))), ("bin, two actions", two)):
            for alpha in ("1/2", "1/5"):
                least = universal_design(loss, PrivacyType(space, alpha=alpha))
                rows.append({
                    "case": f"{space.name}, {name}, α = {alpha}", "actions": len(loss.actions),
                    "exists": exact_cell("fails", str(least.exists.outcome)), "least regret": least.lower,
                    "priors that prove it": 0 if least.certificate is None else len(least.certificate.priors),
                })  # fmt: skip
    notes = (
        "All of these losses are strictly monotone. With two actions a mechanism serves them, against the theorem.",
    )
    return PaperTable(
        "A.theorem12", "Theorem 12: none for strictly monotone losses on discrete spaces, true from three actions on",
        tuple(rows), notes,
    )  # fmt: skip


def corollary_13() -> PaperTable:
    """ℓ_bin on discrete spaces: two priors that no mechanism serves, whatever ε is."""
    rows = []
    for n in (3, 4, 5):
        space = discrete(n)
        for alpha in ("9/10", "1/2", "1/10"):
            verdict = impossibility(bin(space), PrivacyType(space, alpha=alpha))
            priors = verdict.witness.priors if verdict else ()
            rows.append({
                "n": n, "alpha": alpha, "impossible": exact_cell("holds", str(verdict.outcome)),
                "priors": "; ".join("(" + ", ".join(map(str, prior.weights)) + ")" for prior in priors),
                "regret at one of them": verdict.witness.regret if verdict else "—",
            })  # fmt: skip
    return PaperTable("A.corollary13", "Corollary 13: ℓ_bin on discrete spaces with more than two secrets", tuple(rows))


def figure_3() -> PaperTable:
    """U of ℓ_nib on three secrets: not a plane, so the loss is not trivial."""
    loss = nib(["x₁", "x₂", "x₃"])

    trivial = exact_cell("fails", str(is_trivial(loss).outcome))
    row = {"loss": loss.name, "trivial": trivial, "planes": len(loss.actions)}
    return PaperTable(
        "A.fig3", "Figure 3: the least expected loss of ℓ_nib", (row,), figure=partial(entropy_surface, loss)
    )


UNIVERSAL: dict[str, Callable[[], PaperTable]] = {
    "A.fig3": figure_3,
    "A.theorem10": theorem_10,
    "A.theorem12": theorem_12,
    "A.corollary13": corollary_13,
}
"""Items about universal optimality, by key."""
