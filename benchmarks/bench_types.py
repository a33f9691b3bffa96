"""Vertices and kernels of privacy types at e^ε = 2 beside pplpy and lrs, on one core, with the memory they take.

Both peers are exact and get the polytope as integers: {v : v_x ≤ 2^d(x, z) v_z, Σ v = 1} for vertices, implied pairs
left out, and {a ≥ 0 : Σ a_i v_i = 1} with the rays v_i already found for kernels, while sfumato starts from the space
each time. On the other hand the peers return coordinates, sfumato heights and supports: the weights of a kernel are
solved for when asked for, which has a column of its own.

Every measurement runs in a process of its own, in turns, all on the same core, with a loop of plain Python before
each turn to show how busy the machine was. lrs is a program: its seconds contain starting it (some milliseconds) and
writing its answer to a file. NumPy trying every set of rays needs no other package and shows what an idea saves; it
decides zero by a tolerance, which exact counts do not.

``--no-peers`` measures sfumato alone, ``--only PATTERN`` the cases whose call, space and size match.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
import sysconfig
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf
from isolation import NoResult, isolated
from timing import Table, measure

LIMIT = 60  # seconds, for one answer of a peer
SLOW = 5  # seconds after which a peer is not asked again
MISSING = NoResult("not installed")
UNASKED = NoResult("—")
SAMPLE = 200  # kernels whose weights are solved for


@dataclass(frozen=True)
class Case:
    """A call, the space as a constructor with its arguments, the seconds to stay below, how often to measure."""

    call: str
    space: str
    arguments: tuple[int, ...]
    goal: float | None = None
    repeats: int = 15
    turns: int = 3
    peers: bool = True

    @property
    def privacy(self) -> sf.PrivacyType:
        return sf.PrivacyType(getattr(sf, self.space)(*self.arguments), alpha="1/2")


@dataclass(frozen=True)
class Polytope:
    """b + a·x = 0 and b + a·x ≥ 0, as integer rows (b, a)."""

    equalities: tuple[tuple[int, ...], ...]
    inequalities: tuple[tuple[int, ...], ...]


@dataclass
class Answer:
    """What one side counted, its seconds, and its resident memory in MB before and at most during the calls."""

    count: int
    first: float
    seconds: list[float]
    before: float | None = None
    peak: float | None = None
    weights: float | None = None

    @property
    def best(self) -> float:
        return min(self.seconds)


@dataclass
class Row:
    """All answers to one case, merged over the turns."""

    case: Case
    answers: dict[str, Answer | NoResult] = field(default_factory=dict)
    loops: list[float] = field(default_factory=list)


VERTICES = (
    Case("vertices", "line", (8,)),
    Case("vertices", "discrete", (7,)),
    Case("vertices", "hamming", (3,)),
    Case("vertices", "grid", (3, 3), goal=3, peers=False),  # bounds 2^√2, 2^√5 are no integers
    Case("vertices", "hamming", (4,), goal=0.2),
)
KERNELS = (
    Case("kernels", "line", (5,)),
    Case("kernels", "discrete", (5,)),
    Case("kernels", "line", (6,), goal=0.020),
    Case("kernels", "hamming", (3,), goal=0.060),
    Case("kernels", "line", (7,), goal=30, repeats=3, turns=1),
    Case("count_kernels", "line", (7,), goal=30, repeats=3, turns=1, peers=False),
)


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--no-peers", action="store_true", help="sfumato alone, and only the seconds")
    parser.add_argument("--only", default="", help="a pattern for call, space and size, such as 'kernels line 6'")
    parser.add_argument("--turns", type=int, help="for all cases; three, or one where a case takes seconds")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # inherited by every process started from here
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{peer_versions()}; all on one core\n", flush=True)
    rows = []
    for name, title, cases in (("vertices", "Vertices", VERTICES), ("kernels", "Kernels", KERNELS)):
        table = Table(
            name,
            f"{title} of privacy types at e^ε = 2, one core; {peer_versions()}",
            ("call", "space", "found", "first, s", "least, s", "median, s", "goal, s", "reached", "pplpy, s",
             "pplpy ÷ least", "lrs, s", "lrs ÷ least", "weights of one kernel, s", "loop, ms"),
            ("call", "space"),
            "least, s",
        )  # fmt: skip
        for case in cases:
            if not re.search(given.only, " ".join(map(str, (case.call, case.space, *case.arguments)))):
                continue
            case = replace(case, peers=case.peers and not given.no_peers, turns=given.turns or case.turns)
            rows.append(measured(case))
            table.add(*cells(rows[-1]))
        table.finish()
    if given.no_peers or not rows:
        return
    memory_table(rows)
    estimate_table()
    every_set_table()
    loops = [seconds for row in rows for seconds in row.loops]
    print(f"loop of plain Python: least {min(loops):.3g} s, median {median(loops):.3g} s, most {max(loops):.3g} s")


def measured(case: Case) -> Row:
    """Ask all sides in turns; a slow peer, or one without an answer, is asked once."""
    row = Row(case)
    polytope = polytope_of(case) if case.peers else None
    for _ in range(case.turns):
        row.loops += [loop() for _ in range(3)]
        merge(row, "sfumato", isolated(by_sfumato, case, seconds=10 * LIMIT))
        for name, peer in (("pplpy", by_pplpy), ("lrs", by_lrs)):
            known = row.answers.get(name)
            if known is None or (isinstance(known, Answer) and known.best < SLOW):
                merge(row, name, UNASKED if polytope is None else peer(polytope))
    found = {answer.count for answer in row.answers.values() if isinstance(answer, Answer)}
    if len(found) > 1:
        raise SystemExit(f"{case.call} of {case.privacy}: different counts {found} in {row.answers}")
    return row


def merge(row: Row, name: str, answer: Answer | NoResult) -> None:
    """Keep the first call, all seconds and the most memory."""
    known = row.answers.get(name)
    if isinstance(known, Answer) and isinstance(answer, Answer):
        known.seconds += answer.seconds
        known.peak = max(known.peak, answer.peak) if known.peak and answer.peak else known.peak
    elif known is None:
        row.answers[name] = answer


def cells(row: Row) -> tuple[Any, ...]:
    """One line of the tables of seconds."""
    own, goal = row.answers["sfumato"], row.case.goal
    if isinstance(own, NoResult):
        raise SystemExit(f"{row.case}: {own}")
    middle = median(own.seconds)
    reached = "—" if goal is None else "yes" if middle <= goal else "at best" if own.best <= goal else "no"
    peers: list[Any] = []
    for name in ("pplpy", "lrs"):
        answer = row.answers[name]
        peers += [answer, "—"] if isinstance(answer, NoResult) else [answer.best, answer.best / own.best]
    return (
        row.case.call, row.case.privacy.space.name, own.count, own.first, own.best, middle, goal or "—", reached,
        *peers, own.weights or "—", 1000 * min(row.loops),
    )  # fmt: skip


def by_sfumato(case: Case) -> Answer:
    """The call itself, from a new process on."""
    privacy = case.privacy
    function: Callable[[sf.PrivacyType], Any] = getattr(sf.types, case.call)
    start = perf_counter()
    result = function(privacy)
    first = perf_counter() - start
    count = result if isinstance(result, int) else len(result)
    del result
    seconds, before, peak = repeated(lambda: function(privacy), case.repeats)
    weights = None
    if case.call == "kernels":
        found = sf.types.kernels(privacy)
        chosen = [found[i] for i in range(0, len(found), max(1, len(found) // SAMPLE))]
        start = perf_counter()
        for kernel in chosen:
            kernel.weights  # noqa: B018, it is a cached property
        weights = (perf_counter() - start) / len(chosen)
    return Answer(count, first, seconds, before, peak, weights)


def by_pplpy(polytope: Polytope) -> Answer | NoResult:
    """The Parma Polyhedra Library through pplpy."""
    return isolated(points_of_ppl, polytope, seconds=LIMIT) if installed("pplpy") else MISSING


def points_of_ppl(polytope: Polytope) -> Answer:
    """Vertices by ppl, from integers to generators."""
    import ppl

    def answer() -> int:
        system = ppl.Constraint_System()
        for constant, *row in polytope.inequalities:
            system.insert(ppl.Linear_Expression(row, constant) >= 0)
        for constant, *row in polytope.equalities:
            system.insert(ppl.Linear_Expression(row, constant) == 0)
        return len(ppl.C_Polyhedron(system).minimized_generators())  # bounded, so all of them are points

    counts: list[int] = []
    seconds, before, peak = repeated(lambda: counts.append(answer()), 1)
    if seconds[0] < SLOW:
        seconds += repeated(answer, 2)[0]
    return Answer(counts[0], seconds[0], seconds, before, peak)


def by_lrs(polytope: Polytope) -> Answer | NoResult:
    """The program lrs, with its own account of the memory it took."""
    program = lrs()
    if program is None:
        return MISSING
    with TemporaryDirectory() as folder:
        problem, output = Path(folder, "polytope.ine"), Path(folder, "vertices.ext")
        problem.write_text(as_ine(polytope), encoding="ascii")
        # a process inherits the peak of whatever starts it, and a shell is small
        command = ["sh", "-c", '"$0" "$1" "$2"; exit $?', program, str(problem), str(output)]
        start = perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, text=True
        )
        try:
            output_text, _ = process.communicate(timeout=LIMIT)
            seconds = perf_counter() - start
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            with output.open("rb") as lines:
                found = sum(line.startswith(b" 1 ") for line in lines)
            return NoResult(f"over {LIMIT} s, {found:,} found by then")
        with output.open("rb") as lines:
            output_text += b"".join(line for line in lines if line.startswith(b"*")).decode()
    totals = re.search(r"vertices=(\d+)", output_text)
    if process.returncode or totals is None:
        return NoResult(f"exit code {process.returncode}")
    memory = re.search(r"(\d+)Kb", output_text)
    return Answer(int(totals[1]), seconds, [seconds], None, int(memory[1]) / 1000 if memory else None)


def as_ine(polytope: Polytope) -> str:
    """The polytope in the format of lrs, equalities first."""
    rows = (*polytope.equalities, *polytope.inequalities)
    first = len(polytope.equalities)
    head = f"polytope\nH-representation\nlinearity {first} {' '.join(str(i + 1) for i in range(first))}\n"
    body = "\n".join(" ".join(map(str, row)) for row in rows)
    return f"{head}begin\n{len(rows)} {len(rows[0])} integer\n{body}\nend\n"


def polytope_of(case: Case) -> Polytope:
    """What the peers are given."""
    privacy = case.privacy
    if case.call == "vertices":
        n, inequalities = len(privacy.space), []
        for x, z in zip(*privacy.space.pairs, strict=True):
            factor = int(privacy.exact_factor(privacy.space.distances.values[x, z]))
            for upper, lower in ((x, z), (z, x)):
                row = [0] * (n + 1)
                row[1 + upper], row[1 + lower] = -1, factor
                inequalities.append(tuple(row))
        return Polytope(((-1, *(1,) * n),), tuple(inequalities))
    table = sf.privacy.rays.rays_of(sf.types.vertices(privacy)).integers
    rays = table.shape[1]
    return Polytope(
        tuple((-1, *map(int, row)) for row in table),
        tuple((0, *(int(i == j) for j in range(rays))) for i in range(rays)),
    )


def repeated(function: Callable[[], Any], repeats: int) -> tuple[list[float], float | None, float | None]:
    """Seconds of each call; resident memory before them and its peak during them."""
    gc.collect()
    before = status("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak of compilation
    except OSError:
        before = None
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        seconds.append(perf_counter() - start)
    return seconds, before, status("VmHWM")


def status(name: str) -> float | None:
    """A line of this process's status in MB; None where there is no such file."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    return int(re.search(rf"{name}:\s+(\d+)", text)[1]) * 1.024e-3


def loop() -> float:
    """Seconds of a loop that has nothing to do with the rest."""
    start, total = perf_counter(), 0
    for i in range(500_000):
        total += i * i % 7
    return perf_counter() - start


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def lrs() -> str | None:
    """The program, from the system or from the wheel passagemath-lrslib."""
    wheel = Path(sysconfig.get_path("platlib"), "sage_wheels", "bin")
    return shutil.which("lrs") or shutil.which("lrs", path=str(wheel))


def peer_versions() -> str:
    program = lrs()
    found = "not installed"
    if program is not None:
        started = subprocess.run([program, os.devnull], capture_output=True, text=True, check=False)
        number = re.search(r"lrslib v\.?(\S+)", started.stdout + started.stderr)
        found = number[1] if number else "of unknown version"
    return f"pplpy {installed('pplpy') or 'not installed'}, lrs {found}"


def memory_table(rows: list[Row]) -> None:
    """Resident memory of the processes above: an idle interpreter with compiled code, then the most while at work."""
    table = Table(
        "types-memory",
        "Resident memory in MB, each in a process of its own",
        ("call", "space", "found", "sfumato before", "sfumato peak", "pplpy before", "pplpy peak", "lrs peak"),
    )
    for row in rows:
        own, ppl, other = (row.answers[name] for name in ("sfumato", "pplpy", "lrs"))
        shown = [getattr(own, "before", None), getattr(own, "peak", None), getattr(ppl, "before", None),
                 getattr(ppl, "peak", None), getattr(other, "peak", None)]  # fmt: skip
        table.add(row.case.call, row.case.privacy.space.name, own.count, *("—" if v is None else v for v in shown))
    table.finish()


def estimate_table() -> None:
    """Samples a second where listing is out of reach."""
    table = Table(
        "kernel-estimate",
        "Estimate of the number of kernels",
        ("space", "estimate", "samples a second at best", "in the median"),
    )
    rates, shown = isolated(estimate_rates, 8, 200_000, 5, seconds=10 * LIMIT)
    table.add(sf.line(8).name, shown, round(max(rates)), round(median(rates)))
    table.finish()


def estimate_rates(n: int, samples: int, repeats: int) -> tuple[list[float], str]:
    privacy = sf.PrivacyType(sf.line(n), alpha="1/2")
    sf.types.estimate_kernels(privacy, samples=1000, seed=1)
    rates = []
    for _ in range(repeats):
        start = perf_counter()
        found = sf.types.estimate_kernels(privacy, samples=samples, seed=1)
        rates.append(samples / (perf_counter() - start))
    return rates, str(found)


def every_set_table() -> None:
    """Trying every set of rays, where that ends soon."""
    table = Table(
        "every-set", "Kernels by trying every set", ("space", "kernels", "sfumato, s", "every set, s", "ratio")
    )
    for space in (sf.line(5), sf.discrete(4), sf.discrete(5)):
        privacy = sf.PrivacyType(space, alpha="1/2")
        rays = np.stack([vertex.ray.astype(float) for vertex in sf.types.vertices(privacy)], axis=1)
        own = measure(lambda privacy=privacy: sf.types.kernels(privacy), 5)
        other = measure(lambda rays=rays: every_set(rays), 0)
        table.add(space.name, every_set(rays), own.median, other.median, other.median / own.median)
    table.finish()


def every_set(rays: np.ndarray) -> int:
    """How many sets of independent rays have a positive combination that is 1, up to 1e-9."""
    n, count = rays.shape
    found = 0
    for size in range(1, n + 1):
        sets = combinations(range(count), size)
        while batch := list(islice(sets, 50_000)):
            systems = rays[:, np.array(batch)].transpose(1, 0, 2)
            inverses = np.linalg.pinv(systems)
            weights = inverses.sum(axis=2)
            solved = np.abs((systems @ weights[:, :, None])[:, :, 0] - 1).max(axis=1) < 1e-9
            independent = np.linalg.matrix_rank(systems) == size
            found += int((solved & independent & (weights.min(axis=1) > 1e-9)).sum())
    return found


if __name__ == "__main__":
    main()
