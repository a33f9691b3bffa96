"""Tables of measurements as small files: what was measured, on which machine, at which commit, by which command.

Where a table goes is said by the environment. Without a word it is ``out/benchmarks``, which is not under version
control. ``SFUMATO_KEEP=1`` keeps it in ``benchmarks/results``, from which the page on peers is made, and any other
value, such as ``SFUMATO_KEEP=gpu``, keeps it there beside the first, as ``NAME-gpu.json``. ``SFUMATO_RESULTS`` names
another folder altogether. ``SFUMATO_COMMIT`` says the commit where there is no git.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sfumato.threads import cores

__all__ = ["RESULTS", "Machine", "Result", "folder", "here", "read", "results", "write"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BUSY = 0.35  # of a core: other work that takes more than this shows in the figures of a machine with two cores
PACKAGES = ("numpy", "scipy", "numba", "highspy", "torch", "qif", "pplpy", "passagemath-lrslib", "opendp",
            "dp-accounting")  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """Where something was measured; ``load`` is how many cores were at work before, None where that is not known.

    Nought cores and no memory stand for what nobody wrote down.
    """

    processor: str
    cores: int
    memory: str
    gpu: str = "none"
    system: str = ""
    load: float | None = None
    busy: bool = False

    @property
    def words(self) -> str:
        """The machine in a few words."""
        cores = f"{self.cores} core{'s' if self.cores > 1 else ''}" if self.cores else ""
        gpu = "" if self.gpu == "none" else self.gpu
        return ", ".join(filter(None, (self.processor, cores, self.memory, gpu)))


@dataclass(frozen=True)
class Result:
    """A table with all its digits and where it comes from.

    ``case`` are the columns that name a row and ``time`` the one with its seconds, for whoever compares two runs.
    ``source`` says from where the numbers were copied if no benchmark wrote this file.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    machine: Machine
    date: str
    commit: str
    command: str
    seconds: float | None
    case: tuple[str, ...] = ()
    time: str | None = None
    packages: dict[str, str] = field(default_factory=dict)
    source: str | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.name}: {len(row)} cells for {len(self.columns)} columns in {row}")


def folder() -> Path:
    """Where tables go."""
    if named := os.environ.get("SFUMATO_RESULTS"):
        return Path(named)
    return RESULTS if os.environ.get("SFUMATO_KEEP") else ROOT / "out" / "benchmarks"


def write(result: Result, where: Path | None = None) -> Path:
    """Write a result, one row a line, so that two versions can be compared."""
    variant = os.environ.get("SFUMATO_KEEP", "1")
    name = result.name if variant in ("1", "") else f"{result.name}-{variant}"
    path = (where or folder()) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {key: value for key, value in asdict(result).items() if value not in (None, {}, ())}
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False, default=str)}" for row in result.rows)
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False, default=str)}"
             for key, value in content.items() if key != "rows"]  # fmt: skip
    lines.append(f' "rows": [\n{rows}\n ]')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return path


def read(path: Path) -> Result:
    """A result that was written before."""
    given = json.loads(path.read_text(encoding="utf-8"))
    given["machine"] = Machine(**given["machine"])
    for key in ("columns", "case"):
        given[key] = tuple(given.get(key, ()))
    given["rows"] = tuple(tuple(row) for row in given["rows"])
    given.setdefault("seconds", None)
    return Result(**given)


def results(where: Path = RESULTS) -> dict[str, Result]:
    """All results of a folder by the names of their files."""
    return {path.stem: read(path) for path in sorted(where.glob("*.json"))}


# ------------------------------------------------------------------------------------------------------------- where


@cache
def here() -> Machine:
    """This machine."""
    return Machine(processor(), cores(), memory(), gpu(), platform.system(), LOAD, LOAD is not None and LOAD > BUSY)


def load() -> float | None:
    """How many cores were at work before this process: what ``run.py`` has seen, or the load average."""
    if "SFUMATO_LOAD" in os.environ:
        return float(os.environ["SFUMATO_LOAD"])
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


LOAD = load()  # asked for when this is imported, before anything of ours runs


def processor() -> str:
    """The processor in words."""
    try:
        known = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        known = None
    return " ".join(known[1].split()) if known else platform.processor() or platform.machine()


def memory() -> str:
    """The memory of the machine in GiB."""
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    except (AttributeError, ValueError, OSError):
        return ""


def gpu() -> str:
    """The GPUs in words, or none."""
    try:
        said = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"],
            capture_output=True, text=True, check=True, timeout=20,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return "none"
    return "; ".join(said.split("\n")).strip("; ") or "none"


@cache
def commit() -> str:
    """The commit of the source, with a word where files have changed since."""
    if named := os.environ.get("SFUMATO_COMMIT"):
        return named
    try:
        head, changed = (
            subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True, timeout=20)
            for words in (("rev-parse", "--short=8", "HEAD"), ("status", "--porcelain", "src"))
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return head.stdout.strip() + (" with changes" if changed.stdout.strip() else "")


def command() -> str:
    """What was typed, as far as it says what was measured; no paths of this machine."""
    script = Path(sys.argv[0])
    told = [word if not Path(word).is_absolute() else Path(word).name for word in sys.argv[1:]]
    return shlex.join(["python", f"benchmarks/{script.name}", *told])


def today() -> str:
    """The date, in UTC."""
    return datetime.now(UTC).date().isoformat()


@cache
def packages() -> dict[str, str]:
    """Versions of what is measured with and beside."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
