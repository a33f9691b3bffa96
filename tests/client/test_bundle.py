"""The sources of the client become one module."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from sfumato.client.bundle import bundle, sources

MOST_BYTES = 40_000


def test_the_module_is_small_and_needs_nothing() -> None:
    text = bundle()
    assert len(gzip.compress(text.encode(), 9)) <= MOST_BYTES
    assert "import " not in text and "require(" not in text
    assert text.count("export ") == 1
    # words for people may name it; nobody calls it
    assert not re.search(r"Math\.random\s*\(", text)


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
