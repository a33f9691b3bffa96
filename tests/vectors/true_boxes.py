"""True files about all points of a box, by a lattice and a table or by noise that is the same everywhere."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from vectors.parts import File, bounded, coordinates, merged, noise, numbers
from vectors.tight import CLAIM, first_true, is_proved, largest_bound, least_loss, least_rate
from vectors.true_shares import LITTLE, Pairs

TWO = {"epsilon": "2", "rate": "2"}
SLOPE = [[3, 1], [2, 2], [2, 2], [1, 3]]
HALVES = [["0", "1/2", "1"]]
STREET = coordinates(SLOPE, [0, 1], ["1"], HALVES, TWO, cells=[2])
SQUARES = [[10 + 3 * i + 5 * j + (i * j) % 2, 60 - 3 * i - 5 * j - (i * j) % 2] for i, j in product(range(3), repeat=2)]
CORNERS = [[0, 0], [1, {"fraction": "1/2"}]]
FRAME = {
    "south": "52", "west": "13", "degrees": ["18/1250", "9/1000"], "radius": "63710088/10000", "margin": "1/2",
}  # fmt: skip


def square(metric: str, **more: Any) -> File:
    """Two outputs on a square, degree 2, one cell of the lattice."""
    return coordinates(SQUARES, CORNERS, ["1", "1"], [["0", "1"]] * 2, TWO, metric=metric, **more)


def lossy(file: File, parts: int, counts: list[int], loss: str = "64") -> File:
    """The file with a claim about an expected distance."""
    return file.saying(claims={"kind": "loss on a box", "loss": loss, "parts": parts}).holding(prior=numbers(counts))


def below(file: File, parts: list[int], splits: bytes, duals: list[tuple[int, int, int, int]], unit: str) -> File:
    """The file with a bound by a finite problem."""
    found = bounded(file, LITTLE, unit, duals).about("claims", bound_parts=parts)
    return found.holding(splits=(1, splits))


def some_duals(secrets: int, actions: int, stride: int = 1) -> list[tuple[int, int, int, int]]:
    """Small numbers on neighbours of one class, in both directions."""
    pairs = [(x, x + stride) for x in range(secrets - stride)]
    ends = pairs + [pair[::-1] for pair in pairs]
    return [(x, z, (x + 2 * k) % actions, 1 + (x + 3 * z) % 4) for k, (x, z) in enumerate(ends)]


def promises() -> Pairs:
    """Each with the least rate that is proved, and with a unit less."""
    lattices = {
        "coordinates": (STREET, "an interval, degree 2"),
        "coordinates-degree-1": (
            coordinates([[3, 1], [2, 2], [1, 3]], [0, 1], ["1"], HALVES, TWO, degree=1), "hat functions"),
        "coordinates-halvings": (
            coordinates(SLOPE, [0, 1], ["1"], [["0", "1/3", "1"]], TWO, halvings=2),
            "cells cut in four, uneven breaks"),
        "coordinates-euclidean": (square("euclidean"), "squares of gradients are compared"),
        "coordinates-manhattan": (square("manhattan"), "the largest slope counts"),
        "coordinates-chebyshev": (square("chebyshev", halvings=1), "the sum of slopes counts"),
        "coordinates-three-axes": (
            coordinates([[9 + 2 * i + j + 3 * k, 30 - 2 * i - j - 3 * k] for i, j, k in product(range(2), repeat=3)],
                        [[0, 0, 0], [1, 1.5, 1]], ["1", "2", "1"], [["0", "1"], ["0", "2"], ["0", "1"]], TWO, degree=1),
            "three axes, degree 1"),
        "coordinates-wide": (
            STREET.saying(total=str(4 * 10**30)).holding(weights=numbers([w * 10**30 for row in SLOPE for w in row])),
            "weights of 16 bytes"),
        "noise": (noise([40, 20, 5], 1, [2], ["1"], [4], TWO, box_cells=[2]), "one column for all outputs"),
        "noise-two-axes": (
            noise([40, 20, 21, 10], 3, [1, 1], ["1", "2"], [2, 3], TWO, metric="chebyshev", halvings=1),
            "offsets along two axes"),
    }  # fmt: skip
    return {name: (*least_rate(file), reason) for name, (file, reason) in lattices.items()}


def losses() -> Pairs:
    """Each with the least loss and the largest bound that are proved, and with a unit more."""
    street = lossy(STREET, 2, [1, 2])
    town = lossy(square("euclidean", cells=[2, 1]), 1, [1, 2])
    several = below(lossy(STREET, 1, [1, 1]), [4], b"\0" * 3, some_duals(8, 4, 2), "1/1000")
    quiet = noise([40, 20, 5], 1, [2], ["1"], [4], {"epsilon": "10", "rate": "10"}, box_cells=[2])
    cloud = noise([40, 20, 21, 10], 3, [1, 1], ["1", "2"], [2, 3], {"epsilon": "8", "rate": "8"}, metric="euclidean")
    layers = {"layer_counts": numbers([1, 1]), "layer_ends": numbers([0, 2, 1, 2], 4)}
    loud = lossy(quiet, 2, [1, 2]).about("claims", bound=LITTLE).holding(**layers)
    made = {
        "coordinates-loss": (street, "interpolated between the ends of parts"),
        "coordinates-loss-degree-1": (
            lossy(coordinates([[3, 1], [2, 2], [1, 3]], [0, 1.25], ["1"], [["0", "1/3", "1"]],
                              {"epsilon": "4", "rate": "4"}, degree=1, cells=[2], origin=["1/7"]), 3, [5, 1]),
            "hat functions, and a box that begins at 1/7"),
        "coordinates-loss-euclidean": (town, "roots are rounded up"),
        "coordinates-loss-manhattan": (lossy(square("manhattan", cells=[1, 2]), 2, [3, 1]), "sums of lengths"),
        "coordinates-loss-chebyshev": (lossy(square("chebyshev"), 2, [1]), "largest lengths"),
        "coordinates-bound": (
            below(street, [2], b"\0\1\0\0\0", some_duals(4, 5), "1/2000"), "four secrets, one cube halved"),
        "coordinates-bound-alpha": (
            below(street, [2], b"\0" * 3, some_duals(4, 4), "1/1000").about("promise", epsilon=..., alpha="1/9"),
            "the promise is an alpha, and the rate is below ln 9"),
        "coordinates-bound-euclidean": (
            below(town, [1, 2], b"\0", some_duals(4, 4), "1/1000"), "the norm bends in a cube"),
        "coordinates-bound-chebyshev": (
            below(lossy(square("chebyshev", cells=[2, 2]), 1, [1, 2, 3, 4]), [1, 1], b"\1\0\0\0\0", some_duals(4, 9),
            "1/1000"),
            "tangents of the largest length"),
        "coordinates-bound-manhattan": (
            below(lossy(square("manhattan", cells=[2, 2]), 1, [1, 1, 1, 1]), [1, 2], b"\0\0\0", some_duals(8, 8),
            "1/1000"),
            "a norm that does not bend"),
        "coordinates-bound-strides": (several.about("claims", bound_strides=[2]), "two classes of secrets"),
        "noise-loss": (lossy(quiet, 2, [1, 2]), "the same for every prior"),
        "noise-loss-two-axes": (lossy(cloud, 4, [1]), "roots are rounded up"),
        "noise-bound": (loud, "two layers below the prior"),
        "noise-bound-alpha": (loud.about("promise", epsilon=..., alpha="1/30000"), "epsilon is ln 30000"),
    }  # fmt: skip
    found: Pairs = {}
    for name, (file, reason) in made.items():
        true, false = least_loss(file)
        if "bound" in file.header["claims"]:
            true, false = largest_bound(true)
        found[name] = true, false, reason
    return found


def grounds() -> Pairs:
    """On the Earth: the promise is for the ground, the rate for the map."""
    flat = coordinates(SQUARES, CORNERS, ["10", "10"], [["0", "10"]] * 2, {"epsilon": "1", "rate": "1/4"}, cells=[2, 2],
                       frame=FRAME).about("space", unit="km")  # fmt: skip
    told = below(lossy(flat, 1, [1, 1, 1, 1]), [1, 1], b"\0", some_duals(4, 4), "1/10000")
    storm = noise([40, 20, 21, 10], 3, [1, 1], ["10", "10"], [2, 2], {"alpha": "1/3", "rate": "1"}, frame=FRAME)
    storm = storm.about("space", unit="kilometres")
    rained = lossy(storm, 2, [1]).about("claims", bound=LITTLE)
    layers = {"layer_counts": numbers([1]), "layer_ends": numbers([0, 0, 1, 1], 4)}
    south = {**FRAME, "south": "-1/100", "west": "1799/10"}
    tropics = flat.about("box", frame=south).about("promise", epsilon=..., alpha="1/3")
    return {
        "ground": (*least_stretch(flat), "distances are along great circles"),
        "ground-across-the-equator": (*least_stretch(tropics), "the equator lies in the box"),
        "ground-bound": (*largest_bound(least_loss(told)[0]), "checked for epsilon over the least stretch"),
        "ground-noise": (*largest_bound(least_loss(rained.holding(**layers))[0]), "noise on the Earth"),
    }


def least_stretch(file: File) -> tuple[File, File]:
    """The largest rate, in units of 2^-60, that keeps what is promised on the ground, and a unit more."""
    slow = file.holding(weights=numbers([1, 1] * prod(n + 2 for n in (1, 1)))).saying(total="2")
    found = -first_true(lambda units: is_proved(slow.about("promise", rate=str(-CLAIM * units))) if units < 0 else True)
    return slow.about("promise", rate=str(CLAIM * found)), slow.about("promise", rate=str(CLAIM * (found + 1)))


def others() -> dict[str, tuple[File, str]]:
    """What needs no number to be found."""
    runs = {"weights": numbers([2, 2, 3, 1, 1, 3]), "run_starts": numbers([0, 3, 4, 7], 4),
            "run_lengths": numbers([1, 1, 1, 1], 4)}  # fmt: skip
    return {
        "coordinates-runs": (STREET.holding(**runs), "columns by their support"),
        "coordinates-alpha": (STREET.saying(promise={"kind": "coordinates", "alpha": "1/8", "rate": "2"}), "2 < ln 8"),
        "coordinates-space": (STREET.saying(space={"name": "a street", "unit": "km"}, claims={}, provenance=None),
                              "what may be left out is there"),
        "coordinates-outputs": (
            coordinates([[1, 1, 1]] * 3, [-1, 0.1, {"fraction": "1/10"}], ["1"], [["0", "1"]], TWO),
            "outputs may lie outside; a double is not the fraction"),
    }  # fmt: skip


def true_boxes() -> Pairs:
    """All that have a forged neighbour."""
    return merged(promises(), losses(), grounds())
