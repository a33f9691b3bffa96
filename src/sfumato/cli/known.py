"""Known mechanisms: ``compare`` two files, ``compare-known`` all for a promise, ``known`` writes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import load, save
from sfumato.certify.file import MECHANISM
from sfumato.cli.designs import read_question, with_expected_loss
from sfumato.cli.options import (
    Alpha,
    AsJson,
    Epsilon,
    FigureFile,
    Overwrite,
    answer,
    answer_each,
    completing,
    loss_from_text,
    prior_from_text,
    privacy_from_texts,
    promise_record,
    saved,
)
from sfumato.cli.progress import progress_line, until_asked
from sfumato.design import Comparison, known_mechanism, objectives
from sfumato.design.comparison import compare_known as known_mechanisms
from sfumato.design.comparison_rows import OPTIMAL, side_by_side
from sfumato.design.families import design_family
from sfumato.design.known import mechanism_key
from sfumato.design.objectives import Objective
from sfumato.errors import InvalidInput, NotSupported, in_one_line
from sfumato.files import DRAWN, place_for
from sfumato.losses import default
from sfumato.measures import capacity
from sfumato.measures.shares import NAMES
from sfumato.mechanisms import MECHANISMS
from sfumato.numbers import text_above, text_below
from sfumato.orders import refines
from sfumato.report.comparison import comparison_figure
from sfumato.report.figure import drawable, write_figure
from sfumato.specs.question import Question
from sfumato.specs.words import loss_amount, meaning, promised, stake
from sfumato.watch import Watch


def compare(
    first: Annotated[Path, typer.Argument(help="A mechanism file.")],
    second: Annotated[Path, typer.Argument(help="Another on the same secrets.")],
    time_limit: Annotated[
        float, typer.Option(min=0, help="Seconds for each direction, after which it is undecided.")
    ] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Which of two mechanisms tells more: refinement in both directions, and their capacities.

    Mechanisms for the points of a box are compared by what they lose: for the people and the distances that the first
    of them was made for, or the second one where that says nothing.
    """
    names = [in_one_line(path.name if first.name != second.name else path) for path in (first, second)]
    if names[0] == names[1]:
        names[1] += ", again"
    with progress_line("reading"):
        both = {name: load(path) for name, path in zip(names, (first, second), strict=True)}
    _COMPARED[next(iter(both.values())).about](both, time_limit, as_json)


def _by_refinement(both: Mapping[str, Any], time_limit: float, as_json: bool) -> None:
    """Two lists of secrets."""
    verdicts = {}
    a, b = (mechanism.as_table().channel for mechanism in both.values())
    with progress_line() as say:
        for name, safer, other in (("second refines first", b, a), ("first refines second", a, b)):
            say(f"whether the {name}")
            verdicts[name] = refines(safer, other, time_limit=time_limit)
    record: dict[str, Any] = {name: str(verdict.outcome) for name, verdict in verdicts.items()}
    lines = [f"{name}: {verdict}" for name, verdict in verdicts.items()]
    for name, channel in (("first", a), ("second", b)):
        most = capacity(channel)
        sizes = f"{text_above(most.multiplicative, 6)} multiplicative, {text_above(most.additive, 6)} additive"
        lines.append(f"{name} capacity: {sizes}")
        record[f"{name} capacity"] = {"multiplicative": str(most.multiplicative), "additive": str(most.additive)}
    answer(record, lines, as_json)


def _by_losses(both: Mapping[str, Any], time_limit: float, as_json: bool) -> None:
    """Two mechanisms for the points of a box; which of them refines the other is not known."""
    made = next((one for one in both.values() if one.claim is not None), None)
    if made is None:
        raise InvalidInput("neither file says for which people it was made: a design, or `sfumato known`, writes that")
    claim = made.claim
    found = known_mechanisms(claim.prior, claim.loss, made.privacy, mechanisms=both, time_limit=time_limit)
    below = {
        name: text_below(float(one.claim.bound.value), 6)
        for name, one in both.items()
        if one.claim is not None and one.claim.bound is not None
    }
    lines = [f"{name}: no mechanism with its promise loses less than {bound}" for name, bound in below.items()]
    records = [record | {"bound": below.get(record["mechanism"])} for record in found.records()]
    answer_each(records, [str(found), *lines], as_json)


_COMPARED: dict[str, Callable[[Mapping[str, Any], float, bool], None]] = {
    "secrets": _by_refinement, "coordinates": _by_losses,
}  # fmt: skip
"""How two mechanisms are compared, by what their promises are about."""


def compare_known(
    space: Annotated[str, typer.Argument(help="A space such as line:6 or grid:3,3, a spec (TOML), or a file (.sfm).")],
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    loss: Annotated[
        str | None,
        typer.Option(help="absolute (default for queries), bin, distance (default), nib, squared or threshold:RADIUS."),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="uniform (default), or counts such as 3,0,1, one for each secret.")
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="loss (default), or shares: how many respondents a survey needs.")
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help="With shares, what is estimated: shares (default), cumulative or mean.")
    ] = None,
    figure: FigureFile = None,
    optimal: Annotated[
        bool | None,
        typer.Option(
            "--optimum/--no-optimum", help="The best mechanism too (default: on at most 100 secrets, not on a box)."
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds on a box, after which what has not begun is left out.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Every known mechanism for a promise: its loss with and without remap, the ε it needs, its leakage.

    The best one for the loss and the prior is beside them, with the bound that no mechanism goes below. Of a spec,
    space, promise, prior and loss are compared; on a box of coordinates all of them keep a promise about all points. A
    mechanism in a file is one of the rows, for the prior and the loss that it was made for.

    With --objective shares it is for a survey: how many times as many respondents each needs as the best one, for the
    same errors of estimated shares, and from which of them shares cannot be recovered.
    """
    said = {"--alpha": alpha, "--epsilon": epsilon, "--loss": loss, "--prior": prior}
    if figure is not None:
        place_for(drawable(figure), DRAWN, overwrite=overwrite)
    aim = _aim(objective, workload)
    if loss is not None and not aim.has_loss:
        raise InvalidInput(f"--loss {loss}: shares are estimated from all answers, and no single one has a loss")
    door, limit = _DOORS["places"], time_limit
    asked: dict[str, Any] = {"space": space}
    own: Mapping[str, Any] = {}
    if Path(space).suffix == ".sfm":
        made, chosen, belief = _of_file(Path(space), said)
        privacy, meant, own = made.privacy, [], {in_one_line(Path(space).name): made}
        door = _DOORS[design_family(privacy.space, aim).name]
        door.check(space, aim, figure)
    elif Path(space).suffix == ".toml":
        question = _of_spec(Path(space), said)
        if objective is None:
            aim = question.objective
        door, limit = _DOORS[question.family.name], question.time_limit if time_limit is None else time_limit
        door.check(space, aim, figure)
        asked |= door.asked(question)
        privacy, chosen, belief = question.privacy, question.loss_on_outputs, question.prior
        assert privacy is not None
        if question.note:
            typer.echo(f"sfumato: {question.note}", err=True)
        meant = [f"loss: {stake(question)}"]
    else:
        privacy = privacy_from_texts(space, epsilon, alpha)
        chosen = default(privacy.space) if loss is None else loss_from_text(loss, privacy.space)
        belief, meant = prior_from_text(prior or "uniform", privacy.space), []
    terms = partial(known_mechanisms, belief, chosen if aim.has_loss else None, privacy, objective=aim, optimal=optimal)
    comparison = door.compared(terms, limit)
    if own:
        comparison = side_by_side(comparison, door.compared(partial(terms, mechanisms=own, optimal=False), limit))
    if figure is not None:
        write_figure(comparison_figure(comparison), figure, overwrite=overwrite)
    _tell(comparison, asked | promise_record(privacy), door, meant, figure, as_json)


def _tell(
    comparison: Comparison, asked: dict[str, Any], door: _Door, meant: list[str], figure: Path | None, as_json: bool
) -> None:
    """A comparison as a table, or as a record a row."""
    names = [name for name in comparison.left_out if name != OPTIMAL]
    best = [f"no row {OPTIMAL}: {comparison.left_out[OPTIMAL]}"] if OPTIMAL in comparison.left_out else []
    why = [f"left out: {name}: {comparison.left_out[name]}" for name in names] if door.reasons else []
    below = [*meant, *why] if door.reasons else [f"not for this promise: {', '.join(names)}"] if names else []
    named = {"workload": comparison.stake.name} if comparison.by == "respondents" else {}
    drawn = [] if figure is None else [f"Drawn: {in_one_line(figure)}"]
    answer_each((asked | named | record for record in comparison.records()), [str(comparison), *below, *drawn], as_json)
    for words in (*why, *best) if as_json else ():
        typer.echo(f"sfumato: {words}", err=True)


def _aim(objective: str | None, workload: str | None) -> Objective:
    """What mechanisms are compared by, in words."""
    if objective not in _AIMS:
        raise NotSupported(f"--objective {objective}", ["loss", "shares"])
    if workload is not None and workload not in NAMES:
        raise NotSupported(f"--workload {workload}", NAMES)
    aim = _AIMS[objective](workload)
    if workload is not None and aim.workload is None:
        raise InvalidInput(f"--workload {workload} says which shares are estimated: say --objective shares too")
    return aim


_AIMS: dict[str | None, Callable[[str | None], Objective]] = {
    **dict.fromkeys((None, "loss"), lambda _: objectives.EXPECTED), "shares": objectives.shares,
}  # fmt: skip


def _of_file(path: Path, beside: dict[str, Any]) -> tuple[Any, Any, Any]:
    """A mechanism, and the loss and the prior that it was made for."""
    for option, value in beside.items():
        if value is not None:
            raise InvalidInput(f"{option} {value}: {path} says it")
    made = load(path)
    claim = made.claim
    if claim is None or claim.kind != "loss" or made.privacy is None:
        raise InvalidInput(f"{path} does not say what it loses, and for whom: compare by a spec")
    return made, claim.loss, claim.prior


def _of_spec(spec: Path, beside: dict[str, Any] | None = None) -> Question:
    """What a spec asks, if it promises an ε; what it says is not said again beside it."""
    for option, value in (beside or {}).items():
        if value is not None:
            raise InvalidInput(f"{option} {value}: {spec} says it; change it there, or name a space such as line:6")
    question = read_question(spec)
    if question.under or question.family.stakes(question) is not None:
        question = with_expected_loss(question, spec, "compare-known")
    if question.privacy is None:
        raise InvalidInput(f"{spec}: table [privacy] is missing: say epsilon = … or alpha = …")
    return question


def _at_once(terms: Callable[..., Comparison], _: float | None) -> Comparison:
    """A comparison of tables, each of which takes a moment."""
    with progress_line() as say:
        return terms(progress=say)


def _until_asked(terms: Callable[..., Comparison], limit: float | None) -> Comparison:
    """A comparison on a box, which ends with what there is."""
    with until_asked() as ending, progress_line() as say:
        ending.watch = Watch(limit)
        return terms(time_limit=ending.watch, progress=ending.progress(say))


def _check_box(space: str, aim: Objective, figure: Path | None) -> None:
    if not aim.plain:
        raise NotSupported(
            f"{space}: shares on a box of coordinates, whose secrets are all points",
            ["space kind = 'grid', whose secrets are the centres of cells", "a list of answers or places"],
        )
    if figure is not None:
        raise NotSupported("a figure of a comparison on a box", ["the table, or --json"])


@dataclass(frozen=True, eq=False)
class _Door:
    """What these commands do and say for a family of questions; by default for lists of secrets.

    Parameters
    ----------
    check
        Refuses what comparisons of this family have not.
    asked
        What records say of the space instead of what was typed.
    compared
        Runs a comparison.
    reasons
        Whether it is said why others are left out, and what the loss means; their names say it for a list.
    noise, optimal, after
        What is said of one known mechanism: before the loss of noise, since what is moved into a box comes nearer,
        which a claim about noise does not count; for what it is the best; and whose loss is told.
    """

    check: Callable[[str, Objective, Path | None], None] = lambda space, aim, figure: None
    asked: Callable[[Question], dict[str, Any]] = lambda question: {}
    compared: Callable[[Callable[..., Comparison], float | None], Comparison] = _at_once
    reasons: bool = False
    noise: str = ""
    optimal: str = "; optimal for: {}"
    after: str = ", of who takes the best action for each output"


_DOORS = {
    "places": _Door(),
    "shares": _Door(),
    "points": _Door(
        _check_box, lambda question: {"space": question.space.name}, _until_asked, True, "at most ", "", "",
    ),
}  # fmt: skip


def known(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A known mechanism, such as planar-laplace.",
            autocompletion=completing([key.replace("_", "-") for key in MECHANISMS]),
        ),
    ] = None,
    spec: Annotated[
        Path | None, typer.Argument(metavar="SPEC", help="A spec (TOML); `sfumato init` writes one.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The mechanism file (default: named like the mechanism, .sfm, here)."),
    ] = None,
    remap: Annotated[
        bool, typer.Option("--remap", help="Move outputs to where they lose least for the prior of the spec.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List all of them; with a spec in place of the name, say which apply.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a known mechanism for the space and promise of a spec, proved, or list them (--list)."""
    if listed:
        _list(Path(name) if name is not None and spec is None else spec, as_json)
        return
    if name is None or spec is None:
        raise InvalidInput("name a mechanism and a spec, such as: sfumato known planar-laplace spec.toml (or --list)")
    key = mechanism_key(name)
    target = place_for(output or Path(f"{key.replace('_', '-')}.sfm"), MECHANISM, overwrite=overwrite)
    with progress_line(f"reading {spec}") as say:
        question = _of_spec(spec)
        assert question.privacy is not None
        say(f"making {key}")
        stakes = question.searched_loss
        made: Any = known_mechanism(key, question.privacy, prior=question.prior, loss=stakes, remap=remap)
    if question.note:
        typer.echo(f"sfumato: {question.note}", err=True)
    digest = save(made, target, overwrite=overwrite)
    lost = made.proof.loss
    record = {
        "mechanism": key, "remapped": remap, "promise": promise_record(made.privacy), "unit": question.space.unit,
        "about": question.family.about,
        "outputs": None if made.outputs is None else len(made.outputs), "loss": None if lost is None else float(lost),
        "file": str(target), "sha256": digest,
    }  # fmt: skip
    door = _DOORS[question.family.name]
    most = door.noise if MECHANISMS[key].points == "noise" and not remap else ""
    after = "" if remap else door.after
    lines = [
        f"known    {key}{', remapped' if remap else ''}{door.optimal.format(MECHANISMS[key].optimal)}",
        f"promise  {promised(made.privacy)}",
        *([] if lost is None else [f"loss     {most}{loss_amount(lost, question)}{after}{meaning(question)}"]),
        saved(target, digest),
    ]
    answer(record, lines, as_json)


def _list(spec: Path | None, as_json: bool) -> None:
    """All known mechanisms, and for a spec which of them there are."""
    question = None if spec is None else _of_spec(spec)
    rows = []
    for key, one in MECHANISMS.items():
        row: dict[str, Any] = {"name": key.replace("_", "-"), "spaces": one.spaces, "optimal for": one.optimal}
        if question is not None and question.privacy is not None:
            row |= _applies(key, question)
        rows.append(row)
    width = max(len(row["name"]) for row in rows)
    said = "reason" if question is not None else "spaces"
    marks = {True: "yes  ", False: "no   "}
    listed = (
        f"{row['name']:<{width}}  {marks[row['applies']] if question is not None else ''}{row[said]}" for row in rows
    )
    answer_each(rows, listed, as_json)


def _applies(key: str, question: Question) -> dict[str, Any]:
    """Whether a mechanism exists for a spec, with the reason."""
    assert question.privacy is not None
    verdict = design_family(question.space).exists(MECHANISMS[key], question.privacy)
    return {"applies": verdict.outcome == "holds", "reason": verdict.reason}
