"""The commands that take a spec and look for the best: ``design`` and ``calibrate``."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import Mechanism, save
from sfumato.certify.file import MECHANISM
from sfumato.cli.options import (
    AsJson,
    Overwrite,
    SpecFile,
    answer,
    of_option,
    promise_from_texts,
    promise_record,
    rate_from_text,
    saved,
)
from sfumato.cli.progress import progress_line, until_asked
from sfumato.design import Calibration, Design
from sfumato.design import calibrate as epsilon_for
from sfumato.design.calibration import as_target, usual_precision
from sfumato.design.shares import SharesLost, lost_shares
from sfumato.design.solvers import SOLVERS
from sfumato.errors import InvalidInput, NotConverged, NotSupported, in_one_line
from sfumato.files import place_for
from sfumato.numbers import bounds_text, float_above, float_below, text_above, text_below, told_apart
from sfumato.specs.families import as_question, best_for
from sfumato.specs.question import Question
from sfumato.specs.schema import PrivacySpec
from sfumato.specs.spec import Spec, read_spec
from sfumato.specs.words import loss_amount, per, stake
from sfumato.watch import Watch

_SOLVERS = ", ".join(sorted(SOLVERS))
TimeLimit = Annotated[
    float | None, typer.Option(min=0, help="Seconds after which the best that has been found is proved.")
]
Tolerance = Annotated[
    float | None, typer.Option(help="Relative gap between loss and bound to be reached (default: 1e-4, on a box 0.03).")
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
    epsilon: Annotated[
        str | None, typer.Option(help="Instead of the spec's: ε for one unit of distance, such as 0.7 or ln(2)/30.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the private mechanism of least loss for a spec, prove it, and write it.

    Ctrl-C ends with the best mechanism so far, proved as well.
    """
    target = place_for(output or Path(f"{spec.stem}.sfm"), MECHANISM, overwrite=overwrite)
    with until_asked() as ending, progress_line(f"reading {spec}") as say, warnings.catch_warnings():
        question = read_question(spec, epsilon, tolerance=tolerance, time_limit=time_limit, solver=solver)
        if question.privacy is None and not question.under:
            raise InvalidInput(f"{spec}: table [privacy] is missing: say epsilon = … or alpha = …, or --epsilon …")
        ending.watch = Watch(question.time_limit)
        warnings.simplefilter("ignore", SharesLost)  # which is said below, as everything else is
        best = best_for(question, time_limit=ending.watch, progress=ending.progress(say))
    if question.note:
        typer.echo(f"sfumato: {question.note}", err=True)
    if isinstance(best.mechanism, Mechanism) and (lost := lost_shares(best.mechanism)):
        typer.echo(f"sfumato: {lost}", err=True)
    digest = save(best.mechanism, target, overwrite=overwrite)
    ended = _ended(best, question, ending.interrupted)
    if ended != "reached":
        gap, wanted = told_apart(best.gap, question.tolerance, 2)
        typer.echo(f"sfumato: {_ENDINGS[ended]}; the gap is {gap} instead of {wanted}", err=True)
    record = design_record(best, question) | {"ended": ended, "file": str(target), "sha256": digest}
    answer(record, [*question.family.summary(best, question), saved(target, digest)], as_json)


def calibrate(
    spec: SpecFile,
    target: Annotated[str, typer.Option(help="The expected loss, such as 0.5 or 1/2, or a distance such as '300 m'.")],
    keep: Annotated[
        bool, typer.Option("--keep", help="The largest ε at which no adversary gets below the target instead.")
    ] = False,
    precision: Annotated[
        float | None,
        typer.Option(help="Relative width of the interval that is left open (default: 1e-3, on a box 0.1)."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the mechanism at that ε.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which the search ends with what is proved.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the smallest ε that reaches a loss, or (--keep) the largest that keeps an adversary's expected loss."""
    place = None if output is None else place_for(output, MECHANISM, overwrite=overwrite)
    with progress_line(f"reading {spec}"):
        question = with_curve(read_question(spec, time_limit=time_limit), spec, "calibrate")
        aim = of_option("--target", as_target, target, question.family.stakes(question), question.space)
    result, interrupted = _epsilon_for(question, aim, keep, precision)
    if result is None:
        typer.echo("sfumato: stopped before ε was found", err=True)
        raise typer.Exit(130)
    if result.high - result.low > Fraction(precision or usual_precision(question.space)) * result.high:
        why = "the time is up" if result.design.stopped else question.family.unfinished
        why = "interrupted" if interrupted and question.family.keeps else why
        typer.echo(f"sfumato: {why}; what is shown of ε is proved, and less precise than was asked for", err=True)
    record: dict[str, Any] = {name: float(getattr(result, name)) for name in ("epsilon", "low", "high")}
    record |= {"target": float(aim), "goal": "keep" if keep else "reach", **design_record(result.design, question)}
    lines = _calibrated(result, aim, keep, question)
    if place is not None:
        record |= {"file": str(place), "sha256": save(result.design.mechanism, place, overwrite=overwrite)}
        lines.append(saved(place, record["sha256"]))
    answer(record, lines, as_json)


def _epsilon_for(
    question: Question, aim: Fraction, keep: bool, precision: float | None
) -> tuple[Calibration | None, bool]:
    """The calibration, None if it was stopped before anything was proved; and whether Ctrl-C has ended it.

    Where a family keeps the best that is proved, so does Ctrl-C; elsewhere there is nothing before both ends are found.
    """
    keeps = question.family.keeps
    keeping = "the ε that is proved, if there is one" if keeps else "nothing: no ε is proved yet"
    with until_asked(keeping) as ending, progress_line() as say:
        ending.watch = Watch(question.time_limit) if keeps else None
        try:
            result = epsilon_for(
                question.prior, question.searched_loss, question.space, target=aim, goal="keep" if keep else "reach",
                objective=question.objective, outputs=question.outputs if keeps else None, precision=precision,
                time_limit=ending.watch or question.time_limit,
                progress=ending.progress(say, "looking for ε  ", KeyboardInterrupt if keeps else _Stopped),
            )  # fmt: skip
        except (_Stopped, NotConverged):
            if not ending.asked:
                raise
            return None, True
    if question.note:
        typer.echo(f"sfumato: {question.note}", err=True)
    return result, ending.asked


def read_question(spec: Path, epsilon: str | None = None, **options: Any) -> Question:
    """What the spec stands for; of its promise, tolerance, time limit and solver, those that options name instead."""
    said = {name: value for name, value in options.items() if value not in (None, "")}
    found = read_spec(spec)
    if epsilon is not None:
        found = _with_epsilon(found, epsilon)
    return replace(as_question(found), **said)


def _with_epsilon(spec: Spec, epsilon: str) -> Spec:
    """The spec with another ε, which is said where it had one; δ and its neighbours stay."""
    rate_from_text(epsilon, "--epsilon")
    said = {} if spec.privacy is None else spec.privacy.model_dump(include={"per", "delta", "neighbours"})
    if spec.privacy is not None:
        typer.echo(f"sfumato: --epsilon {epsilon} stands in place of what {in_one_line(spec.source)} says", err=True)
    return spec.model_copy(update={"privacy": PrivacySpec(**promise_from_texts(epsilon, None), **said)})


def listed_secrets(question: Question, spec: Path, command: str) -> Question:
    """The setup, if its secrets are a list and not all points of a box."""
    if not question.family.listed:
        raise NotSupported(
            f"{spec}: a box of coordinates with `sfumato {command}`",
            ["`sfumato design`, `calibrate`, `curve`", "space kind = 'grid', whose secrets are the centres of cells"],
        )
    return question


def with_expected_loss(question: Question, spec: Path, command: str) -> Question:
    """The question, if it asks for an expected loss under a promise about ratios, as these commands do."""
    if question.under:
        raise NotSupported(f"{spec}: delta with `sfumato {command}`", ["epsilon or alpha without delta"])
    if not question.objective.plain:
        raise NotSupported(f"{spec}: [objective] with `sfumato {command}`", ["the expected loss, without limits"])
    return question


def with_curve(question: Question, spec: Path, command: str) -> Question:
    """The question, if what it has least falls with ε, without limits: an expected loss, or a variance."""
    fits = not question.under and question.searched_loss is None
    return question if fits else with_expected_loss(question, spec, command)


_ENDINGS = {
    "interrupted": "interrupted; this is the best mechanism so far, proved like any other",
    "time limit": "the time is up; this is the best mechanism so far, proved like any other",
    "stalled": "rounding errors keep the solver from getting closer",
    "finest": "this mechanism is proved like any other, and nothing finer fits",
}


def _ended(best: Design, question: Question, interrupted: bool) -> str:
    if best.gap <= question.tolerance:
        return "reached"
    if interrupted:
        return "interrupted"
    if best.stopped:
        return "interrupted" if question.time_limit is None else "time limit"
    return question.family.stuck


def design_record(best: Design, question: Question) -> dict[str, Any]:
    """A design for a program to read."""
    mechanism: Any = best.mechanism
    return {
        "promise": promise_record(mechanism.privacy), "unit": question.space.unit, "space": question.space.name,
        "outputs": len(mechanism.outputs), "objective": question.objective.criterion,
        **question.family.record(best, question),
        "loss": float_above(best.loss), "bound": float_below(best.bound), "gap": best.gap, "loss_exact": str(best.loss),
        "bound_exact": str(best.bound), "method": best.method, "iterations": best.iterations,
        "seconds": {name: round(value, 4) for name, value in best.seconds.items()},
    }  # fmt: skip


def _calibrated(result: Calibration, aim: Fraction, keep: bool, question: Question) -> list[str]:
    low, high = bounds_text(result.low, result.high)
    unit, wanted = per(question.space), f"{loss_amount(aim, question)}{question.family.aimed(question)}"
    if keep:
        answer = [
            f"epsilon  {low}{unit} keeps it: whatever the mechanism, an adversary's loss is above {wanted}",
            f"         {high}{unit} does not: some mechanism brings the loss down to that",
        ]
    else:
        answer = [
            f"epsilon  {high}{unit} is enough for a {question.family.lost} of {wanted}",
            f"         {low}{unit} is too small for any mechanism"
            if result.low
            else "         no smaller ε was proved to be too small",
        ]
    best = result.design
    lost, bound = loss_amount(best.loss, question, text_above), loss_amount(best.bound, question, text_below)
    design = f"design   {question.family.lost} {lost}, bound {bound}"
    return [*answer, f"{question.family.lost:<8} {stake(question)}", *question.family.calibrated(best, design)]
