"""Arrays on a device: whether there is a GPU is found out without importing torch where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.lp.cone import arrays_backend


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
    monkeypatch.setattr(arrays_backend, "CDLL", load)
    monkeypatch.setattr("sys.platform", "linux")
    assert arrays_backend._knows_gpus(str(tmp_path / "__init__.py")) is expected


def test_without_a_version_torch_is_asked(tmp_path: Path) -> None:
    assert arrays_backend._knows_gpus(str(tmp_path / "__init__.py"))
    assert arrays_backend._knows_gpus(None)


def test_without_torch_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays_backend, "find_spec", lambda name: None)
    assert not arrays_backend.gpu_is_there()
