"""The commands ``page`` and ``client``: pages that verify a mechanism and hide a choice, and the module for others'."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, MechanismFile, Overwrite, PageFile, Title, answer, page_beside
from sfumato.client.bundle import FIRST_LINE, bundle
from sfumato.client.page import Burden, write_page
from sfumato.errors import in_one_line
from sfumato.files import Kind, write_whole

_MODULE = Kind("a module of sfumato", lambda data: data.startswith(FIRST_LINE.encode()))


def page(
    mechanism: MechanismFile, output: PageFile = None, title: Title = "", overwrite: Overwrite = False,
    large: Annotated[bool, typer.Option("--large", help="Write it although phones cannot open and prove it.")] = False,
    send_to: Annotated[str, typer.Option(help="An https:// address to which visitors can send what was drawn.")] = "",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Write one offline page: a visitor's browser verifies the mechanism and hides the visitor's own choice.

    It shows the promise, takes an answer, a cell or the device's position, and shows what would be sent. No network but
    with --send-to, where the visitor can send it to that address and to no other.
    Its size and the time of the proof are said before it is written.
    """
    target = page_beside(mechanism, output, overwrite, "-page")  # NAME.html is its report
    told: list[Burden] = []

    def tell(burden: Burden) -> None:
        told.append(burden)
        typer.echo(f"sfumato: a page of {burden}", err=True)

    written = write_page(mechanism, target, title=title, overwrite=overwrite, large=large, send_to=send_to, tell=tell)
    record = {"file": str(written), "bytes": told[0].size, "seconds": told[0].seconds}
    sends = f"; what a visitor sends goes to {send_to}" if send_to else ""
    record |= {"send_to": send_to} if send_to else {}
    answer(record, [f"{in_one_line(written)}: {told[0].size} bytes, opens without a network{sends}"], as_json)


def client(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the module goes.")] = Path("sfumato.mjs"),
    overwrite: Overwrite = False, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Write the module that verifies mechanisms and draws from them, for browsers, Node and phones of your own.

    One file without dependencies: put it beside your page and import load and verify from it.
    """
    written = write_whole(output, bundle().encode, _MODULE, overwrite=overwrite)
    record = {"file": str(output), "bytes": len(written)}
    answer(record, [f'{in_one_line(output)}: import {{ load, verify }} from "./{in_one_line(output.name)}"'], as_json)
