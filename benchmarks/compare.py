"""Is one tree slower than another? The same benchmarks against both, in turns, and the ratio of the medians.

    python benchmarks/compare.py BEFORE AFTER
    python benchmarks/compare.py BEFORE AFTER --scripts design columns --times 5 --only "grid 10|orbits"

BEFORE and AFTER are folders with the package ``sfumato`` in them, or with ``src/sfumato``: nothing is installed, and no
git is needed. The scripts are those beside this file; each runs in a process of its own with one tree in front of
everything on ``PYTHONPATH``. The order changes with every turn. For each case the medians over all turns stand beside
each other; the total is the ratio of their sums. Ends with status 1 where a case takes more than 1.10 times as long as
before, or all together more than 1.05 times, or a case of one tree is missing in the other. Cases below ``--least``
seconds are shown and count in the total, but do not decide alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import kept

HERE = Path(__file__).resolve().parent
MOST_OF_A_CASE = 1.10
MOST_IN_ALL = 1.05
# These words leave out the longest cases: one turn of all scripts takes two to three minutes on two cores.
SCRIPTS = {
    "design": "bench_design.py 5 7 8 10 15 --parts priors graphs --graphs 1",
    "columns": "bench_columns.py --no-peers --only ^(?!1000|.*15.×.15,.uniform$|L1.30.×.30,.uniform$)",
    "cities": "bench_cities.py --sizes 1000 --all 0 --halving 10 30",
    "compatibility": "bench_compatibility.py --only ε|bound|measure|line",
    "universal": "bench_universal.py --only ^(?!.*cube,.distance)",
    "types": "bench_types.py --no-peers --turns 1 --only ^(?!.*line.7)",
}

Case = tuple[str, ...]
Times = dict[Case, list[float]]


def main() -> int:
    """Measure, compare and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--scripts", nargs="+", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("--times", type=int, default=5, help="turns")
    parser.add_argument("--only", default="", help="a pattern for the cases that are compared, as they are printed")
    parser.add_argument("--least", type=float, default=0.0, help="seconds below which a case does not decide alone")
    parser.add_argument("--keep", type=Path, help="a JSON file with the seconds of every turn")
    parser.add_argument("--arguments", nargs="*", default=[], metavar="SCRIPT=WORDS", help="other words for a script")
    given = parser.parse_args()
    scripts = {name: SCRIPTS[name] for name in given.scripts}
    for word in given.arguments:
        name, _, words = word.partition("=")
        scripts[name] = f"bench_{name}.py {words}"
    trees = {"before": source(given.before), "after": source(given.after)}
    times: dict[str, Times] = {"before": defaultdict(list), "after": defaultdict(list)}
    for turn in range(given.times):
        for which in ("before", "after") if turn % 2 == 0 else ("after", "before"):
            began = perf_counter()
            for name, words in scripts.items():
                for case, seconds in measured(name, words, trees[which]).items():
                    if re.search(given.only, " ".join(case)):
                        times[which][case].append(seconds)
            if given.keep:
                whole = {tree: {" | ".join(case): seconds for case, seconds in t.items()} for tree, t in times.items()}
                given.keep.write_text(json.dumps(whole, indent=1, ensure_ascii=False), encoding="utf-8")
            print(f"turn {turn + 1} of {given.times}, {which}: {perf_counter() - began:.0f} s", flush=True)
    return report(times["before"], times["after"], given.least)


def source(tree: Path) -> Path:
    """The folder that has the package in it."""
    for folder in (tree.resolve(), tree.resolve() / "src"):
        if (folder / "sfumato" / "__init__.py").exists():
            return folder
    raise SystemExit(f"there is no sfumato/__init__.py in {tree} or in {tree}/src")


def measured(name: str, words: str, tree: Path) -> dict[Case, float]:
    """The seconds of all cases of one run of a script against a tree."""
    script, *rest = words.split()
    paths = os.pathsep.join([str(tree), *filter(None, [os.environ.get("PYTHONPATH")])])
    with TemporaryDirectory() as folder:
        told = {**os.environ, "PYTHONPATH": paths, "SFUMATO_RESULTS": folder, "SFUMATO_COMMIT": "compared"}
        command = [sys.executable, str(HERE / script), *rest]
        run = subprocess.run(command, env=told, capture_output=True, text=True, check=False, cwd=folder)
        if run.returncode:
            raise SystemExit(f"{words} against {tree} ended with status {run.returncode}:\n{run.stderr[-3000:]}")
        return {
            (name, *case): seconds
            for result in kept.results(Path(folder)).values()
            if result.time is not None
            for case, seconds in cases(result)
        }


def cases(result: kept.Result) -> list[tuple[Case, float]]:
    """What names each row, and its seconds; rows without seconds are left out."""
    where, time = [result.columns.index(column) for column in result.case], result.columns.index(result.time or "")
    return [
        (tuple(str(row[k]) for k in where), float(row[time])) for row in result.rows if isinstance(row[time], float)
    ]


def report(before: Times, after: Times, least: float) -> int:
    """Print ratios, worst first; 1 where something got slower."""
    both = sorted(before.keys() & after.keys(), key=lambda case: median(before[case]) / median(after[case]))
    slow = 0
    print(f"{'before, s':>10} {'after, s':>10} {'ratio':>6}  case")
    for case in both:
        old, new = median(before[case]), median(after[case])
        bad = new > MOST_OF_A_CASE * old and max(old, new) >= least
        slow += bad
        print(f"{old:10.4g} {new:10.4g} {new / old:6.3f}  {' | '.join(case)}{'   SLOWER' * bad}")
    missing = sorted(before.keys() ^ after.keys())
    for case in missing:
        print(f"in one tree only: {' | '.join(case)}")
    if not both:
        raise SystemExit("there is nothing to compare")
    for name in sorted({case[0] for case in both}):
        old, new = (sum(median(times[case]) for case in both if case[0] == name) for times in (before, after))
        print(f"{old:10.4g} {new:10.4g} {new / old:6.3f}  {name} in all")
    old, new = (sum(median(times[case]) for case in both) for times in (before, after))
    bad = new > MOST_IN_ALL * old
    print(f"{old:10.4g} {new:10.4g} {new / old:6.3f}  in all{'   SLOWER' * bad}")
    print(f"{len(both)} cases, {slow} slower than {MOST_OF_A_CASE:g} times", flush=True)
    return 1 if slow or bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
