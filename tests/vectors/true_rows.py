"""True files about rows, one for each thing that a file about rows can say, with the reason why it is proved."""

from __future__ import annotations

from vectors.parts import FAR, NOWHERE, File, bounded, claimed, doubles, merged, numbers, promising, rows

HALF = {"alpha": "1/2", "step": "1/2"}
ONE = {"epsilon": "1"}
RESPONSE = [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
PAIR = rows([[2, 1], [1, 2]], [1], HALF)
LARGEST_OF_E = 3133965575612453542  # ⌊e·2^60⌋
STAIRS = [[4, 2, 1], [2, 3, 2], [1, 2, 4]]  # a line: neighbours differ by at most 2, the ends by 4
BINARY = [[0.0, 1.0], [1.0, 0.0]]

True_ = dict[str, tuple[File, str]]


def promises() -> True_:
    """Every form of a promise about rows."""
    tight = rows([[LARGEST_OF_E, 2**60], [2**60, LARGEST_OF_E]], [1], ONE)
    wide, near = 2**100, f"{10**8 - 1}/{10**8 + 1}"
    return {
        "rows-alpha-step": (rows(RESPONSE, [1, 1, 1], HALF), "ratios are 2, exactly what alpha allows"),
        "rows-epsilon": (
            rows([[2718281828, 10**9], [10**9, 2718281828]], [1], ONE), "2.718281828 is below e"),
        "rows-epsilon-last-bit": (tight, "the ratio is the largest multiple of 2^-60 that is below e"),
        "rows-alpha-without-step": (
            rows([[199999, 100001], [100001, 199999]], [1], {"alpha": "1/2"}), "the factor is bounded by ln 2"),
        "rows-step-of-a-unit": (
            rows([[2, 1], [1, 2]], [2], {"alpha": "1/4", "step": "1/2"}, unit="1/2"), "alpha^(1/2) is the step"),
        "rows-large-step": (
            rows([[1050000001, 1049999999], [1049999999, 1050000001]], [3], {"alpha": near, "step": near}),
            "an exact factor with more digits than the total is rounded down"),
        "rows-far-apart": (
            rows([[10**6, 1], [1, 10**6]], [2**61 - 1], ONE), "a factor beyond the total is cut at the total"),
        "rows-root": (
            rows([[411, 100], [100, 411]], [2], ONE, form="root"), "4.11 is below e^√2 = 4.113…"),
        "rows-root-with-a-step": (
            rows([[4, 1], [1, 4]], [4], HALF, form="root"), "√4 is two steps"),
        "rows-float": (rows([[165, 100], [100, 165]], [0.505], ONE, form="float"), "1.65 is below e^0.505"),
        "rows-float-with-a-step": (rows([[4, 1], [1, 4]], [2.0], HALF, form="float"), "2.0 is two steps"),
        "rows-wide": (
            rows([[2 * wide, wide], [wide, 2 * wide]], [1], HALF), "weights of 101 bits take 16 bytes"),
        "rows-zero-column": (rows([[2, 0, 1], [1, 0, 2]], [1], HALF), "an output that nobody has"),
        "rows-one-secret": (rows([[3, 4]], [], ONE), "there is nothing to tell it from"),
        "rows-open-pairs": (
            rows([[2, 1, 0], [1, 2, 0], [0, 0, 3]], [1, FAR, FAR], HALF), "two pairs are promised nothing"),
        "rows-nothing-promised": (rows([[1, 0], [0, 1]], [FAR], ONE), "any table is accepted, and the report says so"),
        "rows-infinite-float": (
            rows([[1, 0], [0, 1]], [float("inf")], ONE, form="float"), "infinity is the double for no promise"),
    }  # fmt: skip


def metrics() -> True_:
    """Chains, graphs, places and columns by their support."""
    chain = [NOWHERE, 1, NOWHERE]
    places = rows(STAIRS, [1, 1, 1], {"alpha": "1/4"}).holding(distances=...)
    metric = {"unit": "1", "source": "places"}
    runs = rows([[3, 1, 2], [1, 2, 3], [1, 2, 3], [1, 2, 3]], [1] * 6, {"alpha": "1/3", "step": "1/3"})
    return {
        "chain-rational": (rows(STAIRS, [1, 2, 1], HALF, via=chain), "secret 1 lies between the others"),
        "chain-root": (rows(STAIRS, [1, 4, 1], HALF, form="root", via=chain), "√1 + √1 = √4"),
        "chain-float": (rows(STAIRS, [1.0, 2.0, 1.0], HALF, form="float", via=chain), "1 + 1 = 2 in doubles"),
        "chain-of-chains": (
            rows([[8, 4, 2, 1], [4, 5, 4, 2], [2, 4, 5, 4], [1, 2, 4, 8]], [1, 2, 3, 1, 2, 1], HALF,
                 via=[NOWHERE, 1, 1, NOWHERE, 2, NOWHERE]), "a leg is implied itself"),
        "chain-not-looked-at": (
            rows(STAIRS, [1, FAR, 1], HALF, via=[NOWHERE, 7, NOWHERE]), "the pair is infinitely far"),
        "edges": (rows(STAIRS, [1, 1], HALF, edges=[(0, 1), (2, 1)]), "all edges of the graph are checked"),
        "edges-of-length-zero": (
            rows([[1, 2], [1, 2], [2, 1]], [0, 1], HALF, edges=[(0, 1), (1, 2)]), "two secrets have one row"),
        "edges-float": (rows(STAIRS, [1.0, 1.0], HALF, form="float", edges=[(1, 0), (1, 2)]), "doubles on edges"),
        "places-euclidean": (
            places.saying(metric={**metric, "form": "root", "norm": "euclidean"})
            .holding(places=numbers([0, 0, 3, 4, 6, 8], 4)), "distances 5, 10 and 5"),
        "places-manhattan": (
            places.saying(metric={**metric, "form": "rational", "norm": "manhattan"})
            .holding(places=numbers([5, 5, 4, 4, 3, 3], 4)), "distances 2, 4 and 2"),
        "places-chebyshev": (
            places.saying(metric={**metric, "form": "rational", "norm": "chebyshev"}).about("promise", alpha="1/5")
            .holding(places=numbers([0, 2, 1], 4), via=numbers([2, NOWHERE, NOWHERE], 4)),
            "distances 2, 1 and 1, the first by secret 2 as a chain"),
        "runs": (
            runs.holding(weights=numbers([1, 2, 3, 3, 1, 2]), run_starts=numbers([0, 4, 8], 4),
                         run_lengths=numbers([1, 1, 1], 4)), "a floor and one run for each column"),
    }  # fmt: skip


LABELS = [
    ["ü", "\N{GRINNING FACE}", "a\nb", None],
    [True, 0, 1.5, {"fraction": "1/3"}],
    ["1", [1, "x"], [1, ["x"]], -2.5e300],
]


def words() -> True_:
    """Labels and texts of every kind."""
    four = rows([[1] * 4] * 4, [1] * 6, ONE)
    return {
        "labels-texts": (four.saying(secrets=LABELS[0], outputs=LABELS[1]),
            "labels are texts, numbers, fractions, null"),
        "labels-lists": (four.saying(secrets=LABELS[2], outputs=[10**400, 0.1, "0.1", {"fraction": "1/10"}]),
                         "0.1 as a double is not 1/10"),
        "rows-loose": (
            rows([[3, 1, 0], [1, 3, 0], [2, 2, 0]], [2**61 - 1, 2**61 - 1, 1], {"epsilon": "1"}),
            "two pairs are so far apart that only a zero could break their promise"),
        "space-and-provenance": (
            PAIR.saying(space={"name": "a vector", "unit": "km"}, claims={}, events=[], provenance={"by": [1.5, {}]}),
            "what may be left out is there"),
        "text-unassigned": (PAIR.about("space", name="\u0378\U0001fae9"), "letters that only some tables know"),
        "unit-words": (PAIR.about("space", unit="m\u00b3 s^2/day"), "two words with signs of units"),
        "space-ground": (
            PAIR.about("space", ground={"earth": "sphere", "cells": None}, coordinates=[[0, 0], [0, 1]]),
            "no proof rests on it"),
    }  # fmt: skip


def events() -> True_:
    """Promises about events, beside ratios or alone."""
    far = rows([[5, 5], [4, 6]], [FAR], ONE)
    alone = {"kind": "events", "epsilon": "1"}
    both = [(0, 1), (1, 0)]
    return {
        "events-factor": (
            promising(far, ({"factor": "1", "delta": "1/10"}, both)).saying(promise=alone), "5/10 − 4/10 is 1/10"),
        "events-epsilon": (
            promising(far, ({"epsilon": "1/10", "delta": "1/10"}, both)).saying(promise=alone), "e^(1/10) is above 1"),
        "events-factor-below-one": (
            promising(far, ({"factor": "1/2", "delta": "3/5"}, [(0, 1)])).saying(promise=alone),
            "6/10 exceed half of 1 by … for the event of all outputs: (5 − 2 + 5 − 3)/10 = 1/2"),
        "events-beside-rows": (
            promising(PAIR, ({"factor": "1", "delta": "1/3"}, both), ({"epsilon": "1/2", "delta": "1/4"}, [(1, 0)])),
            "ratios and two promises about events"),
    }  # fmt: skip


def losses() -> True_:
    """Claims about a loss, and bounds."""
    guess = claimed(PAIR, "1/3", BINARY, [0, 1], [1, 1], loss_name="bin", criterion="expected")
    duals = [(0, 1, 0, 1), (1, 0, 1, 1)]
    stairs = rows(STAIRS, [1, 1], HALF, edges=[(0, 1), (1, 2)])
    apart = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    limit = [{"name": "no worse", "unit": "1/3", "level": "1/9"}]
    limited = guess.about("claims", ceilings=limit).holding(ceilings=doubles([0.0, 1.0, 1.0, 0.0]))
    several = claimed(PAIR, "1/3", BINARY, [0, 1], [[1, 1], [3, 1]], criterion="worst prior")
    promised = promising(PAIR, ({"factor": "3/2", "delta": "1/6"}, [(0, 1), (1, 0)]))
    by_events = bounded(claimed(promised, "1/3", BINARY, [0, 1], [1, 1]), "0", "1/10", [])
    irrational = claimed(rows([[7, 3], [3, 7]], [1], ONE), "3/10", BINARY, [0, 1], [1, 1])
    return {
        "loss": (guess, "guessing one of two secrets errs one time in three"),
        "loss-with-a-unit": (
            guess.about("claims", loss="2/3", loss_unit="1/2").holding(loss=doubles([0.0, 4.0, 4.0, 0.0])),
            "doubles times the unit are the loss"),
        "loss-tiny-doubles": (
            guess.about("claims", loss=f"1/{3 * 2**1074}").holding(loss=doubles([0.0, 5e-324, 5e-324, 0.0])),
            "the smallest double is 2^-1074"),
        "loss-remapped": (
            claimed(stairs, "1", apart, [1, 1, 1], [1, 0, 1]), "every output is told as the secret in the middle"),
        "loss-worst-secret": (
            claimed(stairs, "6/7", apart, [0, 1, 2], [1, 1, 1], criterion="worst secret")
            .about("claims", loss="4/7"), "the worst secret loses 4/7"),
        "loss-worst-prior": (
            claimed(stairs, "4/7", apart, [0, 1, 2], [[1, 0, 0], [0, 1, 0]], criterion="worst prior"),
            "the larger of two expectations"),
        "limits": (limited, "the limit is kept exactly"),
        "bound": (bounded(guess, "1/3", "1/6", duals), "dual numbers prove 1/6 + 1/6"),
        "bound-below": (bounded(guess, "1/4", "1/6", duals), "a bound may be less than what is proved"),
        "bound-without-numbers": (bounded(guess, "0", "1", []), "no dual number is needed for 0"),
        "bound-irrational": (
            bounded(irrational, "26894142/100000000", "13447071/100000000", duals), "1/(1 + e) = 0.268941421…"),
        "bound-worst-secret": (
            bounded(guess.about("claims", criterion="worst secret"), "1/3", "1/6", duals),
            "the prior is the worst one"),
        "bound-worst-prior": (
            bounded(several, "1/3", "1/6", duals).holding(mixture=numbers([1, 0])), "by the first prior alone"),
        "bound-with-limits": (
            bounded(limited, "1/3", "1/6", duals).holding(ceiling_prices=numbers([0, 0])), "limits cost nothing"),
        "bound-paid-for-limits": (
            bounded(limited, "1/3", "1/6", duals).holding(ceiling_prices=numbers([1, 2])).about("claims", bound="5/18"),
            "prices on limits add less than they cost"),
        "bound-by-events": (
            by_events.holding(event_dual=numbers([1, 1]), event_dual_pair=numbers([0, 1], 4),
                              event_dual_action=numbers([0, 1], 4)).about("claims", bound="1/6", dual_unit="1/5"),
            "numbers on promises about events, less what they cost"),
        "bound-on-edges": (
            bounded(claimed(stairs, "4/7", apart, [0, 1, 2], [1, 2, 1]).about("claims", loss="4/7"), "1/4", "1/16",
                    [(0, 1, 0, 1), (2, 1, 2, 1), (1, 0, 1, 1), (1, 2, 1, 1)]), "dual numbers stand on edges"),
    }  # fmt: skip


def true_rows() -> True_:
    """All of them."""
    return merged(promises(), metrics(), words(), events(), losses())
