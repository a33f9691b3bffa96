"""Tests of kind: who asks a family, or a mechanism, need not ask what class it is of.

Places, points and shares are records in ``specs/families`` and ``design/families``, with views in ``studio/families``.
Elsewhere a question such as ``isinstance(space, Box)`` or ``box.frame is None`` is a place that somebody who adds a
kind has to find. They are counted here, and the number may only fall.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "src" / "sfumato"
RECORDS = ("specs/families/", "design/families.py", "studio/families.py")
ALONE = ("certify/kernel/",)  # the proof kernel knows no other room

CLASSES = "Box|BoxMechanism|BoxNoise|CoordinateMechanism|CoordinateLoss|BoxDesign|SharesDesign|SharesClaim|BoxFacts"
KIND = re.compile(
    rf"isinstance\([^\n]*?\b(?:{CLASSES}|EarthBoxSpec)\b|\.box is (?:not )?None|\bin BOXES\b|\.frame is (?:not )?None"
    r"|[!=]= \"shares\"|\.about [!=]= |\.drawn_as [!=]= |family\.listed|family\.name [!=]="
)
MOST = 30


def kinds_asked(path: Path) -> list[str]:
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [line for line in lines if not line.startswith(("#", ">>>", '"""')) for _ in KIND.findall(line)]


def test_kinds_are_asked_for_more_and_more_seldom() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): asked
        for path in sorted(ROOT.rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith((*RECORDS, *ALONE)) and (asked := kinds_asked(path))
    }
    count = sum(map(len, found.values()))
    assert count <= MOST, f"{count} tests of kind: {found}"
    assert count > MOST - 10, f"only {count} are left: say so here"
