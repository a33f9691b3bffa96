"""Make docs/peers.md from its text, ``benchmarks/peers_page.md``, and the tables kept in ``benchmarks/results``.

    python benchmarks/peers_page.py            # or: make peers-page
    python benchmarks/peers_page.py --check    # status 1 where the page is not what would be made

In the text a line ``{{ NAME }}`` stands for the table of that name, with the machine, commit and command it comes from
below it, and ``{{ NAME: a; b -> c; d }}`` for some of its columns: b is shown under the heading c. A table that nobody
has kept yet leaves a sentence that says so. All figures of the page come from the tables.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import kept
from timing import markdown

TEXT = Path(__file__).resolve().with_suffix(".md")
PAGE = kept.ROOT / "docs" / "peers.md"
SLOT = re.compile(r"^\{\{ ([\w-]+)(?:: (.+?))? \}\}$", re.MULTILINE)
HEAD = (
    "<!-- Made by `make peers-page` from benchmarks/peers_page.md and benchmarks/results: edit those, not this. -->\n\n"
)


def main() -> int:
    """Write the page, or compare it."""
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


def page() -> str:
    """The whole page."""
    known = kept.results()
    return HEAD + SLOT.sub(lambda slot: filled(slot[1], slot[2], known), TEXT.read_text(encoding="utf-8"))


def filled(name: str, columns: str | None, known: dict[str, kept.Result]) -> str:
    """A table and where it comes from."""
    if name not in known:
        return f"*Not measured yet: `{name}`.*"
    result = known[name]
    wanted = dict(pair(column) for column in columns.split(";")) if columns else {c: c for c in result.columns}
    if missing := wanted.keys() - set(result.columns):
        raise SystemExit(f"{name} has no column {', '.join(sorted(missing))}; it has {'; '.join(result.columns)}")
    where = [result.columns.index(column) for column in wanted]
    rows = [tuple(row[k] for k in where) for row in result.rows]
    return f"**{result.title}**\n\n{markdown(tuple(wanted.values()), rows)}\n\n{provenance(result)}"


def pair(column: str) -> tuple[str, str]:
    """A column and the heading it is shown under."""
    name, _, heading = column.strip().partition(" -> ")
    return name, heading or name


def provenance(result: kept.Result) -> str:
    """One sentence about where the figures come from."""
    words = f"{result.machine.words}; commit {result.commit}, {result.date}; `{result.command}`"
    if result.seconds is not None:
        words += f", {result.seconds:,.0f} s in all"
    if result.machine.busy:
        words += f"; the machine was busy with other work ({result.machine.load:g} cores of it)"
    if result.source is not None:
        words += f"; copied from {result.source}, not measured again since"
    return f"*{words}.*"


if __name__ == "__main__":
    sys.exit(main())
