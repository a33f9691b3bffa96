"""The command ``verify``: saved mechanisms are proved again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.arguments import quoted
from sfumato.certify import kernel
from sfumato.certify.decide import decide
from sfumato.certify.file import parsed, parts_of
from sfumato.cli.options import AsJson, answer
from sfumato.errors import InvalidFile
from sfumato.specs.words import FEW_SECRETS, farthest_two


def verify(
    files: Annotated[list[Path], typer.Argument(help="Mechanism files (.sfm).")],
    checker: Annotated[str, typer.Option(help="auto, kernel or twin.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Prove saved mechanisms again: exit status 0 proved, 3 refuted, 2 unreadable."""
    worst = 0
    for file in files:
        try:
            record = _verified(file, checker)
        except InvalidFile as error:
            if not as_json:
                typer.echo(f"sfumato: {error}", err=True)
                worst = max(worst, 2)
                continue
            record = {"file": str(file), "outcome": "unreadable", "reason": str(error)}
        worst = max(worst, {"holds": 0, "unreadable": 2}.get(record["outcome"], 3))
        text = record.pop("text", "")
        answer(record, [f"{quoted(file)}: {text}"], as_json)
    raise typer.Exit(worst)


def _verified(file: Path, checker: str) -> dict[str, Any]:
    """What the checker says of a file, as a record with a text for people."""
    header, sections, digest, _ = parsed(file)
    verdict = decide(header, sections, digest, checker)  # type: ignore[arg-type]
    named = header.promise._asdict()
    promise = {name: str(value) for name, value in named.items() if value is not None and name != "step"}
    rows, outputs = len(header.secrets), len(header.outputs)
    about: dict[str, Any] = {"secrets": rows, "outputs": outputs, "sha256": digest}
    if isinstance(header, kernel.CoordinatesHeader):  # rows are points of a lattice, and all points are secrets
        lattice = list(header.lattice.shape)
        about = {"outputs": outputs, "sha256": digest, "about": "coordinates", "lattice": lattice}
    record: dict[str, Any] = {
        "file": str(file), "outcome": str(verdict.outcome), "promise": promise, "unit": header.space.unit, **about,
    }  # fmt: skip
    if not verdict:
        violation = verdict.witness
        if violation is not None:
            record |= {"pair": [str(s) for s in violation.pair], "output": str(violation.output)}
            record |= {"bound": violation.bound, "ratio": str(violation.ratio)}
        return record | {"reason": verdict.reason, "text": f"REFUTED: {verdict.reason}"}
    proof = verdict.witness
    claims = {name: getattr(proof, name) for name in ("loss", "bound") if getattr(proof, name) is not None}
    counts = {name: getattr(proof, name) for name in ("pairs", "implied", "open", "loose")}
    if proof.cells:
        counts |= {"cells": proof.cells, "comparisons": proof.comparisons}
    proved = {
        "secrets": rows, "outputs": outputs, "total": header.total, **counts, **claims, "span": proof.span,
    }  # fmt: skip
    record |= {name: float(value) for name, value in claims.items()} | {"checker": proof.checker, **counts}
    if proof.span is not None:
        record["distances"] = [kernel.number_text(end) for end in proof.span]
    lines = [*kernel.report_of_proof(header, proved, digest), *_farthest(header, sections), f"  by the {proof.checker}"]
    return record | {"text": "\n".join(lines)}


def _farthest(header: kernel.AnyHeader, sections: dict[str, bytes]) -> list[str]:
    """What the promise means for the farthest two of few secrets; nothing where a file describes no mechanism."""
    found = None
    if isinstance(header, kernel.Header) and len(header.secrets) <= FEW_SECRETS:
        with suppress(ValueError, LookupError, TypeError, AttributeError, ArithmeticError):  # as where files are loaded
            found = farthest_two(parts_of(header, sections)["privacy"])
    if found is None:
        return []
    return [
        f"  for the farthest two secrets, at {found[1]}, an output may be {found[0]} times as likely for one of them"
    ]
