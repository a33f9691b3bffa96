"""The sampler: what it takes, what it gives, what it refuses, and that keyed draws are a function of their key."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.draws.alias import first_wrong_row
from sfumato.draws.randomness import InsecureSeed, SeededBits, SystemBits
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported
from sfumato.mechanisms.continuous import laplace, pixelate, truncated_laplace
from sfumato.mechanisms.lattice import Lattice
from sfumato.mechanisms.tight import lattice_tight_constraints
from sfumato.release import sampler as module
from sfumato.release.sampler import CHUNK, Sampler, integer_noise, sampler

KEY = bytes(range(32))
STATED = {"secret_never_changes": True}
LINE = sf.PrivacyType(sf.line(4), alpha="1/2")
LETTER = sf.tight_constraints(sf.PrivacyType(sf.discrete(["a", "b", "c"]), alpha="1/4"))


def ids_of(count: int, start: int = 0) -> np.ndarray:
    numbers = np.zeros((count, 2), dtype="<u8")
    numbers[:, 0] = np.arange(start, start + count)
    return numbers.view(np.uint8).reshape(count, 16)


def samplers() -> dict[str, Sampler]:
    return {
        "exact": sampler(sf.geometric(LINE)),
        "rounded": sampler(sf.exponential(sf.PrivacyType(sf.grid(3, 3), epsilon=1))),
        "product": sampler(sf.mechanisms.product_mechanism(LETTER, sf.geometric(LINE))),
        "plane": sampler(lattice_tight_constraints(Lattice((6, 5)), epsilon=1)),
        "manhattan": sampler(lattice_tight_constraints(Lattice((5, 4), "manhattan"), alpha="3/4")),
        "integers": sampler(sf.mechanisms.InfiniteGeometric(Fraction(2, 3))),
        "slow integers": integer_noise("1/1000"),
        "pixels": sampler(truncated_laplace("1/3"), pixels=6, steps=4),
    }


SAMPLERS = samplers()


def secrets_of(made: Sampler, count: int) -> np.ndarray:
    return np.arange(count) % (len(made.secrets) if made.secrets is not None else 50)


# ----------------------------------------------------------------- what it is


def test_labels_and_names() -> None:
    assert SAMPLERS["exact"].secrets == (0, 1, 2, 3) == SAMPLERS["exact"].outputs
    assert repr(SAMPLERS["rounded"]) == "Sampler(9 secrets → 9 outputs)"
    product = SAMPLERS["product"]
    assert product.secrets is not None and product.secrets[5] == ("b", 1) and len(product.secrets) == 12
    assert SAMPLERS["plane"].secrets is not None and SAMPLERS["plane"].secrets[7] == (1, 2)
    assert SAMPLERS["integers"].secrets is None is SAMPLERS["integers"].outputs
    assert SAMPLERS["pixels"].secrets == tuple(Fraction(k, 4) for k in range(5))
    assert SAMPLERS["pixels"].outputs == tuple(Fraction(k, 6) for k in range(6))
    assert repr(SAMPLERS["slow integers"]) == "Sampler(integers, noise with epsilon=1/1000)"
    assert "epsilon=0.69314718056)" in repr(integer_noise(0.6931471805599453))


def test_tables_of_every_table_are_checked() -> None:
    for name in ("exact", "rounded"):
        assert first_wrong_row(SAMPLERS[name].plan.tables) == -1  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_are_indices_of_outputs_in_the_form_of_the_rows(name: str) -> None:
    made = SAMPLERS[name]
    rows = secrets_of(made, 1000)
    drawn = made.draw(rows)
    assert drawn.dtype == np.int64 and drawn.shape == rows.shape
    if made.outputs is not None:
        assert drawn.min() >= 0 and drawn.max() < len(made.outputs)
    assert made.draw([]).shape == (0,)
    assert made.draw(rows.astype(np.uint8)[:0]).shape == (0,)
    locked = rows.astype(np.int32)
    locked.flags.writeable = False
    assert made.draw(locked[::2]).shape == (500,)


def test_tuples_of_indices_go_in_and_come_out() -> None:
    for name, sides in (("product", (3, 4)), ("plane", (6, 5)), ("manhattan", (5, 4))):
        made = SAMPLERS[name]
        flat = np.arange(200) % (sides[0] * sides[1])
        wide = np.stack(np.unravel_index(flat, sides), axis=1)
        one = made.draw_keyed(flat, ids_of(200), KEY, **STATED)
        two = made.draw_keyed(wide, ids_of(200), KEY, **STATED)
        assert two.shape == (200, 2)
        assert (np.ravel_multi_index(tuple(two.T), sides) == one).all()


def test_more_tuples_than_an_index_can_count() -> None:
    long = sampler(sf.mechanisms.product_mechanism(*[LETTER] * 50))
    assert long.draw(np.zeros((10, 50), dtype=np.int64)).shape == (10, 50)
    with pytest.raises(NotSupported, match="50 columns"):
        long.draw([0])


def test_fresh_draws_differ_and_seeded_ones_repeat() -> None:
    for made in SAMPLERS.values():
        rows = secrets_of(made, 2000)
        assert (made.draw(rows) != made.draw(rows)).any()
        with pytest.warns(InsecureSeed):
            sources = [SeededBits(5), SeededBits(5), SeededBits(6)]
        first, second, other = (made.draw(rows, bits=source) for source in sources)
        assert (first == second).all() and (first != other).any()


# ----------------------------------------------------------------- keyed


@pytest.mark.parametrize("name", SAMPLERS)
def test_keyed_draws_are_a_function_of_key_id_and_mechanism(name: str) -> None:
    made, again = SAMPLERS[name], samplers()[name]
    count = 500
    rows, ids = secrets_of(made, count), ids_of(count)
    drawn = made.draw_keyed(rows, ids, KEY, **STATED)
    assert (again.draw_keyed(rows, ids, bytearray(KEY), **STATED) == drawn).all()  # type: ignore[arg-type]
    order = np.random.default_rng(0).permutation(count)
    assert (made.draw_keyed(rows[order], ids[order], KEY, **STATED) == drawn[order]).all()
    assert (made.draw_keyed(rows[100:103], ids[100:103], KEY, **STATED) == drawn[100:103]).all()
    assert (made.draw_keyed(rows, ids, KEY[::-1], **STATED) != drawn).any()
    assert (made.draw_keyed(rows, ids_of(count, 10**6), KEY, **STATED) != drawn).any()


def test_where_a_batch_is_cut_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("exact", "plane", "slow integers"):
        made = SAMPLERS[name]
        rows, ids = secrets_of(made, 1000), ids_of(1000)
        drawn = made.draw_keyed(rows, ids, KEY, **STATED)
        with monkeypatch.context() as patch:
            patch.setattr(module, "CHUNK", 77)
            assert (made.draw_keyed(rows, ids, KEY, **STATED) == drawn).all()
    assert CHUNK > 1000


def test_what_names_a_mechanism() -> None:
    digests = {name: made.digest for name, made in SAMPLERS.items()}
    assert len(set(digests.values())) == len(digests)
    assert digests == {name: made.digest for name, made in samplers().items()}
    mechanism = sf.geometric(LINE)
    claimed = sf.certify.claim(sf.Prior.uniform(range(4)), mechanism, sf.losses.absolute(range(4)))
    assert sampler(claimed).digest == sampler(mechanism).digest
    doubled = sf.prove(mechanism.weights * 2, LINE, outputs=mechanism.outputs)
    assert sampler(doubled).digest == sampler(mechanism).digest
    renamed = sf.prove(mechanism.weights, LINE, outputs=list("abcd"))
    assert sampler(renamed).digest != sampler(mechanism).digest
    long = sf.geometric(sf.PrivacyType(sf.line(60), alpha="9/10"))
    assert long.total > 2**64 and sampler(long).digest != sampler(mechanism).digest
    swapped = sf.mechanisms.product_mechanism(sf.geometric(LINE), LETTER)
    assert sampler(swapped).digest != digests["product"]


def test_samplers_survive_pickling() -> None:
    for made in SAMPLERS.values():
        other = pickle.loads(pickle.dumps(made))
        rows, ids = secrets_of(made, 100), ids_of(100)
        assert (other.draw_keyed(rows, ids, KEY, **STATED) == made.draw_keyed(rows, ids, KEY, **STATED)).all()


def test_threads_may_share_a_sampler() -> None:
    for name in ("exact", "plane", "slow integers"):
        made = SAMPLERS[name]
        rows, ids = secrets_of(made, 3000), ids_of(3000)
        expected = made.draw_keyed(rows, ids, KEY, **STATED)
        with ThreadPoolExecutor(6) as pool:
            keyed = [pool.submit(made.draw_keyed, rows, ids, KEY, **STATED) for _ in range(12)]
            fresh = [pool.submit(made.draw, rows) for _ in range(12)]
        assert all((drawn.result() == expected).all() for drawn in keyed)
        assert len({drawn.result().tobytes() for drawn in fresh}) == 12


# ----------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 4], "row 1 asks for secret number 4; there are 4"),
        ([-1], "row 0 asks for secret number -1"),
        ([0.0], "integer indices"),
        ([True], "integer indices"),
        (["a"], "integer indices"),
        (3, "integer indices"),
        ([[0], [1]], "integer indices"),
        (np.array([2**63], dtype=np.uint64), "below 2\\^63"),
    ],
)
def test_rows_that_are_no_secrets_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SAMPLERS["exact"].draw(rows)


def test_tuples_outside_of_the_space_are_refused() -> None:
    with pytest.raises(InvalidInput, match="row 1 asks for secret number 5 along axis 1; there are 5"):
        SAMPLERS["plane"].draw([[0, 0], [0, 5]])
    with pytest.raises(InvalidInput, match="a table with 2 columns"):
        SAMPLERS["plane"].draw([[0, 0, 0]])


def test_keys_ids_and_sources_are_checked() -> None:
    made = SAMPLERS["exact"]
    with pytest.raises(InvalidInput, match="found 2 rows and 3 ids"):
        made.draw_keyed([0, 1], ids_of(3), KEY, **STATED)
    with pytest.raises(InvalidInput, match="a key is 32 bytes"):
        made.draw_keyed([0], ids_of(1), b"", **STATED)
    with pytest.raises(InvalidInput, match="row ids"):
        made.draw_keyed([0], [1], KEY, **STATED)
    with pytest.raises(InvalidInput, match="a source of bits"):
        made.draw([0], bits=7)  # type: ignore[arg-type]
    assert made.draw([0], bits=SystemBits()).shape == (1,)


def test_what_cannot_be_drawn_from_is_said() -> None:
    for wrong in (laplace(1), sf.geometric(LINE).channel, None):
        with pytest.raises(NotSupported, match="draws from a value of type"):
            sampler(wrong)
    with pytest.raises(InvalidInput, match="pixels=…, steps=…"):
        sampler(truncated_laplace(1), steps=3)
    with pytest.raises(InvalidInput, match="how many steps"):
        sampler(pixelate(truncated_laplace(1), 3))
    with pytest.raises(InvalidInput, match="are for the truncated Laplace"):
        sampler(sf.geometric(LINE), steps=3)
    with pytest.raises(InvalidInput, match="are for the truncated Laplace"):
        sampler(pixelate(truncated_laplace(1), 3), steps=2, pixels=3)
    with pytest.raises(InvalidInput, match="positive integer"):
        sampler(pixelate(truncated_laplace(1), 3), steps=0)
    for arguments in ({}, {"epsilon": 1, "alpha": "1/2"}, {"epsilon": 0}, {"alpha": 1}, {"alpha": "3/2"}):
        with pytest.raises(InvalidEpsilon):
            integer_noise(**arguments)  # type: ignore[arg-type]
