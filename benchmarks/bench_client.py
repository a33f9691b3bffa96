"""The client in JavaScript on tables of 400 × 400, beside the kernel and its twin, and beside what was promised.

    python benchmarks/bench_client.py

Node reads, proves and draws in a process of its own; seconds are those of the proof, reading included. A table whose
metric is a graph is proved by its edges, within a second; points in the plane with all pairs, within six; a draw takes
at most 20 µs. What is slower ends the run with status 1.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import sfumato as sf
from timing import Table

SPEED = Path(__file__).resolve().parents[1] / "js" / "test" / "speed.mjs"
NODE = os.environ.get("NODE") or shutil.which("node") or "node"
MOST_MICROSECONDS = 20


def mechanisms() -> dict[str, tuple[sf.Mechanism, float]]:
    """What is proved, and in how many seconds."""
    points = sf.points(np.random.default_rng(1).uniform(0, 10, (400, 2)).tolist())
    return {
        "400 on a line, by edges": (sf.geometric(sf.PrivacyType(sf.line(400), epsilon="1/10")), 1.0),
        "20 × 20 cells, pairs that are not implied": (sf.exponential(sf.PrivacyType(sf.grid(20, 20), epsilon=1)), 6.0),
        "400 points, all pairs": (sf.exponential(sf.PrivacyType(points, epsilon="1/2")), 6.0),
    }


def seconds_of(checker: str, path: Path) -> float:
    start = perf_counter()
    assert sf.verify(path, checker=checker)  # type: ignore[arg-type]
    return perf_counter() - start


def main() -> int:
    headings = ("mechanism", "comparisons", "kernel, s", "twin, s", "client, s", "limit, s", "client, µs a draw")
    table = Table(
        "client", "Proofs and draws in JavaScript, tables of 400 × 400", headings, ("mechanism",), "client, s"
    )
    slow = False
    with TemporaryDirectory() as folder:
        for name, (mechanism, limit) in mechanisms().items():
            path = Path(folder) / "mechanism.sfm"
            sf.save(mechanism, path, overwrite=True)
            done = subprocess.run([NODE, SPEED, path], capture_output=True, check=True, text=True)
            found = json.loads(done.stdout)
            assert found["outcome"] == "proved"
            seconds = found["read"] + found["verify"]
            slow |= seconds > limit or found["microseconds"] > MOST_MICROSECONDS
            checkers = [seconds_of(checker, path) for checker in ("kernel", "twin")]
            table.add(name, mechanism.proof.comparisons, *checkers, seconds, limit, found["microseconds"])
    table.finish()
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
