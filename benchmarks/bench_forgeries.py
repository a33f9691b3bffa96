"""Files written at random, honest and forged, before kernel and twin and before a judge that shares no code with them.

    python benchmarks/bench_forgeries.py --number 100000

The cases are those of ``tests/forgeries.py``, so any one can be looked at again by its number. Counted is what the
checkers say beside what is true; a file that is false and proved, one that is true with a complete proof and is not, or
one on which kernel and twin differ, ends the run with status 1. Time is shown for the judge and both checkers.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from timing import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import sfumato as sf
from forgeries import random_case, to_bytes
from judge import truth
from sfumato.errors import InvalidFile

CHUNK = 500
SHOWN = 20  # failures that are printed


def verdicts(first: int) -> tuple[Counter[tuple[str, ...]], list[int], Counter[str]]:
    """What is true and what is said of a chunk of cases, the numbers of those that went wrong, and seconds."""
    counts: Counter[tuple[str, ...]] = Counter()
    wrong, seconds = [], Counter[str]()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "case.sfm"
        for seed in range(first, first + CHUNK):
            case = random_case(seed)
            path.write_bytes(to_bytes(case))
            start = process_time()
            right = truth(case)
            seconds["judge"] += process_time() - start
            answers = []
            for checker in ("kernel", "twin"):
                start = process_time()
                try:
                    answers.append("proved" if sf.verify(path, checker=checker) else "refuted")
                except InvalidFile:
                    answers.append("unreadable")
                seconds[checker] += process_time() - start
            counts[{True: "true", False: "false", None: "open"}[right], *answers] += 1
            false = right is not True and "proved" in answers
            if false or (case.owed and answers != ["proved"] * 2) or answers[0] != answers[1]:
                wrong.append(seed)
    return counts, wrong, seconds


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    counts: Counter[tuple[str, ...]] = Counter()
    seconds: Counter[str] = Counter()
    wrong: list[int] = []
    with get_context("spawn").Pool(given.processes) as pool:
        for some, failed, spent in pool.imap_unordered(verdicts, range(0, given.number, CHUNK)):
            counts += some
            seconds += spent
            wrong += failed
    headings = ("what is true", "the kernel says", "the twin says", "files")
    table = Table("forgeries", "Files written at random, honest and forged", headings)
    for key, number in sorted(counts.items()):
        table.add(*key, number)
    table.finish()
    print(f"{sum(counts.values())} files, {len(wrong)} went wrong {sorted(wrong)[:SHOWN]}")
    print(", ".join(f"{name} {1000 * value / sum(counts.values()):.2f} ms a file" for name, value in seconds.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
