"""What would help where a box has no table, or one that is farther from the best possible than was aimed at.

Sizes come from the functions that decide whether a table is looked for: :func:`~sfumato.design.boxes.choice.too_large`
and, where people live unevenly, those of :mod:`sfumato.design.boxes.patches`. What is said has the figures that they
gave, for the promise that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil, prod
from typing import Any

from sfumato import losses
from sfumato.design.boxes.choice import too_large
from sfumato.design.boxes.patches import Patches, lattices_for, patches_for
from sfumato.design.boxes.program import blocks_of
from sfumato.design.boxes.symmetry import turns
from sfumato.design.result import Design
from sfumato.errors import keyword
from sfumato.hide.extents import MOST_CELLS, cell_side
from sfumato.hide.fields import TIME_LIMIT
from sfumato.lp.cone.arrays_backend import gpu_is_there
from sfumato.lp.cone.general import worth_a_gpu
from sfumato.numbers import Floats, text_above, text_below
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.specs.question import Question
from sfumato.watch import Watch

Sides = tuple[Fraction, ...]

_SMALLER = Fraction(99, 100)  # sizes are tried from the largest on, each this part of the one before
_SMALLEST = Fraction(1, 10**6)  # of the box: whoever needs a smaller one has asked for something else
_LONGER = 3  # times as long: a round of a search takes so many times longer than the one before, or more
_DIGITS = 6  # of a side of cells that is said: it is exact, or not said
_UNEVEN = "where the fullest cell has twice as many people as the mean one, or more"


def patches_on(question: Question, box: Box, people: Floats) -> Patches | None:
    """The patches that a search of tables for this box begins with; None where there are none."""
    privacy = on_box(question.privacy, box)
    group = turns(box, [box.breaks(i) for i in range(box.dimension)], people.reshape(box.shape))
    return patches_for(privacy, losses.distance(box), float(box_rate(privacy)), people.ravel(), len(group), _unweighed)


def on_box(privacy: PrivacyType | None, box: Box) -> PrivacyType:
    """The same promise for another box."""
    assert privacy is not None
    return PrivacyType(box, epsilon=privacy.epsilon, alpha=privacy.alpha)


def _unweighed(_: Any) -> Any:
    raise AssertionError("nothing is weighed before the first sweep")


# ----------------------------------------------------------------- no table fits


def room_words(question: Question) -> str:
    """Which cells, or which size of the box, would have a table, where this one is too large for one."""
    box: Box = question.space
    found = []
    if (side := larger_cells(question)) is not None:
        found.append(f"with cells of {_lengths((side,), box.unit)} this box has a table")
    small = largest_box(question, _fits)
    sizes = [] if small is None else [f"a table fits a box of {_lengths(small, box.unit)}"]
    if not found and box.dimension == 2:  # what an uneven prior would do
        if lattices_for(box, float(box_rate(on_box(question.privacy, box)))):
            sizes.append(f"this one {_UNEVEN}")
        elif (wide := largest_box(question, _fits_patches)) is not None and wide != small:
            sizes.append(f"one of {_lengths(wide, box.unit)} {_UNEVEN}")
    found += [", and ".join(sizes)] if sizes else []
    return "".join(f"; {words}" for words in found)


def larger_cells(question: Question) -> Fraction | None:
    """The side of the smallest cells, each made of whole ones, with which patches take turns in this box."""
    box: Box = question.space
    if box.dimension != 2 or box.step[0] != box.step[1]:
        return None
    people = question.prior.float_weights.reshape(box.shape)
    for many in range(2, min(box.shape) + 1):
        side = many * box.step[0]
        if any(cells % many for cells in box.shape) or Fraction(text_above(side, _DIGITS)) != side:
            continue
        first, second = (cells // many for cells in box.shape)
        joined = people.reshape(first, many, second, many).sum(axis=(1, 3))
        if patches_on(question, replace(box, step=(side, side)), joined) is not None:
            return side
    return None


def largest_box(question: Question, fits: Callable[[PrivacyType], bool]) -> Sides | None:
    """About the largest box of this shape that fits, its sides of two digits; whole cells make it no larger than that.

    Cells are those of the rule for that box, or as large as here where these are not by the rule.
    """
    box, part = question.space, _SMALLER
    while part > _SMALLEST:
        sides = tuple(Fraction(text_below(side * part, 2)) for side in box.sides)
        if all(fits(on_box(question.privacy, grown)) for grown in _grown(question, sides)):
            return sides
        part *= _SMALLER
        part = part.limit_denominator(10**9)
    return None


def _grown(question: Question, sides: Sides) -> Iterator[Box]:
    """A box of these sides, as it is and until it has whole cells."""
    box: Box = question.space
    assert question.privacy is not None
    here, there = (cell_side(question.privacy.rate, extent, box.unit) for extent in (box.sides, sides))
    steps = [sides, (there,) * box.dimension]
    if {*box.step} != {here}:  # somebody asked for other cells than those of the rule, and may again
        steps.append(box.step)
    for step in steps:
        whole = tuple(ceil(side / width) * width for side, width in zip(sides, step, strict=True))
        yield replace(box, sides=whole, step=step)


def _fits(privacy: PrivacyType) -> bool:
    return not too_large(privacy)


def _fits_patches(privacy: PrivacyType) -> bool:
    box: Any = privacy.space
    return len(box) == 1 or bool(lattices_for(box, float(box_rate(privacy))))


# ----------------------------------------------------------------- a table that is not near enough


def time_words(question: Question, best: Design, watch: Watch) -> str:
    """How near the table came that was found, and what would bring it nearer."""
    aim = f"no table came within {100 * question.tolerance:.2g} % of the best possible"
    words = [f"{aim}{_seconds_words(best, watch)}"]
    words.append(
        f"the best one came within {text_above(100 * best.gap, 3)} %"
        if best.bound > 0
        else "how near the best one came was not found out"
    )
    if best.stopped:
        words.append(f"{more_time(watch)} may come closer")
        if for_a_gpu(best) and not gpu_is_there():
            words.append("programs of this size are solved on a GPU where there is one, with torch")
    if best.bound <= 0 and (side := cells_for_a_bound(question)) is not None:
        box: Box = question.space
        fewer = prod(ceil(length / side) for length in box.sides)
        words.append(
            f"with cells of {_lengths((side,), box.unit)} the box has {fewer} of them instead of {len(box):,}, few "
            "enough for a bound"
        )
    return "; ".join(words)


def cells_for_a_bound(question: Question) -> Fraction | None:
    """The side of cells by the rule, where there are more than it allows."""
    box: Box = question.space
    if len(box) <= MOST_CELLS:
        return None
    assert question.privacy is not None
    side = cell_side(question.privacy.rate, box.sides, box.unit)
    return side if side > max(box.step) else None


def for_a_gpu(best: Design) -> bool:
    """Whether the program of a table was one that a GPU, where there is one, is asked to solve."""
    mechanism: Any = best.mechanism
    if not best.method.startswith("conic program on"):
        return False
    blocks = blocks_of(mechanism.rounding, float(mechanism.rate), mechanism.halvings)
    forms = sum(len(block) * block[0].shape[0] for block in blocks)
    most = 2**mechanism.rounding.box.dimension * mechanism.rounding.box.dimension  # symmetries of a square: 8
    return worth_a_gpu(forms, len(mechanism.outputs) // most)


def _seconds_words(best: Design, watch: Watch) -> str:
    if not best.stopped:
        return ", and the search ended before its time"
    return " in time" if watch.limit is None or watch.stopped else f" in {_plain(str(watch.limit))} s"


def more_time(watch: Watch) -> str:
    """How long a search that was cut off may be given."""
    if watch.limit is None:
        return "more time"
    return f"more time, such as {keyword('time_limit', ceil(max(TIME_LIMIT, _LONGER * watch.limit)))},"


# ----------------------------------------------------------------- words


def _lengths(sides: Sides, unit: str) -> str:
    """Sides with their unit; a thousand metres are a kilometre."""
    if unit == "m" and min(sides) >= 1000:
        return _lengths(tuple(side / 1000 for side in sides), "km")
    return f"{' × '.join(_plain(text_above(side, _DIGITS)) for side in sides)} {unit}".rstrip()


def _plain(number: str) -> str:
    """A number without a power of ten."""
    shown = f"{Decimal(number):f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
