"""The commands that take a spec and look for the best: ``design`` and ``calibrate``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import save
from sfumato.cli.options import AsJson, SpecFile, answer, promise_record, saved
from sfumato.cli.progress import line, until_asked
from sfumato.design import Calibration, Design
from sfumato.design import calibrate as epsilon_for
from sfumato.design import design as best_of
from sfumato.design.solvers import SOLVERS
from sfumato.errors import InvalidInput, NotSupported, counted
from sfumato.files import writable
from sfumato.numbers import as_written, told_apart
from sfumato.specs.setup import Setup, setup
from sfumato.specs.spec import read_spec
from sfumato.specs.words import amount, meaning, on_events, per, promised, stake

_SOLVERS = ", ".join(sorted(SOLVERS))
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
    solver: Annotated[str | None, typer.Option(help=f"auto (default), {_SOLVERS}.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the private mechanism of least loss for a spec, prove it, and write it.

    Ctrl-C ends with the best mechanism so far, proved as well.
    """
    target = writable(output or Path(f"{spec.stem}.sfm"))
    if target.exists() and spec.exists() and target.samefile(spec):
        raise InvalidInput(f"{target} is the spec itself: name another file")
    with until_asked() as ending, line(f"reading {spec}") as say:
        question = read_setup(spec, tolerance=tolerance, time_limit=time_limit, solver=solver)
        if question.privacy is None and not question.under:
            raise InvalidInput(f"{spec}: table [privacy] is missing: say epsilon = … or alpha = …")
        best = best_of(
            question.prior, question.loss, question.privacy, outputs=question.outputs, tolerance=question.tolerance,
            time_limit=question.time_limit, solver=question.solver, objective=question.objective, under=question.under,
            progress=ending.progress(say),
        )  # fmt: skip
    digest = save(best.mechanism, target)
    ended = _ended(best, question, ending.interrupted)
    if ended != "reached":
        gap, wanted = told_apart(best.gap, question.tolerance, 2)
        typer.echo(f"sfumato: {_ENDINGS[ended]}; the gap is {gap} instead of {wanted}", err=True)
    record = design_record(best, question) | {"ended": ended, "file": str(target), "sha256": digest}
    answer(record, [*_summary(best, question), saved(target, digest)], as_json)


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
    place = None if output is None else writable(output)
    aim = as_written(target, "--target")
    try:
        with until_asked("nothing: no ε is proved yet") as ending, line(f"reading {spec}") as say:
            question = plain(read_setup(spec, time_limit=time_limit), spec, "calibrate")
            result = epsilon_for(
                question.prior, question.loss_on_outputs, question.space, target=aim, goal="keep" if keep else "reach",
                precision=precision, time_limit=question.time_limit,
                progress=ending.progress(say, "looking for ε  ", _Stopped),
            )  # fmt: skip
    except _Stopped:
        typer.echo("sfumato: stopped before ε was found", err=True)
        raise typer.Exit(130) from None
    if result.high - result.low > precision * result.high:
        typer.echo(
            "sfumato: the time is up; what is shown of ε is proved, and less precise than was asked for", err=True
        )
    record: dict[str, Any] = {name: float(getattr(result, name)) for name in ("epsilon", "low", "high")}
    record |= {"target": float(aim), "goal": "keep" if keep else "reach", **design_record(result.design, question)}
    lines = _calibrated(result, aim, keep, question)
    if place is not None:
        record |= {"file": str(place), "sha256": save(result.design.mechanism, place)}
        lines.append(saved(place, record["sha256"]))
    answer(record, lines, as_json)


def read_setup(spec: Path, **options: Any) -> Setup:
    """What the spec stands for; of its tolerance, time limit and solver, those that options name instead."""
    said = {name: value for name, value in options.items() if value not in (None, "")}
    return replace(setup(read_spec(spec)), **said)


def plain(question: Setup, spec: Path, command: str) -> Setup:
    """The setup, if it asks for an expected loss under a promise about ratios, as these commands do."""
    if question.under:
        raise NotSupported(f"{spec}: delta with `sfumato {command}`", ["epsilon or alpha without delta"])
    if not question.objective.plain:
        raise NotSupported(f"{spec}: [objective] with `sfumato {command}`", ["the expected loss, without limits"])
    return question


_ENDINGS = {
    "interrupted": "interrupted; this is the best mechanism so far, proved like any other",
    "time limit": "the time is up; this is the best mechanism so far, proved like any other",
    "stalled": "rounding errors keep the solver from getting closer",
}


def _ended(best: Design, question: Setup, interrupted: bool) -> str:
    if best.gap <= question.tolerance:
        return "reached"
    if interrupted:
        return "interrupted"
    return "time limit" if best.stopped and question.time_limit is not None else "stalled"


def design_record(best: Design, question: Setup) -> dict[str, Any]:
    """A design for a program to read."""
    promise = promise_record(best.mechanism.privacy)
    if best.mechanism.events:
        promise = {"events": question.under[0].name, "pairs": str(best.mechanism.proof.events)}
    return {
        "promise": promise, "unit": question.space.unit, "space": question.space.name, "secrets": len(question.space),
        "outputs": len(best.mechanism.outputs), "objective": question.objective.criterion,
        "loss_name": question.loss.name,
        "loss": float(best.loss), "bound": float(best.bound), "gap": best.gap, "loss_exact": str(best.loss),
        "bound_exact": str(best.bound), "second": best.second, "method": best.method, "iterations": best.iterations,
        "seconds": {name: round(value, 4) for name, value in best.seconds.items()},
    }  # fmt: skip


def _summary(best: Design, question: Setup) -> list[str]:
    """A design for people to read."""
    method = f"{best.method}, {counted(best.iterations, 'iteration')}" if best.iterations else best.method
    actions = counted(len(question.loss_on_outputs.actions), "action")
    ties = [] if best.second is None else [f"ties     broken by {question.objective.then}, which is {best.second:.6g}"]
    mechanism = best.mechanism
    return [
        f"promise  {on_events(mechanism, question) if mechanism.events else promised(mechanism.privacy)}",
        f"loss     {amount(best.loss, question)}{meaning(question)}",
        f"bound    {amount(best.bound, question)}: no mechanism with this promise loses less",
        f"gap      {best.gap:.1e}" if best.gap else "gap      0, the optimum exactly",
        *ties,
        f"method   {method}, {best.seconds['total']:.2f} s",
        f"outputs  {len(mechanism.outputs)} of {actions}, for {counted(len(question.space), 'secret')}",
    ]


def _calibrated(result: Calibration, aim: Fraction, keep: bool, question: Setup) -> list[str]:
    low, high = (f"{float(value):.6g}" for value in (result.low, result.high))
    unit, wanted = per(question.space), amount(aim, question)
    if keep:
        answer = [
            f"epsilon  {low}{unit} keeps it: whatever the mechanism, an adversary's loss is above {wanted}",
            f"         {high}{unit} does not: some mechanism brings the loss down to that",
        ]
    else:
        answer = [
            f"epsilon  {high}{unit} is enough for a loss of {wanted}",
            f"         {low}{unit} is too small for any mechanism",
        ]
    best = result.design
    return [
        *answer,
        f"loss     {stake(question)}",
        f"design   loss {amount(best.loss, question)}, bound {amount(best.bound, question)} at the first of the two",
    ]
