"""The command ``page``: a mechanism as a page that verifies it and hides the visitor's own choice."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, MechanismFile, Overwrite, PageFile, Title, answer, page_beside
from sfumato.client.page import Burden, write_page
from sfumato.errors import in_one_line


def page(
    mechanism: MechanismFile, output: PageFile = None, title: Title = "", overwrite: Overwrite = False,
    large: Annotated[bool, typer.Option("--large", help="Write it although phones cannot open and prove it.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Write one offline page: a visitor's browser verifies the mechanism and hides the visitor's own choice.

    It shows the promise, takes an answer, a cell or the device's position, and shows what would be sent. No network.
    Its size and the time of the proof are said before it is written.
    """
    target = page_beside(mechanism, output, overwrite)
    told: list[Burden] = []

    def tell(burden: Burden) -> None:
        told.append(burden)
        typer.echo(f"sfumato: a page of {burden}", err=True)

    written = write_page(mechanism, target, title=title, overwrite=overwrite, large=large, tell=tell)
    record = {"file": str(written), "bytes": told[0].size, "seconds": told[0].seconds}
    answer(record, [f"{in_one_line(written)}: {told[0].size} bytes, opens without a network"], as_json)
