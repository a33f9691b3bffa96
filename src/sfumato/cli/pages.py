"""The command ``page``: a mechanism as a page that verifies it and hides the visitor's own choice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AsJson, answer, page_beside
from sfumato.client.page import write_page


def page(
    mechanism: Annotated[Path, typer.Argument(metavar="MECHANISM", help="A mechanism file (.sfm).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page (default: named like MECHANISM, .html, here).")
    ] = None,
    title: Annotated[str, typer.Option(help="The heading of the page.")] = "",
    as_json: AsJson = False,
) -> None:
    """Write one offline page: a visitor's browser verifies the mechanism and hides the visitor's own choice.

    It shows the promise, takes an answer, a cell or the device's position, and shows what would be sent. No network.
    """
    written = write_page(mechanism, page_beside(mechanism, output), title=title)
    size = written.stat().st_size
    answer({"file": str(written), "bytes": size}, [f"{written}: {size} bytes, opens without a network"], as_json)
