"""The kernel's own bounds of cosines and of the stretch of a frame, beside those in ball arithmetic; and files."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from box_tables import box_mechanism
from sfumato.certify import kernel, twin_box
from sfumato.certify.certificate import Certificate
from sfumato.certify.coordinates import BoxMechanism, prove_on_box
from sfumato.certify.kernel import FRAME_BITS, PI, Refuted, Unreadable, cos_bound
from sfumato.errors import SfumatoError
from sfumato.spaces import earth_box, ground_stretch
from sfumato.spaces.box import Box
from sfumato.spaces.lengths import METRES

ANGLES = st.fractions(0, 90, max_denominator=10**12)


def arctangent(inverse: int, terms: int = 60) -> tuple[Fraction, Fraction]:
    """Rationals around arctan(1/inverse)."""
    sums = [Fraction(0)]
    for k in range(terms):
        sums.append(sums[-1] + Fraction((-1) ** k, (2 * k + 1) * inverse ** (2 * k + 1)))
    return min(sums[-2:]), max(sums[-2:])


def test_pi_by_machins_formula() -> None:
    fifth, other = arctangent(5), arctangent(239)
    assert PI[0] < 4 * (4 * fifth[0] - other[1]) <= 4 * (4 * fifth[1] - other[0]) < PI[1]


@settings(deadline=None)
@given(ANGLES, st.sampled_from([32, 64, FRAME_BITS]))
def test_cosines_lie_between_their_bounds(degrees: Fraction, bits: int) -> None:
    low, high = (cos_bound(degrees, bits, up) for up in (False, True))
    with flint.ctx.workprec(256):
        ball = flint.arb.cos_pi_fmpq(flint.fmpq(degrees.numerator, degrees.denominator * 180))
        assert flint.arb(flint.fmpq(low.numerator, low.denominator)) <= ball or degrees in (0, 60, 90)
        assert flint.arb(flint.fmpq(high.numerator, high.denominator)) >= ball or degrees in (0, 60, 90)
    assert 0 <= high - low <= Fraction(8, 2**bits)


@pytest.mark.parametrize(("degrees", "cosine"), [(0, Fraction(1)), (60, Fraction(1, 2)), (90, Fraction(0))])
def test_cosines_that_are_rational(degrees: int, cosine: Fraction) -> None:
    low, high = (cos_bound(Fraction(degrees), 64, up) for up in (False, True))
    assert low <= cosine <= high < low + Fraction(1, 2**60)


def written_frame(box: Box) -> kernel.WrittenFrame:
    frame = box.frame
    assert frame is not None
    return kernel.WrittenFrame(frame.south, frame.west, frame.degrees, frame.radius, frame.margin)


BOXES = st.builds(
    lambda south, west, sides, margin: earth_box(south, west, sides=sides, step=1, margin=margin),
    st.fractions(-70, 70, max_denominator=1000), st.fractions(-180, 180, max_denominator=1000),
    st.tuples(st.integers(1, 300), st.integers(1, 300)), st.one_of(st.none(), st.integers(0, 50)),
)  # fmt: skip


@settings(deadline=None, max_examples=100)
@given(BOXES)
def test_the_kernel_finds_the_same_stretch(box: Box) -> None:
    """Within the millionths that the box states, and never beyond them."""
    least, most = ground_stretch(box)
    grain = Fraction(3, 10**6)
    assert most - grain < kernel.largest_stretch(written_frame(box), list(box.sides)) <= most
    assert least <= kernel.smallest_stretch(written_frame(box), list(box.sides)) < least + grain


# ----------------------------------------------------------------- files

TOWN = earth_box(52, 13, sides=(20, 20), step=10)


def proved(**promise: Any) -> BoxMechanism:
    table = box_mechanism(TOWN, outputs=4)
    privacy = sf.PrivacyType(TOWN, **promise) if promise else table.privacy
    return prove_on_box(table.weights, privacy, table.rounding, table.outputs, halvings=0)


HONEST = proved()


def changed(check: Any = None, **frame: Any) -> Any:
    """What the kernel or its twin says of the file with another frame; both, and the same, where none is named."""
    written = HONEST.as_certificate()
    header = copy.deepcopy(written.header)
    header["box"]["frame"] |= frame
    forged = Certificate(header, written.sections).interpreted()
    if check is not None:
        return check(*forged)
    try:
        found = kernel.check(*forged)
    except Refuted as error:
        with pytest.raises(Refuted, match=re.escape(str(error))):
            twin_box.check(*forged)
        raise
    assert twin_box.check(*forged) == found
    return found


def test_a_file_says_where_its_box_lies(tmp_path: Path) -> None:
    for mechanism in (HONEST, proved(alpha="1/2")):
        path = tmp_path / "town.sfm"
        sf.save(mechanism, path)
        again = sf.load(path)
        assert again.box == TOWN and again.rate == mechanism.rate and sf.verify(again)
        header, sections, digest = kernel.read(path)
        said = "\n".join(kernel.report_of_proof(header, kernel.check(header, sections), digest))
        assert "per 'km' on the ground (sphere of radius 6371.0088 'km')" in said
        least, most = (float(k) for k in ground_stretch(TOWN))
        assert f"lengths are {least:g} to {most:g} times those on the ground" in said
        assert "places up to 5 outside count as its nearest point, and nothing is promised about others" in said
        path.unlink()


@pytest.mark.parametrize("check", [kernel.check, twin_box.check])
def test_frames_that_lie_are_refuted(check: Any) -> None:
    """A larger margin, a place nearer to a pole, shorter degrees."""
    assert changed(check)["cells"] == 4
    frame = HONEST.as_certificate().header["box"]["frame"]
    a, b = map(Fraction, frame["degrees"])
    less = Fraction(999, 1000)
    for lie in (
        {"margin": str(Fraction(frame["margin"]) + 1)},
        {"south": "53"},
        {"south": "-53"},
        {"degrees": [str(a * less), str(b)]},
        {"degrees": [str(a), str(b * less)]},
    ):
        with pytest.raises(Refuted, match="is what keeps the promise on the ground"):
            changed(check, **lie)
    for truth in ({"west": "-100"}, {"margin": "0"}, {"south": "-52"}):
        assert changed(check, **truth)["cells"] == 4


@pytest.mark.parametrize("radius", ["6371008.8", "6400", "6371.00880000001", "1"])
def test_another_sphere_is_not_the_ground(radius: str) -> None:
    """A file may not call metres km, and then promise something per km on the ground."""
    with pytest.raises(SfumatoError, match="'km', which is not the Earth"):
        changed(radius=str(Fraction(radius)))
    assert TOWN.frame is not None
    with pytest.raises(SfumatoError, match="found a sphere of radius"):
        replace(TOWN, frame=replace(TOWN.frame, radius=Fraction(radius)))


def test_units_of_the_ground_are_lengths() -> None:
    names = {name: [size for known, size in kernel.METRES.items() if re.fullmatch(known, name)] for name in METRES}
    assert {name: Fraction(*sizes) for name, sizes in names.items()} == METRES
    for unit in ("", "Km", "minutes"):
        with pytest.raises(SfumatoError, match="a sphere of radius"):
            replace(TOWN, unit=unit)


@pytest.mark.parametrize(
    "frame",
    [
        {"south": "89.9"}, {"south": "899/10"}, {"south": "-95"}, {"west": "400"}, {"margin": "-1"}, {"radius": "0"},
        {"degrees": ["1/100", "0"]}, {"degrees": ["1/100"]}, {"degrees": ["10", "1/100"]}, {"south": None},
        {"margin": 1.5}, {"no such key": "1"}, {"margin": "1" * 101},
    ],
)  # fmt: skip
def test_frames_that_make_no_sense_are_not_read(frame: dict[str, Any]) -> None:
    with pytest.raises((Unreadable, SfumatoError)):
        changed(**frame)


def test_a_rate_that_is_too_large_for_the_ground_is_refused() -> None:
    """Also where it would do on the map alone."""
    table = box_mechanism(TOWN, outputs=4)
    least = ground_stretch(TOWN)[0]
    with pytest.raises(SfumatoError, match="is what keeps the promise on the ground"):
        prove_on_box(table.weights, table.privacy, table.rounding, table.outputs, halvings=0, rate=table.rate / least)


def test_the_promise_on_the_map_for_a_bound() -> None:
    least = ground_stretch(TOWN)[0]
    for mechanism, epsilon in ((HONEST, HONEST.privacy.epsilon), (proved(alpha="1/2"), Fraction(693148, 10**6))):
        header, _ = mechanism.as_certificate().interpreted()
        about = kernel.map_promise(header)
        assert about.alpha is None and epsilon is not None
        assert about.epsilon <= epsilon / least < about.epsilon * Fraction(100001, 100000)
