"""From a table or file of points to the released one: what is asked, the design, the proof, the release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from sfumato.arguments import file_path, flag, optional_function
from sfumato.certify.amounts import Amount
from sfumato.certify.certificate import certificate_of
from sfumato.certify.file import to_bytes
from sfumato.errors import BudgetExceeded, InvalidInput, NotSupported, keyword, shown
from sfumato.files import writable
from sfumato.hide.cells import cell_side
from sfumato.hide.choice import Chosen, calibrated, chosen, chosen_cells
from sfumato.hide.extents import box_table, extent_of, refuse_data
from sfumato.hide.hidden import Diagnostics, Hidden, hidden_page, spec_text
from sfumato.hide.paid import Looked, Paid, noisy_box, noisy_counts, paid_for, price, ranks_of
from sfumato.hide.priors import counts_table, prior_table
from sfumato.hide.promises import amount_of_table, privacy_table, rate_of_table
from sfumato.hide.sources import Source, column_of, refuse_other_coordinates, source_of
from sfumato.hide.wish import Wish, Wishes, is_data, with_wishes
from sfumato.release.batches import BATCH, Progress, batch_release, tell
from sfumato.release.crs import system_of
from sfumato.release.places import Geometry, Place, Position, in_system
from sfumato.release.points import points_of
from sfumato.release.rows import BadRow
from sfumato.release.streams import release_file
from sfumato.release.tables import released_table
from sfumato.release.terms import Terms
from sfumato.spaces.box import Box
from sfumato.spaces.lengths import METRES
from sfumato.specs.boxes import box_of
from sfumato.specs.schema import PrivacySpec
from sfumato.specs.setup import BoxSetup, setup
from sfumato.specs.spec import Spec, spec_from_values
from sfumato.watch import Watch, watch_of

BESIDE = (".sfm", ".html", ".toml")
"""What is written beside a released file: the mechanism, the report, and the spec that repeats it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The question as a spec, the column it is about, and what was paid to ask it.

    Where an error was wished for, the promise of the spec is a first guess, and ``target`` that error.
    """

    spec: Spec
    column: Position
    paid: tuple[Paid, ...] = ()
    target: Any = None


@with_wishes
def hide(
    source: Any,
    hide: Any = None,
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    spec: Spec | None = None,
    layer: str | None = None,
    progress: Callable[[Any], object] | None = None,
    **wishes: Unpack[Wishes],
) -> Hidden:
    """Replace the points of a table or a file by released ones, with a promise about every metre.

    The best mechanism for the box is designed and proved, or the same noise everywhere where no table comes near to the
    best in time; then every point is drawn for, exactly. Parameters that are not listed here are those of
    :class:`~sfumato.hide.wish.Wish`.

    Parameters
    ----------
    source
        A table of pandas, polars, pyarrow or DuckDB, or the path of a file.
    hide
        How well: ``"500 m"`` is the distance at which odds between two places at most double.
    output
        For a file: the one to write. The mechanism, a report and the spec that repeats it appear beside it, under the
        same name with the endings ``.sfm``, ``.html`` and ``.toml``: all of them, or none.
    overwrite
        Replace files that are there.
    spec
        The question as a spec, such as a release wrote before, instead of all wishes but the ledger.
    layer
        Of a GeoPackage that has several.
    progress
        Called with what is being done.

    Returns
    -------
    Hidden
        The released table in the library it came in, or the file; with its design, mechanism and report.

    Examples
    --------
    >>> import pyarrow as pa
    >>> trips = pa.table({"id": [1, 2], "lat": [40.712, 40.713], "lon": [-74.006, -74.009]})
    >>> hidden = hide(trips, "1 km", box=(40.70, -74.02, 40.72, -74.00), cell="1 km", tolerance=0.3)
    >>> hidden.table.column_names, hidden.mechanism.privacy.alpha
    (['id', 'lat', 'lon'], Fraction(1, 2))
    """
    start = source_of(source, layer)
    targets = _targets(start, output, flag(overwrite, "overwrite"))
    say = optional_function(progress, "progress") or (lambda _: None)
    if spec is None:
        wish = Wish(hide=hide, **wishes)
        asked = question_of(wish, start, say)
    else:
        wish, asked = _from_spec(spec, hide, wishes, start)
    question = setup(asked.spec)
    terms = _terms(asked, wish)
    watch = watch_of(wishes.get("time_limit", question.time_limit))
    if not isinstance(question, BoxSetup):
        found = chosen_cells(question, watch, progress)
    elif asked.target is None:
        _rehearse(start, asked.column, question.space, terms)
        found = chosen(question, watch, progress)
    else:
        _rehearse(start, asked.column, question.space, terms)
        found, rate = calibrated(question, asked.target, watch, progress)
        asked = replace(asked, spec=asked.spec.model_copy(update={"privacy": PrivacySpec(epsilon=rate)}))
    if targets:
        return _released_file(start, targets, found, asked, terms, overwrite, say)
    return _released_table(start, found, asked, terms)


# ----------------------------------------------------------------- the question


def question_of(wish: Wish, source: Source, say: Callable[[Any], object] = lambda _: None) -> Asked:
    """A wish as a spec: the box, cells, promise and prior that it stands for; what comes from the data is charged."""
    column = column_of(source, wish)
    refuse_other_coordinates(source, column)
    terms = _early_terms(wish, column)  # what is wrong with them is told before anything is paid
    looked = Looked(source, column, wish.person, wish.most_rows)
    earth = looked.on_the_earth
    unit = _unit(wish, earth)
    times = wish.most_rows or 1
    privacy = privacy_table(wish, unit, earth)
    rate = rate_of_table(privacy, unit)
    solve: dict[str, Any] = {"tolerance": Fraction(str(wish.tolerance))}
    limit = wish.time_limit.limit if isinstance(wish.time_limit, Watch) else wish.time_limit
    if limit:
        solve["time_limit"] = Fraction(str(limit))
    if wish.h3 is not None or wish.areas is not None:
        tables = {"space": _cells_table(wish, earth, unit, source.file), "privacy": privacy, "solve": solve}
        spec = spec_from_values(tables | {"release": _release_table(wish, column)}, source="the question")
        return Asked(spec, column)
    if wish.error is None:
        _check_room(wish, column, amount_of_table(privacy, unit) * times)
    paid: list[Paid] = []
    if isinstance(wish.box, Box):
        space = box_table(wish.box)
    else:
        if is_data(wish.box):
            say("looking for a box, with noise")
            cost = price(wish.box_epsilon, "box")
            ranks = ranks_of(looked, cost)
            paid.append(_charged(wish, column, paid_for("box", cost, ["quantiles"], times)))
            extent = noisy_box(ranks, cost, unit)
        else:
            crs = None if isinstance(column, Place | Geometry) else wish.crs
            extent = extent_of(wish.box, earth=earth, unit=unit, crs=crs, data=source.file)
        space = extent.table(cell_side(rate, extent.sides, unit) if wish.cell is None else wish.cell)
    values: dict[str, Any] = {"space": space, "privacy": privacy}
    home = box_of(spec_from_values(values))
    if is_data(wish.prior):
        say("counting, with noise")
        _rehearse(source, column, home, terms)
        cost = price(wish.prior_epsilon, "prior")
        paid.append(_charged(wish, column, paid_for("prior", cost, ["counts"], times)))
        values["prior"] = counts_table(noisy_counts(looked, home, cost))
    else:
        values["prior"] = prior_table(wish.prior, home, source.file)
    values = {name: table for name, table in values.items() if table}
    values |= {"solve": solve, "release": _release_table(wish, column)}
    return Asked(spec_from_values(values, source="the question"), column, tuple(paid), wish.error)


def _early_terms(wish: Wish, column: Position) -> Terms:
    """The terms of the release that will be, without the ledger."""
    return Terms(
        column, on_unknown=wish.on_unknown, most_moved=wish.most_moved, person=wish.person, most_rows=wish.most_rows,
        beyond=wish.beyond,
    )  # fmt: skip


def _cells_table(wish: Wish, earth: bool, unit: str, data: Path | None) -> dict[str, Any]:
    """The table ``[space]`` for cells of H3 in a box, or for the areas of a file."""
    if not earth:
        raise InvalidInput(f"cells are places on the Earth: name latitude and longitude, or {keyword('crs')}")
    if wish.areas is not None:
        file = file_path(wish.areas, "the file of areas")
        if not file.is_file():
            raise InvalidInput(f"there is no file {file}")
        refuse_data(file, data, "areas")
        return {"kind": "areas", "file": str(file.resolve()), "unit": unit}
    corners = extent_of(wish.box, earth=True, unit=unit, data=data).corners
    return {"kind": "h3_cells", "box": list(corners), "resolution": wish.h3, "unit": unit}


def _unit(wish: Wish, earth: bool) -> str:
    if isinstance(wish.box, Box):
        return wish.box.unit
    if earth:
        if wish.unit is not None and wish.unit not in METRES:
            raise InvalidInput(f"{keyword('unit')} of places is a length such as km or m, found {wish.unit}")
        return wish.unit or "km"
    if wish.unit is None:
        raise InvalidInput(
            f"say the unit of x and y with {keyword('unit', 'm')}, or their coordinate system with "
            f"{keyword('crs', 'EPSG:2154')}"
        )
    return wish.unit


def _release_table(wish: Wish, column: Position) -> dict[str, Any]:
    """The table ``[release]``: the columns, and whose rows they are."""
    if isinstance(column, Place):
        table: dict[str, Any] = {"latitude": column.columns[0], "longitude": column.columns[1]}
    elif isinstance(column, Geometry):
        table = {"geometry": column.columns[0]}
    else:
        table = {"columns": list(column.columns)}
    crs = None if wish.crs is None else str(system_of(wish.crs))
    given = {"crs": crs, "on_unknown": wish.on_unknown, "most_moved": wish.most_moved, "person": wish.person,
             "most_rows": wish.most_rows}  # fmt: skip
    table |= {name: value for name, value in given.items() if value is not None}
    return table | ({} if wish.person is None else {"beyond": wish.beyond})


def _from_spec(spec: Spec, hide: Any, wishes: Any, source: Source) -> tuple[Any, Asked]:
    """A spec that was written before, with the ledger of now."""
    others = [name for name in wishes if name not in ("ledger", "dataset", "time_limit")]
    if hide is not None or others:
        what = ", ".join(["hide"] * (hide is not None) + others)
        raise InvalidInput(f"the spec says what to hide: {what} cannot be given beside it")
    terms = spec.release
    if terms is None:
        raise InvalidInput(f"{spec.source}: table [release] is missing: say latitude = … and longitude = …")
    column: Position = Geometry(terms.geometry or "geometry")
    if terms.latitude is not None:
        column = Place(terms.latitude, terms.longitude or "")
    elif terms.columns is not None:
        column = Position(*terms.columns)
    refuse_other_coordinates(source, column)
    return wishes, Asked(spec, column if terms.crs is None else in_system(column, terms.crs))


def _check_room(wish: Wish, column: Position, cost: Amount) -> None:
    """Refuse a release that would go past a limit before anything is paid for it."""
    if wish.ledger is None or wish.dataset is None:
        return
    name = ", ".join(sorted(column.columns))
    left = wish.ledger.left(wish.dataset, name)
    if left is not None and cost > left:
        raise BudgetExceeded(
            f"the release of {name} costs {cost}, and {left} are left of {shown(wish.dataset)}: nothing was charged",
            wish.dataset, tuple(column.columns), None, cost, left,
        )  # fmt: skip


def _charged(wish: Wish, column: Position, bought: Paid) -> Paid:
    """The same, charged before it is drawn; refused past the limit."""
    if wish.ledger is not None:
        name = f"{bought.what} ({' '.join(sorted(column.columns))})"
        wish.ledger.charge(
            dataset=wish.dataset or "", column=name, mechanism=bought.charge, times=bought.times,
            note=f"the {bought.what} of a release",
        )  # fmt: skip
    return bought


# ----------------------------------------------------------------- the release


def _terms(asked: Asked, wish: Any) -> Terms:
    ledger, dataset = (
        (wish.ledger, wish.dataset) if isinstance(wish, Wish) else (wish.get("ledger"), wish.get("dataset"))
    )
    given = asked.spec.release
    assert given is not None
    return Terms(
        asked.column, on_unknown=given.on_unknown, most_moved=given.most_moved, ledger=ledger, dataset=dataset,
        person=given.person, most_rows=given.most_rows, beyond=given.beyond,
    )  # fmt: skip


def _targets(source: Source, output: Any, overwrite: bool) -> tuple[Path, ...]:
    """The released file and those beside it, looked at before any work is done."""
    if source.file is None:
        if output is not None:
            raise InvalidInput(f"{keyword('output')} is for files: the released table is returned")
        return ()
    if output is None:
        raise InvalidInput(f"name the file to write with {keyword('output')}")
    target = file_path(output, "the output")
    if not target.name:
        raise InvalidInput(f"{keyword('output')} is a file to write, found the folder {target}")
    stem = target.with_suffix("")
    while stem.suffix and stem.suffix.lower() in (".csv", ".tsv", ".txt", ".jsonl", ".ndjson"):  # of .csv.gz
        stem = stem.with_suffix("")
    targets = (target, *(stem.with_name(stem.name + ending) for ending in BESIDE))
    if len(set(targets)) < len(targets):
        raise InvalidInput(f"{target} is a name for what is written beside the output: choose another ending")
    for path in targets:
        writable(path)
        if path.exists() and not overwrite:
            raise InvalidInput(f"{path} is already there: {keyword('overwrite', True)} replaces it, as another release")
        if path.exists() and path.samefile(source.file):
            raise InvalidInput(f"{path} is the source itself: name another file, the true data should stay apart")
    return targets


def _released_file(
    source: Source, targets: tuple[Path, ...], found: Chosen, asked: Asked, terms: Terms, overwrite: bool,
    say: Callable[[Any], object],
) -> Hidden:  # fmt: skip
    say("writing the report")
    contents = (
        to_bytes(certificate_of(found.design.mechanism)),
        hidden_page(found.design, asked.spec, asked.paid, found.why, targets[1].name),
        spec_text(asked.spec, asked.paid).encode(),
    )
    assert source.file is not None

    def tell_rows(state: Progress) -> None:
        say(state)

    done = release_file(
        found.design.mechanism, source.file, targets[0], terms, overwrite=overwrite, layer=source.layer,
        progress=tell_rows, beside=dict(zip(targets[1:], contents, strict=True)),
    )  # fmt: skip
    known = Diagnostics(done.rows, done.moved, done.farthest, done.dropped, done.beyond, done.seconds)
    return Hidden(found.design, asked.spec, found.why, asked.paid, known, files=targets, stay=_staying(source, asked))


def _released_table(source: Source, found: Chosen, asked: Asked, terms: Terms) -> Hidden:
    work = tell(batch_release(found.design.mechanism, terms))
    table = released_table(source.table, work, BATCH)
    known = Diagnostics(work.rows, work.moved, work.farthest, work.dropped, work.beyond, work.seconds)
    return Hidden(found.design, asked.spec, found.why, asked.paid, known, table=table, stay=_staying(source, asked))


def _staying(source: Source, asked: Asked) -> tuple[str, ...]:
    return tuple(name for name in source.columns if name not in asked.column.columns)


def _rehearse(source: Source, column: Position, box: Box, terms: Terms) -> None:
    """Look at the first rows before a mechanism is looked for: what is refused later would be refused now."""
    try:
        first = next(source.values(column), None)
    except NotSupported:
        return
    if first is None or not len(first[0]):
        return
    if box.frame is not None and any(np.nanmax(np.abs(values.numbers()), initial=0.0) > 360 for values in first):
        raise InvalidInput(
            f"the first rows of {source.name} have numbers beyond 360, which are no degrees: are these metres? Name "
            f"the columns with {keyword('x')} and {keyword('y')}, and their coordinate system with {keyword('crs')}"
        )
    names = column.columns if len(column.columns) == 2 else ("latitude", "longitude")
    named = Place(*names) if box.frame is not None else Position(*names)
    found = points_of(named, box, on_unknown=terms.on_unknown).locate(first, 0)
    if len(found.moved) == len(first[0]) and terms.share < 1:
        place = tuple(float(values.numbers()[0]) for values in first)
        raise BadRow(f"not one of the first {len(first[0]):,} rows lies in {box.name}", 1, place)
