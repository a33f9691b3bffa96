"""The modules of the kernel become one file, which runs alone."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.certify import bundle as bundler
from sfumato.certify import kernel
from sfumato.certify.bundle import bundle, kernel_file

MODULES = sorted(Path(kernel.__file__).parent.glob("*.py"))


def imported(text: str) -> set[str]:
    """The modules that a text imports, wherever the statement stands; none of them relatively."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module or "")
    return found


def names(text: str) -> list[str]:
    """The functions and classes of a text."""
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def test_the_modules_import_each_other_and_the_standard_library_only() -> None:
    ours = {f"sfumato.certify.kernel.{path.stem}" for path in MODULES}
    for path in MODULES:
        others = imported(path.read_text()) - ours
        assert {name.partition(".")[0] for name in others} <= sys.stdlib_module_names, path.name


def test_the_file_has_every_function_once_and_imports_the_standard_library_only() -> None:
    text = bundle()
    assert {name.partition(".")[0] for name in imported(text)} <= sys.stdlib_module_names
    assert sorted(names(text)) == sorted(name for path in MODULES for name in names(path.read_text()))
    assert text.startswith(f'"""{(kernel.__doc__ or "").splitlines()[0]}')


def test_it_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    assert bundle() == bundle()
    made = []
    for seed in ("1", "2"):
        path = tmp_path / seed / "kernel.py"
        command = [sys.executable, "-I", "-S", bundler.__file__, str(path)]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True)
        made.append(path.read_bytes())
    assert made[0] == made[1] == bundle().encode() == kernel_file().read_bytes()


def test_it_says_what_the_modules_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    true, false = tmp_path / "true.sfm", tmp_path / "false.sfm"
    sf.save(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")), true)
    false.write_bytes(true.read_bytes()[:-1])
    expected = kernel.main([str(true), str(false)])
    told = capsys.readouterr().out
    for start in (["-I", "-S", str(kernel_file())], ["-m", "sfumato.certify.kernel"]):
        found = subprocess.run([sys.executable, *start, str(true), str(false)], capture_output=True, text=True)
        assert (found.returncode, found.stdout, found.stderr) == (expected, told, "")
    assert expected == 2 and "PROVED private with alpha = 1/2" in told and "checksum" in told


def test_it_is_made_where_it_is_missing_or_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundler, "_ROOT", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    path = kernel_file()
    assert path == tmp_path / "build" / "kernel.py"
    path.write_text("old")
    assert kernel_file().read_text(encoding="utf-8") == bundle()
    before = path.stat()
    assert kernel_file().stat().st_ino == before.st_ino  # what is as it should be is not written again


def package(folder: Path, **modules: str) -> Path:
    """A package whose command imports one name of each module."""
    (folder / "__init__.py").write_text('"""All."""\n')
    lines = [f"from sfumato.certify.kernel.{module} import {text.split()[0]}\n" for module, text in modules.items()]
    (folder / "__main__.py").write_text(f'"""The command."""\n\n{"".join(lines)}\nprint({len(lines)})\n')
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(f'"""Part {module}."""\n\n{text}\n')
    return folder


def test_modules_come_after_those_that_they_import(tmp_path: Path) -> None:
    text = bundle(package(tmp_path, a="one = 1", b="two = 2"))
    assert text.index("Part a") < text.index("one = 1") < text.index("Part b") < text.index("print(2)")


@pytest.mark.parametrize("twice", ["one", "sum", "Fraction"])
def test_a_clash_of_names_is_refused(twice: str, tmp_path: Path) -> None:
    place = package(tmp_path, a="one = 1", b=f"two = 2\n{twice} = 3", c="three = 3")
    (place / "c.py").write_text('"""Part c."""\n\nfrom fractions import Fraction\n\nthree = Fraction(3)\n')
    with pytest.raises(ValueError, match=f"two modules define {twice}: "):
        bundle(place)


@pytest.mark.parametrize("line", ["import math as m", "from math import *", "from . import a", "import os.path"])
def test_what_cannot_be_put_together_is_refused(line: str, tmp_path: Path) -> None:
    place = package(tmp_path, a="one = 1")
    (place / "a.py").write_text(f'"""Part a."""\n\n{line}\n\none = 1\n')
    with pytest.raises(ValueError, match=r"a\.py imports otherwise"):
        bundle(place)
