"""The client in JavaScript beside the kernel and its twin: the same answers, and the same draws.

``SFUMATO_MUTANTS=10000`` compares on so many mutated files, ``SFUMATO_KEYED_ROWS`` on so many keyed draws.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from client_mutants import mutant
from client_node import JS, NODE, NPM, Answers
from grafts import changed_vector, promise_is_kept
from sfumato.certify import kernel
from sfumato.certify.coordinates import prove_on_box
from sfumato.certify.decide import decide
from sfumato.certify.noise import prove_noise
from sfumato.spaces.splines import rounding_of
from sfumato.version import __version__
from shell import sfumato
from vectors.parts import rows
from vectors.true_rows import HALF

pytestmark = pytest.mark.client

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
MUTANTS = int(os.environ.get("SFUMATO_MUTANTS", "300"))
ROWS = int(os.environ.get("SFUMATO_KEYED_ROWS", "100000"))


def kernels_answer(data: bytes) -> str:
    try:
        header, sections, _ = kernel.parse(data)
        kernel.check(header, sections)
    except kernel.Unreadable:
        return "unreadable"
    except kernel.Refuted:
        return "refuted"
    return "proved"


def twins_answer(data: bytes) -> str:
    try:
        return "proved" if decide(*kernel.parse(data), "twin") else "refuted"
    except ValueError:
        return "unreadable"


def test_kernel_twin_and_client_agree_on_mutated_files() -> None:
    found: Counter[str] = Counter()
    with Answers("answers.mjs") as client:
        for seed in range(MUTANTS):
            data = mutant(seed)
            said = client.of(data)
            answers = {said["answer"], kernels_answer(data), twins_answer(data)}
            assert answers in ({said["answer"]}, {"refuted", "unreadable"}), f"mutant {seed}: {answers}, {said}"
            found["two faults"] += len(answers) > 1
            found[said["answer"]] += 1
    # the format leaves open which of two faults is named; few files have two, of two kinds
    assert found["two faults"] <= MUTANTS // 1000
    # what is compared is of all three kinds
    assert min(found[answer] for answer in ("proved", "refuted", "unreadable")) >= MUTANTS // 20


def test_they_agree_on_vectors_that_were_changed_repacked_and_put_together() -> None:
    with Answers("answers.mjs") as client:
        for seed in range(MUTANTS):
            data = changed_vector(seed)
            answers = client.of(data)["answer"], kernels_answer(data), twins_answer(data)
            assert len({*answers}) == 1 or {*answers} == {"refuted", "unreadable"}, f"vector {seed}: {answers}"
            assert "proved" not in answers or promise_is_kept(data) is not False, f"vector {seed} is false"


@pytest.mark.parametrize("of", ["losses", "distances"])
def test_numbers_of_short_files_are_no_objects_before_they_are_asked_for(of: str, tmp_path: Path) -> None:
    n = 1600
    file = rows([[1], [1]], [1], HALF).saying(secrets=list(range(n)), total="1").holding(weights=(1, b"\1" * n))
    if of == "distances":
        file = file.holding(distances=(8, (1).to_bytes(8, "little") * (n * (n - 1) // 2)))
    else:
        stake = {"kind": "loss", "loss": "0", "loss_unit": "1", "actions": list(range(n))}
        file = file.about("metric", source="edges").saying(claims=stake).holding(
            distances=(8, b""), edge_first=(4, b""), edge_second=(4, b""), prior=(1, b"\1" * n),
            loss=(8, bytes(8 * n * n)), remap=(4, bytes(4)),
        )  # fmt: skip
    (tmp_path / "zeros.sfm").write_bytes(file.written())
    # objects for all of them take ten times as much
    command = [NODE, "--max-old-space-size=40", JS / "verify.mjs", tmp_path / "zeros.sfm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "PROVED" in done.stdout


def test_devices_and_pipes_are_no_mechanism_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sfm")
    for endless in (tmp_path / "pipe.sfm", "/dev/zero"):
        done = subprocess.run([NODE, JS / "verify.mjs", endless], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "regular file" in done.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What git has of the client: the sources and no module, and the script that makes one of them."""
    made = "sfumato.mjs"
    shutil.copytree(JS, tmp_path / "js", ignore=lambda folder, _: [made] if Path(folder) == JS else [])
    script = tmp_path / "src" / "sfumato" / "client" / "bundle.py"
    script.parent.mkdir(parents=True)
    shutil.copyfile(JS.parent / "src" / "sfumato" / "client" / "bundle.py", script)
    assert not (tmp_path / "js" / made).exists()
    return tmp_path


def test_a_checkout_proves_files_with_the_exit_status_of_the_command(checkout: Path) -> None:
    proved, refuted, unreadable = (
        VECTORS / f"{name}.sfm" for name in ("rows-epsilon", "ratio-one-unit", "bytes-digest")
    )
    lines = {0: [[proved], [proved, proved]], 3: [[refuted], [refuted, unreadable, proved]],
             2: [[unreadable], [proved, unreadable], [checkout / "none.sfm"], [checkout], []]}  # fmt: skip
    for status, given in lines.items():
        for files in given:
            done = subprocess.run([NODE, checkout / "js" / "verify.mjs", *files], capture_output=True, check=False)
            assert done.returncode == status, (files, done.stderr)
            assert sfumato("verify", *map(str, files)).returncode == status, files


@pytest.mark.skipif(NPM is None, reason="npm is not here")
def test_a_checkout_is_installed_as_a_package(checkout: Path) -> None:
    app = checkout / "app"
    app.mkdir()
    (app / "package.json").write_text('{"name": "app", "version": "1.0.0", "type": "module"}')
    (app / "app.mjs").write_text('import { load, verify } from "sfumato";\nconsole.log(typeof load, typeof verify);\n')
    subprocess.run([NPM, "install", "--offline", "--no-audit", "--no-fund", "../js"], cwd=app, check=True)
    done = subprocess.run([NODE, "app.mjs"], cwd=app, capture_output=True, text=True, check=True)
    assert done.stdout == "function function\n"
    shutil.rmtree(checkout / "js" / "src")  # a package has none
    proving = [NODE, app / "node_modules" / ".bin" / "sfumato-verify", VECTORS / "rows-epsilon.sfm"]
    assert subprocess.run(proving, capture_output=True, check=False).returncode == 0


def drawn_by_node(path: Path, ids: np.ndarray, secrets: list[object], key: bytes) -> list[int]:
    rows = path.with_suffix(".json")
    rows.write_text(json.dumps({"key": key.hex(), "ids": ids.tobytes().hex(), "secrets": secrets}))
    done = subprocess.run([NODE, JS / "test" / "draws.mjs", path, rows], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def test_keyed_draws_are_those_of_python(tmp_path: Path) -> None:
    rng, key = np.random.default_rng(23), bytes(range(32))
    space = sf.grid(5, 5, step="1/2", unit="km")
    mechanism = sf.exponential(sf.PrivacyType(space, epsilon=2))
    sf.save(mechanism, tmp_path / "grid.sfm")
    ids = rng.integers(0, 256, (ROWS, 16), dtype=np.uint8)
    rows = rng.integers(0, len(space), ROWS)
    owed = sf.sampler(mechanism).draw_keyed(rows, ids, key, secret_never_changes=True)
    assert drawn_by_node(tmp_path / "grid.sfm", ids, rows.tolist(), key) == owed.tolist()


def test_keyed_draws_of_points_are_those_of_python(tmp_path: Path) -> None:
    rng, key, count = np.random.default_rng(5), bytes(32), ROWS // 20
    street = sf.PrivacyType(sf.box((1,), step="1/2", unit="km"), epsilon=2)
    table = prove_on_box([[3, 1], [2, 2], [2, 2], [1, 3]], street, rounding_of(street.space), [0, 1])
    road = sf.PrivacyType(sf.box((100,), step=1), epsilon=1)
    noise = prove_noise([4, 2, 1], 1, road, rounding_of(road.space))
    for mechanism, side in ((table, 1), (noise, 100)):
        path = tmp_path / f"box{side}.sfm"
        sf.save(mechanism, path)
        ids = rng.integers(0, 256, (count, 16), dtype=np.uint8)
        points = rng.uniform(-0.1 * side, 1.1 * side, (count, 1))
        owed = sf.sampler(mechanism).draw_keyed(points, ids, key, secret_never_changes=True)
        assert drawn_by_node(path, ids, points.tolist(), key) == owed.tolist()


@pytest.mark.skipif(NPM is None, reason="npm is not here")
def test_the_package_is_what_it_should_be() -> None:
    done = subprocess.run(
        [NPM, "pack", "--dry-run", "--json", "--ignore-scripts"], cwd=JS, capture_output=True, check=True, text=True
    )
    (pack,) = json.loads(done.stdout)
    assert sorted(file["path"] for file in pack["files"]) == [
        "README.md", "package.json", "sfumato.d.ts", "sfumato.mjs", "verify.mjs",
    ]  # fmt: skip
    about = json.loads((JS / "package.json").read_text())
    assert about["version"] == __version__
    assert not about.get("dependencies")
