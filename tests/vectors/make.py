"""Make the test vectors: ``python tests/vectors/make.py`` writes NAME.sfm, answers.json and draws.json beside itself.

Nothing is random. A file says one thing that is true, or has one fault; the reason says which. The answers are those
that :file:`docs/format.md` asks for; the kernel, its compiled twin and the client are held to them by tests.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from sfumato.certify import kernel  # noqa: E402
from vectors.drawn import draws  # noqa: E402
from vectors.forged_boxes import forged_boxes, neighbours  # noqa: E402
from vectors.forged_bytes import forged_bytes  # noqa: E402
from vectors.forged_rows import forged_rows  # noqa: E402
from vectors.parts import merged  # noqa: E402
from vectors.true_boxes import others, true_boxes  # noqa: E402
from vectors.true_rows import true_rows  # noqa: E402
from vectors.true_shares import true_shares  # noqa: E402

Vectors = dict[str, tuple[bytes, dict[str, Any]]]


def vectors() -> Vectors:
    """Bytes and answer of every file, by name."""
    pairs = merged(true_shares(), true_boxes())
    true = merged(true_rows(), others(), {name: (file, reason) for name, (file, _, reason) in pairs.items()})
    forged = merged(forged_bytes(), forged_rows(), forged_boxes(), neighbours(pairs))
    merged(true, forged)
    found: Vectors = {}
    for name, (file, reason) in true.items():
        data = file.written()
        found[name] = data, {"answer": "proved", "reason": reason, "proves": proves(data)}
    for name, (data, answer, reason) in forged.items():
        found[name] = data, {"answer": answer, "reason": reason}
    return dict(sorted(found.items()))


def proves(data: bytes) -> dict[str, Any]:
    """What is proved of a file: the promise, the numbers that are claimed, and what was counted."""
    header, sections, digest = kernel.parse(data)
    proved = kernel.check(header, sections)
    promise = header.promise._asdict()
    told = {"promise": promise["kind"], "claim": header.claims and header.claims.kind, "sha256": digest}
    told |= {name: str(promise[name]) for name in ("epsilon", "alpha", "rate") if promise.get(name) is not None}
    told |= {name: str(proved[name]) for name in ("loss", "bound") if name in proved}
    counts = ("secrets", "outputs", "pairs", "implied", "open", "loose", "events", "cells", "comparisons")
    return told | {name: proved[name] for name in counts if name in proved}


def lines(table: dict[str, Any]) -> str:
    """JSON with one line for each name, so that a change can be read."""
    inside = ",\n".join(f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in table.items())
    return f"{{\n{inside}\n}}\n"


def main() -> None:
    """Write all files, and take away those that are no longer made."""
    made = vectors()
    for path in FOLDER.glob("*.sfm"):
        path.unlink()
    for name, (data, _) in made.items():
        (FOLDER / f"{name}.sfm").write_bytes(data)
    answers = {name: answer for name, (_, answer) in made.items()}
    (FOLDER / "answers.json").write_text(lines(answers), encoding="utf-8")
    (FOLDER / "draws.json").write_text(lines(draws(made)), encoding="utf-8")


if __name__ == "__main__":
    main()
