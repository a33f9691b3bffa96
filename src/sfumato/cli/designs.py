"""The commands that take a spec and look for the best: ``design``, ``calibrate``, ``curve``; and ``init``, which asks.

Heavy rooms are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.wording import counted
from sfumato.errors import InvalidInput, NotSupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.design import Design
    from sfumato.specs.setup import Setup

__all__ = ["calibrate", "curve", "design", "init"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of text.")]
SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="A spec (TOML); `sfumato init` writes one.")]
TimeLimit = Annotated[
    float | None, typer.Option(min=0, help="Seconds after which the best that has been found is proved.")
]
Tolerance = Annotated[
    float | None, typer.Option(help="Relative gap between loss and bound to be reached (default: 1e-4).")
]


class _Stopped(Exception):
    """Ends a search over several designs: a solver takes KeyboardInterrupt for itself."""


def design(
    spec: SpecFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The mechanism file (default: named like SPEC, .sfm, here)."),
    ] = None,
    time_limit: TimeLimit = None,
    tolerance: Tolerance = None,
    solver: Annotated[
        str | None, typer.Option(help="auto (default), or a solver by name, such as exact or interior.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the private mechanism of least loss for a spec, prove it, and write it.

    Ctrl-C ends with the best mechanism so far, proved as well.
    """
    from sfumato import design as best_of
    from sfumato import save
    from sfumato.cli.progress import line, until_asked
    from sfumato.numbers import told_apart

    target = _place(output or Path(f"{spec.stem}.sfm"))
    if target.exists() and spec.exists() and target.samefile(spec):
        raise InvalidInput(f"{target} is the spec itself: name another file")
    with until_asked() as ending, line() as say:
        asked = _asked(spec, tolerance, time_limit, solver, say)
        if asked.privacy is None and not asked.under:
            raise InvalidInput(f"{spec}: table [privacy] is missing: say epsilon = … or alpha = …")
        made = best_of(
            asked.prior, asked.loss, asked.privacy, outputs=asked.outputs, tolerance=asked.tolerance,
            time_limit=asked.time_limit, solver=asked.solver, objective=asked.objective, under=asked.under,
            progress=ending.progress(say),
        )  # fmt: skip
    digest = save(made.mechanism, target)
    ended = _ended(made, asked, ending.interrupted)
    if ended != "reached":
        gap, wanted = told_apart(made.gap, asked.tolerance, 2)
        typer.echo(f"sfumato: {_WHY[ended]}; the gap is {gap} instead of {wanted}", err=True)
    if as_json:
        typer.echo(json.dumps(_record(made, asked) | {"ended": ended, "file": str(target), "sha256": digest}))
        return
    typer.echo("\n".join(_summary(made, asked)))
    typer.echo(f"file     {target}, sha256 {digest[:16]}…; `sfumato verify {target}` proves it again")


def calibrate(
    spec: SpecFile,
    target: Annotated[str, typer.Option(help="The expected loss, such as 0.5 or 1/2.")],
    keep: Annotated[
        bool, typer.Option("--keep", help="The largest ε at which no adversary gets below the target instead.")
    ] = False,
    precision: Annotated[float, typer.Option(help="Relative width of the interval that is left open.")] = 1e-3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the mechanism at that ε.")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds after which the search is given up.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the smallest ε that reaches a loss, or (--keep) the largest that keeps an adversary's expected loss."""
    from sfumato import calibrate as epsilon_for
    from sfumato import save
    from sfumato.cli.progress import line, until_asked

    place = None if output is None else _place(output)
    aim = _number(target, "--target")
    try:
        with until_asked("nothing: no ε is proved yet") as ending, line() as say:
            asked = _plain(_asked(spec, None, time_limit, None, say), spec, "calibrate")
            found = epsilon_for(
                asked.prior, asked.loss_on_outputs, asked.space, target=aim, goal="keep" if keep else "reach",
                precision=precision, time_limit=asked.time_limit,
                progress=ending.progress(say, "looking for ε  ", _Stopped),
            )  # fmt: skip
    except _Stopped:
        typer.echo("sfumato: stopped before ε was found", err=True)
        raise typer.Exit(130) from None
    if found.high - found.low > precision * found.high:
        typer.echo(
            "sfumato: the time is up; what is shown of ε is proved, and less precise than was asked for", err=True
        )
    record: dict[str, Any] = {name: float(getattr(found, name)) for name in ("epsilon", "low", "high")}
    record |= {"target": float(aim), "goal": "keep" if keep else "reach", **_record(found.design, asked)}
    if place is not None:
        record |= {"file": str(place), "sha256": save(found.design.mechanism, place)}
    if as_json:
        typer.echo(json.dumps(record))
        return
    typer.echo("\n".join(_calibrated(found, aim, keep, asked)))
    if place is not None:
        typer.echo(f"file     {place}, sha256 {record['sha256'][:16]}…; `sfumato verify {place}` proves it again")


def curve(
    spec: SpecFile,
    epsilons: Annotated[str, typer.Option(help="Values of ε, such as 0.5,1,ln(8).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A table (.csv) or a figure (.html, .json, .svg, .png, .pdf).")
    ] = None,
    time_limit: TimeLimit = None,
    tolerance: Tolerance = None,
    as_json: AsJson = False,
) -> None:
    """Show the least loss for several ε, with a proved band. Ctrl-C ends with the points so far."""
    from sfumato.cli.points import check_ending, listed, points_of, write_points
    from sfumato.cli.progress import line
    from sfumato.specs.words import stake

    values = sorted({_rate(text, "--epsilons") for text in epsilons.split(",")})
    place = None if output is None else check_ending(_place(output))
    with line() as say:
        asked = _plain(_asked(spec, tolerance, time_limit, None, say), spec, "curve")
    found, note = points_of(asked, values)
    if note:
        typer.echo(f"sfumato: {note}", err=True)
    if place is not None:
        write_points(found, place)
    if as_json:
        for value, made in zip(found.epsilons, found.designs, strict=True):
            typer.echo(json.dumps({"epsilon": float(value), **_record(made, asked)}))
        return
    typer.echo("\n".join([*listed(found, asked.space.unit), f"loss: {stake(asked)}"]))
    if place is not None:
        typer.echo(f"Wrote {place}")


def init(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec to write.")] = Path("spec.toml"),
    as_json: AsJson = False,
) -> None:
    """Ask a few questions and write a spec."""
    from sfumato.cli.questions import answers
    from sfumato.specs.spec import write_spec

    if spec.exists():
        raise InvalidInput(f"{spec} is already there: name another file, or remove it first")
    _place(spec)
    told = answers(spec.parent, quiet=as_json)
    if spec.exists():
        raise InvalidInput(f"{spec} has appeared meanwhile: nothing was written")
    write_spec(told, spec)
    if as_json:
        typer.echo(json.dumps({"file": str(spec)}))
        return
    typer.echo(f"\nWrote {spec}. Next: `sfumato design {spec}`")


def _asked(
    spec: Path, tolerance: float | None, time_limit: float | None, solver: str | None,
    say: Callable[[Any], None] | None = None,
) -> Setup:  # fmt: skip
    """What the spec stands for, with what the command line says instead."""
    if say is not None:
        say(f"reading {spec}")
    from dataclasses import replace

    from sfumato.specs.setup import setup
    from sfumato.specs.spec import read_spec

    made = setup(read_spec(spec))
    return replace(
        made,
        tolerance=made.tolerance if tolerance is None else tolerance,
        time_limit=made.time_limit if time_limit is None else time_limit,
        solver=solver or made.solver,
    )


def _plain(asked: Setup, spec: Path, command: str) -> Setup:
    if asked.under:
        raise NotSupported(f"{spec}: delta with `sfumato {command}`", ["epsilon or alpha without delta"])
    if not asked.objective.plain:
        raise NotSupported(f"{spec}: [objective] with `sfumato {command}`", ["the expected loss, without limits"])
    return asked


def _place(path: Path) -> Path:
    """Where to write, looked at before any work is done."""
    if not path.parent.is_dir():
        raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise InvalidInput(f"{path} cannot be written: it is a folder")
    return path


def _number(text: str, option: str) -> Any:
    from sfumato.numbers import as_written

    return as_written(text, option)


def _rate(text: str, option: str) -> Any:
    """ε as a rational, positive; a logarithm is rounded down."""
    from sfumato.privacy.promise import rate

    value = _read(rate, text, option)
    if value <= 0:
        raise InvalidInput(f"{option}: ε must be positive, found {text}")
    return value


def _promise(epsilon: str | None, alpha: str | None) -> dict[str, Any]:
    """What --epsilon and --alpha say, as a privacy type takes it; ``ln 2`` is alpha = 1/2, exactly."""
    from sfumato.privacy.promise import promise

    if epsilon is None or alpha is not None:
        return {"epsilon": epsilon, "alpha": alpha}
    return dict(_read(lambda text: promise(text, None), epsilon, "--epsilon")._asdict())


def _read(parse: Callable[[str], Any], text: str, option: str) -> Any:
    try:
        return parse(text)
    except InvalidInput as error:
        raise InvalidInput(f"{option}: {error}") from None


_WHY = {
    "interrupted": "interrupted; this is the best mechanism so far, proved like any other",
    "time limit": "the time is up; this is the best mechanism so far, proved like any other",
    "stalled": "rounding errors keep the solver from getting closer",
}


def _ended(made: Design, asked: Setup, interrupted: bool) -> str:
    if made.gap <= asked.tolerance:
        return "reached"
    if interrupted:
        return "interrupted"
    return "time limit" if made.stopped and asked.time_limit is not None else "stalled"


def _record(made: Design, asked: Setup) -> dict[str, Any]:
    """A design for a program to read."""
    privacy = made.mechanism.privacy
    promise = {"epsilon": str(privacy.epsilon)} if privacy.alpha is None else {"alpha": str(privacy.alpha)}
    if made.mechanism.events:
        promise = {"events": asked.under[0].name, "pairs": str(made.mechanism.proof.events)}
    return {
        "promise": promise, "unit": asked.space.unit, "space": asked.space.name, "secrets": len(asked.space),
        "outputs": len(made.mechanism.outputs), "objective": asked.objective.criterion, "loss_name": asked.loss.name,
        "loss": float(made.loss), "bound": float(made.bound), "gap": made.gap, "loss_exact": str(made.loss),
        "bound_exact": str(made.bound), "second": made.second, "method": made.method, "iterations": made.iterations,
        "seconds": {name: round(value, 4) for name, value in made.seconds.items()},
    }  # fmt: skip


def _summary(made: Design, asked: Setup) -> list[str]:
    """A design for people to read."""
    from sfumato.specs.words import amount, meaning, on_events, promised

    method = f"{made.method}, {counted(made.iterations, 'iteration')}" if made.iterations else made.method
    actions = counted(len(asked.loss_on_outputs.actions), "action")
    ties = [] if made.second is None else [f"ties     broken by {asked.objective.then}, which is {made.second:.6g}"]
    return [
        f"promise  {on_events(made.mechanism, asked) if made.mechanism.events else promised(made.mechanism.privacy)}",
        f"loss     {amount(made.loss, asked)}{meaning(asked)}",
        f"bound    {amount(made.bound, asked)}: no mechanism with this promise loses less",
        f"gap      {made.gap:.1e}" if made.gap else "gap      0, the optimum exactly",
        *ties,
        f"method   {method}, {made.seconds['total']:.2f} s",
        f"outputs  {len(made.mechanism.outputs)} of {actions}, for {counted(len(asked.space), 'secret')}",
    ]


def _calibrated(found: Any, aim: Any, keep: bool, asked: Setup) -> list[str]:
    from sfumato.specs.words import amount, per, stake

    low, high = (f"{float(value):.6g}" for value in (found.low, found.high))
    unit = per(asked.space)
    if keep:
        answer = [
            f"epsilon  {low}{unit} keeps it: whatever the mechanism, an adversary's loss is above {amount(aim, asked)}",
            f"         {high}{unit} does not: some mechanism brings the loss down to that",
        ]
    else:
        answer = [
            f"epsilon  {high}{unit} is enough for a loss of {amount(aim, asked)}",
            f"         {low}{unit} is too small for any mechanism",
        ]
    made = found.design
    return [
        *answer,
        f"loss     {stake(asked)}",
        f"design   loss {amount(made.loss, asked)}, bound {amount(made.bound, asked)} at the first of the two",
    ]
