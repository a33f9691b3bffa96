"""Every member of MECHANISMS exists where it says so, is proved, survives a file and needs no more than promised."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import get_annotations, isfunction, signature
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

import sfumato as sf
import sfumato.mechanisms
from sfumato.mechanisms.exponential import true_epsilon
from sfumato.mechanisms.registry import MECHANISMS

PROMISES = {
    "an exact line": sf.PrivacyType(sf.line(4), alpha="1/16"),
    "a line": sf.PrivacyType(sf.line(5, step="1/2"), epsilon="0.7"),
    "two": sf.PrivacyType(sf.line(2), alpha="1/3"),
    "one": sf.PrivacyType(sf.line(1), epsilon=1),
    "a sum": sf.PrivacyType(sf.sum_query(2, 3), alpha="1/8"),
    "a discrete space": sf.PrivacyType(sf.discrete(["a", "b", "c"]), alpha="1/4"),
    "a cube": sf.PrivacyType(sf.hamming(3), epsilon=1),
    "a cycle": sf.PrivacyType(sf.cycle(5), alpha="1/9"),
    "a star": sf.PrivacyType(sf.spaces.star(4), alpha="1/2"),
    "a plane": sf.PrivacyType(sf.grid(3, 4, step="1/2", unit="km"), epsilon=3),
    "a row": sf.PrivacyType(sf.grid(1, 4), epsilon=1),
    "points": sf.PrivacyType(sf.points([[0.1, 0.7], [0.3, 0.2], [0.9, 0.9], [0.5, 0.45]]), epsilon=2),
    "uneven": sf.PrivacyType(sf.points([0, 1, 3, 4]), epsilon=1),
    "apart": sf.PrivacyType(sf.graph([("a", "b")], labels=["a", "b", "c"]), epsilon=1),
}

# spaces of which a member must exist; the others are its own business, but it has to say so
EXPECTED = {
    "geometric": {"an exact line", "a line", "two", "one", "uneven", "a row"},
    "pixelated_laplace": {"an exact line", "a line", "two", "a row"},
    "stretched_geometric": {"an exact line", "a line", "two", "one", "a row", "a sum", "a discrete space"},
    "staircase": {"an exact line", "a line", "two", "one", "a row", "a sum", "a discrete space"},
    "hamming_kernel": {"a cube"},
    "binary": {"two"},
    "closest_pair": set(PROMISES) - {"one"},
    "one_against_rest": set(PROMISES) - {"one"},
    "membership": set(PROMISES) - {"one"},
    "random_response": set(PROMISES),
    "dual_random_response": set(PROMISES),
    "subset_selection": set(PROMISES),
    "unary_encoding": set(PROMISES),
    "hadamard_response": set(PROMISES),
    "exponential": set(PROMISES),
    "exponential_exact": set(PROMISES),
    "permute_and_flip": set(PROMISES),
    "permute_and_flip_exact": set(PROMISES),
    "planar_laplace": {"a plane", "a row", "points"},
    "planar_laplace_within": {"a plane", "a row", "points"},
    "planar_geometric": {"a plane", "a row"},
    "tight_constraints": set(PROMISES) - {"a star"},
}

CASES = [(name, key) for name in MECHANISMS for key in PROMISES if key in EXPECTED.get(name, ())]


@cache
def mechanism_of(name: str, key: str) -> sf.Mechanism:
    made = MECHANISMS[name](PROMISES[key])
    assert isinstance(made, sf.Mechanism)
    return made


def test_every_known_mechanism_is_exercised() -> None:
    assert EXPECTED.keys() == MECHANISMS.keys()
    for name, known in MECHANISMS.items():
        assert known.name == name and known.spaces and known.optimal
        assert EXPECTED[name]


def test_no_constructor_is_left_out() -> None:
    """Whatever in this room makes a mechanism of a promise alone is in the list."""
    found = set()
    for module in iter_modules(sfumato.mechanisms.__path__, "sfumato.mechanisms."):
        if module.ispkg:
            continue  # mechanisms on intervals promise for reals, not for a finite space
        room = import_module(module.name)
        for name, value in vars(room).items():
            if isfunction(value) and value.__module__ == module.name and not name.startswith("_"):
                notes = get_annotations(value)
                makes = "Mechanism" in str(notes.get("return"))
                first, *others = signature(value).parameters.values()
                alone = all(other.default is not other.empty for other in others)
                if makes and alone and first.name == "privacy" and str(notes["privacy"]) == "PrivacyType":
                    found.add(name)
    assert len(found) > 12
    assert found <= MECHANISMS.keys()


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_exists_exactly_where_it_says(name: str) -> None:
    known = MECHANISMS[name]
    for key, privacy in PROMISES.items():
        verdict = known.applies(privacy)
        assert verdict.reason
        assert (verdict.outcome == "holds") == (key in EXPECTED[name]), (key, str(verdict))
        if key not in EXPECTED[name]:
            with pytest.raises(sf.errors.SfumatoError):
                known(privacy)


@pytest.mark.parametrize(("name", "key"), CASES)
def test_it_is_proved_and_promises_no_less(name: str, key: str) -> None:
    mechanism, privacy = mechanism_of(name, key), PROMISES[key]
    assert sf.verify(mechanism, checker="kernel")
    assert mechanism.privacy.space is privacy.space
    # the promise itself, or a stricter one where noise needs less than hoped
    assert mechanism.privacy.rate <= privacy.rate
    assert true_epsilon(mechanism) <= privacy.rate * (1 + 2.0**-50)
    assert sf.prove(mechanism.weights, privacy, outputs=mechanism.outputs)


@pytest.mark.parametrize(("name", "key"), CASES)
def test_rows_labels_and_provenance(name: str, key: str) -> None:
    mechanism = mechanism_of(name, key)
    assert mechanism.weights.shape == (len(PROMISES[key].space), len(mechanism.outputs))
    assert {int(total) for total in mechanism.weights.sum(axis=1)} == {mechanism.total}
    assert len(set(mechanism.outputs)) == len(mechanism.outputs)
    assert (np.asarray(mechanism.weights, dtype=object) >= 0).all()
    made_by = mechanism.provenance["made by"]
    assert name.startswith(made_by) or (made_by, name) == ("membership", "one_against_rest")


@pytest.mark.parametrize(
    ("name", "key"), [case for case in CASES if case[1] in ("an exact line", "a plane", "apart", "one")]
)
def test_it_survives_a_file(name: str, key: str, tmp_path: Path) -> None:
    mechanism = mechanism_of(name, key)
    path = tmp_path / "mechanism.sfm"
    sf.save(mechanism, path)
    again = sf.load(path)
    assert again.outputs == mechanism.outputs and again.secrets == mechanism.secrets
    assert again.total == mechanism.total
    assert (again.weights == mechanism.weights).all()
    assert again.provenance == mechanism.provenance
    assert again.proof.digest == mechanism.proof.digest


@pytest.mark.parametrize("name", MECHANISMS)
def test_exact_promises_give_exact_mechanisms(name: str) -> None:
    """On spaces with integer distances and α a fourth power; searches for β end at irrational numbers."""
    searched = name.endswith("exact")
    for key in ("an exact line", "two", "a discrete space", "a cycle"):
        if key in EXPECTED[name] and not searched:
            exact_root = key != "two" or name not in ("exponential", "permute_and_flip", "pixelated_laplace")
            mechanism = mechanism_of(name, key)
            assert (mechanism.total != 2**52) == exact_root, key


def test_nonsense_is_refused() -> None:
    for name, known in MECHANISMS.items():
        with pytest.raises(sf.errors.InvalidInput):
            known(sf.line(3))  # type: ignore[arg-type]
        assert not known.applies(sf.PrivacyType(sf.discrete(2501), epsilon=1)), name
