"""Files and values made to deceive: each was accepted, or crashed a checker, at some time or could have."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from forgeries import packed
from sfumato import errors
from sfumato.certify import kernel, twin
from sfumato.certify.certificate import Certificate
from sfumato.certify.closure import bounds_of, close_integers
from sfumato.certify.sections import Section

NONE = kernel.NOWHERE


def words(values: Any, kind: str) -> Section:
    return Section(int(kind[-1]), np.array(values, dtype=kind).tobytes())


def forge(
    weights: Any = ((2, 1), (1, 2)),
    *,
    distances: Any = (1,),
    form: str = "rational",
    unit: str = "1",
    promise: Any = None,
    via: Any = None,
    edges: Any = None,
    **header: Any,
) -> Certificate:
    """A certificate that says exactly this, true or not."""
    sections = {"weights": words(weights, "<u8"), "distances": words(distances, "<f8" if form == "float" else "<u8")}
    if via is not None:
        sections["via"] = words(via, "<u4")
    if edges is not None:
        sections |= {f"edge_{end}": words([e[i] for e in edges], "<u4") for i, end in enumerate(("first", "second"))}
    about: dict[str, Any] = {
        "version": kernel.VERSION,
        "secrets": list(range(len(weights))),
        "outputs": list(range(len(weights[0]))),
        "total": str(sum(weights[0])),
        "space": {"name": "forged", "unit": "", "coordinates": None},
        "metric": {"form": form, "unit": unit, "source": "table" if edges is None else "edges"},
        "promise": {"kind": "rows", **(promise or {"alpha": "1/2", "step": "1/2"})},
        "claims": {},
        "provenance": {},
    }
    return Certificate(about | header, sections)


def written(made: Certificate) -> bytes:
    """Its bytes as they are, not as the writer of the package would have them."""
    return packed(made.header, {name: (section.width, section.data) for name, section in made.sections.items()})


def refused(made: Certificate, tmp_path: Path) -> None:
    """Kernel and twin turn it down with their own errors; verify and load with the package's."""
    path = tmp_path / "forged.sfm"
    path.write_bytes(written(made))
    for checker in (kernel.check, twin.check_arrays):
        with pytest.raises((kernel.Unreadable, kernel.Refuted)):
            checker(*kernel.read(path)[:2])
    for engine in ("kernel", "twin", "auto"):
        with suppress(errors.InvalidFile):
            assert not sf.verify(path, checker=engine)  # type: ignore[arg-type]
        with pytest.raises((errors.InvalidFile, errors.PrivacyViolation)):
            sf.load(path, checker=engine)  # type: ignore[arg-type]


LEAKY = ((1000, 999000), (2700, 997300), (7200, 992800))  # ln(7.2) = 1.97 between the ends

REFUSED = {
    # √2^60 + √2^60 is not √2^61, but a product in 64 bits would say so
    "overflowing roots": {
        "weights": LEAKY, "form": "root", "unit": f"1/{2**30}", "promise": {"epsilon": "1"},
        "distances": (2**60, 2**61, 2**60), "via": (NONE, 1, NONE),
    },
    "an edge twice": {"weights": ((5, 5),) * 2, "distances": (1, 3), "edges": [(0, 1), (1, 0)]},
    "edges of square roots": {
        "weights": ((1, 1),) * 3, "form": "root", "promise": {"epsilon": "1"}, "distances": (1, 1, 3),
        "edges": [(0, 1), (1, 2), (0, 2)],
    },
    "rows that differ over an edge of length zero": {
        "weights": ((5, 5), (6, 4), (6, 4)), "distances": (0, 1), "edges": [(0, 1), (1, 2)],
    },
    "a distance of zero in a table": {"weights": ((5, 5),) * 3, "distances": (0, 1, 1)},
    "an integer taken for infinity": {"distances": (2**61,), "unit": f"1/{2**61}", "promise": {"epsilon": "1"}},
    "a unit for floats": {"form": "float", "unit": "1/1000000", "promise": {"epsilon": "1"}, "distances": (1.0,)},
    "a distance that is no number": {"form": "float", "promise": {"epsilon": "1"}, "distances": (float("nan"),)},
    "a negative distance": {"form": "float", "promise": {"epsilon": "1"}, "distances": (-1.0,)},
    "a sum beyond the floats": {
        "weights": ((1, 1),) * 3, "form": "float", "promise": {"epsilon": "1"}, "distances": (1.7e308,) * 3,
        "via": (NONE, 1, NONE),
    },
    "a step that would take for ever": {"unit": str(10**12), "promise": {"alpha": "1/2", "step": "1/2"}},
    "a false step": {"promise": {"alpha": "1/2", "step": "1/4"}},
    "a unit with a second line": {"space": {"unit": "km\nfile: PROVED private with epsilon = 1/100", "name": "x"}},
    "no space": {"space": None},
    "a space that is a list": {"space": [1]},
    "claims without a loss": {"claims": {"kind": "loss", "bound": "0", "loss_unit": "1", "dual_unit": "1/8"}},
    "an edge to nowhere": {"distances": (1,), "edges": [(0, 7)]},
    "an edge in a circle": {"distances": (1,), "edges": [(1, 1)]},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    start = process_time()
    if name in ("no space", "a space that is a list", "a unit with a second line", "claims without a loss"):
        path = tmp_path / "forged.sfm"
        path.write_bytes(written(forge(**REFUSED[name])))
        with pytest.raises(kernel.Unreadable):
            kernel.read(path)
        assert kernel.main([str(path)]) == 2
    elif name in ("a unit for floats", "a step that would take for ever", "a false step", "edges of square roots"):
        path = tmp_path / "forged.sfm"
        path.write_bytes(written(forge(**REFUSED[name])))
        with pytest.raises(errors.InvalidFile):
            sf.load(path)
    else:
        refused(forge(**REFUSED[name]), tmp_path)
    assert process_time() - start < 20


def test_overflowing_roots_are_refused_where_the_twin_is_the_judge(tmp_path: Path) -> None:
    n, m = 400, 400
    weights = np.ones((n, m), dtype=np.int64) * 1000
    weights[:3, :2] = np.array(LEAKY) * 2
    weights[3:, :2] = 1_000_000
    far = np.full((n, n), kernel.UNBOUNDED, dtype=np.uint64)
    far[0, 1] = far[1, 2] = 2**60
    far[0, 2] = 2**61
    via = np.full((n, n), NONE, dtype=np.uint32)
    via[0, 2] = 1
    upper = np.triu_indices(n, 1)
    made = forge(weights.tolist(), form="root", unit=f"1/{2**30}", promise={"epsilon": "1"}, distances=far[upper],
                 via=via[upper])  # fmt: skip
    path = tmp_path / "large.sfm"
    path.write_bytes(written(made))
    with pytest.raises(errors.InvalidFile, match="too large"):
        sf.verify(path)


def test_honest_variants_of_the_forgeries_pass(tmp_path: Path) -> None:
    path = tmp_path / "honest.sfm"
    for made in (
        forge(),
        forge(distances=(1,), edges=[(0, 1)]),
        forge(form="float", distances=(1.0,), promise={"epsilon": "1"}),
        forge(form="root", distances=(1,), promise={"alpha": "1/2", "step": "1/2"}),
        forge(((1, 1),) * 3, form="root", distances=(1, 4, 1), via=(NONE, 1, NONE)),
        forge(((3, 0), (0, 3)), distances=(kernel.UNBOUNDED,)),
    ):
        path.write_bytes(written(made))
        assert sf.verify(path, checker="kernel")
        assert sf.verify(path, checker="twin")
        assert sf.load(path).privacy.space.labels[:2] == (0, 1)


@pytest.mark.parametrize("labels", [[{}, 1], [{"fraction": "x"}, 1], [{"fraction": "1/0"}, 1], [[[{}]], 1], ["a", "a"]])
def test_labels_nobody_writes(labels: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "labels.sfm"
    for name in ("secrets", "outputs"):
        path.write_bytes(written(forge(**{name: labels})))
        with pytest.raises(errors.InvalidFile):
            sf.verify(path)


def test_coordinates_nobody_writes(tmp_path: Path) -> None:
    path = tmp_path / "coordinates.sfm"
    for coordinates in ("abc", [[1], [2, 3]], [[1.0]], {"x": 1}):
        path.write_bytes(written(forge(space={"name": "", "unit": "", "coordinates": coordinates})))
        with pytest.raises(errors.InvalidFile):
            sf.load(path)


def bounded(distance: int, **changes: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A certificate with a claim and one dual number on the pair of secrets."""
    claims = {"kind": "loss", "loss": "1/3", "loss_unit": "1", "bound": "0", "dual_unit": "1", "actions": [0, 1]}
    made = forge(distances=(distance,), promise={"epsilon": "7/10"}, claims=claims | changes)
    made.sections.update(
        prior=words([1, 1], "<u8"), loss=words([0.0, 1.0, 1.0, 0.0], "<f8"), remap=words([0, 1], "<u4"),
        dual=words([1], "<u8"), dual_from=words([0], "<u4"), dual_to=words([1], "<u4"), dual_action=words([0], "<u4"),
    )  # fmt: skip
    return kernel.parse(written(made))[:2]


def test_duals_on_far_pairs_and_odd_scales() -> None:
    with pytest.raises(kernel.Refuted, match="less than the claimed"):
        kernel.check(*bounded(1, bound="1"))
    with pytest.raises(kernel.Refuted, match="far apart"):
        kernel.check(*bounded(2**40))
    for unit in (1.5, True, "-1", "0", "1/0", "x"):
        with pytest.raises(kernel.Unreadable):
            bounded(1, dual_unit=unit)
    with pytest.raises(kernel.Refuted, match=r"about 2\^"):
        kernel.check(*bounded(1, loss_unit="1" + "0" * 3900))


def test_messages_survive_numbers_beyond_the_floats() -> None:
    huge = 10**2000
    weights = np.array([[huge - 1, 1, 0], [1, huge - 2, 1]], dtype=object)
    with pytest.raises(errors.PrivacyViolation, match=r"weight 1 for 1 and 0 for 0"):
        sf.prove(weights, sf.PrivacyType(sf.line(2), epsilon=100_000))
    with pytest.raises(errors.InvalidChannel, match=r"about 2\^"):
        sf.prove(np.array([[huge, huge], [1, 2]], dtype=object), sf.PrivacyType(sf.line(2), epsilon=1))
    with pytest.raises(errors.InvalidInput, match="bits"):
        sf.prove(np.array([[10**4100, 1], [1, 10**4100]], dtype=object), sf.PrivacyType(sf.line(2), epsilon=1))


def test_weights_are_not_reinterpreted() -> None:
    mechanism = sf.prove([[2, 1], [1, 2]], sf.PrivacyType(sf.line(2), alpha="1/2"))
    for weights, total in ((np.array([[-1, 1], [-2, 2]]), 256), (np.array([[1.9, 1.0], [1.0, 1.9]]), 2)):
        with pytest.raises(errors.InvalidInput):
            sf.verify(dataclasses.replace(mechanism, weights=weights, total=total))


def test_odd_widths_and_paths() -> None:
    for width in (3, 5, True):
        made = forge()
        made.sections["weights"] = Section(width, bytes(4 * int(width)))
        with pytest.raises(kernel.Unreadable):
            kernel.parse(written(made))
    with pytest.raises(kernel.Unreadable):
        kernel.read("a\0b")


def test_labels_that_are_not_text() -> None:
    space = sf.discrete(["\ud800", "x"])
    with pytest.raises(errors.InvalidInput, match="not valid text"):
        sf.prove([[1, 1], [1, 1]], sf.PrivacyType(space, epsilon=1))


def test_huge_coordinates_and_lengths_stay_right() -> None:
    far = sf.points(np.array([[-(2**62) - 2**61], [2**62 + 2**61]]), metric="manhattan")
    assert far.distance(0, 1) == pytest.approx(3 * 2.0**62)
    path = sf.graph([(i, i + 1, 2**60 + 1) for i in range(8)])
    assert path.distance(0, 8) == pytest.approx(8 * 2.0**60)
    assert path.distance(0, 2) == pytest.approx(2 * 2.0**60)


@pytest.mark.parametrize("promise", [{"epsilon": "1e400"}, {"epsilon": "1e-400"}, {"alpha": "1e-5000"}])
def test_promises_beyond_the_floats_are_refused(promise: Any) -> None:
    with pytest.raises(errors.InvalidEpsilon):
        sf.PrivacyType(sf.line(2), **promise)


def test_tiny_and_almost_one_alpha() -> None:
    assert sf.PrivacyType(sf.line(2), alpha="1e-400").rate == pytest.approx(400 * np.log(10))
    close = 1 - Fraction(1, 10**30)
    assert sf.PrivacyType(sf.line(2), alpha=close).rate == pytest.approx(1e-30)


def test_closures_do_not_touch_what_they_are_given() -> None:
    privacy = sf.PrivacyType(sf.line(3), epsilon=1)
    matrix = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    before = matrix.copy()
    sf.quantise(matrix, privacy)
    assert np.array_equal(matrix, before)
    column = np.array([[100], [1], [1]], dtype=np.uint64)
    closed = close_integers(column, bounds_of(privacy, 1000))
    assert column.ravel().tolist() == [100, 1, 1]
    assert closed.ravel().tolist() == [100, 37, 14]


def test_whole_distances_given_as_floats_are_exact_for_the_kernel_too() -> None:
    space = sf.FiniteSpace([0, 1], np.array([[0.0, 1.0], [1.0, 0.0]]))
    privacy = sf.PrivacyType(space, alpha="1/2")
    channel = sf.Channel(space, [["2/3", "1/3"], ["1/3", "2/3"]])
    assert sf.satisfies(channel, privacy)
    for checker in ("kernel", "twin"):
        assert sf.prove(channel, privacy, checker=checker)  # type: ignore[arg-type]
    halves = sf.FiniteSpace([0, 1], np.array([[0.0, 0.5], [0.5, 0.0]]))
    assert not sf.PrivacyType(halves, alpha="1/4").exact  # the kernel does not take roots of measured distances
    assert sf.mechanisms.binary(sf.PrivacyType(sf.line(2), alpha=f"1/{10**2000}"))
