"""Commands on a machine where nothing is compiled yet, beside the same commands afterwards.

    python benchmarks/bench_cold.py              # all five, one after the other
    python benchmarks/bench_cold.py audit hide   # some of them

Each command runs on a small input in a process of its own, cold with an empty folder for compiled functions and warm
with what the cold run has left there. A folder is for one command, so that none finds what another one has compiled.
Seconds are of the wall and of the processor, from the start of Python to the end; what was compiled is counted in the
folder.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from subprocess import run
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from timing import Table

SECRETS, POINTS, ROWS, SEED = 40, 1000, 1000, 20
SPEC = """[space]
kind = "grid"
shape = [5, 5]
unit = "km"

[privacy]
epsilon = 1
per = "km"

[prior]
uniform = true

[loss]
kind = "distance"
"""
OUTCOMES = (0, 1, 3)  # an audit that finds a broken promise has worked as well
COMMANDS = {
    "audit": "audit matrix.csv --space line:40 --epsilon 0.7 --prior uniform --loss absolute",
    "design": "design spec.toml --output new.sfm --overwrite",
    "hide": "hide points.csv --hide 1km --box 40.70,-74.02,40.718,-73.996 --output hidden.csv --overwrite",
    "verify": "verify best.sfm",
    "release": "release best.sfm homes.csv released.csv --column home --overwrite",
}


def written(folder: Path) -> None:
    """The inputs of all commands."""
    rng = np.random.default_rng(SEED)
    near = np.exp(-np.abs(np.subtract.outer(np.arange(SECRETS), np.arange(SECRETS))) / 2)
    np.savetxt(folder / "matrix.csv", near / near.sum(axis=1, keepdims=True), delimiter=",")
    (folder / "spec.toml").write_text(SPEC, encoding="utf-8")
    places = zip(40.70 + 0.018 * rng.random(POINTS), -74.02 + 0.024 * rng.random(POINTS), strict=True)
    rows = [f"{number},{lat:.6f},{lon:.6f}" for number, (lat, lon) in enumerate(places)]
    (folder / "points.csv").write_text("\n".join(["id,lat,lon", *rows, ""]), encoding="utf-8")
    homes = [f'"{x},{y}"' for x, y in rng.integers(0, 5, (ROWS, 2))]
    (folder / "homes.csv").write_text("\n".join(["home", *homes, ""]), encoding="utf-8")
    called("design spec.toml --output best.sfm", folder, None)


def called(words: str, folder: Path, compiled: Path | None) -> tuple[float, float]:
    """Seconds of a command by the wall and by the processor; ``compiled`` is where compiled functions are kept."""
    told = dict(os.environ) if compiled is None else {**os.environ, "NUMBA_CACHE_DIR": str(compiled)}
    start, before = perf_counter(), _processor()
    done = run([sys.executable, "-m", "sfumato", *words.split()], cwd=folder, env=told, capture_output=True, text=True)
    if done.returncode not in OUTCOMES:
        raise SystemExit(f"sfumato {words}: {done.stderr}")
    return perf_counter() - start, _processor() - before


def _processor() -> float:
    spent = getrusage(RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("commands", nargs="*", help=f"some of {', '.join(COMMANDS)}; all of them by default")
    chosen = parser.parse_args().commands or list(COMMANDS)
    table = Table(
        "cold", "A command before and after its functions are compiled",
        ("command", "functions", "signatures", "cold s", "processor s", "warm s", "warm processor s"),
        ("command",), "cold s",
    )  # fmt: skip
    with TemporaryDirectory() as name:
        folder = Path(name)
        written(folder)
        for command in chosen:
            compiled = folder / f"compiled-{command}"
            compiled.mkdir()
            cold, warm = (called(COMMANDS[command], folder, compiled) for _ in range(2))
            functions, signatures = (len(list(compiled.rglob(ending))) for ending in ("*.nbi", "*.nbc"))
            table.add(command, functions, signatures, *cold, *warm)
    table.finish()


if __name__ == "__main__":
    main()
