"""Files written, changed and put together at random, before every verifier and judges that share no code with them.

    python benchmarks/bench_forgeries.py --number 10000

Cases are those of the tests, so any one can be looked at again by its kind and number: rows (``tests/forgeries.py``),
boxes beside B-splines by the recursion of Cox and de Boor (``tests/box_forgeries.py``), tables at e^(εd) to their last
of 250 digits (``tests/tight_tables.py``), files that were changed a little (``tests/client_mutants.py``), and vectors
that were changed, repacked or put together from two (``tests/grafts.py``). Counted is what kernel, twin and client say
beside what is true. A file that is false and proved, one that is true by a margin with a complete proof and is not, or
one on which verifiers differ, ends the run with status 1; so does a command that falls over a wrong spec or table
(``tests/wrong_files.py``), of which a second table counts the answers.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from timing import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import box_forgeries
import box_judge
import forgeries
import judge
import sfumato as sf
from client_mutants import mutant
from client_node import Answers
from grafts import changed_vector, promise_is_kept
from sfumato.errors import InvalidFile
from shell import sfumato
from tight_tables import tight_table
from wrong_files import prepared, wrong_command

CHUNK = 100
SHOWN = 20  # failures that are printed
STATUS = {0: "answers", 2: "refuses", 3: "says it is not kept"}


class Written(NamedTuple):
    """A file, whether it is true (None where that is not known), and whether verifiers owe it a proof."""

    data: bytes
    true: bool | None
    owed: bool = False


def rows(seed: int) -> Written:
    case = forgeries.random_case(seed)
    return Written(forgeries.to_bytes(case), judge.truth(case), case.owed)


def boxes(seed: int) -> Written:
    case = box_forgeries.random_box_case(seed)
    return Written(box_forgeries.to_bytes(case), box_judge.truth(case), case.owed)


def tight_tables(seed: int) -> Written:
    case, true = tight_table(seed)
    return Written(forgeries.to_bytes(case), true, case.owed)


def changed_files(seed: int) -> Written:
    data = mutant(seed)
    return Written(data, promise_is_kept(data))


def vectors(seed: int) -> Written:
    data = changed_vector(seed)
    return Written(data, promise_is_kept(data))


KINDS: dict[str, Callable[[int], Written]] = {
    "rows": rows, "boxes": boxes, "tables at e^(εd)": tight_tables, "changed files": changed_files,
    "vectors changed, repacked, put together": vectors,
}  # fmt: skip


def said(path: Path, checker: str) -> str:
    try:
        return "proved" if sf.verify(path, checker=checker) else "refuted"  # type: ignore[arg-type]
    except InvalidFile:
        return "unreadable"


def wrong(written: Written, answers: list[str]) -> bool:
    """Whether a verifier believed what is false, or not what is true, or not what another one does.

    Of a file with two faults one may be named or the other.
    """
    differ = len({*answers}) > 1 and {*answers} != {"refuted", "unreadable"}
    return differ or (written.true is False and "proved" in answers) or (written.owed and {*answers} != {"proved"})


def verdicts(chunk: tuple[str, int]) -> tuple[Counter[tuple[str, ...]], list[tuple[str, int]], Counter[str]]:
    """What is true and what is said of a chunk of a kind, which of them went wrong, and seconds."""
    kind, first = chunk
    counts, failed, seconds = Counter[tuple[str, ...]](), [], Counter[str]()
    with TemporaryDirectory() as folder, Answers("answers.mjs") as client:
        path = Path(folder) / "case.sfm"
        for seed in range(first, first + CHUNK):
            start = process_time()
            written = KINDS[kind](seed)
            seconds["writer and judge"] += process_time() - start
            path.write_bytes(written.data)
            answers = []
            for checker in ("kernel", "twin"):
                start = process_time()
                answers.append(said(path, checker))
                seconds[checker] += process_time() - start
            answers.append(client.of(written.data)["answer"])
            counts[(kind, {True: "true", False: "false", None: "open"}[written.true], *answers)] += 1
            if wrong(written, answers):
                failed.append((kind, seed))
    return counts, failed, seconds


def commands(first: int) -> tuple[Counter[tuple[str, str]], list[int]]:
    """What commands do about a chunk of wrong specs and tables, and which of them they fell over."""
    counts, failed = Counter[tuple[str, str]](), []
    with TemporaryDirectory() as folder:
        prepared(Path(folder))
        for seed in range(first, first + CHUNK):
            typed = wrong_command(seed, Path(folder))
            try:
                does = STATUS.get(sfumato(*typed).returncode, "falls over")
            except Exception as error:
                does = f"falls over: {type(error).__name__}"
            counts[typed[0], does] += 1
            if does not in STATUS.values():
                failed.append(seed)
    return counts, failed


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=1000, help="files of each kind")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    starts = range(0, given.number, CHUNK)
    counts, seconds, failed = Counter[tuple[str, ...]](), Counter[str](), list[tuple[str, int]]()
    typed, fallen = Counter[tuple[str, str]](), list[int]()
    with get_context("spawn").Pool(given.processes) as pool:
        for some, lost, spent in pool.imap_unordered(verdicts, [(kind, first) for kind in KINDS for first in starts]):
            counts += some
            seconds += spent
            failed += lost
        for found, lost_commands in pool.imap_unordered(commands, starts):
            typed += found
            fallen += lost_commands
    headings = ("files", "what is true", "the kernel says", "the twin says", "the client says", "number")
    table = Table("forgeries", "Files written, changed and put together at random", headings)
    for key, number in sorted(counts.items()):
        table.add(*key, number)
    table.finish()
    table = Table("wrong_files", "Commands on wrong specs and tables", ("command", "what it does", "files"))
    for command, number in sorted(typed.items()):
        table.add(*command, number)
    table.finish()
    proved = sum(n for (_, true, *answers), n in counts.items() if true == "false" and "proved" in answers)
    print(f"{sum(counts.values())} files, {proved} false and proved, {len(failed)} went wrong {sorted(failed)[:SHOWN]}")
    print(f"{sum(typed.values())} commands, {len(fallen)} fell over {sorted(fallen)[:SHOWN]}")
    print(", ".join(f"{name} {1000 * value / sum(counts.values()):.2f} ms a file" for name, value in seconds.items()))
    return 1 if failed or fallen else 0


if __name__ == "__main__":
    sys.exit(main())
