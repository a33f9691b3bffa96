"""Keys and row ids: what makes the noise of a row the same whenever it is asked for again.

With a key the noise of a row is a function of (key, row id, released columns, mechanism). A row id is hashed to 128
bits by BLAKE2b over an encoding that no two ids share: for every id column a letter for its kind, the number of bytes,
the bytes. An integer is its decimal digits, so that row 17 of a CSV file (text) is row 17 of a Parquet file (a number).
The names of the released columns are the salt: ``home`` and ``work`` of one person get independent noise.

A row is an id *and* a secret. Where one id comes with two secrets, the second answer would share its randomness with
the first, and comparing the two would tell more than the sum of their promises; :class:`Changes` refuses such a table.

What one release cannot see is the table of another day. An answer that stays the same is free; an answer that changes
cannot be private, since under one key only a changed secret changes it: who holds both tables knows for certain who
moved. A ledger keeps a fingerprint of the data and refuses a changed table under an old key. Without a ledger nobody
looks, so whoever gives a key must say that the secret of an id never changes (:func:`check_statement`).
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from secrets import token_bytes
from typing import Any, BinaryIO

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numba import njit
from numpy.typing import NDArray

from sfumato.arguments import file_path, flag, quoted
from sfumato.errors import InvalidInput, keyword
from sfumato.files import writable
from sfumato.threads import for_reading

KEY_BYTES = 32
"""Bytes of a release key."""

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_ID_BYTES = 16
_PERSON = b"sfumato row id".ljust(16, b"\0")  # keeps these hashes apart from all other uses of BLAKE2b
_ROWS_IN_MEMORY = 2**20  # So many rows are remembered before they go to a file.
_SPILL_FILES = 64  # The file has so many parts, one of which is in memory at the end.

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Texts = tuple[Bytes, NDArray[np.int64], int]
"""A column of texts: all bytes, where each begins (and the last ends), and the letter of its kind."""


# ----------------------------------------------------------------- the key


def release_key(path: str | PathLike[str]) -> Path:
    """Create a key file: 32 bytes from the system in hexadecimal digits, readable by its owner only.

    An existing file is never touched: another key would answer the same rows a second time.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(key_bytes(release_key(f"{folder}/rows.key")))
    32
    """
    place = file_path(path, "a key file")
    try:
        writable(place)
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(
            f"{place} is already there: another key would release the same rows again with fresh noise"
        ) from None
    except OSError as error:
        raise InvalidInput(f"{quoted(place)} cannot be written: {error.strerror}") from error
    with os.fdopen(handle, "wb") as file:
        file.write(token_bytes(KEY_BYTES).hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return place


def key_bytes(key: bytes | str | PathLike[str]) -> bytes:
    """The 32 bytes of a key, given as such or by the path of its file."""
    if isinstance(key, bytes | bytearray):
        if len(key) != KEY_BYTES:
            raise InvalidInput(f"a key has {KEY_BYTES} bytes, found {len(key)}: release_key(path) makes one")
        return bytes(key)
    if not isinstance(key, str | PathLike):
        raise InvalidInput(f"a key is {KEY_BYTES} bytes or the path of a key file, found {type(key).__name__}")
    if len(str(key)) >= 2 * KEY_BYTES and set(str(key).strip()) <= _HEXADECIMAL:  # not to be shown in an error
        raise InvalidInput(
            "a key is given by its bytes or by the path of its file, not by its digits: bytes.fromhex(…)"
        )
    place = Path(key)
    try:
        with place.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(2 * KEY_BYTES + 3)
    except OSError as error:
        hint = ": release_key(path) makes one" if isinstance(error, FileNotFoundError) else ""
        raise InvalidInput(f"the key file {place} cannot be read: {error.strerror or error}{hint}") from error
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise InvalidInput(f"others may read or write the key file {place}: chmod 600 {place}")
    try:
        content = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        content = b""
    if len(content) != KEY_BYTES:
        raise InvalidInput(f"{place} is no key file: it should hold {2 * KEY_BYTES} hexadecimal digits")
    return content


def check_statement(secret_never_changes: Any, *, keyed: bool, ledger: bool = False) -> None:
    """Refuse keyed noise where neither a ledger looks for changed secrets nor anybody says that there are none."""
    if flag(secret_never_changes, "secret_never_changes") and not keyed:
        raise InvalidInput(
            f"{keyword('secret_never_changes', True)} is said of noise with a key: give {keyword('key')} and "
            f"{keyword('row_id')} too"
        )
    if keyed and not ledger and not secret_never_changes:
        raise InvalidInput(
            "with a key and no ledger, two releases tell for certain whose secret has changed between them: an answer "
            f"that stays the same is free, an answer that changes cannot be private; give {keyword('ledger')} and "
            f"{keyword('dataset')}, which notice a changed table, or say {keyword('secret_never_changes', True)} if "
            "the secret of an id never changes"
        )


# ----------------------------------------------------------------- row ids


def salt_of(columns: Sequence[str]) -> bytes:
    """What keeps the noise of these released columns apart from that of others."""
    parts = [name.encode("utf-8", "surrogatepass") for name in columns]
    message = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return blake2b(message, digest_size=16, person=b"sfumato columns\0").digest()


def id_digests(columns: Sequence[Texts], salt: bytes) -> Bytes:
    """128 bits for each row, from one or more columns of ids.

    Examples
    --------
    >>> ids = np.frombuffer(b"17ab", dtype=np.uint8), np.array([0, 2, 4]), ord("t")
    >>> digests = id_digests([ids], bytes(16))
    >>> message = b"t" + (2).to_bytes(8, "little") + b"17"
    >>> digests[0].tobytes() == blake2b(message, digest_size=16, person=_PERSON, salt=bytes(16)).digest()
    True
    """
    rows = len(columns[0][1]) - 1
    sizes = np.full(rows, 9 * len(columns), dtype=np.int64)
    for _, offsets, _ in columns:
        sizes += np.diff(offsets)
    ends = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    message = np.empty(int(ends[-1]), dtype=np.uint8)
    done = ends[:-1].copy()
    for data, offsets, letter in columns:
        _append(message, done, for_reading(data), for_reading(offsets, np.int64), letter)
    # the initial words of BLAKE2b with its parameters mixed in (RFC 7693, section 2.5, with salt and person)
    parameters = bytes([_ID_BYTES, 0, 1, 1]) + bytes(28) + salt + _PERSON
    digests = np.empty((rows, 2), dtype=np.uint64)
    _hash_rows(message, ends, np.frombuffer(parameters, dtype="<u8") ^ _START, digests)
    return np.ascontiguousarray(digests.astype("<u8", copy=False)).view(np.uint8)


_START = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)  # fmt: skip
_ORDER = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    dtype=np.int64,
)


@njit(cache=True)
def _append(message, done, data, offsets, letter):  # type: ignore[no-untyped-def]
    """Kind, length and bytes of each text, at the place where its message has arrived."""
    for row in range(len(done)):
        at, size = done[row], offsets[row + 1] - offsets[row]
        message[at] = letter
        for k in range(8):
            message[at + 1 + k] = (size >> (8 * k)) & 255
        at += 9
        for k in range(offsets[row], offsets[row + 1]):
            message[at] = data[k]
            at += 1
        done[row] = at


@njit(cache=True)
def _turned(word, by):  # type: ignore[no-untyped-def]
    return (word >> np.uint64(by)) | (word << np.uint64(64 - by))


@njit(cache=True)
def _mixed(a, b, c, d, x, y):  # type: ignore[no-untyped-def]
    a = a + b + x
    d = _turned(d ^ a, 32)
    c = c + d
    b = _turned(b ^ c, 24)
    a = a + b + y
    d = _turned(d ^ a, 16)
    c = c + d
    b = _turned(b ^ c, 63)
    return a, b, c, d


@njit(cache=True)
def _compressed(state, m, count, last):  # type: ignore[no-untyped-def]
    """One block of BLAKE2b; ``count`` bytes have been hashed with it. Sixteen variables stay in registers."""
    v0, v1, v2, v3 = state[0], state[1], state[2], state[3]
    v4, v5, v6, v7 = state[4], state[5], state[6], state[7]
    v8, v9, v10, v11 = _START[0], _START[1], _START[2], _START[3]
    v12, v13, v14, v15 = _START[4] ^ np.uint64(count), _START[5], _START[6], _START[7]
    if last:
        v14 = ~v14
    for step in range(12):
        k = step % 10
        v0, v4, v8, v12 = _mixed(v0, v4, v8, v12, m[_ORDER[k, 0]], m[_ORDER[k, 1]])
        v1, v5, v9, v13 = _mixed(v1, v5, v9, v13, m[_ORDER[k, 2]], m[_ORDER[k, 3]])
        v2, v6, v10, v14 = _mixed(v2, v6, v10, v14, m[_ORDER[k, 4]], m[_ORDER[k, 5]])
        v3, v7, v11, v15 = _mixed(v3, v7, v11, v15, m[_ORDER[k, 6]], m[_ORDER[k, 7]])
        v0, v5, v10, v15 = _mixed(v0, v5, v10, v15, m[_ORDER[k, 8]], m[_ORDER[k, 9]])
        v1, v6, v11, v12 = _mixed(v1, v6, v11, v12, m[_ORDER[k, 10]], m[_ORDER[k, 11]])
        v2, v7, v8, v13 = _mixed(v2, v7, v8, v13, m[_ORDER[k, 12]], m[_ORDER[k, 13]])
        v3, v4, v9, v14 = _mixed(v3, v4, v9, v14, m[_ORDER[k, 14]], m[_ORDER[k, 15]])
    for k, word in enumerate((v0 ^ v8, v1 ^ v9, v2 ^ v10, v3 ^ v11, v4 ^ v12, v5 ^ v13, v6 ^ v14, v7 ^ v15)):
        state[k] ^= word


@njit(cache=True, nogil=True)
def _hash_rows(message, ends, start, digests):  # type: ignore[no-untyped-def]
    """The first 16 bytes of the BLAKE2b hash of each message."""
    state, block = np.empty(8, np.uint64), np.empty(16, np.uint64)
    for row in range(len(ends) - 1):
        for k in range(8):
            state[k] = start[k]
        first, last = ends[row], ends[row + 1]
        at = first
        while True:
            block[:] = np.uint64(0)
            stop = min(at + 128, last)
            for k in range(at, stop):
                place = k - at
                block[place >> 3] |= np.uint64(message[k]) << np.uint64(8 * (place & 7))
            final = stop == last
            _compressed(state, block, stop - first, final)
            at = stop
            if final:
                break
        digests[row, 0], digests[row, 1] = state[0], state[1]


# ----------------------------------------------------------------- which data it was


class Fingerprint:
    """A keyed digest of rows, ids with their secrets, in whatever order and on however many machines they come.

    It is the sum of AES(AES(id) ⊕ secret) over all rows, in two halves modulo 2^64, so that parts of a table add up.

    Examples
    --------
    >>> ids, secrets = np.arange(32, dtype=np.uint8).reshape(2, 16), np.array([5, 7])
    >>> whole, parts = Fingerprint(bytes(32)), Fingerprint(bytes(32))
    >>> whole.add(ids, secrets)
    >>> parts.add(ids[1:], secrets[1:])
    >>> parts.add(ids[:1], secrets[:1])
    >>> whole.hexdigest() == parts.hexdigest(), whole.hexdigest() == Fingerprint(bytes(32)).hexdigest()
    (True, False)
    """

    def __init__(self, key: bytes) -> None:
        derived = blake2b(key=key, digest_size=KEY_BYTES, person=b"sfumato data").digest()
        self.cipher = Cipher(algorithms.AES(derived), modes.ECB()).encryptor()
        self.sums = np.zeros(2, dtype=np.uint64)

    def add(self, ids: Bytes, secrets: NDArray[np.int64]) -> None:
        """Count rows in."""
        blocks = np.frombuffer(self.cipher.update(np.ascontiguousarray(ids).tobytes()), dtype="<u8").reshape(-1, 2)
        blocks = blocks ^ np.stack([secrets.astype(np.int64).view(np.uint64), np.zeros(len(ids), np.uint64)], axis=1)
        marks = np.frombuffer(self.cipher.update(blocks.astype("<u8").tobytes()), dtype="<u8").reshape(-1, 2)
        self.sums += marks.sum(axis=0, dtype=np.uint64)

    def hexdigest(self) -> str:
        """What a ledger keeps."""
        return "".join(f"{int(half):016x}" for half in self.sums)


# ----------------------------------------------------------------- one id, one secret

_RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("secret", "<i8"), ("row", "<i8")])


class Changes:
    """Refuses a table in which one row id has two secrets.

    A million rows are remembered; more go to nameless files in ``folder`` (32 bytes a row), which vanish with the
    process. Ids are compared as 128-bit digests.

    Examples
    --------
    >>> seen = Changes()
    >>> same = np.zeros((2, 16), dtype=np.uint8)
    >>> seen.add(same, np.array([3, 3]), first=0)
    >>> seen.check()
    >>> seen.add(same[:1], np.array([4]), first=2)
    >>> seen.check()
    Traceback (most recent call last):
    ...
    sfumato.errors.InvalidInput: rows 2 and 3 have one row id and two secrets: ...
    """

    def __init__(self, folder: str | PathLike[str] | None = None) -> None:
        self.folder = folder
        self.kept: list[NDArray[Any]] = []
        self.size = 0
        self.files: list[BinaryIO] = []

    def add(self, ids: Bytes, secrets: NDArray[np.int64], first: int, rows: NDArray[np.int64] | None = None) -> None:
        """Remember rows; ``first`` rows came before, or ``rows`` says which ones these are, counted from 0."""
        records = np.empty(len(ids), dtype=_RECORD)
        halves = np.ascontiguousarray(ids).view("<u8")
        records["high"], records["low"], records["secret"] = halves[:, 0], halves[:, 1], secrets
        records["row"] = np.arange(first, first + len(ids)) if rows is None else rows
        self.kept.append(records)
        self.size += len(ids)
        if self.size >= _ROWS_IN_MEMORY:
            self._store()

    def _store(self) -> None:
        if not self.files:
            self.files = [tempfile.TemporaryFile(dir=self.folder) for _ in range(_SPILL_FILES)]  # noqa: SIM115
        for records in self.kept:
            # small integers are sorted by counting
            parts = (records["high"] % np.uint64(_SPILL_FILES)).astype(np.uint8)
            order = np.argsort(parts, kind="stable")
            ends = np.searchsorted(parts[order], np.arange(_SPILL_FILES + 1))
            grouped = records[order]
            for file, a, b in zip(self.files, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                file.write(grouped[a:b].tobytes())
        self.kept, self.size = [], 0

    def check(self) -> None:
        """Raise if an id has two secrets."""
        if not self.files:
            if self.kept:
                self.kept = [np.concatenate(self.kept)]
                _refuse_changes(self.kept[0])
            return
        self._store()
        for file in self.files:
            file.seek(0)
            _refuse_changes(np.frombuffer(file.read(), dtype=_RECORD))

    def close(self) -> None:
        """Forget everything."""
        for file in self.files:
            file.close()
        self.files, self.kept, self.size = [], [], 0


def _refuse_changes(records: NDArray[Any]) -> None:
    highs = np.sort(records["high"])  # several times faster than an order, which is needed only where ids repeat
    if not (highs[1:] == highs[:-1]).any():
        return
    order = np.argsort(records["high"], kind="stable")
    same = np.flatnonzero(np.diff(records["high"][order]) == 0)
    # only the rows whose id is shared, in full: few, unless the same table was written several times over
    shared = records[order[np.unique(np.concatenate([same, same + 1]))]]
    shared = shared[np.lexsort((shared["row"], shared["low"], shared["high"]))]
    one, two = shared[:-1], shared[1:]
    changed = (one["high"] == two["high"]) & (one["low"] == two["low"]) & (one["secret"] != two["secret"])
    if changed.any():
        k = int(np.argmax(changed))
        rows = sorted((int(one["row"][k]) + 1, int(two["row"][k]) + 1))
        raise InvalidInput(
            f"rows {rows[0]} and {rows[1]} have one row id and two secrets: a row whose secret has changed is another "
            "row; give it an id of its own, for example with the date as a second column of the id"
        )
