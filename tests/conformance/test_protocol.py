"""Every mechanism, whatever it is made of, answers the same questions: labels, draws, price, release, report."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib import import_module
from inspect import isclass, signature
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import sfumato as sf
import sfumato.certify
import sfumato.mechanisms
from box_tables import box_mechanism
from sfumato.certify.charge import Charge
from sfumato.certify.protocol import NoMechanism, ProvedMechanism, charge_of, drawn, tabled
from sfumato.draws.randomness import SeededBits
from sfumato.mechanisms.continuous.pixelation import pixelate, pixels_on
from sfumato.mechanisms.lattice import Lattice
from sfumato.mechanisms.line import GeometricNoise
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.release.engines import ENGINES
from sfumato.release.engines.job import job_of
from sfumato.release.fields import TermFields
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.opendp import local_factor
from sfumato.release.terms import Terms
from sfumato.report.page import report

KEY = bytes(range(32))
LINE = sf.PrivacyType(sf.line(4), alpha="1/16")
TWO = sf.PrivacyType(sf.line(2), alpha="1/3")
CUBE = sf.PrivacyType(sf.hamming(3), epsilon=1)
PLANE = sf.PrivacyType(sf.grid(3, 4, step="1/2", unit="km"), epsilon=3)
ON_ITS_OWN = {"binary": TWO, "hamming_kernel": CUBE}
ON_A_PLANE = ("planar_laplace", "planar_laplace_within", "planar_geometric")


def known(name: str) -> Callable[[], Any]:
    privacy = PLANE if name in ON_A_PLANE else ON_ITS_OWN.get(name, LINE)
    return lambda: MECHANISMS[name](privacy)


def under_events() -> Any:
    space, under = sf.discrete(3), sf.predicates.epsilon_delta(epsilon=1, delta="1/10")
    return sf.design(sf.Prior.uniform(space), sf.losses.bin(space), None, under=under).mechanism


CASES: dict[str, Callable[[], Any]] = {
    **{name: known(name) for name in MECHANISMS},
    "a table under events": under_events,
    "a product": lambda: sf.mechanisms.product_mechanism(sf.geometric(LINE), sf.random_response(TWO)),
    "a grid, offsets": lambda: sf.mechanisms.lattice_tight_constraints(Lattice((6, 5)), epsilon="1.5"),
    "a grid, noise": lambda: sf.mechanisms.lattice_tight_constraints(Lattice((6, 5), "manhattan"), alpha="1/2"),
    "integers": lambda: sf.mechanisms.InfiniteGeometric(Fraction(1, 2)),
    "integers at an ε": lambda: GeometricNoise(sf.release.integer_noise("7/10").source.rate),  # type: ignore[union-attr]
    "a staircase": lambda: sf.mechanisms.Staircase(Fraction(1, 4), 3, 2),
    "a narrow staircase": lambda: sf.mechanisms.Staircase(Fraction(2, 3), 1, 1),
    "pixels": lambda: pixels_on(sf.continuous.truncated_laplace(1), steps=3, pixels=4),
    "exact pixels": lambda: pixels_on(sf.continuous.truncated_laplace(alpha="1/16"), steps=2, pixels=4),
    "noise for coordinates": lambda: sf.mechanisms.laplace_noise(
        sf.PrivacyType(sf.box(2, step=1, unit="km"), epsilon=1), parts=1
    ),
    "coordinates": lambda: box_mechanism(sf.box(1, step="1/4", unit="km")),
}
NOISE = ["integers", "integers at an ε", "a staircase", "a narrow staircase", "noise for coordinates"]
TABLES = [*MECHANISMS, "a table under events", "a grid, offsets", "a grid, noise", "pixels", "exact pixels"]


@cache
def case(name: str) -> Any:
    return CASES[name]()


def few_secrets(mechanism: Any) -> list[Any]:
    if mechanism.domain.box is not None:
        return [0.0, 0.3, 1.0]
    return [-3, 0, 8] if mechanism.secrets is None else list(mechanism.secrets[:3])


def chances(mechanism: Any, secret: Any) -> dict[Any, float]:
    """Exact probabilities by output, far enough into the tails."""
    if isinstance(mechanism, sf.mechanisms.Staircase):
        return {secret + k: float(mechanism.probability(k)) for k in range(-200, 201)}
    if isinstance(mechanism, GeometricNoise | sf.mechanisms.InfiniteGeometric):
        fall = float(np.exp(-0.7)) if isinstance(mechanism, GeometricNoise) else float(mechanism.alpha)
        return {secret + k: (1 - fall) / (1 + fall) * fall ** abs(k) for k in range(-200, 201)}
    if hasattr(mechanism, "row_weights"):
        weights = mechanism.row_weights(secret).ravel()
        return {y: int(w) / mechanism.total for y, w in zip(mechanism.outputs, weights.tolist(), strict=True)}
    if mechanism.domain.box is not None:
        return dict(zip(mechanism.outputs, map(float, mechanism.density(secret).weights), strict=True))
    masses = mechanism.pixelated.mass(float(secret), np.arange(mechanism.pixelated.pixels))
    return dict(zip(mechanism.outputs, masses.tolist(), strict=True))


def test_every_class_of_a_mechanism_is_exercised() -> None:
    """Whatever says how it is drawn says all the rest, and is tried here."""
    meeting = set()
    for package in (sfumato.certify, sfumato.mechanisms):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(import_module(module.name)).values():
                if isclass(value) and hasattr(value, "as_plan") and not getattr(value, "_is_protocol", False):
                    meeting.add(value)
    refusing = {
        type(sf.continuous.laplace(1)),
        type(sf.continuous.truncated_laplace(1)),
        type(pixelate(sf.continuous.truncated_laplace(1), 2)),
    }
    assert meeting - refusing == {type(case(name)) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_it_meets_the_protocol(name: str) -> None:
    mechanism = case(name)
    assert isinstance(mechanism, ProvedMechanism)
    plan = mechanism.as_plan()
    assert plan.name and plan.identity() == CASES[name]().as_plan().identity()
    for labels, sides in ((mechanism.secrets, plan.sides), (mechanism.outputs, plan.output_sides)):
        assert (labels is None) == (sides is None)
        if labels is not None:
            assert len(labels) == int(np.prod(sides))
            assert labels.index(labels[-1]) == len(labels) - 1
    domain = mechanism.domain
    assert domain.name and (domain.space is None or domain.space.labels == mechanism.secrets)


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_it_is_about_and_whether_it_is_noise(name: str) -> None:
    mechanism = case(name)
    assert mechanism.about == ("secrets" if mechanism.domain.box is None else "coordinates")
    assert mechanism.drawn_as == ("noise" if name in NOISE else "table")
    if mechanism.secrets is None and mechanism.drawn_as == "noise" and mechanism.domain.box is None:
        here, there = chances(mechanism, 0), chances(mechanism, 5)
        assert all(there[offset + 5] == chance for offset, chance in here.items())


@pytest.mark.parametrize("name", CASES)
def test_it_is_drawn_as_it_says(name: str) -> None:
    """Pearson's chi-squared at one false alarm in 10^7 for each, with fixed seeds; nothing impossible is drawn."""
    mechanism, rows = case(name), 20_000
    sampler = sf.sampler(mechanism)
    secret = few_secrets(mechanism)[1]
    row = secret if mechanism.secrets is None else mechanism.secrets.index(secret)
    with pytest.warns(sf.draws.InsecureSeed):
        bits = SeededBits(7)
    drawn_rows = sampler.draw(np.full(rows, row), bits=bits)
    outputs = drawn_rows.tolist() if mechanism.outputs is None else [mechanism.outputs[y] for y in drawn_rows]
    expected = chances(mechanism, secret)
    assert set(outputs) <= {y for y, p in expected.items() if p > 0}
    likely = [y for y, p in expected.items() if p * rows >= 20]
    counts = np.array([outputs.count(y) for y in likely] + [rows - sum(outputs.count(y) for y in likely)])
    means = np.array([expected[y] * rows for y in likely])
    means = np.append(means, max(rows - means.sum(), 1e-9))
    kept = means > 1
    statistic = float(((counts - means)[kept] ** 2 / means[kept]).sum())
    assert chi2.sf(statistic, max(int(kept.sum()) - 1, 1)) > 1e-7


@pytest.mark.parametrize("name", CASES)
def test_it_is_charged_for(name: str, tmp_path: Path) -> None:
    mechanism = case(name)
    charge = charge_of(mechanism)
    assert isinstance(charge, Charge) and charge.rate > charge.rate * 0
    assert charge == charge_of(sf.sampler(mechanism)) == charge_of(charge) == charge_of(CASES[name]())
    ledger = Ledger(tmp_path / "spent.ledger")
    entry = ledger.charge(dataset="d", column="c", mechanism=mechanism, key=KEY, data="v1")
    assert entry.cost == charge.rate and entry.unit == mechanism.domain.unit
    assert ledger.charge(dataset="d", column="c", mechanism=sf.sampler(mechanism), key=KEY, data="v1").charged == 0


@pytest.mark.parametrize("name", CASES)
def test_it_is_released_here_and_elsewhere(name: str, tmp_path: Path) -> None:
    mechanism = case(name)
    secrets = [str(s) if isinstance(s, Fraction) else s for s in few_secrets(mechanism)]
    text = ["id\ts", *(f"{i}\t{','.join(map(str, s)) if isinstance(s, tuple) else s}" for i, s in enumerate(secrets))]
    (tmp_path / "in.tsv").write_text("\n".join(text) + "\n")
    ledger = Ledger(tmp_path / "spent.ledger", limit=100, delta=1)
    terms = Terms("s", key=KEY, row_id="id", ledger=ledger, dataset="d", times=1)
    done = sf.release_file(mechanism, tmp_path / "in.tsv", tmp_path / "out.tsv", terms)
    assert done.rows == len(secrets) and ledger.entries()[-1].rows == len(secrets)
    typed = few_secrets(mechanism)
    if any(isinstance(label, Fraction) for label in typed):
        return  # no table has a type for fractions
    table = pa.table({"id": range(len(secrets)), "s": [list(s) if isinstance(s, tuple) else s for s in typed]})
    here = sf.release_table(mechanism, table, terms)
    assert [entry.charged for entry in ledger.entries()] == [1, 0]
    sent = pickle.loads(pickle.dumps(job_of(mechanism, terms, tmp_path / "folder")))
    assert pa.Table.from_batches(sent.released(table.to_batches())).equals(here)


@pytest.mark.parametrize("name", CASES)
def test_it_is_reported_if_it_is_a_table(name: str, tmp_path: Path) -> None:
    mechanism = case(name)
    if name not in TABLES:
        asked = [tabled, local_factor_of_table]
        if mechanism.domain.box is None:  # points have a report of their own
            asked.append(lambda value: report(value, tmp_path / "page.html"))
        for ask in asked:
            with pytest.raises(sf.errors.NotSupported, match="as a table is not supported; "):
                ask(mechanism)
        return
    table = tabled(mechanism)
    assert sf.verify(table) and table.secrets == tuple(mechanism.secrets)
    for secret in few_secrets(mechanism):
        exact, listed = chances(mechanism, secret), table.row_weights(secret) / table.total
        assert max(abs(exact[y] - float(p)) for y, p in zip(mechanism.outputs, listed, strict=True)) < 1e-9


def local_factor_of_table(mechanism: Any) -> Any:
    return local_factor(tabled(mechanism))


def test_reports_take_what_fits_a_table(tmp_path: Path) -> None:
    page = report(case("exact pixels"), tmp_path / "page.html", compare=False)
    assert page.page.exists()


@pytest.mark.parametrize("stranger", [None, 0.7, "geometric", sf.geometric(LINE).channel])
def test_strangers_are_refused_with_one_reason(stranger: Any, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.ledger")
    doors: list[Callable[[], Any]] = [
        lambda: drawn(stranger), lambda: charge_of(stranger), lambda: tabled(stranger), lambda: sf.sampler(stranger),
        lambda: ledger.charge(dataset="d", column="c", mechanism=stranger),
        lambda: sf.release_table(stranger, pa.table({"s": [0]}), "s"),
        lambda: job_of(stranger, Terms("s"), "out"),
        lambda: report(stranger, tmp_path / "page.html"),
    ]  # fmt: skip
    reasons = set()
    for door in doors:
        with pytest.raises(NoMechanism, match="draws from a value of type") as caught:
            door()
        reasons.add(str(caught.value))
    assert len(reasons) == 1


def test_what_lacks_something_says_what() -> None:
    for mechanism in (
        sf.continuous.laplace(1),
        sf.continuous.truncated_laplace(1),
        pixelate(sf.continuous.truncated_laplace(1), 2),
    ):
        assert charge_of(mechanism).noise == ""
        with pytest.raises(sf.errors.SfumatoError, match=r"pixels|steps"):
            sf.sampler(mechanism)
    for ask in (charge_of, sf.sampler):
        with pytest.raises(sf.errors.InvalidInput, match="whose decay is the float"):
            ask(sf.mechanisms.Staircase(0.25, 2, 1))


# ----------------------------------------------------------------- terms


def test_terms_and_their_keywords_are_one_list() -> None:
    fields = list(signature(Terms).parameters)
    assert list(TermFields.__annotations__) == fields[1:]
    for function in (sf.release_table, sf.release_file, *ENGINES.values()):
        assert set(fields) <= set(signature(function).parameters)


def test_terms_are_complete() -> None:
    with pytest.raises(sf.errors.InvalidInput, match="into cannot be given beside them"):
        sf.release_table(case("binary"), pa.table({"s": [0]}), Terms("s"), into="t")
    with pytest.raises(TypeError, match="unexpected keyword argument 'rows'"):
        sf.release_table(case("binary"), pa.table({"s": [0]}), "s", rows=3)  # type: ignore[call-arg]
