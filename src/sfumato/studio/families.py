"""What the page shows of each kind of question: where secrets lie, what is told for them, and which tasks it takes.

How many secrets a table of a spec stands for is known before anything is built: a page must not ask for too many.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from sfumato.design import Design
from sfumato.design.comparison import compare_known
from sfumato.design.comparison_rows import OPTIMAL, Compared, Comparison, side_by_side
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.measures import prior_loss
from sfumato.mechanisms import MECHANISMS
from sfumato.numbers import is_floatable
from sfumato.release.places import Place, Position
from sfumato.release.terms import Column
from sfumato.report.box_facts import blind_loss
from sfumato.spaces.foreign import ACROSS, LATITUDES, LONGITUDES, UP
from sfumato.spaces.surface import Earth, Plane
from sfumato.specs.boxes import spec_box
from sfumato.specs.question import Question
from sfumato.specs.spec import Spec
from sfumato.specs.tables import Columns, column_texts, usual_column
from sfumato.specs.words import promised
from sfumato.studio.views import box_place, box_view, space_view, table_view

_MOST_AXES = 2


def secrets_in(spec: Spec) -> int:
    """The secrets of a list."""
    if spec.space.kind not in _SIZES:
        raise NotSupported(
            f"a space of kind {spec.space.kind!r} in the studio", ["`sfumato design` and Python, which take them all"]
        )
    return _SIZES[spec.space.kind](spec.space)


def cells_in(spec: Spec) -> int:
    """The cells of a box that can be drawn."""
    space = spec_box(spec)
    if space.dimension > _MOST_AXES:
        raise NotSupported(
            "a box with three axes in the studio", ["one or two axes here; `sfumato design` has no such limit"]
        )
    return len(space)


def _nodes(space: Any) -> int:
    ends = {json.dumps(end, default=str) for edge in space.edges or () for end in edge[:2]}
    return max(len(ends), len(space.nodes or ()))


def _power(base: int, exponent: int) -> int:
    """base^exponent, or something beyond every limit before the number gets long."""
    return base**exponent if exponent * base.bit_length() < 64 else 2**63


_SIZES: dict[str, Callable[[Any], int]] = {
    "line": lambda space: space.size,
    "discrete": lambda space: space.size,
    "cycle": lambda space: space.size,
    "grid": lambda space: prod(space.shape) if len(space.shape) < 20 else 2**63,
    "hamming": lambda space: _power(space.symbols, space.length),
    "star": lambda space: space.leaves + 1,
    "complete_bipartite": lambda space: space.a + space.b,
    "count_query": lambda space: space.individuals + 1,
    "sum_query": lambda space: space.individuals * space.largest + 1,
    "k_count_query": lambda space: _power(space.individuals + 1, space.k),  # at most: so many answers for each count
    "graph": _nodes,
    "points": lambda space: len(space.coordinates or ()),
    "geo": lambda space: len(space.coordinates or ()),
    "matrix": lambda space: len(space.distances or ()),
}
"""How many secrets a table stands for, before anything is built."""


_HELD: dict[type[Plane], tuple[type[Position], tuple[str, ...], tuple[str, ...]]] = {
    Plane: (Position, ACROSS, UP),
    Earth: (Place, LATITUDES, LONGITUDES),
}
"""What names columns of points, and their usual names."""

Find = Callable[[Columns, Any], Column]
"""The columns of a table that hold the secrets of a space."""


def columns_of_points(table: Columns, space: Any) -> Column:
    """Coordinates by their usual names; on an interval the one column of numbers."""
    if space.dimension == 1:
        return _only(table, [head for head in table.header if all(map(is_floatable, column_texts(table, head)))])
    held, first, second = _HELD[type(space.surface)]
    pair = [usual_column(table, words, f"the {words[0]}", "rename the others") for words in (first, second)]
    if not all(pair):
        raise InvalidInput(f"{table.file} needs columns {first[0]} and {second[0]}; it has {', '.join(table.header)}")
    return held(*pair)


def column_of_labels(table: Columns, space: Any) -> Column:
    """The one column that holds labels of secrets and nothing else."""
    texts = {str(label) for label in space.labels}
    return _only(table, [head for head in table.header if {*map(str, column_texts(table, head))} <= texts])


def _only(table: Columns, found: list[str]) -> str:
    if len(found) != 1:
        what = (
            "no column holds secrets of this question" if not found else f"{' and '.join(map(shown, found))} may be it"
        )
        raise InvalidInput(f"{table.file}: {what}: name the column that is to be released")
    return found[0]


MOST_SECRETS = 1024
"""Secrets, or cells of a box, that are drawn and designed for; tasks that take longer are for fewer."""

_LONGEST_EXACT = 24  # letters of a fraction that is shown whole


@dataclass(frozen=True, eq=False)
class View:
    """How the page shows a family.

    Parameters
    ----------
    takes
        Whether it takes a task, by its name.
    lost
        What the loss of a design is called.
    about, instead
        What these questions are about, where a task is refused, and what to do then.
    size, many, most
        How many secrets a spec has, what they are called, and how many there may be for any task; None where a task
        says it: how long a design on a box takes is not a matter of its cells.
    place
        Space and prior, to be drawn.
    columns
        The columns of a table that hold secrets.
    shown
        A design: its table, and what is lost where nothing is told, if that is known.
    compared, by, drawn
        The best mechanism beside known ones; by what, in words; a mechanism of a comparison as it is drawn.
    """

    takes: Callable[[str], bool]
    lost: str
    about: str
    instead: str
    size: Callable[[Spec], int]
    many: str
    most: int | None
    place: Callable[[Any, Any], dict[str, Any]]
    columns: Find
    shown: Callable[[Design, Question], dict[str, Any]]
    compared: Callable[[Question, Design, Callable[[Any], Any]], Comparison]
    by: Callable[[Comparison, Question], str]
    drawn: Callable[[Compared, Question], dict[str, Any]]


def _places(best: Design, question: Question) -> dict[str, Any]:
    expected = question.objective.criterion == "expected"
    return {
        **table_view(best.mechanism, question.space),
        "exact": str(best.loss) if best.gap == 0 and len(str(best.loss)) <= _LONGEST_EXACT else "",
        "blind": float(prior_loss(question.prior.to_floats(), question.loss_on_outputs)) if expected else None,
    }


def _points(best: Design, question: Question) -> dict[str, Any]:
    """Rows are those of the centres of cells, and the promise is about all points."""
    mechanism: Any = best.mechanism
    return {
        "about": mechanism.about, "words": promised(mechanism.privacy), **box_view(mechanism),
        "exact": "", "blind": blind_loss(question.space, question.prior.float_weights),
    }  # fmt: skip


def _shares(best: Design, question: Question) -> dict[str, Any]:
    """The loss is a variance, that of one answer, which nobody who is told nothing has."""
    return {**table_view(best.mechanism, question.space), "exact": "", "blind": None, "loss_name": "variance"}


def _beside_known(question: Question, best: Design, progress: Callable[[Any], Any]) -> Comparison:
    """On a list all that exist."""
    assert question.privacy is not None
    loss = question.loss_on_outputs if question.objective.has_loss else None
    everyone = {OPTIMAL: best.mechanism, **MECHANISMS}
    return compare_known(question.prior, loss, question.privacy, mechanisms=everyone, objective=question.objective,
                         progress=progress)  # fmt: skip


def _beside_noise(question: Question, best: Design, progress: Callable[[Any], Any]) -> Comparison:
    """On a box noise and what is made smooth, as many as there is time for."""
    assert question.privacy is not None
    compared = partial(compare_known, question.prior, question.loss, question.privacy)
    return side_by_side(
        compared(time_limit=_FOR_KNOWN, progress=progress), compared(mechanisms={OPTIMAL: best.mechanism})
    )


def _by_loss(comparison: Comparison, question: Question) -> str:
    unit = f" in {question.space.unit}" if question.space.unit and question.family.lengths(question) else ""
    remapped = f"Expected loss{unit} if everybody takes the best action for each output"
    return f"{remapped}; {float(comparison.blind):.4g} if nothing is disclosed."


def _by_distance(comparison: Comparison, question: Question) -> str:
    unit = f" in {question.space.unit}" if question.space.unit else ""
    return f"Expected distance{unit} of what is told from the truth; what is proved holds for all points."


def _by_respondents(comparison: Comparison, question: Question) -> str:
    return "The variance of estimated shares, times N, and how many times as many people have to be asked."


def _as_table(row: Compared, question: Question) -> dict[str, Any]:
    small = len(question.space) * len(row.channel.outputs) <= _MOST_ENTRIES
    return table_view(row.channel, question.space) if small else {"outputs": [], "at": [], "matrix": ""}


_FOR_KNOWN = 60.0  # seconds for known mechanisms on a box
_MOST_ENTRIES = 2**18  # of a table that is sent to be drawn
_ON_BOXES = ("look", "design", "density", "curve", "calibrate", "compare", "release", "mechanism", "report", "page",
             "spec")  # fmt: skip
_ABOUT_SHARES = ("look", "design", "curve", "calibrate", "compare", "release", "mechanism", "report", "page", "spec")

VIEWS = {
    "places": View(
        lambda task: task != "density", "Expected loss", "at a point of a list of secrets",
        "a space of kind box or earth_box", secrets_in, "secrets", None, space_view, column_of_labels, _places,
        _beside_known, _by_loss, _as_table,
    ),
    "points": View(
        lambda task: task in _ON_BOXES, "Expected loss", "on a box of coordinates",
        "the map, the matrix, the curve, known mechanisms, the report, the page and the mechanism", cells_in, "cells",
        MOST_SECRETS, box_place, columns_of_points, _points, _beside_noise, _by_distance, lambda row, question: {},
    ),
    "shares": View(
        lambda task: task in _ABOUT_SHARES, "Variance of all estimates, times N", "for shares of a population",
        "the design, the curve, known mechanisms, the report, the page and the mechanism; `sfumato plan`", secrets_in,
        "secrets", None, space_view, column_of_labels, _shares, _beside_known, _by_respondents, _as_table,
    ),
}  # fmt: skip
"""A view for each family."""
