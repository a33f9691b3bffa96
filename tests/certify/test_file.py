from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import tracemalloc
import zlib
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import errors, losses
from sfumato.certify import file as written
from sfumato.certify import kernel
from sfumato.certify.certificate import certificate, certificate_of
from sfumato.certify.file import file_of, packed, to_bytes
from sfumato.certify.label_json import label_from_json, label_to_json
from sfumato.certify.sections import Section
from sfumato.mechanisms.box_noise import laplace_noise, noise_table
from strategies import exact_private_channels, privacy_types


def small() -> sf.Mechanism:
    space = sf.grid(2, 3, unit="km")
    scores = np.exp(-0.3 * space.distances.floats)
    made = sf.repair(scores / scores.sum(axis=1, keepdims=True), sf.PrivacyType(space, epsilon="0.6"))
    return sf.certify.claim(sf.Prior.uniform(space), made.mechanism, losses.distance(space))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "mechanism.sfm"
    sf.save(small(), path)
    return path


@pytest.mark.parametrize(
    "made",
    [small, lambda: laplace_noise(sf.PrivacyType(sf.box(2, step=1), epsilon=1), parts=1),
     lambda: noise_table(laplace_noise(sf.PrivacyType(sf.box(2, step=1), epsilon=1), parts=1))],
    ids=["table", "noise", "table on a box"],
)  # fmt: skip
def test_bytes_stay_with_what_was_proved(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = made()
    fresh = to_bytes(certificate_of(mechanism))
    monkeypatch.setattr(written, "certificate_of", lambda _: pytest.fail("it is laid out again"))
    assert file_of(mechanism) == fresh and fresh[-32:].hex() == mechanism.proof.digest
    sf.save(mechanism, tmp_path / "m.sfm")
    loaded = sf.load(tmp_path / "m.sfm")
    assert file_of(loaded) == fresh and sf.save(loaded, tmp_path / "n.sfm") == mechanism.proof.digest
    assert file_of(pickle.loads(pickle.dumps(loaded))) == fresh
    monkeypatch.undo()
    other = replace(mechanism, provenance={"made by": "hand"})  # of which nothing was proved
    assert file_of(other) == to_bytes(certificate_of(other)) != fresh


def test_files_of_others_are_saved_as_they_were_proved(tmp_path: Path) -> None:
    for path in sorted((Path(__file__).parents[1] / "vectors").glob("rows-*.sfm")):
        with suppress(errors.SfumatoError):  # of forged ones
            loaded = sf.load(path)
            assert sf.save(loaded, tmp_path / path.name) == loaded.proof.digest
    assert len(list(tmp_path.iterdir())) > 5


@given(privacy_types(), st.data())
@settings(max_examples=60)
def test_what_is_saved_is_what_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, privacy: sf.PrivacyType, data: Any
) -> None:
    n = len(privacy.space)
    scores = np.exp(-privacy.rate / 2 * np.minimum(privacy.space.distances.floats, 1e3))
    made = sf.quantise(scores / scores.sum(axis=1, keepdims=True), privacy, bits=data.draw(st.sampled_from([10, 40])))
    path = tmp_path_factory.mktemp("round") / "trip.sfm"
    digest = sf.save(made.mechanism, path)
    loaded = sf.load(path)
    assert loaded.proof.digest == digest == made.mechanism.proof.digest
    assert np.array_equal(loaded.weights, made.mechanism.weights)
    assert loaded.secrets == privacy.secrets
    assert loaded.privacy.epsilon == privacy.epsilon
    assert loaded.privacy.alpha == privacy.alpha
    assert np.array_equal(loaded.privacy.space.distances.floats, privacy.space.distances.floats) or n > 8
    assert sf.save(loaded, path, overwrite=True) == digest


@given(exact_private_channels())
@settings(max_examples=30)
def test_exact_mechanisms_and_claims_come_back(tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    channel, privacy = case
    prior, loss = sf.Prior.uniform(privacy.space), losses.bin(privacy.space)
    mechanism = sf.certify.claim(prior, sf.prove(channel, privacy), loss)
    path = tmp_path_factory.mktemp("exact") / "exact.sfm"
    sf.save(mechanism, path)
    loaded = sf.load(path)
    assert loaded.claim is not None
    assert loaded.claim.value == sf.posterior_loss(prior, channel, loss)
    assert (loaded.channel.matrix == channel.matrix).all()
    assert (loaded.claim.loss.matrix == loss.matrix).all()
    assert loaded.claim.loss.name == "bin"


@pytest.mark.parametrize("scale", ["1/3", 1, 2**40, 0.1])
def test_who_draws_from_a_loaded_mechanism_does_not_wait_for_its_loss(
    scale: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, read = sf.line(3), []
    stake = losses.scale(losses.distance(line), scale)
    saved = sf.certify.claim(sf.Prior.uniform(line), sf.geometric(sf.PrivacyType(line, alpha="1/2")), stake)
    sf.save(saved, tmp_path / "m.sfm")
    assert (pickle.loads(pickle.dumps(sf.load(tmp_path / "m.sfm").claim.loss)).matrix == stake.matrix).all()

    def losses_of(*given: Any) -> Any:
        read.append(given)
        return written._losses(*given)

    monkeypatch.setattr("sfumato.certify.file.partial", lambda _, *given: partial(losses_of, *given))
    loaded = sf.load(tmp_path / "m.sfm")
    assert len(loaded.release(pa.table({"home": [0, 1, 2]}), "home")) == 3 and not read
    for _ in range(2):
        assert loaded.claim.loss.matrix.dtype == stake.matrix.dtype and (loaded.claim.loss.matrix == stake.matrix).all()
    assert len(read) == 1


@pytest.mark.parametrize("name", ["", "x" * 201, "two\nlines"])
def test_what_is_no_short_text_is_not_written_as_the_name_of_a_loss(name: str, tmp_path: Path) -> None:
    line = sf.line(3)
    loss = sf.Loss(line.labels, line, losses.bin(line).matrix, name)
    sf.save(
        sf.certify.claim(sf.Prior.uniform(line), sf.geometric(sf.PrivacyType(line, alpha="1/2")), loss),
        tmp_path / "m.sfm",
    )
    claim = sf.load(tmp_path / "m.sfm").claim
    assert claim is not None and claim.loss.name == ""


@pytest.mark.parametrize("name", [["bin"], 3, None, "x" * 201, "two\nlines"])
def test_a_forged_name_of_a_loss_is_refused(name: Any, tmp_path: Path) -> None:
    line = sf.line(3)
    made = sf.certify.claim(sf.Prior.uniform(line), sf.geometric(sf.PrivacyType(line, alpha="1/2")), losses.bin(line))
    sf.save(made, tmp_path / "m.sfm")
    (tmp_path / "forged.sfm").write_bytes(forged(tmp_path / "m.sfm", setter("claims", "loss_name", value=name)))
    with pytest.raises(errors.InvalidFile, match="the name of the loss is no short text"):
        sf.load(tmp_path / "forged.sfm")


def test_weights_beyond_64_bits(tmp_path: Path) -> None:
    huge = np.array([[2 * 7**60, 7**60], [7**60, 2 * 7**60]], dtype=object)
    mechanism = sf.prove(huge, sf.PrivacyType(sf.line(2), alpha="1/2"))
    sf.save(mechanism, tmp_path / "huge.sfm")
    assert sf.load(tmp_path / "huge.sfm").weights.tolist() == huge.tolist()


@pytest.mark.parametrize("label", ["x", 3, 2.5, True, None, (1, "a", (2,)), Fraction(1, 3)])
def test_labels_survive(label: Any) -> None:
    assert label_from_json(json.loads(json.dumps(label_to_json(label)))) == label


def test_labels_that_cannot_be_saved_are_refused() -> None:
    for label in (object(), float("inf"), frozenset([1])):
        with pytest.raises(errors.InvalidInput, match="cannot be saved"):
            label_to_json(label)


def test_two_thousand_secrets_stay_compact() -> None:
    weights = np.random.default_rng(0).integers(0, 2**40, (2000, 2000))
    privacy = sf.PrivacyType(sf.line(2000), epsilon=1)
    data = to_bytes(certificate(privacy, tuple(range(2000)), weights, int(weights[0].sum())))
    assert len(data) < 2000 * 2000 * 5 * 1.05


def test_every_flipped_byte_is_noticed(file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    target = tmp_path / "flipped.sfm"
    for position in range(0, len(data), 7):
        target.write_bytes(data[:position] + bytes([data[position] ^ 0x40]) + data[position + 1 :])
        with pytest.raises(errors.InvalidFile):
            sf.verify(target)


def test_every_truncation_is_noticed(file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    target = tmp_path / "short.sfm"
    for length in [*range(0, 80), *range(80, len(data), 41), len(data) - 1]:
        target.write_bytes(data[:length])
        with pytest.raises(errors.InvalidFile):
            sf.load(target)


def test_missing_files_directories_and_versions(file: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.sfm", tmp_path):
        with pytest.raises(errors.InvalidFile, match="cannot read"):
            sf.verify(path)
    data = bytearray(file.read_bytes())
    data[8] = 4
    (tmp_path / "newer.sfm").write_bytes(data)
    with pytest.raises(errors.InvalidFile, match="version 4"):
        sf.verify(tmp_path / "newer.sfm")


def forged(file: Path, change: Any, sections: Any = lambda data: data) -> bytes:
    """The file with its header changed and the checksum made right again."""
    data = file.read_bytes()
    length = struct.unpack("<Q", data[16:24])[0]
    header = json.loads(data[24 : 24 + length])
    header = change(header) or header
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = data[:16] + struct.pack("<Q", len(written)) + written + sections(data[24 + length : -32])
    return body + hashlib.sha256(body).digest()


def setter(*path: Any, value: Any) -> Any:
    def change(header: Any) -> None:
        place = header
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


FORGERIES = {
    "no secrets": setter("secrets", value=[]),
    "secrets as text": setter("secrets", value="abc"),
    "duplicated secrets": setter("secrets", value=["a"] * 6),
    "another number of secrets": setter("secrets", value=[1, 2, 3]),
    "another number of outputs": setter("outputs", value=[1, 2, 3]),
    "total as a number": setter("total", value=12),
    "total zero": setter("total", value="0"),
    "total of a million digits": setter("total", value="1" * 10**6),
    "no promise": setter("promise", value={}),
    "promise as list": setter("promise", value=[1]),
    "negative epsilon": setter("promise", "epsilon", value="-1"),
    "epsilon over zero": setter("promise", "epsilon", value="1/0"),
    "both promises": setter("promise", "alpha", value="1/2"),
    "alpha of two": setter("promise", value={"alpha": "2"}),
    "step without alpha": setter("promise", "step", value="1/2"),
    "unknown form": setter("metric", "form", value="hyperbolic"),
    "unknown source": setter("metric", "source", value="rumour"),
    "edges that are not there": setter("metric", "source", value="edges"),
    "unit zero": setter("metric", "unit", value="0"),
    "no sections": setter("sections", value=[]),
    "sections as number": setter("sections", value=3),
    "section twice": lambda h: h["sections"].append(h["sections"][0]),
    "section with a list for a name": setter("sections", 0, "name", value=["weights"]),
    "huge section": setter("sections", 0, "count", value=2**60),
    "negative count": setter("sections", 0, "count", value=-1),
    "width zero": setter("sections", 0, "width", value=0),
    "float width": setter("sections", 0, "width", value=8.0),
    "size beyond the file": setter("sections", 0, "size", value=10**9),
    "claims as list": setter("claims", value=["loss"]),
    "claims without unit": setter("claims", value={"loss": "1"}),
    "loss as NaN text": setter("claims", "loss", value="NaN"),
    "not JSON": lambda h: b"{",
    "NaN in JSON": lambda h: b'{"total": NaN}',
    "deep nesting": lambda h: b"[" * 200_000,
    "not text": lambda h: b"\xff\xfe",
    "a number": lambda h: b"3",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_headers_give_one_clear_error(name: str, file: Path, tmp_path: Path) -> None:
    target = tmp_path / "forged.sfm"
    target.write_bytes(forged(file, FORGERIES[name]))
    with pytest.raises((errors.InvalidFile, errors.PrivacyViolation, errors.InvalidChannel)) as caught:
        sf.load(target)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("value", [[], ["design"], "", "design", 0, 3, 1.5, float("1e308"), True, False])
def test_a_provenance_that_is_no_object_is_proved_and_not_loaded(value: Any, file: Path, tmp_path: Path) -> None:
    """It says nothing that a proof rests on, but what shows a mechanism, or saves it again, would lose it."""
    target = tmp_path / "forged.sfm"
    target.write_bytes(forged(file, setter("provenance", value=value)))
    assert sf.verify(target)
    with pytest.raises(errors.InvalidFile, match=r"forged\.sfm.* has the provenance .*, which is no object"):
        sf.load(target)


def test_no_provenance_is_none(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "silent.sfm"
    target.write_bytes(forged(file, setter("provenance", value=None)))
    assert sf.load(target).provenance == {}


def test_a_forged_promise_is_refuted(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "stricter.sfm"
    target.write_bytes(forged(file, setter("promise", "epsilon", value="1/10")))
    assert not sf.verify(target)
    with pytest.raises(errors.PrivacyViolation):
        sf.load(target)
    target.write_bytes(forged(file, setter("claims", "loss", value="1/10")))
    assert "as claimed" in sf.verify(target).reason


@pytest.mark.parametrize("name", ["weights", "ballast"])
def test_a_bomb_does_not_explode(name: str, file: Path, tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(200 * 2**20), 9)

    def swap(header: Any) -> None:
        sections = header["sections"]
        entry = {"name": name, "width": 1, "count": sections[0]["count"], "size": len(bomb)}
        header["sections"] = (
            [entry, *sections[1:]] if name == "weights" else [*sections, entry | {"count": 200 * 2**20}]
        )

    target = tmp_path / "bomb.sfm"
    first = json.loads(file.read_bytes()[24 : 24 + struct.unpack("<Q", file.read_bytes()[16:24])[0]])["sections"][0][
        "size"
    ]
    target.write_bytes(forged(file, swap, lambda data: bomb + data[first:] if name == "weights" else data + bomb))
    tracemalloc.start()
    with pytest.raises(errors.InvalidFile, match="size it declares" if name == "weights" else "calls for"):
        sf.verify(target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 2**20


@given(st.binary(max_size=400))
@settings(max_examples=200)
def test_arbitrary_bytes(data: bytes) -> None:
    for candidate in (data, kernel.MAGIC + data, kernel.MAGIC + struct.pack("<QQ", 1, 5) + data):
        body = candidate + hashlib.sha256(candidate).digest()
        with pytest.raises(kernel.Unreadable):
            kernel.parse(body)


def test_a_file_appears_whole_or_not_at_all(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "kept.sfm"
    before = file.read_bytes()
    target.write_bytes(before)

    def full_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="space"):
        sf.save(small(), target, overwrite=True)
    assert target.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["kept.sfm"]


@pytest.mark.parametrize("width", [1, 4, 8])
@pytest.mark.parametrize("kind", ["noise", "zeros", "both"])
def test_sections_of_any_content_come_back(width: int, kind: str) -> None:
    """Groups of bytes that do not shrink are stored, others compressed, all in one stream that zlib reads alone."""
    rng = np.random.default_rng(width)
    values = rng.integers(0, 2 ** (8 * width - 1), 70_000, dtype=np.uint64)
    values >>= np.uint64({"noise": 0, "both": 4 * width, "zeros": 63}[kind])
    data = values.astype(f"<u{width}").tobytes()
    stream = packed(Section(width, data))
    unpacker = zlib.decompressobj()
    assert kernel.unshuffle(unpacker.decompress(stream), width) == data
    assert unpacker.eof
    assert not unpacker.unused_data
    assert len(stream) < {"noise": 1.01, "zeros": 0.02, "both": 0.7}[kind] * len(data)


def listed(path: Path) -> dict[str, int]:
    """The names of the sections of a file, and how many numbers each has."""
    data = path.read_bytes()
    header = json.loads(data[24 : 24 + int.from_bytes(data[16:24], "little")])
    return {section["name"]: section["count"] for section in header["sections"]}


def test_columns_that_fade_are_listed_by_their_support(tmp_path: Path) -> None:
    """A table that is noise almost everywhere, on a box and on rows: files are read as they were written."""
    street = sf.box((30,), step="1/2")
    noise = noise_table(laplace_noise(sf.PrivacyType(street, epsilon=4), parts=1))
    fading = sf.prove(noise.weights, sf.PrivacyType(sf.line(len(noise.weights)), epsilon=10))
    for made in (noise, fading):
        path = tmp_path / "m.sfm"
        digest = sf.save(made, path, overwrite=True)
        found, n = listed(path), len(made.weights)
        assert {"run_starts", "run_lengths"} <= found.keys() and found["weights"] < made.weights.size / 2
        again = sf.load(path)
        assert (again.weights == made.weights).all() and len(again.weights) == n and digest == made.proof.digest
        assert sf.verify(path, checker="twin").witness.digest == digest


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_distances_of_places_are_not_listed(metric: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.sfm"
    where = [[Fraction(i * i % 97, 3), Fraction(i, 2)] for i in range(60)]
    space = sf.points(where, metric=metric, unit="km")
    made = sf.prove(np.ones((60, 2), dtype=np.int64), sf.PrivacyType(space, epsilon=1))
    digest = sf.save(made, path)
    assert listed(path)["places"] == 120 and "distances" not in listed(path)
    again = sf.load(path)
    assert again.proof.digest == digest == made.proof.digest
    assert (again.privacy.space.distances.values == space.distances.values).all()
    assert again.privacy.space.distances.unit == space.distances.unit
