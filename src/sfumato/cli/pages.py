"""The command ``page``: a mechanism as a page that verifies it and hides the visitor's own choice."""

from __future__ import annotations

from sfumato.cli.options import AsJson, MechanismFile, Overwrite, PageFile, Title, answer, page_beside
from sfumato.client.page import write_page


def page(
    mechanism: MechanismFile, output: PageFile = None, title: Title = "", overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Write one offline page: a visitor's browser verifies the mechanism and hides the visitor's own choice.

    It shows the promise, takes an answer, a cell or the device's position, and shows what would be sent. No network.
    """
    written = write_page(mechanism, page_beside(mechanism, output, overwrite), title=title, overwrite=overwrite)
    size = written.stat().st_size
    answer({"file": str(written), "bytes": size}, [f"{written}: {size} bytes, opens without a network"], as_json)
