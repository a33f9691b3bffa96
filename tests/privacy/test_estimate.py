from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.privacy import estimate
from sfumato.privacy.modular import residues_of
from sfumato.privacy.rays import rays_of


@pytest.mark.parametrize(
    "privacy",
    [
        sf.PrivacyType(sf.line(5), alpha="1/2"),
        sf.PrivacyType(sf.line(5), alpha="2/3"),
        sf.PrivacyType(sf.discrete(4), alpha="1/2"),
        sf.PrivacyType(sf.cycle(5), alpha="1/2"),
        sf.PrivacyType(sf.hamming(2), alpha="1/3"),
        sf.PrivacyType(sf.grid(2, 2), alpha="1/2"),
        sf.PrivacyType(sf.grid(2, 2), epsilon=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("floats", [True, False])
def test_every_kernel_has_exactly_one_set(
    privacy: sf.PrivacyType, floats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Summed over all sets instead of a sample, the estimate is the number itself: it is unbiased."""
    rays = rays_of(sf.types.vertices(privacy))
    sets = np.array(list(combinations(range(len(rays)), len(privacy.space))))
    assert rays.integers is not None
    residues = residues_of(rays.integers)
    if floats:
        assert estimate._hits(rays, residues, sets) == sf.types.count_kernels(privacy)
    else:  # the slow way, on a part
        part = sets[:: max(1, len(sets) // 300)]
        slow = sum(estimate._is_basis_of_kernel(rays, residues, members) for members in part.tolist())
        assert estimate._hits(rays, residues, part) == slow


def test_the_interval_holds_the_number() -> None:
    for seed in range(5):
        found = sf.types.estimate_kernels(
            sf.PrivacyType(sf.line(6), alpha="1/2"), samples=40_000, seed=seed, confidence=0.9999
        )
        assert found.low < 15346 < found.high
        assert abs(found.count - 15346) < 5 * found.error
        assert found.samples == 40_000


def test_an_interrupt_returns_what_was_drawn() -> None:
    def stop(_: sf.types.KernelEstimate) -> None:
        raise KeyboardInterrupt

    found = sf.types.estimate_kernels(sf.PrivacyType(sf.line(4), alpha="1/2"), samples=10**7, seed=1, progress=stop)
    assert found.samples == 50_000
    assert found.low < 11 < found.high


@given(st.integers(1, 60), st.floats(0.5, 0.999))
def test_without_a_hit_there_is_a_bound_that_is_wrong_no_more_often_than_it_says(
    samples: int, confidence: float
) -> None:
    """Were the number the bound, or more, no hit would have the chance 1 − confidence, or less."""
    found = estimate._estimate(0, samples, 10**6, confidence, 0.0)
    assert found.fewer_than is not None
    assert (1 - found.fewer_than / 10**6) ** samples == pytest.approx(1 - confidence)
    assert found.low == 0 < found.fewer_than <= found.high
    assert str(found).startswith("fewer than ")
    assert float(str(found).split()[2]) >= found.fewer_than * (1 - 1e-12)
    assert estimate._estimate(1, samples, 10**6, confidence, 0.0).fewer_than is None


def test_bad_input() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    with pytest.raises(InvalidInput, match="samples"):
        sf.types.estimate_kernels(privacy, samples=0)
    with pytest.raises(InvalidInput, match="samples"):
        sf.types.estimate_kernels(privacy, samples=1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="seed"):
        sf.types.estimate_kernels(privacy, seed=-1)
    with pytest.raises(InvalidInput, match="confidence"):
        sf.types.estimate_kernels(privacy, confidence=1.0)
    with pytest.raises(NotSupported, match="16"):
        sf.types.estimate_kernels(sf.PrivacyType(sf.line(17), alpha="1/2"))
    with pytest.raises(NotSupported, match="few irrational"):
        sf.types.estimate_kernels(sf.PrivacyType(sf.points([[0.0, 0.1], [1.0, 0.2], [0.3, 0.9]]), epsilon=1))
