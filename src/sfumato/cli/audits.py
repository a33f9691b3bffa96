"""The command ``audit``: a matrix from any tool, looked at."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import kernel, load, save
from sfumato.certify.file import MECHANISM
from sfumato.channels import Channel, Prior
from sfumato.cli.designs import listed_secrets
from sfumato.cli.options import (
    AsJson,
    Overwrite,
    answer,
    loss_from_text,
    prior_from_text,
    promise_from_texts,
    promise_record,
    saved,
    space_from_text,
)
from sfumato.cli.progress import progress_line, until_asked
from sfumato.errors import InvalidInput, NotSupported, counted, in_one_line
from sfumato.files import place_for, refuse_endless
from sfumato.losses import Loss
from sfumato.numbers import as_written, float_above, float_below, text_above, text_below, told_apart
from sfumato.privacy import PrivacyType
from sfumato.report.audit import Audit
from sfumato.report.audit import audit as look_at
from sfumato.report.audit_matrix import channel_on, read_matrix, read_square
from sfumato.report.audit_rounding import Margins
from sfumato.report.page_facts import named_loss
from sfumato.spaces import FiniteSpace, discrete
from sfumato.specs.families import as_question
from sfumato.specs.spec import read_spec
from sfumato.specs.words import per, promised

_SAME = 1e-6  # percent: a difference that is not worth a word
_LONGEST_FRACTION = 16  # letters
_PRIVATE = {"holds": "yes", "fails": "NO", "undecided": "UNDECIDED"}
_KEPT = {"holds": "KEPT", "fails": "NOT KEPT", "undecided": "UNDECIDED"}
_STATUS = {"holds": 0, "kept up to rounding": 1, "undecided": 1, "fails": 3}


@dataclass(frozen=True, eq=False)
class _Terms:
    """What is given beside the matrix: where secrets live, what is promised, how likely they are, what is at stake."""

    space: FiniteSpace | None = None
    promise: PrivacyType | None = None
    prior: Prior | None = None
    loss: Loss | None = None


@dataclass(frozen=True)
class _Origin:
    """What reading the file did: how far from 1 sums of rows were, which names it gave, how well numbers are known."""

    divided: Any = 0
    named: tuple[str, ...] = ()
    box: Margins | None = None


def audit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A matrix: .csv, .tsv, .txt, .json, .npy, or a .sfm.")],
    space: Annotated[str | None, typer.Option(help="Where the secrets live, such as line:5 or grid:3,3.")] = None,
    spec: Annotated[Path | None, typer.Option(help="A spec: space, promise, prior and loss.")] = None,
    distances: Annotated[Path | None, typer.Option(help="A square table of distances between secrets.")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The promise: ε for one unit of distance, such as 0.7 or ln(2)/30.")
    ] = None,
    alpha: Annotated[str | None, typer.Option(help="The promise: e^-ε, a fraction.")] = None,
    prior: Annotated[str | None, typer.Option(help="uniform, or counts such as 3,0,1.")] = None,
    loss: Annotated[str | None, typer.Option(help="absolute, bin, distance, nib, squared or threshold:RADIUS.")] = None,
    repair: Annotated[Path | None, typer.Option(help="Write a mechanism next to it that keeps the promise.")] = None,
    optimum: Annotated[
        bool | None, typer.Option("--optimum/--no-optimum", help="Look for the best mechanism of the type.")
    ] = None,
    header: Annotated[bool | None, typer.Option(help="The first row names the outputs (default: found out).")] = None,
    names: Annotated[bool | None, typer.Option(help="The first column names the secrets (default: found out).")] = None,
    tolerance: Annotated[str, typer.Option(help="How far from 1 the sum of a row may be.")] = "0.001",
    exact: Annotated[bool, typer.Option("--exact", help="Numbers are exact as written, not rounded.")] = False,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds for the best mechanism.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Is a matrix private, at which ε, which pair breaks it, how far is it from the best?

    Exit status: 0 kept; 1 kept up to the rounding of the file (the numbers as written break the promise, and a matrix
    that rounds to them keeps it), or undecided; 3 not kept; 2 unreadable. A number is known to half a unit of its last
    digit, a double to its rounding; whole numbers and fractions are exact, and with --exact all are. Without a space
    all secrets are equally far apart: local differential privacy.
    """
    place = None if repair is None else place_for(repair, MECHANISM, overwrite=overwrite)
    if sum(given is not None for given in (space, spec, distances)) > 1:
        raise InvalidInput("--space, --spec and --distances say the same thing: give one")
    with until_asked("the best mechanism so far") as ending, progress_line(f"reading {file}") as say:
        terms = _from_options(space, spec, distances)
        channel, terms, origin = _read(file, terms, header, names, tolerance, exact)
        terms = _completed(terms, channel, epsilon, alpha, prior, loss)
        say("asking whether the promise is kept")
        result = look_at(
            channel.to_rationals() if exact else channel, terms.promise or terms.space, terms.prior, terms.loss,
            box=None if exact else origin.box, optimum=optimum, time_limit=time_limit,
            progress=ending.progress(say, "looking for the best mechanism  "),
        )  # fmt: skip
    if not as_json:
        typer.echo("\n".join(_lines(file, result, origin, terms)))
    repair_record, lines = ({}, []) if place is None else _repaired(result, place, overwrite)
    if as_json or lines:
        answer(_record(file, result, origin) | repair_record, lines, as_json)
    raise typer.Exit(_STATUS[_outcome(result)])


def _outcome(result: Audit) -> str:
    return str(result.verdict.outcome) if result.nearest is None else "kept up to rounding"


def _repaired(result: Audit, place: Path, overwrite: bool) -> tuple[dict[str, Any], list[str]]:
    """Write the repair and tell of it, or why there is none where the verdict on the matrix is bad already."""
    try:
        fixed = result.repaired()
    except InvalidInput as error:
        if str(result.verdict.outcome) == "holds":
            raise
        return {"repaired": None, "not_repaired": str(error)}, [f"repair   none, and nothing was written: {error}"]
    digest = save(fixed.mechanism, place, overwrite=overwrite)
    record = {"repaired": str(place), "sha256": digest, "moved": fixed.moved, "repaired_loss": fixed.loss_after}
    return record, [f"repair   {fixed}", saved(place, digest)]


# ----------------------------------------------------------------- what is asked


def _from_options(space: str | None, spec: Path | None, distances: Path | None) -> _Terms:
    """Space, promise, prior and loss as far as they do not depend on the matrix."""
    if spec is not None:
        question = listed_secrets(as_question(read_spec(spec)), spec, "audit")
        if question.under:
            raise NotSupported(f"{spec}: delta with `sfumato audit`", ["epsilon or alpha without delta"])
        return _Terms(question.space, question.privacy, question.prior, question.loss)
    if distances is not None:
        table = read_square(distances)
        labels = table.rows or table.columns or range(len(table.values))
        return _Terms(FiniteSpace(labels, table.values.tolist()))
    return _Terms(None if space is None else space_from_text(space))


def _read(
    file: Path, terms: _Terms, header: bool | None, names: bool | None, tolerance: str, exact: bool
) -> tuple[Channel, _Terms, _Origin]:
    """The channel, and what reading it did; a mechanism file brings its space and promise with it."""
    if file.suffix.lower() == ".sfm" or _begins_with(file, kernel.MAGIC):
        proved = load(file).as_table()
        if terms.space is None:
            claim, home = proved.loss_claim, proved.privacy.space
            claimed = (None, None) if claim is None else (claim.prior, named_loss(claim.loss, home))
            terms = _Terms(home, proved.privacy, *claimed)
        return proved.channel, terms, _Origin()
    rows = None if terms.space is None else len(terms.space)
    matrix = read_matrix(
        file, header=header, names=names, tolerance=as_written(tolerance, "--tolerance"), secrets=rows, digits=exact
    )  # fmt: skip
    by_row, by_column = ("the file",) * 2 if file.suffix.lower() == ".json" else ("the first row", "the first column")
    labels = ((f"outputs named by {by_row}", matrix.columns), (f"secrets named by {by_column}", matrix.rows))
    named = tuple(f"{what}: {', '.join(few[:4])}{', …' * (len(few) > 4)}" for what, few in labels if few)
    channel, box = channel_on(matrix, terms.space, str(file))
    return channel, terms, _Origin(matrix.divided, named, box)


def _begins_with(file: Path, magic: bytes) -> bool:
    refuse_endless(file)
    try:
        with file.open("rb") as opened:
            return opened.read(len(magic)) == magic
    except OSError:
        return False


def _completed(
    terms: _Terms, channel: Channel, epsilon: str | None, alpha: str | None, prior: str | None, loss: str | None
) -> _Terms:
    """With what single options say instead."""
    space = discrete(channel.secrets) if terms.space is None else terms.space
    promised = epsilon is not None or alpha is not None
    return _Terms(
        space,
        PrivacyType(space, **promise_from_texts(epsilon, alpha)) if promised else terms.promise,
        terms.prior if prior is None else prior_from_text(prior, space),
        terms.loss if loss is None else loss_from_text(loss, space),
    )


# ----------------------------------------------------------------- what is printed


def _record(file: Path, result: Audit, origin: _Origin) -> dict[str, Any]:
    """An audit for a program to read."""
    tight = result.tightest
    record: dict[str, Any] = {
        "file": str(file), "outcome": _outcome(result), "reason": result.verdict.reason,
        "secrets": result.channel.shape[0], "outputs": result.channel.shape[1], "exact": result.channel.exact,
        "space": result.space.name, "unit": result.space.unit, "row_sums_off_by": float(origin.divided),
        "named_by_file": [words.split()[0] for words in origin.named],
        "promise": None if result.promise is None else promise_record(result.promise),
        "epsilon": result.epsilon if isfinite(result.epsilon) else None,
        "multiplicative_capacity": float(result.leaks.multiplicative),
        "additive_capacity": float(result.leaks.additive),
    }  # fmt: skip
    if result.box is not None:
        record["known_to"] = float(result.box.error)
    if result.nearest is not None:
        record |= {"excess": float(result.verdict.witness.excess), "nearest_distance": float(result.nearest.distance),
                   "nearest_epsilon": result.nearest.epsilon}  # fmt: skip
    if result.own is not None and result.own.alpha is not None:
        record["alpha"] = str(result.own.alpha)
    if tight is not None:
        record |= {"pair": [str(s) for s in tight.pair], "output": str(tight.output), "ratio": str(tight.ratio),
                   "distance": tight.distance}  # fmt: skip
    if result.loss is not None:
        record |= {"loss_name": result.loss.name, "loss": float(result.remapped),
                   "loss_as_is": None if result.as_is is None else float(result.as_is)}  # fmt: skip
    if result.optimum is not None:
        record |= {"best_loss": float_above(result.optimum.loss), "best_bound": float_below(result.optimum.bound),
                   "above_best": list(result.excess or ())}  # fmt: skip
    return record


def _lines(file: Path, result: Audit, origin: _Origin, terms: _Terms) -> list[str]:
    """An audit for people to read."""
    (n, m), tight, unit = result.channel.shape, result.tightest, per(result.space)
    kind = "exact numbers" if result.box is None else f"numbers known to {text_above(result.box.error)}"
    lines = [f"matrix   {in_one_line(file)}: {counted(n, 'secret')}, {counted(m, 'output')}, {kind}"]
    lines += [f"         {words}" for words in origin.named]
    if origin.divided:
        lines.append(f"         rows were divided by their sums, which miss 1 by up to {text_above(origin.divided, 3)}")
    lines += _verdict_lines(result)
    if result.epsilon == 0:
        lines.append("epsilon  0: all rows are the same")
    elif not isfinite(result.epsilon):
        lines.append("epsilon  none is enough")
    else:
        alpha = None if result.own is None else result.own.alpha
        exactly = f" (alpha = {alpha})" if alpha is not None and len(str(alpha)) <= _LONGEST_FRACTION else ""
        lines.append(f"epsilon  {result.rates[1]}{unit} is the least it needs{exactly}, on {result.space.name}")
    if tight is not None:
        x, z = tight.pair
        lines.append(
            f"pair     {x!r} and {z!r}, {tight.distance:.6g} {result.space.unit or 'apart'}: "
            f"output {tight.output!r} is {result.times} times as likely for the first"
        )
    leakage = (
        f"leakage  a gain grows to at most {text_above(result.leaks.multiplicative, 6)} times, or by "
        f"{text_above(result.leaks.additive, 6)}, for any prior"
    )
    return [*lines, *_loss_lines(result, terms), leakage]


def _verdict_lines(result: Audit) -> list[str]:
    outcome, reason = str(result.verdict.outcome), result.verdict.reason
    if result.promise is None:
        return [f"private  {_PRIVATE[outcome]}: {reason}"]
    promise = f"promise  {promised(result.promise)}"
    if result.nearest is None:
        return [promise, f"         {_KEPT[outcome]}: {reason}"]
    written, _, known = reason.partition(": ")[2].partition(", but ")
    return [
        promise,
        f"         KEPT UP TO THE ROUNDING OF THE FILE: {written},",
        f"         but {known}",
        f"nearest  that matrix needs ε = {result.nearest.epsilon:.6g}{per(result.space)}; --repair writes it, proved",
    ]


def _loss_lines(result: Audit, terms: _Terms) -> list[str]:
    if result.loss is None:
        return ["loss     not measured, because some distances are infinite: say --loss"]
    unit = f" {result.space.unit}" if result.space.unit and result.loss.name == "distance" else ""
    prior = "all secrets equally likely" if terms.prior is None else "for the given prior"
    name = result.loss.name or "as given"
    lines = [f"loss     {float(result.remapped):.6g}{unit} after the best remap ({name}, {prior})"]
    if result.as_is is not None and float(result.as_is) > float(result.remapped) * (1 + 1e-9):
        lines.append(f"         {told_apart(result.as_is, result.remapped)[0]}{unit} with outputs taken as they are")
    return [*lines, *_optimum_lines(result, unit)]


def _optimum_lines(result: Audit, unit: str) -> list[str]:
    """The best mechanism of the type, and how far this one is from it."""
    if result.optimum is None or result.excess is None:
        if result.promise is None and result.own is None:
            return [] if result.epsilon == 0 else ["best     say --epsilon, and the best that keeps it is looked for"]
        return ["best     not looked for; --optimum does"]
    best, bound = text_above(result.optimum.loss, 6), text_below(result.optimum.bound, 6)
    which = "that keeps the promise" if result.promise is not None else "with that epsilon"
    low, high = (100 * share for share in result.excess)
    if str(result.verdict.outcome) != "holds" and high < 0:
        written = "" if result.nearest is None else "as written "
        beside = f"this matrix loses {text_below(-high, 3)} % less, because {written}it breaks the promise"
    elif low <= _SAME:
        beside = "this matrix loses no more"
    else:
        beside = f"this matrix loses {text_below(low, 3)} % more"
    return [
        f"best     {best}{unit} is what the best mechanism {which} loses; none is below {bound}{unit}",
        f"         {beside}",
    ]
