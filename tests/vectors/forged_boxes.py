"""Forged files about shares, coordinates and noise."""

from __future__ import annotations

from vectors.forged_bytes import Forged, unreadable
from vectors.forged_rows import refuted
from vectors.parts import FAR, File, coordinates, doubles, merged, noise, numbers, promising, rows
from vectors.true_boxes import CORNERS, FRAME, HALVES, STREET, TWO, Pairs, below, lossy, some_duals, square
from vectors.true_rows import HALF, ONE
from vectors.true_shares import identity, shares

NOISE = noise([40, 20, 5], 1, [2], ["1"], [4], {"epsilon": "10", "rate": "10"}, box_cells=[2])
STORM = noise([40, 20, 21, 10], 3, [1, 1], ["10", "10"], [2, 2], TWO, box_cells=[1024, 1024])
LOSS = lossy(STREET, 1, [1, 1])
BOUND = below(LOSS, [2], b"\0" * 3, some_duals(4, 4), "1/1000")
LAYERS = (
    lossy(NOISE, 2, [1, 2])
    .about("claims", bound="0")
    .holding(layer_counts=numbers([1, 1]), layer_ends=numbers([0, 2, 1, 2], 4))
)


def neighbours(true: Pairs) -> Forged:
    """A unit less, or more, than what the true file says."""
    return refuted({
        f"{name}-by-a-unit": (false, "a unit beyond what is proved in the file without 'by-a-unit'")
        for name, (_, false, _) in true.items()
    })  # fmt: skip


def about_shares() -> Forged:
    """Claims about shares."""
    pair = rows([[1, 2], [2, 1]], [1], HALF, edges=[(0, 1)])
    dual = [[2.5, -2.0], [-2.0, 2.5]]
    true = shares(pair, identity(2), dual, [2.5625, 2.5625]).about("claims", bound="35/8")
    apart = shares(rows([[1, 2], [2, 1]], [FAR], HALF), identity(2), dual, [2.5625, 2.5625])
    endless = shares(rows([[1, 2], [2, 1]], [float("inf")], ONE, form="float"), identity(2), dual, [2.5625, 2.5625])
    crowd = shares(rows([[1, 1]] * 33, [1] * 528, ONE), [[1.0] * 33], [], [])
    line = rows([[1] * 18] * 18, [1] * 17, ONE, edges=[(x, x + 1) for x in range(17)])
    many = shares(line, [[1.0] * 18], [[1.0] * 18], [2.0] * 18)
    return refuted({
        "shares-price": (true.holding(share_prices=doubles([2.375, 2.375])).about("claims", bound="0"),
            "a corner goes beyond"),
        "shares-price-negative": (
            true.holding(share_prices=doubles([9.0, -1.0])).about("claims", bound="-100"),
            "a corner has a negative price"),
        "shares-undetermined": (
            shares(rows([[1, 1], [1, 1]], [1], HALF), identity(2), [], []),
            "outputs that say nothing determine no share"),
    }) | unreadable({
        "shares-beside-events": (promising(true, ({"factor": "1", "delta": "1"}, [(0, 1)])), "events beside shares"),
        "shares-worst-secret": (true.about("claims", criterion="worst secret"), "shares have no worst secret"),
        "shares-unit": (true.about("claims", workload_unit="0"), "a unit of zero"),
        "shares-word": (true.about("claims", actions=[0, 1]), "shares have no actions"),
        "shares-nan": (true.holding(workload=doubles([1.0, float("nan"), 0.0, 1.0])), "a workload that is no number"),
        "shares-no-prior": (true.holding(prior=numbers([0, 0])), "a prior without weight"),
        "shares-no-workload": (true.holding(workload=...), "shares of nothing"),
        "shares-open": (apart, "a bound needs finite distances"),
        "shares-open-float": (endless, "no distance is finite, and the distances are doubles"),
        "shares-crowd": (crowd, "more than 32 secrets"),
        "shares-corners": (many, "2^17 corners"),
    })  # fmt: skip


def about_coordinates() -> Forged:
    """Boxes, lattices and promises about coordinates."""
    uneven = [["0", "1/2", "1/2", "1"]]

    def lattice(**changes: object) -> File:
        return STREET.about("lattice", **changes)

    huge = coordinates([[1, 1]] * 4, [0, 1], ["1"], HALVES, TWO, cells=[2**14], halvings=4)
    return refuted({
        "coordinates-sum": (STREET.holding(weights=numbers([3, 1, 2, 2, 2, 2, 1, 4])), "a row sums to 5"),
        "coordinates-zero": (
            STREET.holding(weights=numbers([4, 0, 2, 2, 2, 2, 1, 3])), "an output becomes possible from zero"),
        "coordinates-weight": (
            STREET.holding(weights=numbers([3, 1, 2, 2, 3, 1, 0, 4])), "one weight moved in two rows"),
        "coordinates-metric": (
            square("euclidean").about("box", metric="chebyshev").about("promise", epsilon="1/2", rate="1/2"),
            "for the maximum norm slopes are added"),
    }) | unreadable({
        "coordinates-rate": (STREET.about("promise", rate="3"), "the rate is above epsilon"),
        "coordinates-rate-0": (STREET.about("promise", rate="0"), "the rate is positive"),
        "coordinates-rate-alpha": (
            STREET.about("promise", epsilon=..., alpha="1/8", rate="2079441542/1000000000"), "the rate is above ln 8"),
        "coordinates-step": (STREET.about("promise", step="1/2"), "coordinates have no step"),
        "coordinates-frame-missing": (STREET.about("box", frame=...), "a box says whether it has a frame"),
        "coordinates-sides": (STREET.about("box", sides=["1"] * 4, origin=["0"] * 4, cells=[1] * 4), "four sides"),
        "coordinates-side-0": (STREET.about("box", sides=["0"]), "a side of zero"),
        "coordinates-length": (STREET.about("box", origin=["1" * 101]), "a length of more than 100 digits"),
        "coordinates-cells": (STREET.about("box", cells=[0]), "no cells"),
        "coordinates-cells-many": (STREET.about("box", cells=[2**14 + 1]), "more than 2^14 cells"),
        "coordinates-norm": (STREET.about("box", metric="hamming"), "an unknown norm"),
        "coordinates-degree": (lattice(degree=3), "degree 3"),
        "coordinates-halvings-5": (lattice(halvings=5), "five halvings"),
        "coordinates-halvings-truth": (lattice(halvings=True), "true is no number"),
        "coordinates-breaks-order": (lattice(breaks=uneven), "breaks go up"),
        "coordinates-breaks-end": (lattice(breaks=[["0", "1/2", "3/4"]]), "breaks end at the side"),
        "coordinates-breaks-begin": (lattice(breaks=[["1/4", "1/2", "1"]]), "breaks begin at 0"),
        "coordinates-breaks-one": (lattice(breaks=[["0"]]), "one break"),
        "coordinates-output-text": (STREET.saying(outputs=["0", 1]), "a text is no point"),
        "coordinates-output-truth": (STREET.saying(outputs=[True, 0]), "true is no coordinate"),
        "coordinates-output-list": (STREET.saying(outputs=[[0], [1]]), "on an interval points are numbers"),
        "coordinates-output-twice": (
            square("manhattan").saying(outputs=[[0.5, 1], [{"fraction": "1/2"}, 1]]), "two outputs are one point"),
        "coordinates-output-short": (square("manhattan").saying(outputs=[[0], [1]]), "two axes have two coordinates"),
        "coordinates-effort": (
            lossy(huge, 64, [1] * 2**14), "more parts than are allowed"),
        "coordinates-effort-of-outputs": (
            coordinates([[1] * 40] * 343, [[k, 0, 0] for k in range(40)], ["1"] * 3, [[f"{k}/5" for k in range(6)]] * 3,
                        TWO, halvings=3), "more numbers are asked for than its bytes allow"),
    })  # fmt: skip


def about_grounds() -> Forged:
    """Frames."""
    flat = coordinates(
        [[1, 1]] * 9, CORNERS, ["10", "10"], [["0", "10"]] * 2, {"epsilon": "1", "rate": "1/4"}, frame=FRAME
    ).about("space", unit="km")

    def framed(**changes: object) -> File:
        return flat.about("box", frame={**FRAME, **changes})

    return refuted({
        "ground-rate": (flat.about("promise", rate="1"), "the map stretches, and the rate does not allow for it"),
        "ground-in-miles": (
            framed(radius="63710088000/16093440").about("space", unit="mi").about("promise", rate="7/10"),
            "miles are longer than km, for which the rate would do",
        ),
        "ground-north": (framed(south="89"), "near the pole a degree of longitude is short"),
    }) | unreadable({
        "ground-small-sphere": (framed(radius="1000"), "the Earth has another radius"),
        "ground-large-sphere": (framed(radius="63710088/10"), "metres that are called km"),
        "ground-in-minutes": (flat.about("space", unit="minutes"), "a unit that is no length"),
        "ground-without-a-unit": (flat.saying(space={}), "what is 6371.0088 of no unit need not be the Earth"),
        "ground-capital": (flat.about("space", unit="Km"), "a unit that is written in another way"),
        "ground-pole": (framed(south="8995/100"), "the box reaches the pole"),
        "ground-half": (framed(degrees=["20", "9/1000"]), "the box spans half of the globe"),
        "ground-west": (framed(west="361"), "the box begins at no longitude"),
        "ground-margin": (framed(margin="-1"), "a negative margin"),
        "ground-radius": (framed(radius="0"), "a sphere of radius 0"),
        "ground-word": (framed(height="1"), "an unknown key"),
        "ground-origin": (framed().about("box", origin=["1", "0"]), "a box on the Earth begins at 0"),
        "ground-metric": (flat.about("box", metric="manhattan"), "a box on the Earth is Euclidean"),
        "ground-interval": (STREET.about("box", frame=FRAME), "a box on the Earth has two sides"),
        "ground-list": (flat.about("box", frame=[]), "a frame is an object"),
    })  # fmt: skip


def about_box_claims() -> Forged:
    """Claims about a box."""
    strided = below(LOSS, [2], b"\0", [(0, 2, 0, 1)], "1/1000").about("claims", bound_strides=[2])
    return refuted({
        "box-dual-between-classes": (
            strided.holding(dual_to=numbers([1], 4)), "nothing is promised between two classes"),
        "box-bound-high": (BOUND.about("claims", bound="1/2", loss="1"), "the numbers prove less"),
    }) | unreadable({
        "box-kind": (LOSS.about("claims", kind="loss"), "a box has a claim of another kind"),
        "box-parts": (LOSS.about("claims", parts=0), "no parts"),
        "box-parts-many": (LOSS.about("claims", parts=65), "65 parts"),
        "box-prior": (LOSS.holding(prior=numbers([0, 0])), "a prior without weight"),
        "box-prior-long": (LOSS.holding(prior=numbers([1, 1, 1])), "three counts for two cells"),
        "box-unit-alone": (LOSS.about("claims", dual_unit="1"), "a unit without a bound"),
        "box-unit-negative": (BOUND.about("claims", dual_unit="-1"), "dual numbers are not negative"),
        "box-bound-parts": (BOUND.about("claims", bound_parts=[0]), "no parts of a cell"),
        "box-strides": (BOUND.about("claims", bound_strides=[3]), "a stride that divides nothing"),
        "box-strides-long": (BOUND.about("claims", bound_strides=[4]), "a class of one secret"),
        "box-splits-few": (BOUND.holding(splits=(1, b"\0\0")), "a cube is missing"),
        "box-splits-more": (BOUND.holding(splits=(1, b"\0\0\0\0")), "a cube in excess"),
        "box-splits-two": (BOUND.holding(splits=(1, b"\0\0\2")), "a cube is halved or not"),
        "box-splits-deep": (
            BOUND.holding(splits=(1, b"\0\0" + b"\1" * 7 + b"\0" * 8)), "seven halvings"),
        "box-action": (BOUND.holding(dual_action=numbers([9] * 6, 4)), "there is no such corner"),
        "box-secret": (BOUND.holding(dual_to=numbers([4] * 6, 4)), "there is no such secret"),
    })  # fmt: skip


def about_noise() -> Forged:
    """Noise that is the same everywhere."""
    return refuted({
        "noise-sum": (NOISE.saying(total="102"), "the chances do not sum to one"),
        "noise-table": (NOISE.holding(weights=numbers([62, 9, 5])), "the same total, and a steeper fall"),
        "noise-layers-high": (LAYERS.holding(layer_counts=numbers([2, 1])), "the layers are above the prior"),
        "noise-bound-high": (LAYERS.about("claims", loss="1", bound="1/10"), "the layers prove less"),
    }) | unreadable({
        "noise-lattice": (NOISE.saying(lattice={"degree": 2, "halvings": 0, "breaks": HALVES}),
            "noise has no lattice of its own"),
        "noise-outputs": (NOISE.saying(outputs=[0, 1]), "noise lists no outputs"),
        "noise-floor": (NOISE.about("noise", floor="0"), "the floor is positive"),
        "noise-cells": (NOISE.about("noise", cells=[3]), "cells of the lattice are parts of those of the box"),
        "noise-reach": (NOISE.about("noise", reach=[2**10 + 1]), "a reach of more than 2^10"),
        "noise-reach-negative": (NOISE.about("noise", reach=[-1]), "a reach below zero"),
        "noise-word": (NOISE.about("noise", shape=[5]), "an unknown key"),
        "noise-many": (
            noise([1], 1, [0, 0], ["1", "1"], [2**31, 2**31], TWO), "more outputs than 2^62"),
        "noise-parts": (lossy(NOISE, 3, [1, 1]), "an odd number of parts"),
        "noise-effort": (
            lossy(STORM, 2, [1] + [0] * (2**20 - 1)).about("promise", rate=f"{10**3999 + 1}/{10**3999}", epsilon="2"),
            "a million cells, for numbers of 26 times 64 bytes"),
        "noise-dual": (lossy(NOISE, 2, [1, 1]).about("claims", bound="0", dual_unit="1"),
            "layers have no dual numbers"),
        "noise-layer-empty": (LAYERS.holding(layer_ends=numbers([0, 2, 1, 1], 4)), "a layer of no cells"),
        "noise-layer-beyond": (LAYERS.holding(layer_ends=numbers([0, 3, 1, 2], 4)), "a layer beyond the box"),
        "noise-layers": (LAYERS.holding(layer_ends=numbers([0, 2], 4)), "ends of one layer for two counts"),
    })  # fmt: skip


def forged_boxes() -> Forged:
    """All of them, but for the neighbours of true files."""
    return merged(about_shares(), about_coordinates(), about_grounds(), about_box_claims(), about_noise())
