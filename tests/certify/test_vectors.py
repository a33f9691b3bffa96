"""The test vectors of the format: kernel, twin, page and client know the same words and give the same answers.

Whoever extends the format extends ``docs/format.md``, the vectors, and both verifiers (``js`` where it is there) in one
commit: the last tests fail otherwise.
"""

from __future__ import annotations

import json
import re
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import errors
from sfumato.certify import kernel
from sfumato.certify.bundle import kernel_file
from sfumato.release.sampler import sampler
from vectors import make
from vectors.parts import header_text

ROOT = Path(__file__).resolve().parents[2]
FOLDER, PAGE, CLIENT = ROOT / "tests" / "vectors", ROOT / "docs" / "format.md", ROOT / "js"
ANSWERS: dict[str, Any] = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
DRAWS: dict[str, Any] = json.loads((FOLDER / "draws.json").read_text(encoding="utf-8"))
STATUS = {"proved": 0, "unreadable": 2, "refuted": 3}
FAMILIES = sorted({name.split("-")[0] for name in ANSWERS})


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.sfm"


def said(name: str, checker: str) -> str:
    try:
        return "proved" if sf.verify(path_of(name), checker=checker) else "refuted"  # type: ignore[arg-type]
    except errors.InvalidFile:
        return "unreadable"


# ----------------------------------------------------------------- answers


def test_there_is_a_file_for_each_answer_and_they_are_small() -> None:
    files = {path.stem: path.stat().st_size for path in FOLDER.glob("*.sfm")}
    assert files.keys() == ANSWERS.keys()
    assert sum(files.values()) < 300_000
    assert {answer["answer"] for answer in ANSWERS.values()} == STATUS.keys()
    assert all(answer["reason"] for answer in ANSWERS.values())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("checker", ["kernel", "twin"])
def test_the_answer_is_given(family: str, checker: str) -> None:
    names = [name for name in ANSWERS if name.split("-")[0] == family]
    wrong = {name: said(name, checker) for name in names if said(name, checker) != ANSWERS[name]["answer"]}
    assert wrong == {}


def test_the_command_gives_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    for name, answer in ANSWERS.items():
        assert kernel.main([str(path_of(name))]) == STATUS[answer["answer"]], name
    assert kernel.main([str(path_of(name)) for name in ("rows-root", "label-twice")]) == 2
    assert kernel.main([str(path_of(name)) for name in ("label-twice", "sum-one-more", "rows-root")]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert sum(": PROVED" in line or ": NOTHING IS PROMISED" in line for line in lines) > 90


def test_what_is_proved_is_what_the_answers_say() -> None:
    for name, answer in ANSWERS.items():
        if answer["answer"] == "proved":
            assert make.proves(path_of(name).read_bytes()) == answer["proves"], name


# ----------------------------------------------------------------- where they come from


def contents(data: bytes) -> tuple[Any, dict[str, bytes], bytes]:
    """A file without what depends on the version of zlib: header without sizes, unpacked sections, what is left."""
    text = header_text(data)
    header, place, found = json.loads(text), 24 + len(text), {}
    for section in header["sections"]:
        unpacker = zlib.decompressobj()
        body = data[place : place + section["size"]]
        found[section["name"]] = unpacker.decompress(body) + unpacker.flush() + unpacker.unused_data
        place += section.pop("size")
    return header, found, data[place:-32]


def test_the_script_makes_these_files() -> None:
    made = make.vectors()
    assert made.keys() == ANSWERS.keys()
    same = {name for name, (data, _) in made.items() if data == path_of(name).read_bytes()}
    packs_alike = "rows-wide" in same
    for name, (data, answer) in made.items():
        proved = {key: value for key, value in answer.items() if key != "proves"}
        assert proved == {key: value for key, value in ANSWERS[name].items() if key != "proves"}, name
        if name not in same:
            assert not packs_alike, name
            if answer["answer"] == "proved":  # of forged files some cannot be unpacked
                assert contents(data)[:2] == contents(path_of(name).read_bytes())[:2], name
    if packs_alike:
        assert make.draws(made) == DRAWS


@pytest.mark.parametrize("name", [name for name in DRAWS if name])
def test_keyed_draws_are_those_of_the_vectors(name: str) -> None:
    told = DRAWS[name]
    tell = sampler(sf.load(path_of(name)))
    ids = np.array([list(bytes.fromhex(one)) for one in told["ids"]], dtype=np.uint8)
    drawn = tell.draw_keyed(np.array(told["secrets"]), ids, bytes.fromhex(told["key"]), secret_never_changes=True)
    assert tell.digest.hex() == told["digest"]
    assert drawn.tolist() == told["outputs"]


# ----------------------------------------------------------------- one format, told in four places


def section_names() -> set[str]:
    """All sections that the kernel reads: those of one width, and those whose width it looks up."""
    source = kernel_file().read_text(encoding="utf-8")
    return set(kernel.WIDTHS) | set(re.findall(r'\bwidths\["(\w+)"\]', source))


WORDS: dict[str, set[str]] = {
    "kinds of promises": {*kernel.PROMISES, kernel.COORDINATES},
    "kinds of claims": {*kernel.CLAIMS, kernel.BOX_CLAIM},
    "criteria": set(kernel.CRITERIA),
    "forms of distances": {form for form, _ in kernel.FORMS},
    "sources of distances": {source for _, source in kernel.FORMS} | {"places"},
    "norms": set(kernel.NORMS),
    "keys": {key for keys in kernel.KEYS.values() for key in keys.split()},
    "sections": section_names(),
}


@cache
def words_of_true_files() -> tuple[set[str], set[str]]:
    """Keys and texts of the headers of all files that are proved, and names of their sections."""
    spoken: set[str] = set()
    sections: set[str] = set()

    def listen(value: Any) -> None:
        if isinstance(value, dict):
            spoken.update(value)
            for inside in value.values():
                listen(inside)
        elif isinstance(value, list):
            for inside in value:
                listen(inside)
        elif isinstance(value, str):
            spoken.add(value)

    for name, answer in ANSWERS.items():
        if answer["answer"] == "proved":
            header = json.loads(header_text(path_of(name).read_bytes()))
            listen(header)
            sections |= {section["name"] for section in header["sections"]}
    return spoken, sections


def client_text() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((CLIENT / "src").rglob("*.mjs")))


@pytest.mark.parametrize("what", WORDS)
def test_the_page_says_what_the_kernel_knows(what: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    quoted = {word for span in re.findall(r"`([^`\n]+)`", page) for word in (span, *span.split("."))}
    assert WORDS[what] - quoted == set()


@pytest.mark.parametrize("what", WORDS)
def test_the_vectors_use_what_the_kernel_knows(what: str) -> None:
    spoken, sections = words_of_true_files()
    assert WORDS[what] - (sections if what == "sections" else spoken) == set()


@pytest.mark.parametrize("what", WORDS)
def test_the_client_names_what_the_kernel_knows(what: str) -> None:
    if not (CLIENT / "src").exists():
        pytest.skip("there is no client here")
    said_there = set(re.findall(r"[\w ]+", client_text()))
    single = {word for words in said_there for word in words.split()}
    assert {word for word in WORDS[what] if word not in said_there | single} == set()


def test_page_and_client_are_about_the_version_of_the_kernel() -> None:
    assert f"describes version {kernel.VERSION} of the format" in PAGE.read_text(encoding="utf-8")
    assert not (CLIENT / "src").exists() or f"const VERSION = {kernel.VERSION}n;" in client_text()


def test_every_kind_is_also_forged() -> None:
    """A verifier that believes whatever it is told about a new kind would pass all true files."""
    refuted = [name for name, answer in ANSWERS.items() if answer["answer"] == "refuted"]
    headers = [json.loads(header_text(path_of(name).read_bytes())) for name in refuted]
    promised = {header["promise"].get("kind", "rows") for header in headers}
    claimed = {header.get("claims", {}).get("kind") for header in headers} - {None}
    assert promised == WORDS["kinds of promises"]
    assert claimed == WORDS["kinds of claims"]
