"""Random bits: from the system, from a key and a row id, or (for tests only) from a seed.

A *source* gives 64-bit words, uniform and independent. What draws from it is organised in lanes, one for each row of
a batch: a :class:`Stream` answers for word number k of some of the lanes. A fresh stream does not care which lane
asks, every word is new; in a keyed stream word k of a lane is a function of the key, the row id and k.

* :class:`SystemBits` expands 32 bytes of ``os.urandom`` by ChaCha20. The key is thrown away after
  :data:`REKEY_BYTES` bytes, and in the child of a fork before the first word.
* :class:`KeyedBits` encrypts 128-bit row ids by AES-256 under keys derived from the caller's key, the mechanism's
  digest and the number of the block: word k is half of block ⌊k/2⌋.
* :class:`SeededBits` is ChaCha20 under a key that anybody can guess. It warns.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Any, Protocol, runtime_checkable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from sfumato.arguments import integer
from sfumato.errors import InvalidInput, short, shown

Words = NDArray[np.uint64]
Lanes = NDArray[np.int64]

REKEY_BYTES = 1 << 28
"""Bytes of keystream after which :class:`SystemBits` asks the system for a new key."""

DEEP = 1 << 32
"""A :class:`Lane` that goes on after word number k reads the words DEEP·(2k + 1) and following, or DEEP·(2k + 2)."""

_BUFFER = 1 << 12  # words kept ready for small requests
_PIECE = 1 << 20  # bytes encrypted at once
_MOST_WORDS = 1 << 30  # Words of the largest request: 8 GB.
_ZEROS = bytes(_PIECE)
_KEY_BYTES = 32
_ID_BYTES = 16


@runtime_checkable
class Bits(Protocol):
    """A source of random bits."""

    def words(self, count: int) -> Words:
        """The next words, uniform on 0, …, 2^64 − 1 and independent of all that were given before."""
        ...


class Stream(Protocol):
    """Words for the lanes of a batch."""

    def take(self, lanes: Lanes, first: int, count: int) -> Words:
        """Words number first, …, first + count − 1 of each lane, one row a word, one column a lane."""
        ...


class InsecureSeed(UserWarning):
    """Noise comes from a seed: whoever knows or guesses it can subtract the noise."""


# ----------------------------------------------------------------- the system's bits


class SystemBits:
    """Random words from the operating system, expanded by ChaCha20; safe under threads, forks and pickling.

    Words that were handed out are erased here. A copy, also one that was pickled, is a new source with a key of its
    own.

    Examples
    --------
    >>> source = SystemBits()
    >>> source.words(3).dtype, len(source.words(3))
    (dtype('uint64'), 3)
    """

    def __init__(self) -> None:
        self._begin()
        _SOURCES.add(self)

    def _begin(self) -> None:
        """A lock that nobody holds, no words left, and no key."""
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._cipher: CipherContext | None = None
        self._spent = 0
        self._buffer: Words = np.empty(0, dtype=np.uint64)

    def words(self, count: int) -> Words:
        """The next words."""
        count = integer(count, "the number of words", 0, _MOST_WORDS)
        if self._process != os.getpid():  # a fork that Python was not told of
            self._begin()
        with self._lock:
            if count > _BUFFER // 2:
                return self._fresh(count)
            if count > len(self._buffer):
                self._buffer = self._fresh(_BUFFER)
            used = self._buffer[:count]
            self._buffer = self._buffer[count:]  # first: an interrupt must leave neither used words nor zeros there
            given = used.copy()
            used[:] = 0
            return given

    def _fresh(self, count: int) -> Words:
        result = np.empty(count, dtype=np.uint64)
        room = result.data.cast("B")
        for start in range(0, len(room), _PIECE):
            part = room[start : start + _PIECE]
            if self._cipher is None or self._spent + len(part) > REKEY_BYTES:
                self._cipher, self._spent = self._new_cipher(), 0
            self._cipher.update_into(_ZEROS[: len(part)], part)
            self._spent += len(part)
        return result

    def _new_cipher(self) -> CipherContext:
        return _chacha(os.urandom(_KEY_BYTES))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


_SOURCES: weakref.WeakSet[SystemBits] = weakref.WeakSet()


def _in_a_child() -> None:
    """After a fork the child shares nothing with its parent: no key, no words, no lock that is held for ever."""
    for source in list(_SOURCES):
        source._begin()


os.register_at_fork(after_in_child=_in_a_child)

_SYSTEM = SystemBits()


def system_bits() -> SystemBits:
    """The source that draws use unless they are given another."""
    return _SYSTEM


def _chacha(key: bytes) -> CipherContext:
    # sixteen bytes of zeros: block counter and nonce; a key is used once
    return Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()


class SeededBits(SystemBits):
    """FOR TESTS ONLY: words that anyone can repeat who knows the seed.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", InsecureSeed)
    ...     bool((SeededBits(1).words(5) == SeededBits(1).words(5)).all()), SeededBits(1)
    (True, SeededBits(1, insecure: for tests only))
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise InvalidInput(f"a seed is an integer, found {shown(seed)}")
        warnings.warn(
            f"SeededBits({short(seed)}) is for tests only: noise from a seed protects nobody. "
            "Leave the source out to draw with the system's random bits.",
            InsecureSeed,
            stacklevel=2,
        )
        self.seed = int(seed)
        super().__init__()

    def _begin(self) -> None:
        super()._begin()
        self._keys = 0

    def _new_cipher(self) -> CipherContext:
        self._keys += 1
        return _chacha(
            blake2b(f"insecure seed {self.seed}, key {self._keys}".encode(), digest_size=_KEY_BYTES).digest()
        )

    def __repr__(self) -> str:
        return f"SeededBits({self.seed}, insecure: for tests only)"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.seed,)


# ----------------------------------------------------------------- streams


class FreshStream:
    """Every word is new, whichever lane asks and whatever number it gives."""

    def __init__(self, source: Bits) -> None:
        self.source = source

    def take(self, lanes: Lanes, first: int, count: int) -> Words:
        """New words."""
        size = len(lanes) * count
        words = np.asarray(self.source.words(size))
        if words.dtype != np.uint64 or words.shape != (size,):
            raise InvalidInput(
                f"a source of bits gave an array of {words.dtype} and shape {words.shape} for {size} words of uint64"
            )
        return words.reshape(count, len(lanes))


class KeyedBits:
    """Words that are a function of a key, a context and the row id: a deterministic :class:`Stream`.

    Block j of a row is AES-256 of its 128-bit id under the key BLAKE2b(key; context, j), and its halves are the words
    2j and 2j + 1. Two different ids never share a block. Whoever does not know the key, 32 random bytes, cannot tell
    the words of different ids from fresh ones, unless AES-256 or BLAKE2b is broken or there are near to 2^64 ids: the
    advantage is written out in the theory of sampling.

    Parameters
    ----------
    key
        32 bytes, as from ``secrets.token_bytes(32)``, kept as secret as the data.
    context
        What the words are for, such as the digest of a mechanism; another context has other words.
    ids
        One 128-bit id for each lane, an array of bytes with 16 columns.
    """

    def __init__(self, key: bytes, context: bytes, ids: NDArray[np.uint8]) -> None:
        self._key, self._context = checked_key(key), bytes(context)
        self._ids = checked_ids(ids)

    def take(self, lanes: Lanes, first: int, count: int) -> Words:
        """The words of these numbers."""
        everyone = len(lanes) == len(self._ids) and bool((lanes == np.arange(len(lanes))).all())
        ids = self._ids if everyone else self._ids[lanes]
        data = np.ascontiguousarray(ids).tobytes()
        result = np.empty((count, len(lanes)), dtype=np.uint64)
        for block in range(first // 2, (first + count + 1) // 2):
            halves = np.frombuffer(self._encryptor(block).update(data), dtype="<u8").reshape(-1, 2)
            for half in (0, 1):
                place = 2 * block + half - first
                if 0 <= place < count:
                    result[place] = halves[:, half]
        return result

    def _encryptor(self, block: int) -> CipherContext:
        message = len(self._context).to_bytes(8, "little") + self._context + block.to_bytes(8, "little")
        key = blake2b(message, digest_size=_KEY_BYTES, key=self._key, person=b"sfumato keyed 1").digest()
        return Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # one block an id, no two alike


def checked_key(key: Any) -> bytes:
    """A key of 32 bytes."""
    if not isinstance(key, bytes | bytearray | memoryview) or len(bytes(key)) != _KEY_BYTES:
        given = f"{len(key)} bytes" if isinstance(key, bytes | bytearray) else f"a value of type {type(key).__name__}"
        raise InvalidInput(f"a key is {_KEY_BYTES} bytes, such as secrets.token_bytes({_KEY_BYTES}); found {given}")
    return bytes(key)


def checked_ids(ids: Any) -> NDArray[np.uint8]:
    """Row ids: an array of bytes with 16 columns."""
    try:
        table = np.asarray(ids)
    except (ValueError, TypeError, MemoryError) as error:
        raise InvalidInput(f"row ids are an array of uint8 with {_ID_BYTES} columns, found {shown(ids)}") from error
    if table.dtype != np.uint8 or table.ndim != 2 or table.shape[1] != _ID_BYTES:
        raise InvalidInput(
            f"row ids are an array of uint8 with {_ID_BYTES} columns, one row an id; "
            f"found {table.dtype} of shape {table.shape}"
        )
    return np.ascontiguousarray(table)


# ----------------------------------------------------------------- one lane, as long as it takes


class Lane:
    """Further words of one lane, one after another, for what its first words left open: exact, and not fast.

    Parameters
    ----------
    stream, lane
        The stream and the number of the lane in it.
    after
        The number of the word that left something open; no two such words share what follows.
    again
        For a second thing that the same word leaves open.
    """

    def __init__(self, stream: Stream, lane: int, after: int, *, again: bool = False) -> None:
        self._stream, self._lane = stream, np.array([lane])
        self._number = DEEP * (2 * after + 1 + again)

    def word(self) -> int:
        """The next word."""
        self._number += 1
        return int(self._stream.take(self._lane, self._number - 1, 1)[0, 0])

    def below(self, bound: int) -> int:
        """A uniform integer of 0, …, bound − 1: as many bits as the bound has, again if they are too large."""
        bits = (bound - 1).bit_length()
        while True:
            value = 0
            for start in range(0, bits, 64):
                value |= self.word() << start
            value &= (1 << bits) - 1
            if value < bound:
                return value

    def happens(self, part: int, whole: int) -> bool:
        """True with the chance part/whole: a uniform number of [0, 1), continued until it differs from that."""
        chance = Fraction(part, whole)
        return self.stays_below(0, 0, lambda _bits: (chance, chance))

    def passes(self, digits: int, bits: int, numbers: Sequence[Fraction]) -> int:
        """How many of some rationals a uniform number of [0, 1) that begins with these binary digits is not below."""
        while True:
            certain = sum(digits >= number * (1 << bits) for number in numbers)
            if certain == sum(digits + 1 > number * (1 << bits) for number in numbers):
                return certain
            digits = (digits << 64) | self.word()
            bits += 64

    def stays_below(self, digits: int, bits: int, bounds: Callable[[int], tuple[Fraction, Fraction]]) -> bool:
        """Whether a uniform number of [0, 1) that begins with these binary digits is below a real number.

        ``bounds(bits)`` encloses that number, the more tightly the more bits are asked for.
        """
        while True:
            low, high = bounds(bits + 64)
            if digits + 1 <= low * (1 << bits):
                return True
            if digits >= high * (1 << bits):
                return False
            digits = (digits << 64) | self.word()
            bits += 64
