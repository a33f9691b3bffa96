"""The command ``plan``: how many respondents an error needs, and which error a number of respondents leaves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import Mechanism
from sfumato.channels import Prior
from sfumato.cli.designs import read_question
from sfumato.cli.options import (
    AsJson,
    Level,
    Overwrite,
    Simultaneous,
    answer,
    of_option,
    prior_from_text,
    rate_from_text,
    table_of_answers,
)
from sfumato.cli.progress import progress_line
from sfumato.design.shares import SharesLost
from sfumato.errors import InvalidInput, in_one_line
from sfumato.files import DRAWN, place_for, read_text, refuse_spreadsheet
from sfumato.labels import text_of
from sfumato.mechanisms import MECHANISMS
from sfumato.numbers import Floats, as_written, is_floatable, text_above
from sfumato.privacy import PrivacyType
from sfumato.release.estimation.intervals import level_of
from sfumato.release.estimation.plan import PlanCurve, SurveyPlan, inflation_words, plan_curve, survey_plan
from sfumato.release.estimation.words import aligned, percent, short_label
from sfumato.release.formats.lines_csv import csv_delimiter, csv_rows
from sfumato.release.streams import FORMATS
from sfumato.report.figure import drawable, write_figure
from sfumato.report.shares import respondents_figure
from sfumato.specs.families import best_for
from sfumato.specs.question import Question
from sfumato.specs.tables import spelled_labels
from sfumato.specs.words import promised

_MEASURES = {"margin": "margin", "se": "standard error"}
_AROUND = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)  # times the ε of the mechanism
_LARGEST_GUESS = 1 << 24  # bytes of a file of guessed shares


def plan(
    mechanism: Annotated[Path, typer.Argument(help="A mechanism file (.sfm), or a spec (.toml) to design one.")],
    error: Annotated[
        float | None, typer.Option(help="The error that every share may have, such as 0.03 for three points.")
    ] = None,
    respondents: Annotated[int | None, typer.Option(help="Instead: how many will be asked.")] = None,
    measure: Annotated[
        str, typer.Option(help="What an error is: margin, half the width of an interval, or se, the standard error.")
    ] = "margin",
    level: Level = "0.95",
    simultaneous: Simultaneous = False,
    guess: Annotated[
        str | None,
        typer.Option(help="Guessed shares: counts such as 4,3,2,1, or a CSV file of answers and counts "
                     "(default: the prior of the mechanism, else uniform)."),
    ] = None,
    worst: Annotated[bool, typer.Option("--worst", help="The shares that need most instead of a guess.")] = False,
    epsilons: Annotated[
        str | None, typer.Option(help="With --error: respondents for other ε too, such as 0.5,1,2.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", "-o", help="With --error: draw respondents against ε (.html, .svg, …).")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """How many respondents an error needs, or which error a number of them leaves, before anybody is asked."""
    if (error is None) == (respondents is None):
        raise InvalidInput("say one of --error, such as 0.03, and --respondents, such as 2000")
    if measure not in _MEASURES:
        raise InvalidInput(f"--measure {measure}: it is margin (half the width of an interval) or se (standard error)")
    of_option("--level", level_of, level)
    if error is None and (figure is not None or epsilons is not None):
        raise InvalidInput("--figure and --epsilons show how many respondents an error needs: say --error too")
    place = None if figure is None else drawable(place_for(figure, DRAWN, overwrite=overwrite))
    values = None if epsilons is None else [rate_from_text(text, "--epsilons") for text in epsilons.split(",")]
    how: dict[str, Any] = {"level": level, "measure": _MEASURES[measure], "simultaneous": simultaneous}
    with progress_line(f"reading {mechanism}") as say:
        proved, build, prior = _source(mechanism)
        guessed = None if guess is None else of_option("--guess", _guess, guess, proved)
        if worst and guess is not None:
            raise InvalidInput("--guess and --worst are two answers to one question: give one of them")
        found = survey_plan(proved, guess=None if worst else guessed or prior, worst=worst)
        curve = None
        if place is not None or values is not None:
            if build is None:
                raise InvalidInput(
                    f"{mechanism} does not say how it would look for another ε: give the spec that it was designed "
                    "from, as in `sfumato plan spec.toml --error 0.03 --figure curve.html`"
                )
            around = values or [Fraction(proved.privacy.rate * part).limit_denominator(10**6) for part in _AROUND]
            say(f"{len(around)} values of ε")
            curve = plan_curve(build, around, guess=None if worst else found.guess, worst=worst)
    if place is not None and curve is not None and error is not None:
        unit = proved.privacy.space.unit
        drawn = respondents_figure(curve, error, level=level, measure=_MEASURES[measure], unit=unit)
        write_figure(drawn, place, overwrite=overwrite)
    asked = found.respondents(error, **how) if error is not None else respondents or 0
    record = _record(found, asked, error, how, curve)
    answer(record, _lines(found, proved, asked, error, how, curve, place, _at(found, prior, guess)), as_json)


Build = Callable[[Any], Any]


def _source(file: Path) -> tuple[Mechanism, Build | None, Prior | None]:
    """The mechanism, how it is built for another ε if that is known, and the prior it was made for."""
    if file.suffix.lower() == ".toml":
        question = read_question(file)
        if not question.family.listed or question.privacy is None or question.under:
            raise InvalidInput(f"{file}: a survey has a list of answers and a promise about them, an epsilon or alpha")
        return _designed(question, question.privacy), lambda epsilon: _designed(
            question, PrivacyType(question.space, epsilon=epsilon)
        ), question.prior  # fmt: skip
    table = table_of_answers(file, "plans")
    known = MECHANISMS.get(str(table.provenance.get("made by")))
    space = table.privacy.space
    build: Build | None = None
    if known is not None:
        build = lambda epsilon: known(PrivacyType(space, epsilon=epsilon))  # noqa: E731 - one line says it
    return table, build, None if table.claim is None else table.claim.prior


def _designed(question: Question, privacy: PrivacyType) -> Mechanism:
    """The best mechanism for a question, at another promise perhaps."""
    with warnings.catch_warnings(action="ignore", category=SharesLost):  # a plan that cannot be made says it
        best = best_for(question, privacy=privacy)
    return best.mechanism.as_table()


def _guess(text: str, proved: Mechanism) -> Prior:
    """Guessed shares, as counts or from a file."""
    refuse_spreadsheet(Path(text))
    if Path(text).suffix.lower() not in FORMATS["csv"]:
        return prior_from_text(text, proved.privacy.space)
    file = Path(text)
    data = read_text(file, _LARGEST_GUESS).encode()
    rows = [row for _, row in csv_rows(data, csv_delimiter(data)) if any(cell.strip() for cell in row)]
    if any(len(row) != 2 for row in rows):
        raise InvalidInput(f"{file}: a guess has two columns, an answer and its count or share")
    if rows and not is_floatable(rows[0][1]):
        rows = rows[1:]  # a heading
    labels = spelled_labels([name for name, _ in rows], proved.secrets, "answer")
    return Prior.from_counts(dict(zip(labels, (count for _, count in rows), strict=True)), proved.privacy.space)


def _at(found: SurveyPlan, prior: Prior | None, guess: str | None) -> str:
    """For which shares it is planned."""
    if found.guess is None:
        return "the worst shares there are, other ones for each answer"
    if guess is not None:
        return "the guessed shares"
    return "the shares that the mechanism was made for" if prior is not None else "uniform shares: --guess says others"


def _error_words(how: dict[str, Any]) -> str:
    if how["measure"] == "standard error":
        return "standard error"
    together = ", about, for all together" if how["simultaneous"] else ""
    return f"half the width of {percent(how['level'])} intervals{together}"


def _lines(
    found: SurveyPlan, proved: Mechanism, asked: int, error: float | None, how: dict[str, Any],
    curve: PlanCurve | None, place: Path | None, at: str,
) -> list[str]:  # fmt: skip
    errors: Floats = found.errors(asked, **how)
    most = error if error is not None else float(errors.max())
    clear = found.respondents_in_the_clear(most, **how)
    left = text_above(most if error is None else as_written(error), 4)
    aim = f"{asked:,} respondents for an error of at most {left} on every share"
    lines = [
        f"promise  {promised(proved.privacy)}" if proved.bounds_ratios else "promise  about events",
        f"shares   {at}",
        f"error    {_error_words(how)}",
        f"needed   {aim}" if error is not None else f"left     {left} at most, with {asked:,} respondents",
        f"noise    {clear:,} would do in the clear: {inflation_words(found.inflation)} times as many are needed",
        "",
    ]
    shares = [None] * len(found.secrets) if found.guess is None else found.guess.float_weights.tolist()
    rows = [
        (short_label(text_of(label)), "" if share is None else f"{share:.3f}", f"{part:.4f}")
        for label, share, part in zip(found.secrets, shares, errors.tolist(), strict=True)
    ]
    lines += aligned([("answer", "share", "error"), *rows])
    if curve is not None and error is not None:
        each = [
            (f"{epsilon:.4g}", f"{made.respondents(error, **how):,}", inflation_words(made.inflation))
            for epsilon, made in zip(curve.epsilons, curve.plans, strict=True)
        ]
        lines += ["", *aligned([("ε", "respondents", "times"), *each])]
    return [*lines, *([] if place is None else ["", f"figure   {in_one_line(place)}"])]


def _record(
    found: SurveyPlan, asked: int, error: float | None, how: dict[str, Any], curve: PlanCurve | None
) -> dict[str, Any]:
    errors: Floats = found.errors(asked, **how)
    most = error if error is not None else float(errors.max())
    record = {
        "respondents": asked, "error": most, "measure": how["measure"], "level": float(level_of(how["level"])),
        "simultaneous": how["simultaneous"], "in_the_clear": found.respondents_in_the_clear(most, **how),
        "times_as_many": found.inflation if found.inflation != float("inf") else None,
        "at": "worst" if found.guess is None else [float(p) for p in found.guess.float_weights],
        "answers": [{"answer": text_of(label), "error": float(part)}
                    for label, part in zip(found.secrets, errors, strict=True)],
    }  # fmt: skip
    if curve is None or error is None:
        return record
    points = zip(curve.epsilons, curve.plans, strict=True)
    return record | {"curve": [{"epsilon": e, "respondents": made.respondents(error, **how)} for e, made in points]}
