"""The parts of a report, in words: from :class:`~sfumato.report.page_facts.Facts` to HTML."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.certify.mechanism import SharesClaim
from sfumato.privacy.events import EventPromise
from sfumato.report.html import (
    Figure,
    above,
    below,
    escaped,
    figures,
    how_many,
    in_percent,
    label,
    near,
    paragraph,
    section,
    share,
    table,
)
from sfumato.report.maps import map_layout, matrix_figure, share_figure
from sfumato.report.maps_peers import Peer, peers_figure
from sfumato.report.page_facts import Facts
from sfumato.report.sections_words import (
    ONE_RELEASE,
    allowed,
    checking,
    doubling_distance,
    epsilon_words,
    gap_words,
    head_numbers,
    loss_meaning,
    loss_unit,
    odds,
    promise_head,
    proof_rows,
    scales,
    short_fraction,
    spelled_odds,
    things,
    times_words,
    total_words,
    with_unit,
)
from sfumato.spaces.finite import FiniteSpace

_SMALL_TABLE = 24  # Up to so many secrets and outputs the whole mechanism is drawn.

_NAMES = {
    "hamming_kernel": "Hamming kernel",
    "exponential_exact": "exponential, tuned",
    "planar_laplace": "planar Laplace",
}


# ----------------------------------------------------------------- the head


def numbers(facts: Facts) -> str:
    """The head of a report: what one looks for first."""
    privacy, unit = facts.mechanism.privacy, loss_unit(facts)
    cells = []
    if facts.bounds_ratios:
        cells.append(("Promise", promise_head(privacy), f"odds cannot double within {doubling_distance(privacy)}"))
    if facts.mechanism.events:
        event = facts.mechanism.events[0]
        words = f"ε = {event.factor.epsilon}, δ = {short_fraction(event.delta)}"
        cells.append(("Promise about events", escaped(words), how_many(len(event), "ordered pair of secrets",
                                                                   "ordered pairs of secrets")))  # fmt: skip
    if facts.value is not None:
        cells.append(("Loss", with_unit(near(facts.value), unit), escaped(loss_meaning(facts))))
    if facts.gap is not None:
        shown = "0" if facts.gap == 0 else f"at most {gap_words(facts.gap)}"
        cells.append(("Could be saved", shown, "certified" if facts.gap else "certified: the best there is"))
    cells.append(("Proof", "holds", f"by the {escaped(facts.mechanism.proof.checker)}, in integers"))
    return head_numbers(cells)


def secrets_intro(facts: Facts) -> str:
    """What the page is about, in one sentence."""
    return (
        f"<p class=soft>A mechanism from {len(facts.mechanism.secrets):,} secrets to {len(facts.mechanism.outputs):,} "
        f"outputs, with its promise, its price and its proof.</p>{numbers(facts)}"
    )


# ----------------------------------------------------------------- the promise


def promise_section(facts: Facts) -> str:
    """What an adversary can tell."""
    parts = []
    if facts.bounds_ratios:
        parts += _about_ratios(facts)
    parts += [_about_events(facts, event) for event in facts.mechanism.events]
    if facts.space.open_pairs:
        parts.append(_about_open_pairs(facts))
    if things(facts) == "places":
        parts.append(_about_cells(facts))
    return section("promise", "What an adversary can tell", *parts, ONE_RELEASE)


def _about_ratios(facts: Facts) -> list[str]:
    privacy, what = facts.mechanism.privacy, things(facts)
    lead = paragraph(
        f"Take any two {what}, and anybody, whatever they know. What the mechanism tells changes the odds between the "
        "two by a factor of at most e<sup>εd</sup>, where d is the distance between them and "
        f"{escaped(epsilon_words(privacy))}.",
        kind="lead",
    )
    return [lead, *spelled_odds(privacy, scales(privacy), what)]


def _about_cells(facts: Facts) -> str:
    """What a table of places does not promise: anything about the points between them."""
    listed = how_many(len(facts.space), "listed place")
    return paragraph(
        f"<strong>The promise is about the {listed}, not about points between them.</strong> Where coordinates are "
        "moved to a place first, two people on the two sides of a border, however close, have the promise of their two "
        "places. A promise about all points is kept by smooth random rounding, as on a box of coordinates."
    )


def _about_open_pairs(facts: Facts) -> str:
    n, count = len(facts.space), facts.space.open_pairs
    promised = "No ratio is bounded" if facts.mechanism.events else "Nothing is promised"
    return paragraph(
        f"<strong>{promised} about {how_many(count, 'pair')} of {n} secrets</strong>, of {n * (n - 1) // 2} in all: no "
        "chain of finite distances joins them."
    )


def _about_events(facts: Facts, event: EventPromise) -> str:
    n = len(facts.mechanism.secrets)
    every = len(event) == n * (n - 1)
    between = "any two secrets" if every else f"neighbours ({how_many(len(event), 'ordered pair')} of {n} secrets)"
    factor, delta = odds(event.factor.bounds(64)[1]), escaped(short_fraction(event.delta))
    return paragraph(
        "Ask any yes-or-no question about the output, such as “is it one of these?”. For "
        f"{between}, the probability of a yes is at most {factor} times as large for one as for the other, plus "
        f"{delta}.",
        f"(ε = {escaped(event.factor.epsilon)}, δ = {delta}: with probability δ an output may give away more than that "
        "factor.)"
        if event.delta
        else "",
        kind="lead",
    )


# ----------------------------------------------------------------- what it costs


_SURVEYS = (100, 1_000, 10_000, 100_000)  # answers


def _variance(claim: SharesClaim) -> str:
    """What estimates of shares cost: their variance, as standard errors for surveys of some sizes."""
    rows, where = len(claim.workload.rows), "the distribution that was guessed"
    if claim.priors:
        where = "the worst mixture of the given distributions"
    first = (
        f"From the answers of N people, {escaped(claim.workload.name)} can be estimated without bias, with a total "
        f"variance of at most <strong>{above(claim.value, 5)} / N</strong> at {where}."
    )
    second = ""
    if claim.bound is not None:
        second = (
            f"No mechanism with this promise has less than {below(claim.bound, 5)} / N: at most "
            f"{gap_words(float((claim.value - claim.bound) / claim.value))} of it could be saved. Both numbers are "
            "proved in the certificate."
        )
    errors = [(f"{count:,}", near((float(claim.value) / rows / count) ** 0.5, 3)) for count in _SURVEYS]
    listed = table("Surveys of some sizes", ("answers", "standard error, root mean square"), errors)
    return section("cost", "What it costs", paragraph(first, second, kind="lead"), listed)


def _cost(facts: Facts) -> str:
    """The loss and how far from the best it can be."""
    if facts.loss is None and isinstance(facts.mechanism.claim, SharesClaim):
        return _variance(facts.mechanism.claim)
    if facts.loss is None or facts.value is None:
        text = "No prior and no loss were given, so that nothing is said about what the mechanism costs."
        return section("cost", "What it costs", paragraph(text))
    unit = loss_unit(facts)
    loss = with_unit(above(facts.value, 5), unit)
    whose = {
        "expected": "Somebody who knows the prior and acts on each output as well as possible loses on average",
        "worst secret": "Whatever the secret, the expected loss is at most",
        "worst prior": "Whichever of the given priors holds, the expected loss is at most",
    }[facts.criterion]
    first = f"{whose} <strong>{loss}</strong>. The loss is {escaped(loss_meaning(facts))}."
    second = ""
    if facts.bound is not None:
        close = f"at most {gap_words(facts.gap)} of it could be saved"
        close = "this mechanism is the best there is" if facts.gap == 0 else close
        second = (
            f"No mechanism with this promise loses less than {with_unit(below(facts.bound, 5), unit)}, so "
            f"{close}. Both numbers are proved in the certificate."
        )
    third = ""
    if facts.loss.name == "distance" and facts.criterion == "expected":
        third = "An adversary who knows the prior is as far off: on average by the same distance."
    losses = (
        ("this mechanism, best action for each output", facts.value, near),
        ("no mechanism with this promise is below", facts.bound, below),
        ("this mechanism, outputs taken as they are", facts.as_is, near),
        ("nothing told", facts.blind, near),
    )
    rows = [(words, shown(value, 6)) for words, value, shown in losses if value is not None]
    head = f"expected loss{f', {escaped(unit)}' if unit else ''}"
    listed = table("Losses" + (" for the hardest prior" if facts.criterion != "expected" else ""), ("", head), rows)
    return section("cost", "What it costs", paragraph(first, second, third, kind="lead"), listed)


def comparison(facts: Facts) -> str:
    """Known mechanisms with the same promise."""
    note = _note(facts, "peers")
    if not facts.peers:
        return section("comparison", "Beside known mechanisms", note) if note else ""
    unit, best = loss_unit(facts), facts.peers[0]
    assert facts.value is not None
    words = ""
    if facts.criterion == "expected" and facts.value > 0:
        ratio, how = best.remapped / float(facts.value), "as little"
        if ratio > 1 + 1e-6:
            how = f"{near(ratio, 3)} times as much, even with the best remap"
        elif ratio <= 1 - 1e-6:
            how = f"less: {in_percent(1 - ratio)} less than this mechanism"
        words = f"The best of them, {_name(best)}, loses {how}."
    rows = [
        (
            f"<strong>{peer.name}</strong>" if peer.own else escaped(peer.name),
            near(peer.remapped),
            "–" if peer.loss is None else near(peer.loss),
            "not proved" if peer.epsilon is None else above(peer.epsilon, 4),
            in_percent(peer.guessed),
        )
        for peer in _standings(facts)
    ]
    per = f" per {escaped(facts.space.unit)}" if facts.space.unit else ""
    losses = f"loss{f' in {escaped(unit)}' if unit else ''}"
    remapped, needed = f"{losses}, best remap", f"ε it needs{per}"
    heads = ("mechanism", remapped, "outputs as they are", needed, "chance to guess the secret")
    listed = table("Mechanisms with the same promise", heads, rows)
    about = (
        "All of them make the same promise. A remap replaces each output by the best action for it, which costs no "
        "privacy."
    )
    return section("comparison", "Beside known mechanisms", paragraph(about, escaped(words)),
                   figures([peers_drawing(facts)]), listed, note)  # fmt: skip


def _name(peer: Peer) -> str:
    return _NAMES.get(peer.name, peer.name.replace("_", " "))


def _standings(facts: Facts) -> list[Peer]:
    """The mechanism among its peers, the best first."""
    assert facts.value is not None
    needed = facts.mechanism.privacy.rate if facts.tightest is None else facts.tightest.epsilon
    own = Peer("this mechanism", facts.as_is, float(facts.value), facts.after, needed, own=True)
    return sorted([own, *(replace(p, name=_name(p)) for p in facts.peers)], key=lambda peer: peer.remapped)


def peers_drawing(facts: Facts) -> Figure:
    """The figure of the comparison."""
    bound = None if facts.bound is None else float(facts.bound)
    words = "What mechanisms with the same promise lose."
    return peers_figure(_standings(facts), bound, facts.blind, loss_unit(facts), words)


# ----------------------------------------------------------------- where probability lies


def drawings(facts: Facts) -> list[Figure]:
    """Prior, released distribution, one secret's outputs and, if it is small, the whole table."""
    mechanism, layout = facts.mechanism, map_layout(facts.space)
    drawn = []
    if not facts.assumed:
        hardest = "" if facts.criterion == "expected" else " (the hardest that was found)"
        words = f"How likely each secret is beforehand{hardest}."
        drawn.append(share_figure("prior", "The prior", words, layout, mechanism.secrets, facts.prior.float_weights))
    shares = facts.prior.float_weights @ facts.matrix
    title, words = "The released distribution", "How often each output comes."
    if facts.released is not None:
        total, expected = int(facts.released.sum()), shares
        shares, title = facts.released / total, "What was released"
        off = in_percent(float(np.abs(shares - expected).max()), 2)
        words = f"What {total:,} releases told. Shares differ from the expected ones by {off} of all at most."
    drawn += [_of_outputs(facts, "released", title, words, shares), _cloud(facts), _belief(facts)]
    if max(facts.matrix.shape) <= _SMALL_TABLE:
        drawn.append(matrix_figure(mechanism.secrets, mechanism.outputs, facts.matrix))
    return drawn


def _of_outputs(facts: Facts, name: str, title: str, words: str, shares: Any, marked: int | None = None) -> Figure:
    """A distribution over outputs: on the map where all of them are secrets, else as a list."""
    mechanism, position = facts.mechanism, facts.space.position
    if all(y in position for y in mechanism.outputs):
        spread = np.zeros(len(mechanism.secrets))
        spread[[position[y] for y in mechanism.outputs]] = shares
        return share_figure(name, title, words, map_layout(facts.space), mechanism.secrets, spread, marked)
    nowhere = map_layout(FiniteSpace(["a", "b"], [[0, 1], [1, 0]]))
    return share_figure(name, title, words, nowhere, mechanism.outputs, np.asarray(shares))


def _cloud(facts: Facts) -> Figure:
    mechanism, row = facts.mechanism, facts.matrix[facts.secret]
    secret = mechanism.secrets[facts.secret]
    name = label(secret)
    likeliest = facts.secret == int(facts.prior.float_weights.argmax()) and not facts.assumed
    words = f"What is told when the secret is {name}{', the likeliest one' if likeliest else ''}."
    position = facts.space.position
    if secret in mechanism.outputs:
        words += f" It is told as it is with probability {share(float(row[mechanism.outputs.index(secret)]))}."
    if all(y in position for y in mechanism.outputs) and facts.bounds_ratios:
        away = facts.space.distances.floats[facts.secret][[position[y] for y in mechanism.outputs]]
        if np.isfinite(away).all():
            words += f" On average the output is {near(float(row @ away), 3)} {facts.space.unit}".rstrip() + " away."
    return _of_outputs(facts, "cloud", f"What is told of {name}", words, row, facts.secret)


def _belief(facts: Facts) -> Figure:
    """What is believed after an output: π_x M(x)(y) / Σ_x π_x M(x)(y)."""
    mechanism = facts.mechanism
    y = int(facts.matrix[facts.secret].argmax())
    joint = facts.prior.float_weights * facts.matrix[:, y]
    name = label(mechanism.outputs[y])
    words = f"What an adversary who knows the prior believes after being told {name}."
    position = facts.space.position.get(mechanism.outputs[y])
    return share_figure("belief", f"Belief after {name}", words, map_layout(facts.space), mechanism.secrets,
                        joint / joint.sum(), position)  # fmt: skip


def _maps(facts: Facts) -> str:
    """Where probability lies, before and after."""
    text = (
        "All secrets are taken as equally likely, because nobody gave a prior."
        if facts.assumed
        else "Before anything is told, after many releases, for one secret, and for somebody who sees one output."
    )
    return section("maps", "Where probability lies", paragraph(text), figures(drawings(facts)))


# ----------------------------------------------------------------- leakage


def _leakage(facts: Facts) -> str:
    """How much it helps an adversary to guess, under this prior and under any."""
    assumed = " (all secrets equally likely)" if facts.assumed else ""
    rows = [
        (f"guess the secret in one try, told nothing{assumed}", in_percent(facts.before)),
        ("the same, after seeing the output", in_percent(facts.after)),
        ("factor between the two", times_words(facts.after / facts.before)),
        ("largest factor for any prior and any gain", near(facts.leaks.multiplicative)),
        ("largest difference for any prior and any gain in [0, 1]", near(facts.leaks.additive)),
    ]
    if facts.type_leaks is not None:
        rows += [
            ("largest factor of any mechanism with this promise", above(facts.type_leaks.multiplicative_bound, 4)),
            ("largest difference of any mechanism with this promise", above(facts.type_leaks.additive_bound, 4)),
        ]
    listed = table("Leakage and capacities", ("", "value"), rows)
    return section("leakage", "How much it tells", listed, _note(facts, "leaks"))


def _note(facts: Facts, about: str) -> str:
    """What was left out and why."""
    return paragraph(escaped(facts.notes[about]), kind="soft") if about in facts.notes else ""


def _tightest(facts: Facts) -> str:
    """Where the promise is nearly used up."""
    parts = [paragraph(escaped(facts.notes["tightest"]))] if "tightest" in facts.notes else []
    worst, privacy = facts.tightest, facts.mechanism.privacy
    if worst is not None:
        x, z = (escaped(label(secret)) for secret in worst.pair)
        i, j = (facts.mechanism.secrets.index(secret) for secret in worst.pair)
        y = facts.mechanism.outputs.index(worst.output)
        unit, per = facts.space.unit, f" per {escaped(facts.space.unit)}" if facts.space.unit else ""
        rows = [
            ("secrets", f"{x} and {z}"),
            ("distance", with_unit(near(worst.distance), unit)),
            ("output", escaped(label(worst.output))),
            (f"its probability for {x}", in_percent(facts.matrix[i, y], 4)),
            (f"its probability for {z}", in_percent(facts.matrix[j, y], 4)),
            ("ratio", near(worst.ratio, 6)),
            ("ratio that is allowed", allowed(privacy, Fraction(worst.distance))),
            (f"ε that this needs{per}", near(worst.epsilon, 6)),
            (f"ε that is promised{per}", near(privacy.rate, 6)),
        ]
        parts.append(table("The pair and the output that need the largest ε", ("", "value"), rows))
    for excess in facts.excesses:
        x, z = (escaped(label(secret)) for secret in excess.pair)
        rows = [
            ("secrets", f"{x} and {z}"),
            ("probability beyond the factor", above(excess.excess, 6)),
            ("δ that is promised", escaped(short_fraction(excess.promise.delta))),
        ]
        parts.append(table("The ordered pair that uses most of its δ", ("", "value"), rows))
    return section("tightest", "Where privacy is tightest", *parts) if parts else ""


# ----------------------------------------------------------------- the proof


def proof_section(facts: Facts, file: str) -> str:
    """What was proved, and how to check it."""
    mechanism, proof = facts.mechanism, facts.mechanism.proof
    rows = [
        ("pairs of secrets", f"{proof.pairs:,} compared, {proof.implied:,} implied by them"),
        ("comparisons of integers", f"{proof.comparisons:,}"),
        ("table", f"{len(mechanism.secrets):,} secrets × {len(mechanism.outputs):,} outputs, each row sums to "
                  f"{total_words(mechanism.total)}"),
    ]  # fmt: skip
    if proof.events:
        rows.append(("events", f"all, for {proof.events:,} ordered pairs of secrets"))
    rows = proof_rows(proof, rows, mechanism.provenance)
    listed = table("The certificate", ("", "value"), rows, words=(1,))
    how = paragraph(
        "The file of the mechanism carries its own proof. Anybody can check it, with the package or with nothing but "
        "Python and the kernel (<code>sfumato/certify/alone/kernel.py</code>):"
    )
    return section("certificate", "Why believe it", listed, how, checking(file))


PARTS = {
    "promise": ("What an adversary can tell", promise_section),
    "cost": ("What it costs", _cost),
    "comparison": ("Beside known mechanisms", comparison),
    "maps": ("Where probability lies", _maps),
    "leakage": ("How much it tells", _leakage),
    "tightest": ("Where privacy is tightest", _tightest),
}
"""The parts that need nothing but facts, in order; the certificate comes last."""
