"""The command ``sfumato``.

Heavy rooms are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import designs, ledgers, releases
from sfumato.cli.audits import audit
from sfumato.cli.demo import demo
from sfumato.cli.flags import Command, Group
from sfumato.cli.reports import report
from sfumato.cli.studio import studio
from sfumato.cli.universal import universal
from sfumato.cli.wording import counted, in_shell_words
from sfumato.errors import InvalidFile, PrivacyViolation, SfumatoError
from sfumato.version import __version__

__all__ = ["app", "run"]

app = typer.Typer(
    cls=Group,
    help="Design, prove and apply mechanisms for metric differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of text.")]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Design, prove and apply mechanisms for metric differential privacy."""


for _command in (
    designs.design, designs.calibrate, designs.curve, designs.init, universal, releases.release, releases.release_key,
):  # fmt: skip
    app.command(cls=Command)(_command)
app.command(cls=Command)(studio)
app.command(cls=Command)(audit)
app.command(cls=Command)(report)
app.command(cls=Command)(demo)
app.add_typer(ledgers.app, name="ledger")


@app.command(cls=Command)
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
        typer.echo(json.dumps(record, ensure_ascii=False) if as_json else f"{file}: {in_shell_words(text)}")
    raise typer.Exit(worst)


def _verified(file: Path, checker: str) -> dict[str, Any]:
    """What the checker says of a file, as a record with a text for people."""
    from sfumato.certify import kernel
    from sfumato.certify.verify import verify_file

    verdict, header, digest = verify_file(file, checker=checker)  # type: ignore[arg-type]
    promise = {name: str(value) for name, value in header["promise"].items() if value is not None and name != "step"}
    record: dict[str, Any] = {
        "file": str(file), "outcome": str(verdict.outcome), "promise": promise, "unit": header["space"]["unit"],
        "secrets": len(header["secrets"]), "outputs": len(header["outputs"]), "sha256": digest,
    }  # fmt: skip
    if not verdict:
        found = verdict.witness
        if found is not None:
            record |= {"pair": [str(s) for s in found.pair], "output": str(found.output), "bound": found.bound}
            record["ratio"] = str(found.ratio)
        return record | {"reason": verdict.reason, "text": f"REFUTED: {verdict.reason}"}
    proof = verdict.witness
    proved = {"secrets": record["secrets"], "outputs": record["outputs"], "total": header["total"],
              "pairs": proof.pairs, "implied": proof.implied, "open": proof.open}  # fmt: skip
    for claim in ("loss", "bound"):
        value = getattr(proof, claim)
        if value is not None:
            proved[claim] = value
            record[claim] = float(value)
    record |= {"checker": proof.checker, "pairs": proof.pairs, "implied": proof.implied, "open": proof.open}
    return record | {"text": "\n".join([*kernel.report(header, proved, digest), f"  by the {proof.checker}"])}


Space = Annotated[str, typer.Argument(help="A space, such as line:6, grid:3,3 or hamming:3.")]
Alpha = Annotated[str | None, typer.Option(help="e^-ε for one unit of distance, a fraction (default: 1/2).")]
Epsilon = Annotated[
    str | None, typer.Option(help="Instead of alpha: ε for one unit of distance, such as 0.7 or ln(2)/30.")
]


def _type(space: str, alpha: str | None, epsilon: str | None) -> Any:
    """The privacy type that a space and a promise name."""
    from sfumato.cli.spaces import space_from_text
    from sfumato.privacy import PrivacyType

    if epsilon is None:
        alpha = alpha or "1/2"
    return PrivacyType(space_from_text(space), **designs._promise(epsilon, alpha))


def _promise(privacy: Any) -> dict[str, str]:
    return {"epsilon": str(privacy.epsilon)} if privacy.alpha is None else {"alpha": str(privacy.alpha)}


@app.command(cls=Command)
def kernels(
    space: Space,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    estimate: Annotated[int, typer.Option(help="Estimate from so many random sets instead of counting.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Seed of the estimate.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count the kernel mechanisms of a privacy type, by number of outputs, or estimate how many there are."""
    from sfumato.cli.progress import line
    from sfumato.numbers import told_apart
    from sfumato.privacy import estimate_kernels
    from sfumato.privacy import kernels as find

    privacy = _type(space, alpha, epsilon)
    record: dict[str, Any] = {"space": space, **_promise(privacy)}
    if estimate:
        with line() as say:
            guess = estimate_kernels(privacy, samples=estimate, seed=seed, progress=say)
        record |= {"kernels": guess.count, "error": guess.error, "low": guess.low, "high": guess.high,
                   "confidence": guess.confidence, "samples": guess.samples, "hits": guess.hits}  # fmt: skip
        low, high = told_apart(guess.low, guess.high, 4)
        lines = [f"{privacy!r}: {guess} kernels", f"  between {low} and {high} with confidence {guess.confidence:g}"]
    else:
        with line() as say:
            found = find(privacy, progress=say)
        record |= {"vertices": len(found.vertices), "kernels": len(found), "by_outputs": found.sizes()}
        lines = [
            f"{privacy!r}: {counted(len(found), 'kernel')} from {counted(len(found.vertices), 'vertex', 'vertices')}"
        ]
        lines += [f"  with {counted(size, 'output')}: {number}" for size, number in found.sizes().items()]
    typer.echo(json.dumps(record) if as_json else "\n".join(lines))


@app.command(cls=Command)
def capacity(space: Space, alpha: Alpha = None, epsilon: Epsilon = None, as_json: AsJson = False) -> None:
    """The most that any mechanism of a privacy type leaks, as a ratio and as a difference."""
    from sfumato.privacy import capacities

    privacy = _type(space, alpha, epsilon)
    found = capacities(privacy)
    record = {"space": space, **_promise(privacy), "multiplicative": str(found.multiplicative),
              "multiplicative_bound": str(found.multiplicative_bound), "additive": str(found.additive),
              "additive_bound": str(found.additive_bound)}  # fmt: skip
    parts = []
    for kind in ("multiplicative", "additive"):
        value, bound, method = (getattr(found, f"{kind}{end}") for end in ("", "_bound", "_method"))
        parts.append(f"{kind} {value}" + ("" if value == bound else f" (at most {bound})"))
        record[f"{kind}_method"] = str(method)
    text = f"{privacy!r}: {', '.join(parts)}"
    typer.echo(json.dumps(record) if as_json else text)


@app.command(cls=Command)
def compare(
    first: Annotated[Path, typer.Argument(help="A mechanism file.")],
    second: Annotated[Path, typer.Argument(help="Another on the same secrets.")],
    as_json: AsJson = False,
) -> None:
    """Which of two mechanisms tells more: refinement in both directions, and their capacities."""
    from sfumato.certify import load
    from sfumato.measures import capacity as capacity_of
    from sfumato.orders import refines

    a, b = (load(path).channel for path in (first, second))
    verdicts = {"second refines first": refines(b, a), "first refines second": refines(a, b)}
    record: dict[str, Any] = {name: str(verdict.outcome) for name, verdict in verdicts.items()}
    lines = [f"{name}: {verdict}" for name, verdict in verdicts.items()]
    for name, channel in (("first", a), ("second", b)):
        found = capacity_of(channel)
        sizes = f"{float(found.multiplicative):.6g} multiplicative, {float(found.additive):.6g} additive"
        lines.append(f"{name} capacity: {sizes}")
        record[f"{name} capacity"] = {"multiplicative": str(found.multiplicative), "additive": str(found.additive)}
    typer.echo(json.dumps(record) if as_json else "\n".join(lines))


@app.command("compare-known", cls=Command)
def compare_known(
    space: Space,
    alpha: Alpha = None,
    epsilon: Epsilon = None,
    loss: Annotated[
        str | None,
        typer.Option(help="absolute (default for queries), bin, distance (default), nib, squared or threshold:RADIUS."),
    ] = None,
    prior: Annotated[str, typer.Option(help="uniform, or counts such as 3,0,1, one for each secret.")] = "uniform",
    figure: Annotated[
        Path | None, typer.Option("--figure", "-o", help="Draw it: a page (.html), .json, .svg, .png or .pdf.")
    ] = None,
    optimum: Annotated[
        bool | None,
        typer.Option("--optimum/--no-optimum", help="The best mechanism too (default: on at most 100 secrets)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Every known mechanism for a promise: its loss with and without remap, the ε it needs, its leakage.

    The best one for the loss and the prior is beside them, with the bound that no mechanism goes below.
    """
    from sfumato.cli.known import compared, drawn, said

    found = compared(_type(space, alpha, epsilon), loss, prior, optimum)
    if figure is not None:
        drawn(found, figure)
    if as_json:
        for record in found.records():
            typer.echo(json.dumps({"space": space, **_promise(found.privacy), **record}))
        if "optimal" in found.left_out:
            typer.echo(f"sfumato: no row optimal: {in_shell_words(found.left_out['optimal'])}", err=True)
        return
    typer.echo("\n".join(said(found)))
    if figure is not None:
        typer.echo(f"Drawn: {figure}")


@app.command(cls=Command)
def paper(
    key: Annotated[str | None, typer.Argument(help="Such as A.table4a or A.fig2; 'list' shows all.")] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", "-o", help="Draw it: a page (.html), .json, .svg, .png or .pdf.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Rerun all of them and write one page (papers.html, or what -o names).")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute a table or figure of a paper and show it beside the printed values."""
    from sfumato.errors import InvalidInput, NotSupported
    from sfumato.papers import PAPERS

    if everything:
        _every_paper(figure or Path("papers.html"), key, as_json)
        return
    if key is None:
        raise InvalidInput("name an item, such as A.table4a, or say --all; `sfumato paper list` shows them")
    if key == "list":
        typer.echo("\n".join(json.dumps({"key": name}) if as_json else name for name in PAPERS))
        return
    if key not in PAPERS:
        raise NotSupported(f"paper item {key!r}", PAPERS)
    table = PAPERS[key]()
    if figure is not None:
        from sfumato.report.figure import write

        if table.figure is None:
            raise NotSupported(f"a figure of {key}", ["the table, without --figure"])
        write(table.figure(), figure)
    if as_json:
        typer.echo(json.dumps({"key": table.key, "rows": table.rows, "notes": table.notes}, default=str))
        return
    typer.echo(f"{table.key}: {table.title}")
    _print_table(table.rows)
    for note in table.notes:
        typer.echo(f"  Note: {note}")
    if figure is not None:
        typer.echo(f"  Drawn: {figure}")


def _every_paper(target: Path, key: str | None, as_json: bool) -> None:
    """All items, or those whose key begins as asked, on one page."""
    from sfumato.cli.progress import line
    from sfumato.errors import InvalidInput
    from sfumato.files import write_whole
    from sfumato.papers import PAPERS
    from sfumato.papers.page import compared, laid_out, recomputed

    keys = [name for name in PAPERS if key is None or name.startswith(key)]
    if not keys:
        raise InvalidInput(f"no item of the papers begins with {key!r}; `sfumato paper list` shows them")
    with line() as say:
        tables = recomputed(keys, say)
        write_whole(target, lambda: laid_out(tables).encode())
    found = {table.key: compared(table) for table in tables}
    printed = sum(counts.same + counts.different for counts in found.values())
    wrong = sum(counts.different for counts in found.values())
    where = [name for name, counts in found.items() if counts.different]
    if as_json:
        record = {"file": str(target), "items": len(keys), "printed": printed, "different": wrong, "differ": where}
        typer.echo(json.dumps(record))
        return
    typer.echo(f"{counted(len(keys), 'item')}: {target}")
    inside = f" (in {', '.join(where)})" if where else ""
    typer.echo(f"{wrong} of {counted(printed, 'printed number')} {'differs' if wrong == 1 else 'differ'}{inside}")


def _print_table(rows: tuple[dict[str, Any], ...]) -> None:
    """Columns under their names; as wide as it takes where nobody looks."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_shown(row.get(name, "")) for name in rows[0]))
    Console(width=None if sys.stdout.isatty() else 400, highlight=False).print(table)


def _shown(value: Any) -> str:
    """One cell of a paper's table: ours, and the printed value where it has more to say."""
    if not isinstance(value, dict):
        return f"{value:.7g}" if isinstance(value, float) else str(value)
    printed, ours = value["printed"], value["ours"]
    shown = f"{ours:.7g}" if isinstance(ours, float) else str(ours)
    if "/" in shown and printed != shown:
        shown += f" = {float(ours):.4g}"
    if value["agree"] is False:
        return f"{shown} (printed {printed}, differs)"
    return shown if printed in ("–", "-", shown) else f"{shown} (printed {printed})"


def run() -> None:
    """Entry point: one line on stderr and exit 2 for bad input, 3 for a privacy violation."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter shows its number
    try:
        app()
    except PrivacyViolation as error:
        _fail(error, 3)
    except (SfumatoError, OSError) as error:
        _fail(error, 2)
    except KeyboardInterrupt:
        typer.echo("sfumato: stopped", err=True)
        sys.exit(130)


def _fail(error: Exception, status: int) -> None:
    typer.echo(f"sfumato: {in_shell_words(str(error))}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    run()
