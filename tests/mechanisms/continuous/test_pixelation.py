from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch, NotSupported
from sfumato.mechanisms.continuous import (
    laplace,
    lattice_geometric,
    lattice_space,
    on_lattice,
    pixelate,
    pixelated_mechanism,
    stepped,
    truncated_laplace,
)
from sfumato.mechanisms.continuous.pixelation import as_interval_mechanism


@given(st.floats(0.1, 20), st.integers(1, 9), st.floats(0, 1))
def test_pixels_add_up(epsilon: float, pixels: int, x: float) -> None:
    coarse = pixelate(truncated_laplace(epsilon), pixels)
    assert len(coarse.outputs) == pixels
    assert coarse.mass(x, np.arange(pixels)).sum() == pytest.approx(1, abs=1e-14)


@given(st.fractions("1/5", "4/5", max_denominator=9), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=30)
def test_exact_and_float_masses_agree(base: Fraction, steps: int, pixels: int) -> None:
    source = truncated_laplace(alpha=base ** (steps * pixels))
    exact = on_lattice(pixelate(source, pixels), steps)
    assert exact.exact
    rough = on_lattice(pixelate(truncated_laplace(source.rate), pixels), steps)
    assert not rough.exact
    assert rough.matrix == pytest.approx(exact.matrix.astype(float), rel=1e-11)


def test_one_pixel_tells_nothing() -> None:
    assert on_lattice(pixelate(truncated_laplace(alpha="1/4"), 1), 2).matrix.tolist() == [[1], [1], [1]]


def test_the_proof_of_a_pixelated_mechanism() -> None:
    exact = pixelated_mechanism(pixelate(truncated_laplace(alpha="1/256"), 4), 2)
    assert sf.verify(exact)
    assert (exact.channel.matrix == on_lattice(pixelate(truncated_laplace(alpha="1/256"), 4), 2).matrix).all()
    source = pixelate(truncated_laplace(1), 6)
    repaired = pixelated_mechanism(source, 5)
    assert sf.verify(repaired)
    difference = repaired.channel.matrix.astype(float)[:, :6] - on_lattice(source, 5).matrix
    assert np.abs(difference).max() < 1e-9


def test_steps_take_the_row_to_the_left_and_the_last_cell_is_closed() -> None:
    source = truncated_laplace(2)
    coarse = stepped(source, 4)
    x, index = np.array([0.0, 0.24, 0.25, 0.8, 1.0]), np.array([0, 1])[:, None]
    assert (coarse.mass(x, index) == source.mass([0, 0, 0.25, 0.75, 0.75], index)).all()
    assert (coarse.density(x, 0.6) == source.density([0, 0, 0.25, 0.75, 0.75], 0.6)).all()  # type: ignore[union-attr]
    pixels = stepped(pixelate(source, 3), 4)
    assert not hasattr(pixels, "density")
    assert pixels.mass(0.3, 1) == pixelate(source, 3).mass(0.25, 1)


def test_a_lifted_channel_keeps_its_rows() -> None:
    geometric = lattice_geometric(truncated_laplace(alpha="1/16"), 2)
    lifted = stepped(geometric)
    assert lifted.mass([0.1, 0.5, 1.0], 0).tolist() == [0.8, 0.2, 0.2]
    assert lifted.jumps.tolist() == [0.5]
    with pytest.raises(Mismatch):
        stepped(sf.Channel(range(3), geometric.matrix))


def test_steps_are_private_on_the_lattice_only() -> None:
    """Section VIII: between lattice points an N-step mechanism jumps, so no promise of ours holds there."""
    geometric = lattice_geometric(truncated_laplace(alpha="1/16"), 2)
    assert sf.satisfies(geometric, sf.PrivacyType(lattice_space(2), alpha="1/16"))
    fine = lattice_space(4)
    rows = [geometric.matrix[min(i // 2, 1)] for i in range(5)]
    assert not sf.satisfies(sf.Channel(fine, rows), sf.PrivacyType(fine, alpha="1/16"))


def test_what_cannot_be_used() -> None:
    with pytest.raises(NotSupported, match="truncated_laplace"):
        as_interval_mechanism(sf.Channel.identity([0, 1]))
    with pytest.raises(InvalidInput, match="steps is missing"):
        stepped(truncated_laplace(1))
    with pytest.raises(InvalidInput, match="TruncatedLaplace"):
        pixelate(laplace(1), 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="pixelate"):
        on_lattice(truncated_laplace(1), 3)  # type: ignore[arg-type]
