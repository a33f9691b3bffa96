"""What the benchmarks keep can be read again, and what compares two trees says when one is slower."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _beside_each_other(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The scripts import each other by name, as they do when they are run; nothing of that stays."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(BENCHMARKS)
    for name in ("SFUMATO_KEEP", "SFUMATO_RESULTS", "SFUMATO_LOAD"):
        monkeypatch.delenv(name, raising=False)
    yield
    for name in set(sys.modules) - before:
        if name in ("kept", "timing", "compare", "run", "peers_page"):
            del sys.modules[name]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def table() -> Any:
    timing = script("timing")
    rows = timing.Table("small", "A small table", ("case", "seconds", "gap"), ("case",), "seconds")
    rows.add("first", 0.125, 1e-4)
    rows.add("second", "over 60 s", "—")
    return rows


def test_a_table_is_kept_with_where_it_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFUMATO_RESULTS", str(tmp_path))
    monkeypatch.setenv("SFUMATO_LOAD", "1.5")
    monkeypatch.setenv("SFUMATO_COMMIT", "abcdef12")
    kept = script("kept")
    table().finish()
    result = kept.read(tmp_path / "small.json")
    assert result.rows == (("first", 0.125, 1e-4), ("second", "over 60 s", "—"))
    assert (result.commit, result.machine.load, result.machine.busy) == ("abcdef12", 1.5, True)
    assert result.machine.cores > 0 and result.command.startswith("python benchmarks/") and result.seconds is not None
    assert (result.case, result.time) == (("case",), "seconds")


def test_another_run_of_a_script_is_kept_beside_the_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFUMATO_RESULTS", str(tmp_path))
    monkeypatch.setenv("SFUMATO_KEEP", "gpu")
    script("kept")
    table().finish()
    assert [path.name for path in tmp_path.iterdir()] == ["small-gpu.json"]


def test_rows_without_seconds_are_no_cases(tmp_path: Path) -> None:
    kept, compare = script("kept"), script("compare")
    written = kept.write(table().result(), tmp_path)
    assert compare.cases(kept.read(written)) == [(("first",), 0.125)]


@pytest.mark.parametrize(
    ("before", "after", "least", "status"),
    [
        (
            {"a": [1.0, 9.0, 1.0], "b": [2.0]},
            {"a": [1.0], "b": [2.0]},
            0.0,
            0,
        ),  # medians: one slow turn decides nothing
        ({"a": [1.0], "b": [100.0]}, {"a": [1.11], "b": [100.0]}, 0.0, 1),  # one case
        ({"a": [0.01], "b": [100.0]}, {"a": [0.02], "b": [100.0]}, 0.1, 0),  # a case too short to decide alone
        ({"a": [1.0], "b": [1.0]}, {"a": [1.06], "b": [1.06]}, 0.0, 1),  # all together
        ({"a": [1.0], "b": [1.0]}, {"a": [0.5], "b": [1.09]}, 0.0, 0),
        ({"a": [1.0], "b": [1.0]}, {"a": [1.0]}, 0.0, 1),  # a case is gone
    ],
)
def test_slower_is_more_than_a_tenth_or_a_twentieth_in_all(
    before: dict[str, list[float]], after: dict[str, list[float]], least: float, status: int
) -> None:
    compare = script("compare")
    old, new = ({("script", case): seconds for case, seconds in times.items()} for times in (before, after))
    assert compare.report(old, new, least) == status


def test_every_benchmark_is_in_the_list_that_is_run() -> None:
    run, compare = script("run"), script("compare")
    named = {words.words.split()[0] for words in run.RUNS.values()}
    assert {path.name for path in BENCHMARKS.glob("bench_*.py")} <= named
    assert all((BENCHMARKS / name).exists() for name in named)
    assert all((BENCHMARKS / words.split()[0]).exists() for words in compare.SCRIPTS.values())


def test_every_benchmark_is_described() -> None:
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in BENCHMARKS.glob("bench_*.py") if f"`{path.name}`" not in text] == []


def test_tables_about_coordinates_are_kept_under_the_names_that_scripts_give_them() -> None:
    kept, page = script("kept"), (BENCHMARKS / "peers_page.md").read_text(encoding="utf-8")
    for name, result in kept.results().items():
        if name.startswith("plane"):
            program = next(word for word in result.command.split() if word.endswith(".py"))
            words = (BENCHMARKS / Path(program).name).read_text(encoding="utf-8")
            table = name.partition("-")[0]  # what follows says which machine it was
            assert f'"{table}"' in words or f'"{table.rpartition("_")[0]}_{{' in words, name
            assert f"{{{{ {name}" in page


def test_a_name_that_is_no_benchmark_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = script("run")
    monkeypatch.setattr(sys, "argv", ["run.py", "desing"])
    with pytest.raises(SystemExit):
        run.main()
    assert "no benchmark is called desing" in capsys.readouterr().err


def test_one_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = script("run")
    (tmp_path / "good.py").write_text(
        "import os, pathlib\npathlib.Path(__file__).with_name(os.environ['SFUMATO_KEEP']).touch()"
    )
    (tmp_path / "bad.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "cores_at_work", lambda: 0.0)
    monkeypatch.setattr(run, "RUNS", {"bad": run.Run("bad.py", 1), "good": run.Run("good.py", 1, "kept")})
    monkeypatch.setattr(sys, "argv", ["run.py", "bad", "good"])
    assert run.main() == 1
    assert (tmp_path / "kept").exists()
