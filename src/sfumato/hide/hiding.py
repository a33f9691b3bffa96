"""From a table or file of points to the released one: what is asked, the design, the proof, the release.

A spec repeats a release exactly: it names the mechanism that was drawn from, which stands beside it. A question has one
answer where the search comes to its end. Where the time is up first, or somebody asks for what there is, the answer
depends on the machine and the moment. So a spec that ``hide`` writes holds two digests: of the question as it stands
there, and of the mechanism. Who releases by the spec draws from that mechanism where its file, of the name of the spec,
is still there and the question is still the same; it is proved again first. Otherwise the question is answered anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, Unpack

from sfumato.arguments import file_path, flag, optional_function
from sfumato.certify.amounts import amount
from sfumato.certify.file import MECHANISM, file_of
from sfumato.certify.protocol import Domain
from sfumato.certify.verify import load
from sfumato.design.families import design_family
from sfumato.errors import InvalidFile, InvalidInput, keyword
from sfumato.fields import changed, with_fields
from sfumato.files import DRAWN, place_for
from sfumato.hide.checks import Checked, check_formats, check_place, check_position, check_room, refuse_degrees
from sfumato.hide.choice import Chosen, calibrated, chosen, chosen_cells, words_of_secrets
from sfumato.hide.extents import Extent, box_table, cell_side, extent_of, refuse_data
from sfumato.hide.fields import TIME_LIMIT, TOLERANCE, WishFields
from sfumato.hide.hidden import Diagnostics, Hidden, hidden_page, spec_text
from sfumato.hide.others import looked_up, released_columns
from sfumato.hide.outlook import Outlook, outlook_of
from sfumato.hide.paid import Looked, Paid, Ranks, noisy_box, noisy_counts, paid_for, price, ranks_of, true_box
from sfumato.hide.priors import box_counter, cells_counter, counts_table, prior_table
from sfumato.hide.promises import amount_of_table, privacy_table, rate_of_table
from sfumato.hide.sources import Source, position_of, source_of, with_decimal
from sfumato.hide.wish import Wish, is_data, wish_of
from sfumato.release.batches import BATCH, BatchRelease, Progress, batch_release, tell
from sfumato.release.crs import system_of
from sfumato.release.places import Geometry, Place, Position, SeveralPlaces, in_system
from sfumato.release.rows import BadRow, ManyStrays
from sfumato.release.streams import Released, release_file
from sfumato.release.tables import released_table
from sfumato.release.terms import Terms
from sfumato.spaces.box import Box
from sfumato.spaces.lengths import METRES
from sfumato.specs.boxes import spec_box
from sfumato.specs.families import as_question
from sfumato.specs.schema import PrivacySpec
from sfumato.specs.spec import SPEC, Spec, file_digests, spec_from_values, to_toml
from sfumato.watch import Watch, watch_of

BESIDE = {".sfm": MECHANISM, ".html": DRAWN, ".toml": SPEC}
"""What is written beside a released file: the mechanism, the report, and the spec that repeats it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The question as a spec, the column it is about, and what was paid to ask it.

    Where an error was wished for, the promise of the spec is a first guess, and ``target`` that error. ``corners`` are
    those of the box as it was said; ``left_out`` says how many points of a public prior lie outside.
    """

    spec: Spec
    column: Position
    paid: tuple[Paid, ...] = ()
    target: Any = None
    corners: tuple[float, float, float, float] | None = None
    left_out: str = ""


P = ParamSpec("P")


def _of_either_kind(function: Callable[P, Hidden | Outlook]) -> Callable[P, Any]:
    """Whoever says ``dry_run`` knows which of the two comes back, and type checkers need not be told again."""
    return function


@_of_either_kind
@with_fields(Wish)
def hide(
    source: Any,
    hide: Any = None,
    *,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    spec: Spec | None = None,
    layer: str | None = None,
    decimal: str | None = None,
    dry_run: bool = False,
    progress: Callable[[Any], object] | None = None,
    **wishes: Unpack[WishFields],
) -> Hidden | Outlook:
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
        The question as a spec, such as a release wrote before, instead of all wishes but the ledger. The mechanism that
        it names is drawn from again where its file stands beside the spec, unless another ``time_limit`` is given.
    layer
        Of a GeoPackage that has several.
    decimal
        ``","`` for a CSV file with decimal commas, where its first rows leave doubt; what is released has them too.
    dry_run
        Count rows instead: those without a place, those outside, and the farthest. Nothing is designed, paid or
        written.
    progress
        Called with what is being done.

    Returns
    -------
    Hidden
        The released table in the library it came in, or the file; with its design, mechanism and report. Of a dry run
        an :class:`~sfumato.hide.outlook.Outlook`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> trips = pa.table({"id": [1, 2], "lat": [40.712, 40.713], "lon": [-74.006, -74.009]})
    >>> hidden = hide(trips, "1 km", box=(40.70, -74.02, 40.72, -74.00), cell="1 km", tolerance=0.3)
    >>> hidden.table.column_names, hidden.mechanism.privacy.alpha
    (['id', 'lat', 'lon'], Fraction(1, 2))
    """
    start = source_of(source, layer, decimal)
    if flag(dry_run, "dry_run"):
        return _outlook(start, spec, hide, wishes)
    targets = _targets(start, output, flag(overwrite, "overwrite"))
    say = optional_function(progress, "progress") or (lambda _: None)
    if spec is None:
        asked = question_of(wish_of(hide, wishes), start, say, targets[0] if targets else None)
    else:
        asked = _from_spec(spec, hide, wishes, start)
    start = with_decimal(start, asked.column)
    question = _with_effort(as_question(asked.spec), asked.spec)
    terms = _terms(asked.column, asked.spec.release, wishes.get("ledger"), wishes.get("dataset"))
    Checked(start, asked.column, targets[0] if targets else None, asked.corners).look(question.space, terms)
    found, asked = _found(asked, question, wishes, progress)
    asked = replace(asked, spec=naming(asked.spec, found.design.mechanism))
    if targets:
        return _released_file(start, targets, found, asked, terms, overwrite, say)
    work = tell(batch_release(found.design.mechanism, terms))
    return _hidden(start, found, asked, work, table=start.back(released_table(start.table, work, BATCH)))


def _with_effort(question: Any, spec: Spec) -> Any:
    """What a spec does not say of tolerance and time is as for a wish."""
    said = spec.solve.model_fields_set
    usual = {"tolerance": TOLERANCE, "time_limit": TIME_LIMIT}
    return replace(question, **{name: value for name, value in usual.items() if name not in said})


def _found(asked: Asked, question: Any, wishes: Any, progress: Callable[[Any], object] | None) -> tuple[Chosen, Asked]:
    """The mechanism, and what was asked with the promise that it keeps."""
    watch = watch_of(wishes.get("time_limit", question.time_limit))
    before = answered(asked.spec, watch) if isinstance(wishes.get("time_limit"), Watch | None) else None
    if before is not None:
        found = before
    elif question.family.listed:
        found = chosen_cells(question, watch, progress, words_of_secrets(asked.spec))
        found = replace(found, why=f"{found.why}; {asked.left_out}") if asked.left_out else found
    elif asked.target is None:
        found = chosen(question, watch, progress)
    else:
        found, rate = calibrated(question, asked.target, watch, progress)
        asked = replace(asked, spec=asked.spec.model_copy(update={"privacy": PrivacySpec(epsilon=rate)}))
    return found, asked


# ----------------------------------------------------------------- the question


def question_of(
    wish: Wish, source: Source, say: Callable[[Any], object] = lambda _: None, target: Path | None = None,
    *, dry: bool = False,
) -> Asked:  # fmt: skip
    """A wish as a spec: the box, cells, promise and prior that it stands for; what comes from the data is charged.

    Nothing is charged before all that the release would refuse has been looked for. In a ``dry`` run nothing is
    charged or looked for, and the box has no noise: it is for whoever has the data.
    """
    column = position_of(source, wish)
    check_position(source, column, wish.person)
    source = with_decimal(source, column)
    looked = Looked(source, column, wish.person, wish.most_rows)
    earth = looked.on_the_earth
    unit = _unit(wish, earth)
    privacy = privacy_table(wish, unit, earth)
    values: dict[str, Any] = {"privacy": privacy, "solve": _solve_table(wish), "release": _release_table(wish, column)}
    if wish.h3 is not None or wish.areas is not None:
        values["space"] = _cells_table(wish, earth, unit, source.file)
        said = extent_of(wish.box, earth=True, unit=unit, data=source.file).floats if wish.areas is None else None
        notes: list[str] = []
        if wish.prior is not None:
            cells = as_question(spec_from_values(values, source="the question")).space
            prior = prior_table(wish.prior, cells_counter(cells), source.file, wish.prior_column, notes.append)
            values |= {"prior": prior} if prior else {}
        return Asked(spec_from_values(values, source="the question"), column, corners=said, left_out="".join(notes))
    shop = _Shop(wish, Checked(source, column, target), looked, say)
    shop.check(privacy, unit)
    if isinstance(wish.box, Box):
        values["space"] = box_table(wish.box)
    else:
        rate = rate_of_table(privacy, unit) / wish.parts

        def in_cells(extent: Extent) -> dict[str, Any]:
            return extent.table(cell_side(rate, extent.sides, unit) if wish.cell is None else wish.cell)

        if is_data(wish.box):
            ranks = shop.ranks()
            extent = true_box(ranks, unit)
            if not dry:
                shop.checked.look(spec_box(spec_from_values({"space": in_cells(extent)})), shop.terms, whole=True)
                extent = shop.box(ranks, unit)
        else:
            crs = None if isinstance(column.each[0], Place | Geometry) else wish.crs
            extent = extent_of(wish.box, earth=earth, unit=unit, crs=crs, data=source.file)
        values["space"] = in_cells(extent)
        shop.checked = replace(shop.checked, said=extent.floats)
    space = spec_box(spec_from_values(values))
    if not dry:
        shop.checked.look_at_axes(Domain.of(space))
    values["prior"] = (
        shop.prior(space)
        if is_data(wish.prior)
        else prior_table(wish.prior, box_counter(space), source.file, wish.prior_column)
    )
    values = {name: table for name, table in values.items() if table}
    spec = spec_from_values(values, source="the question")
    return Asked(spec, column, tuple(shop.paid), wish.error, shop.checked.said)


@dataclass(eq=False)
class _Shop:
    """Where a box or a prior is taken from the data: looked at first, then paid, then drawn."""

    wish: Wish
    checked: Checked
    looked: Looked
    say: Callable[[Any], object]

    def __post_init__(self) -> None:
        self.paid: list[Paid] = []

    @property
    def terms(self) -> Terms:
        """The terms of the release that will be, without the ledger."""
        return _terms(self.checked.column, self.wish)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the points, in one order."""
        return tuple(sorted(self.checked.column.columns))

    def check(self, privacy: dict[str, Any], unit: str) -> None:
        """Refuse bad terms, bad prices, and what the account has no room for."""
        wish, times = self.wish, self.wish.most_rows or 1
        draws = times * len(self.checked.column.each)
        assert self.terms is not None
        costs = []
        for what in ("box", "prior"):
            if is_data(getattr(wish, what)):
                cost = price(getattr(wish, f"{what}_epsilon"), what)
                costs.append((self.named(what), self.columns, amount(epsilon=cost) * times))
        if wish.error is None:
            costs.append((", ".join(self.columns), self.columns, amount_of_table(privacy, unit, wish.parts) * draws))
        check_room(wish.ledger, wish.dataset, costs)

    def named(self, what: str) -> str:
        """How the ledger calls what is taken from the data."""
        return f"{what} ({' '.join(self.columns)})"

    def ranks(self) -> Ranks:
        """What a box from the data is drawn from."""
        self.say("looking for a box, with noise")
        refuse_degrees(self.checked.source, self.checked.column)
        return ranks_of(self.looked, price(self.wish.box_epsilon, "box"))

    def box(self, ranks: Ranks, unit: str) -> Extent:
        """A box from the data, with noise."""
        cost = price(self.wish.box_epsilon, "box")
        self._charge(paid_for("box", cost, ["quantiles"], self.wish.most_rows or 1))
        return noisy_box(ranks, cost, unit)

    def prior(self, space: Box) -> dict[str, Any]:
        """Counts of the data, with noise, as a table of a spec."""
        self.say("counting, with noise")
        cost = price(self.wish.prior_epsilon, "prior")
        self.checked.look(space, self.terms, whole=True)
        self._charge(paid_for("prior", cost, ["counts"], self.wish.most_rows or 1))
        return counts_table(noisy_counts(self.looked, space, cost))

    def _charge(self, bought: Paid) -> None:
        """Charge the account before anything is drawn; refused past the limit."""
        wish = self.wish
        if wish.ledger is not None:
            wish.ledger.charge(
                dataset=wish.dataset or "", column=self.named(bought.what), mechanism=bought.charge,
                times=bought.times, note=f"the {bought.what} of a release",
            )  # fmt: skip
        self.paid.append(bought)


def _solve_table(wish: Wish) -> dict[str, Any]:
    """The table ``[solve]``: how near to the best, and how long it may take."""
    limit = wish.time_limit.limit if isinstance(wish.time_limit, Watch) else wish.time_limit
    return {"tolerance": Fraction(str(wish.tolerance))} | ({"time_limit": Fraction(str(limit))} if limit else {})


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
    return str(wish.unit)


def _release_table(wish: Wish, column: Position) -> dict[str, Any]:
    """The table ``[release]``: the columns, and whose rows they are."""
    if isinstance(column, SeveralPlaces):
        table: dict[str, Any] = {"places": {name: list(pair) for name, pair in wish.places.items()}}
    elif isinstance(column, Place):
        table = {"latitude": column.columns[0], "longitude": column.columns[1]}
    elif isinstance(column, Geometry):
        table = {"geometry": column.columns[0]}
    else:
        table = {"columns": list(column.columns)}
    crs = None if wish.crs is None else str(system_of(wish.crs))
    given = {"crs": crs, "on_unknown": wish.on_unknown, "most_moved": wish.most_moved,
             "most_dropped": wish.most_dropped, "person": wish.person, "most_rows": wish.most_rows,
             "drop": list(wish.drop) or None, "keep": list(wish.keep) or None}  # fmt: skip
    table |= {name: value for name, value in given.items() if value is not None}
    table |= {} if wish.person is None else {"beyond": wish.beyond}
    return table | ({"per_person": True} if wish.per_person else {})


def _from_spec(spec: Spec, hide: Any, wishes: Any, source: Source) -> Asked:
    """A spec that was written before, with the ledger of now."""
    others = [name for name in wishes if name not in ("ledger", "dataset", "time_limit")]
    if hide is not None or others:
        what = ", ".join(["hide"] * (hide is not None) + others)
        raise InvalidInput(f"the spec says what to hide: {what} cannot be given beside it")
    terms = spec.release
    if terms is None:
        raise InvalidInput(f"{spec.source}: table [release] is missing: say latitude = … and longitude = …")
    column: Position = Geometry(terms.geometry or "geometry", drop_z=True)
    if terms.places is not None:
        column = SeveralPlaces(terms.places)
    elif terms.latitude is not None:
        column = Place(terms.latitude, terms.longitude or "")
    elif terms.columns is not None:
        column = Position(*terms.columns)
    check_position(source, column, terms.person)
    return Asked(spec, column if terms.crs is None else in_system(column, terms.crs))


def _outlook(source: Source, spec: Spec | None, hide: Any, wishes: Any) -> Outlook:
    """What a release would meet; a box or a prior from the data is not drawn, so that nothing is paid."""
    space, corners, limit, refused = None, None, TIME_LIMIT, ""
    given: Any
    if spec is not None:
        asked = _from_spec(spec, hide, wishes, source)
        question = _with_effort(as_question(asked.spec), asked.spec)
        column, given, space, limit = asked.column, asked.spec.release, question.space, question.time_limit
    else:
        wish = given = wish_of(hide, wishes)
        column = position_of(source, wish)
        check_position(source, column, wish.person)
        if is_data(wish.prior):
            wish = changed(wish, prior=None, prior_epsilon=None)
        try:
            asked = question_of(wish, source, dry=True)
            space, corners = as_question(asked.spec).space, asked.corners
        except InvalidInput as error:
            if not is_data(wish.box):
                raise
            refused = str(error)
    source = with_decimal(source, column)
    terms, said = _terms(column, given), wishes.get("time_limit", limit)
    if space is not None:
        refused = _refusal(Checked(source, column, source.file, corners), space, terms)
    return replace(
        outlook_of(source, column, space), policy=terms.on_unknown, share=terms.share,
        quantiles=spec is None and is_data(given.box), time_limit=said.limit if isinstance(said, Watch) else said,
        refused=refused,
    )  # fmt: skip


def _refusal(checked: Checked, space: Any, terms: Terms) -> str:
    """Why a release would be refused, an empty text if it would not be."""
    try:
        checked.look(space, terms, whole=True)
    except BadRow as error:
        return f"{error.reason}{error.policy and '; '}{error.policy}"
    except ManyStrays as error:
        return error.reason
    except InvalidInput as error:
        return str(error)
    return ""


# ----------------------------------------------------------------- the release


def _terms(column: Position, given: Any, ledger: Any = None, dataset: str | None = None) -> Terms:
    """The terms that a wish, or the table ``[release]`` of a spec, stands for."""
    return Terms(
        column, on_unknown=given.on_unknown, most_moved=given.most_moved,
        most_dropped=given.most_dropped, ledger=ledger, dataset=dataset, person=given.person,
        most_rows=given.most_rows, beyond=given.beyond, drop=given.drop, stay=given.keep,
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
    check_formats(source.file, target)
    stem = target.with_suffix("")
    while stem.suffix and stem.suffix.lower() in (".csv", ".tsv", ".txt", ".jsonl", ".ndjson"):  # of .csv.gz
        stem = stem.with_suffix("")
    beside = {stem.with_name(stem.name + ending): kind for ending, kind in BESIDE.items()}
    targets = (target, *beside)
    if len(set(targets)) < len(targets):
        raise InvalidInput(f"{target} is a name for what is written beside the output: choose another ending")
    for path in targets:
        check_place(path)
        if path.exists() and path.samefile(source.file):
            raise InvalidInput(f"{path} is the source itself: name another file, the true data should stay apart")
        if path in beside:
            place_for(path, beside[path], overwrite=overwrite)
        elif path.exists() and not overwrite:
            raise InvalidInput(f"{path} is already there: {keyword('overwrite', True)} replaces it, as another release")
    return targets


def _released_file(
    source: Source, targets: tuple[Path, ...], found: Chosen, asked: Asked, terms: Terms, overwrite: bool,
    say: Callable[[Any], object],
) -> Hidden:  # fmt: skip
    say("writing the report")
    contents = (
        file_of(found.design.mechanism),
        hidden_page(found.design, asked.spec, asked.paid, found.why, targets[1].name),
        spec_text(asked.spec, asked.paid, targets[0].parent).encode(),
    )
    assert source.file is not None

    def tell_rows(state: Progress) -> None:
        say(state)

    done = release_file(
        found.design.mechanism, source.file, targets[0], terms, overwrite=overwrite, layer=source.layer,
        decimal=source.decimal, progress=tell_rows, beside=dict(zip(targets[1:], contents, strict=True)),
    )  # fmt: skip
    return _hidden(source, found, asked, done, files=targets)


def _hidden(source: Source, found: Chosen, asked: Asked, done: Released | BatchRelease, **made: Any) -> Hidden:
    """What came of a release that is done: the table or the files that were made, and all that is known of it."""
    assert asked.spec.release is not None
    column = asked.column
    strays = dict(zip(column.names, done.strays, strict=False)) if isinstance(column, SeveralPlaces) else {}
    known = Diagnostics(done.rows, done.moved, done.farthest, done.dropped, done.beyond, done.seconds, strays)
    gone = (*released_columns(source, asked.column), *asked.spec.release.drop)
    stay = tuple(name for name in source.columns if name not in gone)
    return Hidden(
        found.design,
        asked.spec,
        found.why,
        asked.paid,
        known,
        columns=asked.column.columns,
        stay=stay,
        looked_up=looked_up(source, stay),
        decimal=source.decimal or ".",
        **made,
    )


_DIGITS_OF_QUESTION = 32  # in hexadecimal, of its digest: nobody gains by a second one


def question_digest(spec: Spec) -> str:
    """A digest of the question that a spec asks, with the contents of the files that it names."""
    plain = spec
    if spec.release is not None:
        said = {name: getattr(spec.release, name) for name in spec.release.model_fields_set}
        kept = {name: value for name, value in said.items() if name not in ("mechanism", "question")}
        plain = spec.model_copy(update={"release": type(spec.release)(**kept)})
    text = to_toml(plain, renamed=file_digests(spec))
    return sha256(text.encode()).hexdigest()[:_DIGITS_OF_QUESTION]


def naming(spec: Spec, mechanism: Any) -> Spec:
    """The same spec with the digest of the mechanism that answers it."""
    assert spec.release is not None
    digests = {"mechanism": mechanism.proof.digest, "question": question_digest(spec)}
    return spec.model_copy(update={"release": spec.release.model_copy(update=digests)})


def mechanism_file(spec: Spec) -> Path | None:
    """The file of the mechanism that a spec names, where it is there."""
    if spec.release is None or spec.release.mechanism is None:
        return None
    file = spec.path(Path(spec.source).with_suffix(".sfm").name)
    return file if file.is_file() else None


def answered(spec: Spec, watch: Watch) -> Chosen | None:
    """The mechanism that a spec names, proved again; None where its file is gone, or the question is another one."""
    file = mechanism_file(spec)
    if file is None or spec.release is None or spec.release.question != question_digest(spec):
        return None
    mechanism: Any = load(file)
    if mechanism.proof.digest != spec.release.mechanism:
        raise InvalidFile(
            f"{file} is not the mechanism that {spec.source} names: move it away, and the question is answered anew"
        )
    kind = design_family(mechanism.privacy.space).design
    proof = mechanism.proof
    design = kind(mechanism, proof.loss, proof.bound or 0 * proof.loss, "as before", 0, {"total": watch.spent})
    return Chosen(design, f"that of {file.name}, which the spec names, proved again")
