from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InvalidInput
from sfumato.release import keys
from sfumato.release.keys import Changes, id_digests, key_bytes, release_key, salt_of
from sfumato.release.rows import BadRow, TypedValues


def texts(values: list[bytes], letter: str = "t") -> keys.Texts:
    ends = np.cumsum([0, *map(len, values)])
    return np.frombuffer(b"".join(values), dtype=np.uint8), ends, ord(letter)


def reference(parts: list[tuple[str, bytes]], salt: bytes) -> bytes:
    message = b"".join(letter.encode() + len(part).to_bytes(8, "little") + part for letter, part in parts)
    return blake2b(message, digest_size=16, person=b"sfumato row id\0\0", salt=salt).digest()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=20)), min_size=1, max_size=8),
    st.binary(min_size=16, max_size=16),
)
def test_row_ids_are_hashed_like_the_standard_library(rows: list[tuple[bytes, bytes]], salt: bytes) -> None:
    found = id_digests([texts([a for a, _ in rows]), texts([b for _, b in rows], "b")], salt)
    assert [row.tobytes() for row in found] == [reference([("t", a), ("b", b)], salt) for a, b in rows]


@pytest.mark.parametrize("size", [0, 1, 118, 119, 120, 247, 248, 1000])
def test_hashes_at_the_borders_of_a_block(size: int) -> None:
    found = id_digests([texts([b"x" * size])], bytes(16))
    assert found[0].tobytes() == reference([("t", b"x" * size)], bytes(16))


def test_no_two_ids_share_an_encoding() -> None:
    salt = bytes(16)
    pairs = [([b"a"], [b"bc"]), ([b"ab"], [b"c"]), ([b"abc"], [b""]), ([b""], [b"abc"])]
    found = {id_digests([texts(a), texts(b)], salt).tobytes() for a, b in pairs}
    found |= {id_digests([texts([b"abc"])], salt).tobytes(), id_digests([texts([b"abc"], "b")], salt).tobytes()}
    found.add(id_digests([texts([b"abc"])], salt_of(["home"])).tobytes())
    assert len(found) == 7
    assert len({salt_of(["a", "bc"]), salt_of(["ab", "c"]), salt_of(["abc"]), salt_of(["a,bc"])}) == 4


def test_an_integer_and_its_digits_are_one_id() -> None:
    def digest(array: Any) -> bytes:
        return id_digests([TypedValues(array).texts("id", 0)], bytes(16)).tobytes()

    whole = digest(pa.array([17, -3]))
    assert whole == digest(pa.array([17, -3], pa.int8())) == digest(pa.array(["17", "-3"]))
    assert (
        whole == digest(pa.array(["17", "-3"]).dictionary_encode()) == digest(pa.array(["17", "-3"], pa.large_string()))
    )
    assert whole == digest(pa.array(["0", "17", "-3"]).slice(1))
    assert whole != digest(pa.array([b"17", b"-3"]))
    assert digest(pa.array([2**64 - 1], pa.uint64())) == digest(pa.array([str(2**64 - 1)]))


@pytest.mark.parametrize("array", [pa.array([1.0]), pa.array([True]), pa.array([[1]]), pa.array([0], pa.date32())])
def test_ids_with_several_spellings_are_refused(array: Any) -> None:
    with pytest.raises(InvalidInput, match=r"the row id 'id' holds .*: use integers, texts or bytes"):
        TypedValues(array).texts("id", 0)


def test_missing_ids_are_refused_with_their_row() -> None:
    with pytest.raises(BadRow, match="row 12: the row id 'id' is missing") as caught:
        TypedValues(pa.array([1, None])).texts("id", 10)
    assert caught.value.row == 12


# ----------------------------------------------------------------- key files


def test_a_key_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = release_key(tmp_path / "rows.key")
    assert path.stat().st_mode & 0o777 == 0o600
    key = key_bytes(path)
    assert len(key) == 32 and key == key_bytes(str(path)) == key_bytes(key)
    assert key != key_bytes(release_key(tmp_path / "other.key"))
    with pytest.raises(InvalidInput, match="already there: another key would release the same rows again"):
        release_key(path)
    assert key_bytes(path) == key
    path.chmod(0o640)
    with pytest.raises(InvalidInput, match=r"others may read or write the key file .*chmod 600"):
        key_bytes(path)


@pytest.mark.parametrize("content", [b"", b"00" * 31, b"00" * 33, b"zz" * 32, b"\xff" * 64, b"00" * 40])
def test_other_files_are_no_keys(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InvalidInput, match="is no key file: it should hold 64 hexadecimal digits"):
        key_bytes(path)


def test_what_is_no_key(tmp_path: Path) -> None:
    for wrong, words in (
        (b"short", "a key has 32 bytes, found 5"),
        (tmp_path / "none", "cannot be read: No such file .*release_key"),
        (tmp_path, "cannot be read"),
        (3, "found int"),
    ):
        with pytest.raises(InvalidInput, match=words):
            key_bytes(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="there is no folder"):
        release_key(tmp_path / "none" / "rows.key")


# ----------------------------------------------------------------- one id, one secret


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1)), max_size=40), st.integers(1, 9), st.booleans())
def test_an_id_with_two_secrets_is_found(rows: list[tuple[int, int]], batch: int, on_disk: bool) -> None:
    before, keys._ROWS_IN_MEMORY = keys._ROWS_IN_MEMORY, 5 if on_disk else keys._ROWS_IN_MEMORY
    seen = Changes()
    try:
        for first in range(0, len(rows), batch):
            part = rows[first : first + batch]
            ids = np.zeros((len(part), 16), dtype=np.uint8)
            ids[:, 0] = [i % 3 for i, _ in part]  # few different first halves, which ids share
            ids[:, 15] = [i for i, _ in part]
            seen.add(ids, np.array([s for _, s in part]), first)
        secrets: dict[int, set[int]] = {}
        for i, s in rows:
            secrets.setdefault(i, set()).add(s)
        if any(len(found) > 1 for found in secrets.values()):
            with pytest.raises(InvalidInput, match="one row id and two secrets") as caught:
                seen.check()
            one, two = (int(word) for word in str(caught.value).split() if word.isdigit())
            assert rows[one - 1][0] == rows[two - 1][0] and rows[one - 1][1] != rows[two - 1][1]
        else:
            seen.check()
    finally:
        keys._ROWS_IN_MEMORY = before
        seen.close()


def test_what_is_remembered_on_disk_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_ROWS_IN_MEMORY", 1)
    seen = Changes(tmp_path)
    seen.add(np.zeros((3, 16), dtype=np.uint8), np.array([1, 1, 1]), 0)
    assert seen.files and os.listdir(tmp_path) == []
    seen.check()
    seen.close()
    assert not seen.files
