"""The command ``audit``: a matrix from any tool, looked at.

Heavy rooms are imported inside the command, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.designs import AsJson
from sfumato.cli.wording import counted, in_shell_words
from sfumato.errors import InvalidInput, NotSupported

if TYPE_CHECKING:
    from sfumato.certify import Repair
    from sfumato.channels import Channel, Prior
    from sfumato.losses import Loss
    from sfumato.privacy import PrivacyType
    from sfumato.report.audit import Audit
    from sfumato.report.audit_rounding import Box
    from sfumato.spaces import FiniteSpace

__all__ = ["audit"]

_SAME = 1e-6  # percent: a difference that is not worth a word
_LONGEST_FRACTION = 16  # letters
_STATUS = {"holds": 0, "kept up to rounding": 1, "undecided": 1, "fails": 3}


@dataclass(frozen=True, eq=False)
class _Asked:
    """What the options say: where secrets live, what is promised, how likely they are, what is at stake."""

    space: FiniteSpace | None
    promise: PrivacyType | None
    prior: Prior | None
    loss: Loss | None


@dataclass(frozen=True)
class _Origin:
    """What reading the file did: how far from 1 sums of rows were, which names it gave, how well numbers are known."""

    divided: Any = 0
    named: tuple[str, ...] = ()
    box: Box | None = None


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
    as_json: AsJson = False,
) -> None:
    """Is a matrix private, at which ε, which pair breaks it, how far is it from the best?

    Exit status: 0 kept; 1 kept up to the rounding of the file (the numbers as written break the promise, and a matrix
    that rounds to them keeps it), or undecided; 3 not kept; 2 unreadable. A number is known to half a unit of its last
    digit, a double to its rounding; whole numbers and fractions are exact, and with --exact all are. Without a space
    all secrets are equally far apart: local differential privacy.
    """
    from sfumato import save
    from sfumato.cli.designs import _place
    from sfumato.cli.progress import line, until_asked
    from sfumato.report.audit import audit as look_at

    place = None if repair is None else _place(repair)
    if sum(given is not None for given in (space, spec, distances)) > 1:
        raise InvalidInput("--space, --spec and --distances say the same thing: give one")
    with until_asked("the best mechanism so far") as ending, line() as say:
        if say is not None:
            say(f"reading {file}")
        asked = _from_options(space, spec, distances, epsilon, alpha, prior, loss, file)
        channel, asked, origin = _read(file, asked, header, names, tolerance)
        asked = _completed(asked, channel, epsilon, alpha, prior, loss)
        if say is not None:
            say("asking whether the promise is kept")
        found = look_at(
            channel.to_rationals() if exact else channel, asked.promise or asked.space, asked.prior, asked.loss,
            box=None if exact else origin.box, optimum=optimum, time_limit=time_limit,
            progress=ending.progress(say, "looking for the best mechanism  "),
        )  # fmt: skip
    if not as_json:
        typer.echo("\n".join(_said(file, found, origin, asked)))
    fixed, why_not = (None, "") if place is None else _repaired(found)
    digest = None if fixed is None or place is None else save(fixed.mechanism, place)
    if as_json:
        record = _record(file, found, origin) | _repair_record(fixed, why_not, place, digest)
        typer.echo(json.dumps(record, ensure_ascii=False))
    else:
        for words in _repair_said(fixed, why_not, place, digest):
            typer.echo(words)
    raise typer.Exit(_STATUS[_outcome(found)])


def _outcome(found: Audit) -> str:
    return str(found.verdict.outcome) if found.nearest is None else "kept up to rounding"


def _repaired(found: Audit) -> tuple[Repair | None, str]:
    """The repair, or why there is none, where the verdict on the matrix is bad already and stands."""
    try:
        return found.repaired(), ""
    except InvalidInput as error:
        if str(found.verdict.outcome) == "holds":
            raise
        return None, in_shell_words(str(error))


# ----------------------------------------------------------------- what is asked


def _from_options(
    space: str | None, spec: Path | None, distances: Path | None, epsilon: str | None, alpha: str | None,
    prior: str | None, loss: str | None, file: Path,
) -> _Asked:  # fmt: skip
    """Space, promise, prior and loss as far as they do not depend on the matrix."""
    if spec is not None:
        from sfumato.specs.setup import setup
        from sfumato.specs.spec import read_spec

        made = setup(read_spec(spec))
        if made.under:
            raise NotSupported(f"{spec}: delta with `sfumato audit`", ["epsilon or alpha without delta"])
        return _Asked(made.space, made.privacy, made.prior, made.loss)
    if distances is not None:
        from sfumato.report.audit_matrix import read_square
        from sfumato.spaces import FiniteSpace

        table = read_square(distances)
        labels = table.rows or table.columns or range(len(table.values))
        return _Asked(FiniteSpace(labels, table.values.tolist()), None, None, None)
    if space is not None:
        from sfumato.cli.spaces import space_from_text

        return _Asked(space_from_text(space), None, None, None)
    return _Asked(None, None, None, None)


def _read(
    file: Path, asked: _Asked, header: bool | None, names: bool | None, tolerance: str
) -> tuple[Channel, _Asked, _Origin]:
    """The channel, and what reading it did; a mechanism file brings its space and promise with it."""
    from sfumato.certify import kernel
    from sfumato.cli.designs import _number
    from sfumato.report.audit_matrix import channel_on, read_matrix

    if file.suffix.lower() == ".sfm" or _begins_with(file, kernel.MAGIC):
        from sfumato import load

        made = load(file)
        if asked.space is None:
            from sfumato.report.page_facts import named_loss

            claim, home = made.claim, made.privacy.space
            told = (None, None) if claim is None else (claim.prior, named_loss(claim.loss, home))
            asked = _Asked(home, made.privacy, *told)
        return made.channel, asked, _Origin()
    rows = None if asked.space is None else len(asked.space)
    found = read_matrix(
        file, header=header, names=names, tolerance=_number(tolerance, "--tolerance"), secrets=rows
    )  # fmt: skip
    inside = file.suffix.lower() == ".json"
    named = [f"outputs named by {'the file' if inside else 'the first row'}: {_few(found.columns)}"] * bool(
        found.columns
    )
    named += [f"secrets named by {'the file' if inside else 'the first column'}: {_few(found.rows)}"] * bool(found.rows)
    channel, box = channel_on(found, asked.space, str(file))
    return channel, asked, _Origin(found.divided, tuple(named), box)


def _few(names: tuple[str, ...] | None) -> str:
    shown = ", ".join((names or ())[:4])
    return f"{shown}, …" if len(names or ()) > 4 else shown


def _begins_with(file: Path, magic: bytes) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(magic)) == magic
    except OSError:
        return False


def _completed(
    asked: _Asked, channel: Channel, epsilon: str | None, alpha: str | None, prior: str | None, loss: str | None
) -> _Asked:
    """With what single options say instead."""
    from sfumato.cli.designs import _promise
    from sfumato.cli.known import loss_from_text, prior_from_text
    from sfumato.privacy import PrivacyType
    from sfumato.spaces import discrete

    space = discrete(channel.secrets) if asked.space is None else asked.space
    promised = epsilon is not None or alpha is not None
    return _Asked(
        space,
        PrivacyType(space, **_promise(epsilon, alpha)) if promised else asked.promise,
        asked.prior if prior is None else prior_from_text(prior, space),
        asked.loss if loss is None else loss_from_text(loss, space),
    )


# ----------------------------------------------------------------- what is told


def _record(file: Path, found: Audit, origin: _Origin) -> dict[str, Any]:
    """An audit for a program to read."""
    promise = found.promise
    record: dict[str, Any] = {
        "file": str(file), "outcome": _outcome(found), "reason": found.verdict.reason,
        "secrets": found.channel.shape[0], "outputs": found.channel.shape[1], "exact": found.channel.exact,
        "space": found.space.name, "unit": found.space.unit, "row_sums_off_by": float(origin.divided),
        "named_by_file": [words.split()[0] for words in origin.named],
        "promise": None, "epsilon": found.epsilon if isfinite(found.epsilon) else None,
        "multiplicative_capacity": float(found.leaks.multiplicative), "additive_capacity": float(found.leaks.additive),
    }  # fmt: skip
    if promise is not None:
        record["promise"] = (
            {"epsilon": str(promise.epsilon)} if promise.alpha is None else {"alpha": str(promise.alpha)}
        )
    if found.box is not None:
        record["known_to"] = float(found.box.error)
    if found.nearest is not None:
        record |= {"excess": float(found.verdict.witness.excess), "nearest_distance": float(found.nearest.distance),
                   "nearest_epsilon": found.nearest.epsilon}  # fmt: skip
    if found.own is not None and found.own.alpha is not None:
        record["alpha"] = str(found.own.alpha)
    if found.tightest is not None:
        record |= {"pair": [str(s) for s in found.tightest.pair], "output": str(found.tightest.output),
                   "ratio": str(found.tightest.ratio), "distance": found.tightest.distance}  # fmt: skip
    if found.loss is not None:
        record |= {"loss_name": found.loss.name, "loss": float(found.remapped),
                   "loss_as_is": None if found.as_is is None else float(found.as_is)}  # fmt: skip
    if found.optimum is not None:
        record |= {"best_loss": float(found.optimum.loss), "best_bound": float(found.optimum.bound),
                   "above_best": list(found.excess or ())}  # fmt: skip
    return record


def _repair_record(fixed: Repair | None, why_not: str, place: Path | None, digest: str | None) -> dict[str, Any]:
    if fixed is None:
        return {"repaired": None, "not_repaired": why_not} if why_not else {}
    return {"repaired": str(place), "sha256": digest, "moved": fixed.moved, "repaired_loss": fixed.loss_after}


def _said(file: Path, found: Audit, origin: _Origin, asked: _Asked) -> list[str]:
    """An audit for people to read."""
    from sfumato.numbers import at_most
    from sfumato.specs.words import per

    n, m = found.channel.shape
    kind = "exact numbers" if found.box is None else f"numbers known to {at_most(found.box.error)}"
    lines = [f"matrix   {file}: {counted(n, 'secret')}, {counted(m, 'output')}, {kind}"]
    lines += [f"         {words}" for words in origin.named]
    if origin.divided:
        lines.append(f"         rows were divided by their sums, which miss 1 by up to {float(origin.divided):.3g}")
    unit = per(found.space)
    lines += _verdict_said(found)
    if found.epsilon == 0:
        lines.append("epsilon  0: all rows are the same")
    elif not isfinite(found.epsilon):
        lines.append("epsilon  none is enough")
    else:
        alpha = None if found.own is None else found.own.alpha
        exactly = f" (alpha = {alpha})" if alpha is not None and len(str(alpha)) <= _LONGEST_FRACTION else ""
        lines.append(f"epsilon  {found.rates[1]}{unit} is the least it needs{exactly}, on {found.space.name}")
    if found.tightest is not None:
        x, z = found.tightest.pair
        times = "infinitely many" if not isfinite(float(found.tightest.ratio)) else f"{float(found.tightest.ratio):.6g}"
        lines.append(
            f"pair     {x!r} and {z!r}, {found.tightest.distance:.6g} {found.space.unit or 'apart'}".rstrip()
            + f": output {found.tightest.output!r} is {times} times as likely for the first"
        )
    return [*lines, *_losses_said(found, asked), _leaks_said(found)]


def _verdict_said(found: Audit) -> list[str]:
    from sfumato.specs.words import per, promised

    outcome = str(found.verdict.outcome)
    if found.promise is None:
        word = {"holds": "yes", "fails": "NO", "undecided": "UNDECIDED"}[outcome]
        return [f"private  {word}: {in_shell_words(found.verdict.reason)}"]
    reason = in_shell_words(found.verdict.reason)
    if found.nearest is None:
        word = {"holds": "KEPT", "fails": "NOT KEPT", "undecided": "UNDECIDED"}[outcome]
        return [f"promise  {promised(found.promise)}", f"         {word}: {reason}"]
    written, _, known = reason.partition(": ")[2].partition(", but ")
    return [
        f"promise  {promised(found.promise)}",
        f"         KEPT UP TO THE ROUNDING OF THE FILE: {written},",
        f"         but {known}",
        f"nearest  that matrix needs ε = {found.nearest.epsilon:.6g}{per(found.space)}; --repair writes it, proved",
    ]


def _losses_said(found: Audit, asked: _Asked) -> list[str]:
    from sfumato.numbers import told_apart

    if found.loss is None:
        return ["loss     not measured, because some distances are infinite: say --loss"]
    unit = f" {found.space.unit}" if found.space.unit and found.loss.name == "distance" else ""
    prior = "all secrets equally likely" if asked.prior is None else "for the given prior"
    name = found.loss.name or "as given"
    lines = [f"loss     {float(found.remapped):.6g}{unit} after the best remap ({name}, {prior})"]
    if found.as_is is not None and float(found.as_is) > float(found.remapped) * (1 + 1e-9):
        lines.append(f"         {told_apart(found.as_is, found.remapped)[0]}{unit} with outputs taken as they are")
    return [*lines, *_best_said(found, unit)]


def _best_said(found: Audit, unit: str) -> list[str]:
    """The best mechanism of the type, and how far this one is from it."""
    if found.optimum is None or found.excess is None:
        if found.promise is None and found.own is None:
            return [] if found.epsilon == 0 else ["best     say --epsilon, and the best that keeps it is looked for"]
        return ["best     not looked for; --optimum does"]
    best, bound = float(found.optimum.loss), float(found.optimum.bound)
    which = "that keeps the promise" if found.promise is not None else "with that epsilon"
    low, high = (100 * share for share in found.excess)
    if str(found.verdict.outcome) != "holds" and high < 0:
        written = "" if found.nearest is None else "as written "
        beside = f"this matrix loses {-high:.3g} % less, because {written}it breaks the promise"
    elif low <= _SAME:
        beside = "this matrix loses no more"
    else:
        beside = f"this matrix loses {low:.3g} % more"
    return [
        f"best     {best:.6g}{unit} is what the best mechanism {which} loses; none is below {bound:.6g}{unit}",
        f"         {beside}",
    ]


def _leaks_said(found: Audit) -> str:
    return (
        f"leakage  a gain grows to at most {float(found.leaks.multiplicative):.6g} times, or by "
        f"{float(found.leaks.additive):.6g}, for any prior"
    )


def _repair_said(fixed: Repair | None, why_not: str, place: Path | None, digest: str | None) -> list[str]:
    if fixed is None:
        return [f"repair   none, and nothing was written: {why_not}"] if why_not else []
    return [
        f"repair   {fixed}",
        f"file     {place}, sha256 {(digest or '')[:16]}…; `sfumato verify {place}` proves it again",
    ]
