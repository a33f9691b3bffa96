"""The command that opens the studio, a page in a browser on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.options import AsJson, answer
from sfumato.studio.server import serve


def studio(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to serve it (default: any free port).")] = 0,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
    as_json: AsJson = False,
) -> None:
    """Design mechanisms in a browser. The page is served to this machine only, and needs no network."""

    def say(address: str) -> None:
        answer({"address": address}, [f"The studio is at {address}", "Ctrl-C ends it."], as_json)

    serve(port, opens=opens, say=say)
