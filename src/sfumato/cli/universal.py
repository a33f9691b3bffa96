"""The command ``universal``: one mechanism for every prior, or the one that comes closest."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Annotated

import typer

from sfumato.arguments import one_of
from sfumato.certify import load, save
from sfumato.certify.file import MECHANISM
from sfumato.channels import Prior
from sfumato.cli.designs import listed_secrets, read_question
from sfumato.cli.options import AsJson, Overwrite, SpecFile, answer
from sfumato.cli.progress import progress_line
from sfumato.errors import InvalidInput, NotSupported, in_one_line
from sfumato.files import place_for
from sfumato.numbers import bounds_text
from sfumato.specs.question import Question
from sfumato.theory.universal import is_universally_optimal, universal_design
from sfumato.verdict import Verdict


def universal(
    spec: SpecFile,
    mechanism: Annotated[
        Path | None, typer.Option("--mechanism", "-m", help="A mechanism file: is it universally optimal?")
    ] = None,
    over: Annotated[str, typer.Option("--priors", help="Over which priors: all or regular.")] = "all",
    relative: Annotated[bool, typer.Option(help="Regret as a share of the least loss.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the mechanism of least regret.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the mechanism whose regret is least over all priors, and say whether any has none.

    With --mechanism: decide whether that one is the best for every prior.
    """
    priors = one_of(over, ("all", "regular"), "priors")
    place = None if output is None else place_for(output, MECHANISM, overwrite=overwrite)
    with progress_line(f"reading {spec}"):
        question = listed_secrets(read_question(spec), spec, "universal")
    if question.under:
        raise NotSupported("universal optimality under delta > 0", ["epsilon or alpha without delta"])
    if question.privacy is None:
        raise InvalidInput(f"{spec}: table [privacy] is missing: say epsilon = … or alpha = …")
    if mechanism is not None:
        _print_verdict(
            is_universally_optimal(load(mechanism), question.loss, question.privacy, priors=priors), question, as_json
        )
        return
    with progress_line() as say:

        def tell(done: int, lower: float, upper: float) -> None:
            say("round {}: least regret between {} and {}".format(done, *bounds_text(lower, upper)))

        best = universal_design(question.loss, question.privacy, priors=priors, relative=relative, progress=tell)
    if place is not None:
        save(best.mechanism, place, overwrite=overwrite)
    proving = () if best.certificate is None else best.certificate.priors
    record = {
        "exists": str(best.exists.outcome), "lower": str(best.lower),
        "upper": None if best.upper is None else str(best.upper), "relative": relative, "method": best.method,
        "seconds": best.seconds, "priors": [_weights(prior) for prior in proving],
        "file": None if output is None else str(output),
    }  # fmt: skip
    kind = "relative regret" if relative else "regret"
    ends = bounds_text(best.lower, inf if best.upper is None else best.upper, 9)
    least = f"{best.lower}" if best.exact else "between {} and {}".format(*ends)
    lines = [
        f"universally optimal: {best.exists.outcome}; {best.exists.reason}",
        f"least worst-case {kind}: {least} ({best.method}, {best.seconds:.2f} s)",
        *("  no mechanism serves, with the others listed, " + ", ".join(_weights(prior)) for prior in proving),
    ]
    if output is not None:
        name = in_one_line(output)
        lines.append(f"file     {name}; `sfumato verify {name}` proves that it is private")
    answer(record, lines, as_json)


def _print_verdict(verdict: Verdict, question: Question, as_json: bool) -> None:
    """A verdict on one mechanism: exit status 0 if it holds, 1 if it fails or stays open."""
    witness = verdict.witness
    gap = getattr(witness, "gap", None)
    prior = getattr(witness, "prior", None)
    rounding = getattr(witness, "regret", None)  # of a ground that holds up to the rounding of the table
    record = {
        "universally optimal": str(verdict.outcome), "reason": verdict.reason,
        "gap": None if gap is None else str(gap), "prior": None if prior is None else _weights(prior),
        "regret_by_rounding": None if rounding is None else str(rounding),
    }  # fmt: skip
    lines = [f"universally optimal for {question.loss.name or 'the loss'}: {verdict.outcome}; {verdict.reason}"]
    if gap is not None and prior is not None and str(verdict.outcome) == "fails":
        lines.append(f"  under ({', '.join(_weights(prior))}) another mechanism loses less by {gap}")
    answer(record, lines, as_json)
    if str(verdict.outcome) != "holds":
        raise typer.Exit(1)


def _weights(prior: Prior) -> list[str]:
    return [str(weight) for weight in prior.weights]
