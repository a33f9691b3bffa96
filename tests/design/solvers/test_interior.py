"""The interior-point methods: whether there is a GPU is found out without importing torch where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.design.solvers import interior


@pytest.mark.parametrize(
    ("version", "driver", "expected"),
    [
        ("cuda = None\nhip = None\n", True, False),
        ("cuda = '12.4'\nhip = None\n", True, True),
        ("cuda = '12.4'\nhip = None\n", False, False),
        ("cuda = None\nhip = '6.2'\n", False, True),
        ("", True, True),
        ("this is no version\n", False, True),
    ],
)
def test_builds_and_drivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, driver: bool, expected: bool
) -> None:
    def load(name: str) -> None:
        assert name == "libcuda.so.1"
        if not driver:
            raise OSError(f"{name} is not there")

    (tmp_path / "version.py").write_text(version)
    monkeypatch.setattr(interior, "CDLL", load)
    monkeypatch.setattr("sys.platform", "linux")
    assert interior._knows_gpus(str(tmp_path / "__init__.py")) is expected


def test_without_a_version_torch_is_asked(tmp_path: Path) -> None:
    assert interior._knows_gpus(str(tmp_path / "__init__.py"))
    assert interior._knows_gpus(None)


def test_without_torch_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interior, "find_spec", lambda name: None)
    assert not interior.gpu_is_there()
