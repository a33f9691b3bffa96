"""The sources of the client become one module."""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

import pytest

from client_node import NODE
from sfumato.client.bundle import bundle, sources
from shell import sfumato

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
MOST_BYTES = 40_000


def test_the_module_is_small_and_needs_nothing() -> None:
    text = bundle()
    assert len(gzip.compress(text.encode(), 9)) <= MOST_BYTES
    assert "import " not in text and "require(" not in text
    assert text.count("export ") == 1
    # words for people may name it; nobody calls it
    assert not re.search(r"Math\.random\s*\(", text)


def test_an_installation_writes_the_module(tmp_path: Path) -> None:
    done = sfumato("client", "-o", str(tmp_path / "mine.mjs"))
    assert done.returncode == 0 and 'import { load, verify } from "./mine.mjs"' in done.stdout
    assert (tmp_path / "mine.mjs").read_text() == bundle()


@pytest.mark.client
def test_what_an_installation_writes_proves_a_file(tmp_path: Path) -> None:
    sfumato("client", "-o", str(tmp_path / "sfumato.mjs"))
    file = VECTORS / "rows-epsilon.sfm"
    (tmp_path / "mine.mjs").write_text(
        'import { readFileSync } from "node:fs";\nimport { load, verify } from "./sfumato.mjs";\n'
        "console.log(verify(load(new Uint8Array(readFileSync(process.argv[2])))).outcome);\n"
    )
    done = subprocess.run([NODE, tmp_path / "mine.mjs", file], capture_output=True, text=True, check=True)
    assert done.stdout == "proved\n"


def test_no_template_is_inside_of_another_whose_spaces_would_be_left_out() -> None:
    for path in sources().glob("*.mjs"):
        assert not re.search(r"\$\{[^}`]*`", path.read_text()), path.name


def test_every_source_is_in_it_and_short() -> None:
    names = {path.name for path in sources().glob("*.mjs")}
    imported = {
        name for path in sources().glob("*.mjs") for name in re.findall(r'from "\./([\w.]+)"', path.read_text())
    }
    assert names == imported | {"sfumato.mjs"}
    for path in sources().glob("*.mjs"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 600, path.name
        assert all(len(line) <= 120 for line in lines), path.name


def test_two_modules_with_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sfumato.mjs").write_text('import { a } from "./a.mjs";\nexport { a } from "./a.mjs";\nconst b = 1;\n')
    (tmp_path / "a.mjs").write_text("export const a = 1;\nconst b = 2;\n")
    with pytest.raises(ValueError, match="two modules define b"):
        bundle(tmp_path)


def test_texts_and_patterns_stay_as_they_are(tmp_path: Path) -> None:
    source = 'export const a = "x  =  y";\nexport const b = /a b[/ ]  c/;\nexport const c = a + +1 + `t  ${b}`;\n'
    (tmp_path / "a.mjs").write_text(source)
    (tmp_path / "sfumato.mjs").write_text('export { a, b, c } from "./a.mjs";\n')
    found = bundle(tmp_path)
    for kept in ('"x  =  y"', "/a b[/ ]  c/", "`t  ${b}`", "+ +1"):
        assert kept in found
