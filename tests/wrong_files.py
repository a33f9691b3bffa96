"""Specs and tables that people might have, changed at random, and a command line to put them to.

Whatever they hold, a command answers or refuses in a sentence: what it never does is fall over. A case is known by its
number alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import sfumato as sf

ANSWERS = ["never", "rarely", "often"]
SPEC = """[space]
kind = "line"
labels = ["never", "rarely", "often"]
unit = "answer"

[privacy]
epsilon = "ln(3)"
per = "answer"

[prior]
counts = [3, 2, 1]

[loss]
kind = "distance"

[objective]
kind = "expected"
"""
TABLE = "q1,q2,region,weight\n" + "".join(
    f"{ANSWERS[k % 3]},{'yes' if k % 4 else 'no'},{'north' if k % 2 else 'south'},{1 + k % 3}\n" for k in range(12)
)
MATRIX = "secret,a,b\nnever,0.5,0.5\nrarely,0.25,0.75\noften,0.4,0.6\n"
ODD_WORDS = (
    "", " ", "0", "-1", "1e308", "1e-320", "nan", "inf", "-0.0", "1/0", "1/3", "0x10", "١", "½", "1,5", "1_000", "[]",
    "{}", '"', "'", '""', "\t", "true", "Never", " never", "never ", "null", "\ufeff", "\u2028", "e\u0301", "#", "=",
    "=1+1", "[space]", "[[space]]", 'kind = "grid"', "shape = [2, 2]", "[1, 2", '"ln(0)"', '"ln(-1)"', "[0, 0, 0]",
    "9" * 400, "a" * 3000, "1979-05-27", '"500 m"', "[-1, 1, 1]", '["a", "a", "b"]', '["a", 1, 2.5]', "[[1, 0]]",
)  # fmt: skip


def wrong_text(rng: random.Random, text: str, marks: str) -> bytes:
    """A text in which a few words, lines or bytes are others, in one of the encodings that files have."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        text = rng.choice(_CHANGES)(rng, text, marks)
    data = text.encode(rng.choice(("utf-8",) * 6 + ("utf-8-sig", "utf-16", "latin-1")), "replace")
    if rng.random() < 0.1:
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice((b"\0", b"\xff", b"\r", b"\x1a", b"\xc3")) + data[at:]
    return data


def _other_word(rng: random.Random, text: str, marks: str) -> str:
    """What stands between two marks becomes something else."""
    ends = [-1, *(at for at, letter in enumerate(text) if letter in marks), len(text)]
    at = rng.randrange(len(ends) - 1)
    return text[: ends[at] + 1] + rng.choice(ODD_WORDS) + text[ends[at + 1] :]


def _other_lines(rng: random.Random, text: str, _marks: str) -> str:
    """Lines are gone, there twice, or change places."""
    lines = text.splitlines(keepends=True) or [""]
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[first]
    elif kind == 1:
        lines.insert(second, lines[first])
    elif kind == 2:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        del lines[first:]
    return "".join(lines)


def _other_letter(rng: random.Random, text: str, marks: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(("", *marks, '"', "-", "\r\n")) + text[at + rng.randrange(2) :]


_CHANGES: tuple[Callable[[random.Random, str, str], str], ...] = (
    _other_word, _other_word, _other_word, _other_lines, _other_letter,
)  # fmt: skip


def prepared(folder: Path) -> None:
    """What commands need beside the file that is wrong: a mechanism for the answers."""
    sf.save(sf.geometric(sf.PrivacyType(sf.line(ANSWERS), alpha="1/2")), folder / "scale.sfm")


def wrong_command(seed: int, folder: Path) -> list[str]:
    """Writes the file of a number, and what is typed about it."""
    rng = random.Random(seed)
    command = rng.choice(sorted(_COMMANDS))
    name, text, marks, arguments = _COMMANDS[command]
    (folder / name).write_bytes(wrong_text(rng, text, marks))
    typed = [argument.replace("{}", str(folder)) for argument in arguments]
    choices = _OPTIONS.get(command, ())
    for option, values in rng.sample(choices, rng.randint(0, min(2, len(choices)))):
        typed += [option, *([rng.choice((*values, *ODD_WORDS)) if rng.random() < 0.4 else values[0]] if values else [])]
    return [command, *typed]


_COMMANDS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "design": (
        "spec.toml", SPEC, "\n=,[] ",
        ("{}/spec.toml", "-o", "{}/best.sfm", "--overwrite", "--tolerance", "0.5", "--time-limit", "1"),
    ),
    "estimate": ("table.csv", TABLE, "\n,", ("{}/scale.sfm", "{}/table.csv", "--column", "q1")),
    "release": (
        "table.csv", TABLE, "\n,",
        ("{}/scale.sfm", "{}/table.csv", "{}/out.csv", "--column", "q1", "--overwrite"),
    ),
    "audit": ("matrix.csv", MATRIX, "\n,", ("{}/matrix.csv", "--alpha", "1/2", "--tolerance", "0.5")),
}  # fmt: skip
"""For each command a file that it reads, what stands between words there, and what is typed."""

_OPTIONS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "estimate": (
        ("--by", ("region", "weight", "q1")), ("--weights", ("weight", "region")), ("--level", ("0.9", "95%")),
        ("--method", ("likelihood", "unbiased")), ("--simultaneous", ()), ("--json", ()),
    ),
    "release": (("--on-unknown", ("drop", "nearest", "error")), ("--json", ())),
    "audit": (("--json", ()), ("--epsilon", ("1",))),
    "design": (("--json", ()),),
}  # fmt: skip
