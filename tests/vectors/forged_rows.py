"""Forged files about rows: they can be read, or nearly, and say what is false."""

from __future__ import annotations

from fractions import Fraction

from vectors.forged_bytes import CLAIM, REFUTED, Forged, unreadable
from vectors.parts import FAR, NOWHERE, File, bounded, claimed, doubles, merged, numbers, promising, rows
from vectors.true_rows import BINARY, HALF, LARGEST_OF_E, ONE, PAIR, STAIRS, events, losses, metrics

BETWEEN = [NOWHERE, 1, NOWHERE]


def refuted(files: dict[str, tuple[File, str]]) -> Forged:
    """Files that can be read and are false, each with its reason."""
    return {name: (file.written(), REFUTED, reason) for name, (file, reason) in files.items()}


def ratios() -> Forged:
    """Sums, and privacy that is broken by a unit."""
    more = LARGEST_OF_E + 1
    wide = 2**100
    return refuted({
        "sum-one-more": (PAIR.holding(weights=numbers([2, 1, 1, 3])), "a row sums to 4"),
        "sum-one-less": (PAIR.holding(weights=numbers([2, 1, 1, 1])), "a row sums to 2"),
        "sum-around": (
            rows([[2**63, 2**63 + 3], [2**63 + 3, 2**63]], [1], HALF).saying(total="3"), "a sum of 2^64 + 3 is not 3"),
        "ratio-one-unit": (rows([[201, 100], [100, 201]], [1], HALF), "201 is more than twice 100"),
        "ratio-last-bit": (rows([[more, 2**60], [2**60, more]], [1], ONE), "the ratio is above e by less than 2^-60"),
        "ratio-epsilon": (rows([[2718281829, 10**9], [10**9, 2718281829]], [1], ONE), "2.718281829 is above e"),
        "ratio-backwards": (rows([[1, 5], [3, 3]], [1], HALF),
            "3 is more than twice 1, from the second row to the first"),
        "ratio-root": (rows([[412, 100], [100, 412]], [2], ONE, form="root"), "4.12 is above e^√2"),
        "ratio-float": (rows([[166, 100], [100, 166]], [0.505], ONE, form="float"), "1.66 is above e^0.505"),
        "ratio-wide": (rows([[2 * wide + 1, wide], [wide, 2 * wide + 1]], [1], HALF), "one unit too much of 2^101"),
        "ratio-zero": (rows([[2, 1, 0], [1, 1, 1]], [1], HALF), "what is impossible for one secret is so for all"),
        "ratio-zero-far": (rows([[2, 1, 0], [1, 1, 1]], [2**61 - 1], ONE), "no factor is infinite"),
        "ratio-edge": (rows(STAIRS, [1, 1], {"alpha": "2/3", "step": "2/3"}, edges=[(0, 1), (1, 2)]),
            "an edge is broken"),
        "ratio-edge-of-length-zero": (
            rows([[5, 5], [6, 4], [6, 4]], [0, 1], HALF, edges=[(0, 1), (1, 2)]), "two secrets with one row differ"),
        "ratio-places": (
            metrics()["places-manhattan"][0].holding(places=numbers([0, 0, 0, 1, 1, 1], 4))
            .about("promise", alpha="2/3"),
            "places that are nearer"),
        "ratio-runs": (
            metrics()["runs"][0].holding(weights=numbers([1, 2, 3, 4, 1, 1])),
            "a weight of a run is 4 where 3 is the most"),
    }) | unreadable({
        "ratio-long": (
            rows([[2**13000]] * 64, [1] * 2016, ONE), "factors of 13000 bits for 2016 pairs, in a short file"),
        "ratio-many": (
            rows([[2**500] * 400] * 400, [1] * 79800, ONE), "products of 509 bits for 79800 pairs and 400 outputs"),
    })  # fmt: skip


def chains() -> Forged:
    """Pairs that are said to be implied, and are not."""
    return refuted({
        "chain-too-short": (rows(STAIRS, [1, 1, 1], HALF, via=BETWEEN), "1 + 1 is more than 1"),
        "chain-root-too-short": (
            rows(STAIRS, [4, 15, 4], HALF, form="root", via=BETWEEN), "√4 + √4 is √16"),
        "chain-float-too-short": (
            rows(STAIRS, [0.1, 0.3, 0.2], {"epsilon": "9"}, form="float", via=BETWEEN),
            "the doubles 0.1 and 0.2 come to more than that of 0.3"),
        "chain-beyond-the-floats": (
            rows([[1, 1]] * 3, [1.7e308] * 3, ONE, form="float", via=BETWEEN),
            "the legs are together more than any double"),
        "chain-of-an-infinite-leg": (rows(STAIRS, [FAR, 2, 1], HALF, via=BETWEEN), "a leg is infinitely far"),
    }) | unreadable({
        "chain-by-itself": (rows(STAIRS, [1, 2, 1], HALF, via=[NOWHERE, 2, NOWHERE]), "an end lies not between"),
        "chain-by-nobody": (rows(STAIRS, [1, 2, 1], HALF, via=[NOWHERE, 3, NOWHERE]), "there is no secret 3"),
    })  # fmt: skip


def terms() -> Forged:
    """Metrics and promises that are none."""
    runs, places = metrics()["runs"][0], metrics()["places-manhattan"][0]
    return unreadable({
        "promise-none": (PAIR.saying(promise={"kind": "rows"}), "neither an epsilon nor an alpha"),
        "promise-epsilon-0": (PAIR.saying(promise={"kind": "rows", "epsilon": "0"}), "epsilon is positive"),
        "promise-alpha-1": (PAIR.saying(promise={"kind": "rows", "alpha": "1"}), "alpha is below 1"),
        "promise-step": (PAIR.about("promise", step="1/4"), "the step is not alpha to the unit"),
        "promise-step-of-epsilon": (rows([[2, 1], [1, 2]], [1], {"epsilon": "1", "step": "1/2"}),
            "a step needs an alpha"),
        "promise-step-for-ever": (PAIR.about("metric", unit=str(10**12)), "a power that takes for ever"),
        "metric-form": (PAIR.about("metric", form="log"), "an unknown form"),
        "metric-root-edges": (rows(STAIRS, [1, 1], ONE, form="root", edges=[(0, 1), (1, 2)]),
            "roots do not stand on edges"),
        "metric-unit": (PAIR.about("metric", unit="0"), "a unit of zero"),
        "metric-unit-of-floats": (rows([[2, 1], [1, 2]], [1.0], ONE, form="float", unit="1/2"),
            "doubles have the unit 1"),
        "metric-norm": (PAIR.about("metric", norm="euclidean"), "a norm without places"),
        "metric-places-form": (places.about("metric", form="root"), "sums of lengths are no roots"),
        "metric-places-equal": (places.holding(places=numbers([5, 5, 4, 4, 4, 4], 4)), "two secrets have one place"),
        "metric-places-far": (
            places.about("metric", form="root", norm="euclidean").holding(places=numbers([0, 0, 2**31, 0, 3, 3], 4)),
            "a square of more than 30 bits"),
        "distance-zero": (PAIR.holding(distances=numbers([0], 8)), "two secrets at distance zero"),
        "distance-large": (PAIR.holding(distances=numbers([2**61], 8)), "a distance of more than 61 bits"),
        "distance-nan": (rows([[2, 1], [1, 2]], [float("nan")], ONE, form="float"), "a distance that is no number"),
        "distance-negative": (rows([[2, 1], [1, 2]], [-1.0], ONE, form="float"), "a negative distance"),
        "edge-nowhere": (rows([[2, 1], [1, 2]], [1], HALF, edges=[(0, 7)]), "an edge to nobody"),
        "edge-circle": (rows([[2, 1], [1, 2]], [1], HALF, edges=[(1, 1)]), "an edge from a secret to itself"),
        "edge-twice": (
            rows(STAIRS, [1, 1, 3], HALF, edges=[(0, 1), (1, 2), (1, 0)]), "an edge is listed in both directions"),
        "runs-order": (runs.holding(run_starts=numbers([4, 0, 8], 4)), "runs go up"),
        "runs-overlap": (
            runs.holding(weights=numbers([1, 2, 3, 3, 3, 1, 2]), run_starts=numbers([0, 1, 4, 8], 4),
                         run_lengths=numbers([2, 1, 1, 1], 4)), "two runs overlap, or take more than there is"),
        "runs-empty": (runs.holding(run_lengths=numbers([1, 0, 1], 4)), "an empty run"),
        "runs-beyond": (runs.holding(run_starts=numbers([0, 4, 12], 4)), "a run beyond the last column"),
        "runs-across": (
            runs.holding(weights=numbers([1, 2, 3, 3, 1]), run_starts=numbers([3], 4), run_lengths=numbers([2], 4)),
            "a run goes on in the next column"),
        "runs-left": (runs.holding(weights=numbers([1, 2, 3, 3, 1, 2, 2])), "a weight is left"),
    })  # fmt: skip


def about_events() -> Forged:
    """Promises about events."""
    true = events()["events-factor"][0]
    both, far = [(0, 1), (1, 0)], rows([[5, 5], [4, 6]], [FAR], ONE)
    alone = {"kind": "events", "epsilon": "1"}

    def listing(pairs: list[tuple[int, int]], **terms: str) -> File:
        return promising(far, ({"factor": "1", "delta": "1/10", **terms}, pairs)).saying(promise=alone)

    return refuted({
        "event-exceeds": (listing(both, delta="99999/1000000"), "1/10 is more than δ"),
        "event-epsilon-exceeds": (
            promising(far, ({"epsilon": "1/10", "delta": "1/1000"}, both)).saying(promise=alone),
            "e^(1/10)·4/10 is below 5/10"),
        "event-second-direction": (
            promising(rows([[10, 0], [9, 1]], [FAR], ONE), ({"factor": "11/10", "delta": "1/20"}, both))
            .saying(promise=alone),
            "an output of one secret alone has 1/10"),
        "event-beside-broken-rows": (
            promising(rows([[3, 1], [1, 3]], [1], HALF), ({"factor": "1", "delta": "1"}, both)),
            "the ratios are broken"),
    }) | unreadable({
        "event-twice": (listing([(0, 1), (0, 1)]), "a pair is listed twice"),
        "event-twice-in-two": (
            promising(far, *[({"factor": "1", "delta": "1/10"}, [(0, 1)])] * 2).saying(promise=alone),
            "a pair is listed in two entries that say the same"),
        "event-with-itself": (listing([(1, 1)]), "a secret and itself"),
        "event-with-nobody": (listing([(0, 2)]), "there is no secret 2"),
        "event-too-many": (listing(both * 3), "more pairs than there are"),
        "event-delta": (listing(both, delta="11/10"), "δ is at most 1"),
        "event-delta-negative": (listing(both, delta="-1/10"), "δ is not negative"),
        "event-factor-and-epsilon": (listing(both, epsilon="1"), "a factor and an epsilon"),
        "event-factor-0": (listing(both, factor="0"), "factors are positive"),
        "event-none": (far.saying(promise=alone), "a promise about events lists none"),
        "event-alone-with-a-distance": (true.holding(distances=numbers([1], 8)), "events alone, and a finite distance"),
        "event-number-of-pairs": (
            true.saying(events=[{"factor": "1", "delta": "1/10", "pairs": 2.0}]), "a number of pairs is an integer"),
    })  # fmt: skip


def about_losses() -> Forged:
    """Claims about a loss, and bounds."""
    true = losses()
    loss, bound, limits, worst = (true[name][0] for name in ("loss", "bound", "limits", "bound-worst-prior"))
    on_edges, by_events = true["bound-on-edges"][0], true["bound-by-events"][0]
    tiny = Fraction(1, 10**60)
    far = claimed(rows([[1, 1], [1, 1]], [FAR], ONE), "1/2", BINARY, [0, 1], [1, 1])
    distant = claimed(rows([[1, 1], [1, 1]], [2**61 - 1], ONE), "1/2", BINARY, [0, 1], [1, 1])
    pays = true["bound-paid-for-limits"][0]
    long_priors = [1, 1, *(count for k in range(5) for count in (2**16200, 2 * k + 1))]
    return refuted({
        "loss-more": (loss.about("claims", loss=str(Fraction(1, 3) + tiny)), "the loss is 10^-60 less"),
        "loss-less": (loss.about("claims", loss=str(Fraction(1, 3) - tiny)), "the loss is 10^-60 more"),
        "loss-of-the-best-secret": (
            true["loss-worst-secret"][0].about("claims", loss="3/7"), "the worst secret loses more"),
        "loss-of-the-first-prior": (
            true["loss-worst-prior"][0].holding(prior=numbers([0, 1, 0, 1, 0, 0])).about("claims", loss="3/7"),
            "the second prior loses more"),
        "limit-broken": (
            limits.about("claims", ceilings=[{"unit": "1/3", "level": str(Fraction(1, 9) - tiny)}]),
            "a secret has 10^-60 more"),
        "bound-more": (bound.about("claims", bound=str(Fraction(1, 3) + tiny)), "the numbers prove 10^-60 less"),
        "bound-of-other-numbers": (bound.holding(dual=numbers([1, 2])), "other numbers prove less"),
        "bound-of-huge-numbers": (bound.holding(dual=numbers([2**200, 2**200])), "large numbers prove nothing"),
        "bound-irrational-more": (
            true["bound-irrational"][0].about("claims", bound="26894143/100000000"), "1/(1 + e) is 0.268941421…"),
        "bound-on-no-promise": (bounded(far, "0", "1", [(0, 1, 0, 1)]), "nothing is promised between the two"),
        "bound-on-no-edge": (
            on_edges.holding(dual_from=numbers([0, 2, 1, 0], 4), dual_to=numbers([1, 1, 0, 2], 4)),
            "no edge joins 0 and 2"),
        "bound-far-apart": (bounded(distant, "0", "1", [(0, 1, 0, 1)]), "a factor that helps nobody"),
        "bound-unpaid-limits": (pays.about("claims", bound="1/3"), "prices on limits are paid"),
        "bound-unpaid-events": (by_events.holding(event_dual=numbers([9, 1])), "numbers on events cost δ"),
        "bound-of-another-mixture": (worst.holding(mixture=numbers([0, 1])), "the second prior proves less"),
    }) | unreadable({
        "loss-unit": (loss.about("claims", loss_unit="-1", loss="-1/3"),
            "a negative unit makes the largest loss the smallest"),
        "loss-unit-0": (loss.about("claims", loss_unit="0", loss="0"), "a unit of zero"),
        "loss-nan": (loss.holding(loss=doubles([0.0, float("nan"), 1.0, 0.0])), "a loss that is no number"),
        "loss-infinite": (loss.holding(loss=doubles([0.0, float("inf"), 1.0, 0.0])), "an infinite loss"),
        "loss-remap": (loss.holding(remap=numbers([0, 2], 4)), "there is no action 2"),
        "loss-no-prior": (loss.holding(prior=numbers([0, 0])), "a prior without weight"),
        "loss-worst-secret-no-prior": (
            true["loss-worst-secret"][0].holding(prior=numbers([0, 0, 0])),
            "a prior without weight, though none is asked"),
        "loss-two-priors": (loss.holding(prior=numbers([1, 1, 1, 1])), "one prior is expected"),
        "loss-action-twice": (loss.about("claims", actions=["a", "a"]), "two actions have one name"),
        "limit-unit": (limits.about("claims", ceilings=[{"unit": "-1", "level": "0"}]), "a negative unit of a limit"),
        "bound-unit": (bound.about("claims", dual_unit="-1/6"), "dual numbers are not negative"),
        "bound-without-a-unit": (CLAIM.about("claims", dual_unit=...), "dual numbers have a unit"),
        "bound-unit-alone": (loss.about("claims", dual_unit="1"), "a unit without a bound"),
        "bound-with-itself": (bound.holding(dual_to=numbers([0, 0], 4)), "a constraint between a secret and itself"),
        "bound-no-action": (bound.holding(dual_action=numbers([0, 2], 4)), "there is no action 2"),
        "bound-too-many": (
            bounded(loss, "0", "1", [(0, 1, 0, 0)] * 5), "five dual numbers for four constraints"),
        "bound-no-mixture": (worst.holding(mixture=numbers([0, 0])), "a mixture without weight"),
        "loss-priors-many": (
            claimed(PAIR, "1/3", BINARY, [0, 1], [[1, 1]] * 1001, criterion="worst prior"), "more than 1000 priors"),
        "bound-long-mixture": (
            worst.holding(prior=numbers(long_priors), mixture=numbers([1] + [0] * 5)),
            "sums whose common multiple is long"),
        "bound-no-event": (by_events.holding(event_dual_pair=numbers([0, 2], 4)), "there is no pair 2"),
    })  # fmt: skip


def forged_rows() -> Forged:
    """All of them."""
    return merged(ratios(), chains(), terms(), about_events(), about_losses())
