"""Random bits: known answers, no word twice, forks, threads, keys."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from hashlib import blake2b

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.draws import randomness
from sfumato.draws.randomness import (
    DEEP,
    Bits,
    FreshStream,
    InsecureSeed,
    KeyedBits,
    Lane,
    SeededBits,
    SystemBits,
    system_bits,
)
from sfumato.errors import InvalidInput

KEY = bytes(range(32))
IDS = np.arange(5 * 16, dtype=np.uint8).reshape(5, 16)


def seeded(seed: int) -> SeededBits:
    with pytest.warns(InsecureSeed, match="for tests only"):
        return SeededBits(seed)


def chacha20_keystream(key: bytes, blocks: int) -> bytes:
    """RFC 8439, section 2.3, with counter and nonce 0, written out."""

    def turn(s: list[int], a: int, b: int, c: int, d: int) -> None:
        for x, y, z, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = (s[x] + s[y]) & 0xFFFFFFFF
            s[z] ^= s[x]
            s[z] = ((s[z] << shift) | (s[z] >> (32 - shift))) & 0xFFFFFFFF

    out = b""
    for counter in range(blocks):
        start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter, 0, 0, 0]
        state = list(start)
        for _ in range(10):
            for k in range(4):
                turn(state, k, 4 + k, 8 + k, 12 + k)
            for k in range(4):
                turn(state, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4)
        out += struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(start, state, strict=True)))
    return out


# ----------------------------------------------------------------- the system's bits


def test_the_system_s_words_are_the_keystream_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: KEY[:size])
    expected = np.frombuffer(chacha20_keystream(KEY, 40), dtype="<u8")
    source = SystemBits()
    found = np.concatenate([source.words(3), source.words(100), source.words(1), source.words(200)])
    assert (found == expected[:304]).all()
    large = SystemBits().words(3000)
    assert (large[:320] == expected).all()


def test_no_word_comes_twice() -> None:
    source = SystemBits()
    sizes = [1, 7, 5000, 2, 100_000, 3000, 1]
    words = np.concatenate([*(source.words(size) for size in sizes), SystemBits().words(1000), system_bits().words(50)])
    assert len(np.unique(words)) == len(words) == sum(sizes) + 1050
    assert words.dtype == np.uint64 and isinstance(source, Bits)
    assert source.words(0).shape == (0,)


def test_words_that_were_handed_out_are_erased_inside() -> None:
    source = SystemBits()
    before = source.words(1)
    held = source._buffer.base
    assert held is not None and held[0] == 0 != before[0] and held[1] != 0


def test_keys_are_replaced_after_the_stated_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "REKEY_BYTES", 1 << 16)
    monkeypatch.setattr(randomness, "_PIECE", 1 << 14)
    asked = []
    given = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or given(size))
    words = SystemBits().words((1 << 16) // 8 * 5)
    assert asked == [32] * 5
    assert len(np.unique(words)) == len(words)


def test_threads_never_share_words() -> None:
    source = SystemBits()
    with ThreadPoolExecutor(8) as pool:
        parts = list(
            pool.map(lambda k: np.concatenate([source.words(1 + (k + j) % 700) for j in range(60)]), range(32))
        )
    words = np.concatenate(parts)
    assert len(np.unique(words)) == len(words)


def in_a_child(source: SystemBits, count: int) -> np.ndarray:
    """Words that the child of a fork draws first."""
    read, write = os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover
        try:
            os.write(write, source.words(count).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    data = b""
    while part := os.read(read, 1 << 16):
        data += part
    os.close(read)
    os.waitpid(child, 0)
    return np.frombuffer(data, dtype=np.uint64)


def test_children_of_a_fork_repeat_neither_their_parent_nor_each_other() -> None:
    for source in (system_bits(), SystemBits()):
        source.words(10)  # a buffer that a child would inherit
        families = [in_a_child(source, 300) for _ in range(4)]
        words = np.concatenate([*families, source.words(300)])
        assert len(words) == 1500 == len(np.unique(words))


def test_a_child_can_draw_although_a_thread_of_its_parent_holds_the_lock() -> None:
    source = SystemBits()
    with source._lock:
        found: list[np.ndarray] = []
        fork = threading.Thread(target=lambda: found.append(in_a_child(source, 5)))
        fork.start()
        fork.join(240)
        assert len(found) == 1 and len(found[0]) == 5


def test_a_fork_that_python_is_not_told_of_is_noticed() -> None:
    source = SystemBits()
    source.words(5)
    key = source._cipher
    source._process = -1
    source.words(5)
    assert source._cipher is not key and source._process == os.getpid()


def draw_in_worker(_: int) -> np.ndarray:
    return system_bits().words(200)


def test_processes_of_a_pool_have_words_of_their_own() -> None:
    system_bits().words(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        parts = pool.map(draw_in_worker, range(8), chunksize=1)
    words = np.concatenate([*parts, system_bits().words(200)])
    assert len(np.unique(words)) == len(words)


def test_a_copy_is_a_new_source() -> None:
    source = SystemBits()
    source.words(3)
    copies = [pickle.loads(pickle.dumps(source)), copy.copy(source), copy.deepcopy(source), source]
    words = np.concatenate([c.words(100) for c in copies])
    assert len(np.unique(words)) == 400


# ----------------------------------------------------------------- seeds


def test_seeds_are_loud_and_repeat() -> None:
    first, second, other = seeded(7), seeded(7), seeded(8)
    assert (first.words(9000) == second.words(9000)).all()
    assert not (first.words(50) == other.words(50)).any()
    assert "insecure" in repr(first) and "tests only" in repr(first)
    assert issubclass(InsecureSeed, UserWarning)
    for wrong in (1.5, True, "1", None):
        with pytest.raises(InvalidInput, match="a seed is an integer"):
            SeededBits(wrong)  # type: ignore[arg-type]


# ----------------------------------------------------------------- keys


def test_keyed_words_are_aes_of_the_id() -> None:
    bits = KeyedBits(KEY, b"context", IDS)
    lanes = np.arange(5)
    found = bits.take(lanes, 3, 4)
    for place, number in enumerate(range(3, 7)):
        message = (7).to_bytes(8, "little") + b"context" + (number // 2).to_bytes(8, "little")
        key = blake2b(message, digest_size=32, key=KEY, person=b"sfumato keyed 1").digest()
        for lane in lanes:
            block = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(IDS[lane].tobytes())
            assert int(found[place, lane]) == int.from_bytes(block[8 * (number % 2) :][:8], "little")


def test_keyed_words_depend_on_key_context_and_id_alone() -> None:
    bits = KeyedBits(KEY, b"a", IDS)
    everyone = np.arange(5)
    whole = bits.take(everyone, 0, 6)
    assert (whole == KeyedBits(bytearray(KEY), b"a", IDS).take(everyone, 0, 6)).all()
    some = np.array([3, 1, 1])
    assert (bits.take(some, 2, 3) == whole[2:5, some]).all()
    assert (KeyedBits(KEY, b"a", IDS[::-1]).take(everyone, 0, 6) == whole[:, ::-1]).all()
    others = [KeyedBits(KEY[::-1], b"a", IDS), KeyedBits(KEY, b"b", IDS), KeyedBits(KEY, b"a", IDS ^ 1)]
    words = np.concatenate([whole.ravel(), *(other.take(everyone, 0, 6).ravel() for other in others)])
    assert len(np.unique(words)) == 4 * 30
    assert bits.take(everyone[:0], 0, 2).shape == (2, 0)


def test_wrong_keys_and_ids_are_refused() -> None:
    for wrong in (b"short", "x" * 32, None, KEY + b"1"):
        with pytest.raises(InvalidInput, match="a key is 32 bytes"):
            KeyedBits(wrong, b"", IDS)  # type: ignore[arg-type]
    for ids in (IDS.astype(np.int64), IDS[:, :8], IDS[0], [1, 2]):
        with pytest.raises(InvalidInput, match="row ids are an array of uint8 with 16 columns"):
            KeyedBits(KEY, b"", ids)  # type: ignore[arg-type]


def test_a_source_must_give_words() -> None:
    class Floats:
        def words(self, count: int) -> np.ndarray:
            return np.zeros(count)

    with pytest.raises(InvalidInput, match="gave an array of float64"):
        FreshStream(Floats()).take(np.arange(3), 0, 2)


# ----------------------------------------------------------------- one lane


class Script:
    """A stream that says what it is told, and remembers what was asked for."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)
        self.asked: list[int] = []

    def take(self, lanes: np.ndarray, first: int, count: int) -> np.ndarray:
        assert lanes.tolist() == [4] and count == 1
        self.asked.append(first)
        return np.array([[self.left.pop(0)]], dtype=np.uint64)


def test_a_bounded_integer_uses_as_many_bits_as_it_needs_and_tries_again() -> None:
    values = [Lane(Script(word, 1), 4, 0).below(6) for word in range(8)]
    assert values == [0, 1, 2, 3, 4, 5, 1, 1]
    assert Lane(Script(), 4, 0).below(1) == 0
    wide = Script(5, 3)
    assert Lane(wide, 4, 2).below(1 << 70) == 5 + (3 << 64)
    assert wide.asked == [DEEP * 5, DEEP * 5 + 1]
    again = Script(1)
    Lane(again, 4, 2, again=True).below(2)
    assert again.asked == [DEEP * 6]


def test_a_chance_is_compared_digit_by_digit() -> None:
    third = (1 << 64) // 3
    for words, expected in (
        ((third - 1,), True),
        ((third + 1,), False),
        ((third, third, 0), True),
        ((third, third + 1), False),
    ):
        script = Script(*words)
        assert Lane(script, 4, 0).happens(1, 3) is expected
        assert not script.left
    half = 1 << 63
    assert not Lane(Script(half), 4, 0).happens(1, 2) and Lane(Script(half - 1), 4, 0).happens(1, 2)
    assert Lane(Script(), 4, 0).happens(3, 3) and not Lane(Script(), 4, 0).happens(0, 3)


def test_a_number_is_continued_until_it_leaves_an_enclosure() -> None:
    third = Fraction(1, 3)

    def bounds(bits: int) -> tuple[Fraction, Fraction]:
        return third - Fraction(1, 1 << bits), third + Fraction(1, 1 << bits)

    digits = (1 << 64) // 3
    assert Lane(Script(), 4, 0).stays_below(digits - 1, 64, bounds)
    assert not Lane(Script(), 4, 0).stays_below(digits + 1, 64, bounds)
    assert Lane(Script(5), 4, 0).stays_below(digits, 64, bounds)
    assert not Lane(Script(digits, digits + 7), 4, 0).stays_below(digits, 64, bounds)
