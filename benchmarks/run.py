"""Run the benchmarks one after the other and keep what they measure in ``benchmarks/results``.

    make bench                              # all that are for this machine, then the page on peers
    make bench ONLY="design columns"        # some, by name
    python benchmarks/run.py --list         # the names, what each runs, about how many minutes it takes

Each table is kept as soon as it is finished. A script that fails, or takes longer than three times its minutes and ten
more, leaves what it has kept; the others go on, and the end says which failed. Those for a GPU run where there is one,
and those marked as long (an hour) only by name or with ``--long``.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

import kept

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Run:
    """A script with its arguments; ``variant`` tells its tables from those of the same script with others."""

    words: str
    minutes: float
    variant: str = "1"
    gpu: bool = False
    long: bool = False


RUNS = {
    "measures": Run("bench_measures.py", 1),
    "refinement": Run("bench_refinement.py", 3),
    "neighbours": Run("bench_neighbours.py", 5),
    "verification": Run("bench_verification.py", 6),
    "client": Run("bench_client.py", 1),
    "wrong_inputs": Run("wrong_inputs.py --no-arguments", 2),
    "wrong_arguments": Run("wrong_inputs.py .", 15),
    "types": Run("bench_types.py", 8),
    "tight": Run("bench_tight.py", 4),
    "continuous": Run("bench_continuous.py", 1),
    "mechanisms": Run("bench_mechanisms.py", 2),
    "columns": Run("bench_columns.py", 5),
    "cones": Run("bench_cones.py", 2),
    "design": Run("bench_design.py", 10),
    "random_designs": Run("bench_random_designs.py --number 1000 --processes 2", 10),
    "cities": Run("bench_cities.py --sizes 100 300 1000", 12),
    "choice": Run("bench_choice.py", 15),
    "few_outputs": Run("bench_few_outputs.py 20 30 50", 2),
    "first_order": Run("bench_first_order.py", 3),
    "universal": Run("bench_universal.py", 2),
    "compatibility": Run("bench_compatibility.py", 4),
    "event_designs": Run("bench_event_designs.py", 1),
    "predicates": Run("bench_predicates.py", 2),
    "forgeries": Run("bench_forgeries.py --number 2000", 6),
    "repair": Run("bench_repair.py", 1),
    "sampler": Run("bench_sampler.py --one-core", 4),
    "release": Run("bench_release.py", 4),
    "hide": Run("bench_hide.py", 8),
    "city": Run("bench_city.py", 6),
    "plane": Run("bench_plane.py", 12),
    "plane_draws": Run("bench_plane_draws.py --one-core", 2),
    "plane_pairs": Run("bench_plane_pairs.py", 20),
    "formats": Run("bench_formats.py", 5),
    "snapping": Run("bench_snapping.py", 15),
    "plane_known": Run("bench_plane_known.py", 15),
    "maps": Run("bench_maps.py", 3),
    "estimation": Run("bench_estimation.py", 5),
    "shares": Run("bench_shares.py", 8),
    "limits": Run("bench_limits.py", 8),
    "cold": Run("bench_cold.py", 3),
    "release_many": Run("bench_release.py --rows 100000000", 6, long=True),
    "cities_many": Run("bench_cities.py --sizes 2000 --all 0 --tolerance 2e-3", 10, "many", long=True),
    "cities_all": Run(
        "bench_cities.py --sizes 2000 --all 2000 --only-all --tolerance 1e-2 --seconds 600 --halving 10 30", 15, "all",
        long=True,
    ),
    "random_designs_many": Run("bench_random_designs.py --number 10000 --processes 2", 90, "many", long=True),
    "large": Run("bench_large.py", 8, "gpu", gpu=True),
    "choice_gpu": Run("bench_choice.py --gpu", 15, "gpu", gpu=True),
    "few_outputs_gpu": Run("bench_few_outputs.py 100", 3, "gpu", gpu=True),
    "arrays": Run("bench_gpu.py", 8, "gpu", gpu=True),
    "plane_town_gpu": Run('bench_plane.py --only "New York" --tolerance 0.015 --limit 420', 4, "gpu", gpu=True),
    "plane_gpu": Run("bench_plane_gpu.py", 8, gpu=True),
    "first_order_gpu": Run("bench_first_order.py", 8, "gpu", gpu=True),
}  # fmt: skip


def main() -> int:
    """Run those asked for; 1 where one failed."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("names", nargs="*", help="some of them; all that are for this machine by default")
    parser.add_argument("--long", action="store_true", help="those that take an hour too")
    parser.add_argument("--list", action="store_true", help="show the names and end")
    given = parser.parse_args()
    if given.list:
        for name, run in RUNS.items():
            print(f"{name:20} {run.minutes:5g} min  {run.words}{'  (GPU)' * run.gpu}{'  (long)' * run.long}")
        return 0
    if unknown := [name for name in given.names if name not in RUNS]:
        parser.error(f"no benchmark is called {', '.join(unknown)}; --list shows them")
    has_gpu = kept.here().gpu != "none"
    chosen = given.names or [
        name for name, run in RUNS.items() if run.gpu == has_gpu and (given.long or not run.long)
    ]  # fmt: skip
    failed = {name: why for name in chosen if (why := trouble(name))}
    for name, why in failed.items():
        print(f"{name}: {why}", file=sys.stderr)
    print(f"{len(chosen) - len(failed)} of {len(chosen)} benchmarks ran to their end", flush=True)
    return 1 if failed else 0


def trouble(name: str) -> str | None:
    """Run one; why it failed, or None."""
    run, began = RUNS[name], perf_counter()
    print(f"\n===== {name}: {run.words}", flush=True)
    script, *words = shlex.split(run.words)
    command = [sys.executable, str(HERE / script), *words]
    told = {**os.environ, "SFUMATO_KEEP": run.variant}
    if (busy := cores_at_work()) is not None:
        told["SFUMATO_LOAD"] = f"{busy:.2f}"
    process = subprocess.Popen(command, env=told, start_new_session=True)
    try:
        status = process.wait(timeout=60 * (3 * run.minutes + 10))
    except subprocess.TimeoutExpired:
        return f"given up after {perf_counter() - began:.0f} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    print(f"===== {name}: {perf_counter() - began:.0f} s", flush=True)
    return f"exit status {status}" if status else None


def cores_at_work() -> float | None:
    """How many cores others keep busy, over two seconds in which nothing of ours runs; None where that is not known.

    A load average would count the benchmark before this one.
    """
    looks = []
    for _ in range(2):
        try:
            line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
        except OSError:
            return None
        ticks = [int(word) for word in line.split()[1:9]]
        looks.append((sum(ticks), ticks[3] + ticks[4]))  # all, and idle or waiting for a disk
        sleep(2 if len(looks) == 1 else 0)
    spent, idle = (b - a for a, b in zip(*looks, strict=True))
    return (os.cpu_count() or 1) * (1 - idle / max(spent, 1))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a script does not outlive its runner
    sys.exit(main())
