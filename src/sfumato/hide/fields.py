"""What ``hide`` can be asked, each field declared once; what releases are asked as well is declared there.

Types that have a name are texts, which signatures show: annotations of this module are values, they are not postponed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from sfumato.fields import ShellOption, asked
from sfumato.release.fields import (
    AccountFields,
    ColumnFields,
    DroppedFields,
    KeptFields,
    PerPersonFields,
    PersonFields,
    PlacesFields,
    StrayFields,
    SystemFields,
)

if TYPE_CHECKING:
    from sfumato.numbers import Number
    from sfumato.watch import Watch

TOLERANCE = 0.05
"""How far from the best possible a table may be, as a part of its loss."""

TIME_LIMIT = 60.0
"""Seconds that the search for a table may take."""


class DistanceFields(TypedDict, total=False):
    """How well it is hidden, which :func:`sfumato.hide.hiding.hide` takes without a name."""

    hide: Annotated[Any, asked(hide="How well: the distance at which odds between places double at most, '500 m'.")]


class PromiseFields(TypedDict, total=False):
    """How well it is hidden, if not by a distance; where, among whom, and which cells are spoken of."""

    epsilon: Annotated[Any, asked(hide="Instead of --hide: a rate such as '0.5 per km'.")]
    error: Annotated[Any, asked(hide="Instead of --hide: the expected distance, such as '300 m'.")]
    box: Annotated[
        Any, asked(hide="south,west,north,east; or xmin,ymin,xmax,ymax; 'Paris, 20 km'; a public file; or data.")
    ]
    box_epsilon: Annotated["Number | None", asked(hide="The price of --box data: ε for each row.")]
    cell: Annotated[Any, asked(hide="The side of cells, such as 250m, if not by the rule.")]
    prior: Annotated[Any, asked(hide="uniform (default), population, a public file of points with weights, or data.")]
    prior_epsilon: Annotated["Number | None", asked(hide="The price of --prior data: ε for each row.")]
    prior_column: Annotated[
        str | None, asked(hide="Of a file as --prior: the column of weights; none for one each row.")
    ]
    h3: Annotated[int | None, asked(hide=ShellOption("A promise about cells of H3 of this resolution instead.", int))]
    areas: Annotated[Any, asked(hide=ShellOption("A promise about the areas of a public file instead.", Path))]


class UnitFields(TypedDict, total=False):
    """What coordinates are measured in."""

    unit: Annotated[str | None, asked(hide="Of --x and --y without a coordinate system: m or km.")]


class WishFields(
    PromiseFields, ColumnFields, PlacesFields, SystemFields, UnitFields, StrayFields, PersonFields, PerPersonFields,
    DroppedFields, KeptFields, AccountFields, total=False,
):  # fmt: skip
    """Everything that ``hide`` can be asked beside the distance: the fields of :class:`sfumato.hide.wish.Wish`."""

    tolerance: Annotated[
        float,
        asked(
            TOLERANCE,
            hide=ShellOption(
                f"Relative gap between loss and bound with which a table is good enough ({TOLERANCE:g}).", float
            ),
        ),
    ]
    time_limit: Annotated[
        "float | Watch | None",
        asked(
            TIME_LIMIT,
            hide=ShellOption(
                f"Seconds for a table ({TIME_LIMIT:g}); then the better of it and even noise.", float, least=0
            ),
        ),
    ]
