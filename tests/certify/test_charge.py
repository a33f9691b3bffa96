"""What a mechanism is charged for: promises that can be added up, and noise that is named by what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.certify.amounts import amount
from sfumato.certify.charge import Charge, metric_digest
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.protocol import charge_of
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms.continuous.pixelation import pixelate
from sfumato.mechanisms.lattice import Lattice
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.sampler import Sampler, integer_noise, sampler
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table

KEY = bytes(range(32))
DISCRETE = sf.discrete(3)
LINE = sf.line(3)


def best(under: Any, privacy: sf.PrivacyType | None = None) -> Mechanism:
    """A design under promises about events, perhaps beside bounds on ratios."""
    return sf.design(sf.Prior.uniform(DISCRETE), sf.losses.bin(DISCRETE), privacy, under=under).mechanism


def near(epsilon: Any, delta: Any) -> Any:
    return sf.predicates.epsilon_delta(epsilon=epsilon, delta=delta)


# ----------------------------------------------------------------- promises about events


def test_a_promise_about_events_is_its_epsilon_and_its_delta() -> None:
    promise = charge_of(best(near(5, "1/2")))  # nearly the identity; its type was once charged, ln 2 for nothing
    assert (promise.text, promise.delta) == ("epsilon 5", Fraction(1, 2))
    assert promise.space == "3 secrets, 6 ordered pairs of neighbours" and promise.unit == ""
    in_alpha = charge_of(best(sf.predicates.epsilon_delta(alpha="1/3", delta="1/10")))
    assert (in_alpha.text, in_alpha.delta) == ("alpha 1/3", Fraction(1, 10))
    total_variation = charge_of(best(near(0, "1/10")))
    assert (total_variation.text, total_variation.delta) == ("epsilon 0", Fraction(1, 10))
    pure = charge_of(best(sf.predicates.pure(epsilon=1)))
    assert (pure.text, pure.delta) == ("epsilon 1", Fraction(0))


def test_neighbours_are_part_of_the_promise() -> None:
    everybody, some, same = (
        charge_of(best(under)) for under in (near(1, "1/9"), (near(1, "1/9"), LINE), near(2, "1/7"))
    )
    assert some.space == "3 secrets, 4 ordered pairs of neighbours"
    assert everybody.metric == same.metric != some.metric
    one = charge_of(best([(near(1, "1/9"), [(0, 1)]), (near(1, "1/9"), [(2, 1)])]))  # one (ε, δ) for all
    assert one.space == "3 secrets, 4 ordered pairs of neighbours" and one.delta == Fraction(1, 9)


def test_what_is_no_single_promise_is_refused() -> None:
    polygon = sf.predicates.from_points([(0, 0), ("1/10", "1/2"), ("1/2", "9/10"), (1, 1)])
    for under in (polygon, [(near(1, "1/9"), [(0, 1)]), (near(2, "1/9"), [(2, 1)])]):
        with pytest.raises(InvalidInput, match=r"2 promises about events, .* adds up one ε and one δ"):
            charge_of(best(under))
    with pytest.raises(NotSupported):
        best(sf.predicates.gaussian(1))  # nobody designs under it, so nobody is charged for it
    apart = sf.graph([(0, 1)], labels=range(3))
    with pytest.raises(InvalidInput, match=r"ratios for some pairs .* about events for others"):
        charge_of(best((near(1, "1/9"), [(0, 2)]), sf.PrivacyType(apart, epsilon=1)))
    identity = sf.prove(np.eye(3, dtype=int).tolist(), sf.PrivacyType(sf.graph([], labels=range(3)), epsilon="1/1000"))
    with pytest.raises(InvalidInput, match="promises nothing about any pair of secrets"):
        charge_of(identity)


def test_bounds_on_ratios_are_charged_where_there_are_any() -> None:
    partly = sf.FiniteSpace(range(3), [[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    assert sf.random_response(sf.PrivacyType(DISCRETE, epsilon=1)).bounds_ratios
    for space, bounds in ((partly, True), (sf.FiniteSpace(["alone"], [[0]]), False)):
        uniform = sf.prove([[1, 1]] * len(space), sf.PrivacyType(space, epsilon=1))
        assert uniform.bounds_ratios == bounds and charge_of(uniform).delta is None
    both = charge_of(best(near(1, "1/9"), sf.PrivacyType(DISCRETE, epsilon=2)))
    assert (both.text, both.delta, both.metric) == ("epsilon 2", None, metric_digest(DISCRETE))


# ----------------------------------------------------------------- noise is what is drawn


def laplace(pixels: int, steps: int, **terms: Any) -> Sampler:
    return sampler(sf.continuous.truncated_laplace(**{"epsilon": 1} | terms), pixels=pixels, steps=steps)


def product(*alphas: str) -> Any:
    return sf.mechanisms.product_mechanism(*(sf.geometric(sf.PrivacyType(LINE, alpha=alpha)) for alpha in alphas))


DRAWS: dict[str, Callable[[], Any]] = {
    "a table": lambda: sf.geometric(sf.PrivacyType(LINE, alpha="1/2")),
    "another table": lambda: sf.geometric(sf.PrivacyType(LINE, alpha="1/3")),
    "other labels": lambda: sf.geometric(sf.PrivacyType(sf.FiniteSpace(list("abc"), LINE.distances), alpha="1/2")),
    "a grid": lambda: sf.mechanisms.lattice_tight_constraints(Lattice((20, 20)), epsilon=2),
    "another grid": lambda: sf.mechanisms.lattice_tight_constraints(Lattice((20, 21)), epsilon=2),
    "a grid at another ε": lambda: sf.mechanisms.lattice_tight_constraints(Lattice((20, 20)), epsilon="2.1"),
    "integers": lambda: sf.mechanisms.InfiniteGeometric(Fraction(1, 2)),
    "integers at another α": lambda: integer_noise(alpha="1/3"),
    "integers at an ε": lambda: integer_noise("7/10"),
    "Laplace": lambda: laplace(10, 5),
    "Laplace, other pixels": lambda: laplace(20, 5),
    "Laplace, other steps": lambda: laplace(10, 10),
    "Laplace, pixels and steps exchanged": lambda: laplace(5, 10),
    "Laplace at another ε": lambda: laplace(10, 5, epsilon=2),
    "Laplace elsewhere": lambda: laplace(10, 5, interval=(0, 2)),
    "a product": lambda: product("1/2", "1/2"),
    "a longer product": lambda: product("1/2", "1/2", "1/2"),
    "a product at another α": lambda: product("1/3", "1/3"),
    "a product of other factors": lambda: sf.mechanisms.product_mechanism(
        *(sf.random_response(sf.PrivacyType(DISCRETE, alpha="1/2")) for _ in range(2))
    ),
}


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[Charge, bytes]]:
    made = {name: make() for name, make in DRAWS.items()}
    return {name: (charge_of(mechanism), sampler(mechanism).digest) for name, mechanism in made.items()}


def test_noise_has_one_name_where_one_thing_is_drawn(drawn: dict[str, tuple[Charge, bytes]]) -> None:
    """Keyed bits depend on the digest of the sampler: the ledger must tell apart what that does, and nothing else."""
    for one, other in combinations(drawn.values(), 2):
        assert (one[0].noise == other[0].noise) == (one[1] == other[1])
    assert all(promise.noise for promise, _ in drawn.values())
    for name in DRAWS:
        mechanism = DRAWS[name]()
        assert charge_of(sampler(mechanism)) == drawn[name][0]  # made again, and by what draws from it


def test_noise_does_not_depend_on_what_else_is_said_of_it() -> None:
    half = sf.geometric(sf.PrivacyType(LINE, alpha="1/2"))
    weaker = sf.prove(half.weights.tolist(), sf.PrivacyType(LINE, epsilon=3))
    scaled = sf.prove((half.weights.astype(object) * 2**70).tolist(), half.privacy)  # integers of another kind
    assert scaled.weights.dtype == object
    assert {charge_of(m).noise for m in (half, weaker, scaled)} == {charge_of(half).noise}
    assert {sampler(m).digest for m in (half, weaker, scaled)} == {sampler(half).digest}
    close = [sf.mechanisms.lattice_tight_constraints(Lattice((6, 6)), epsilon=e) for e in (2, 2 + Fraction(1, 10**40))]
    assert charge_of(close[0]).text != charge_of(close[1]).text
    same = sampler(close[0]).digest == sampler(close[1]).digest
    assert (charge_of(close[0]).noise == charge_of(close[1]).noise) == same


def test_every_keyed_draw_is_paid_for(tmp_path: Path) -> None:
    """Other pixels and steps were once charged nothing."""
    ledger = Ledger(tmp_path / "x.ledger")
    terms: dict[str, Any] = {"dataset": "d", "column": "c", "key": KEY, "data": "v1"}
    for pixels, steps in ((10, 5), (20, 5), (10, 10), (5, 10)):
        assert ledger.charge(**terms, mechanism=laplace(pixels, steps)).charged == 1
        assert ledger.charge(**terms, mechanism=laplace(pixels, steps)).charged == 0
    assert ledger.spent("d", "c").total == amount(epsilon=4)
    for alone in (sf.continuous.truncated_laplace(epsilon=1), pixelate(sf.continuous.truncated_laplace(epsilon=1), 10)):
        with pytest.raises(InvalidInput, match=r"sampler\(mechanism, pixels=…, steps=…\)"):
            ledger.charge(**terms, mechanism=alone)
        ledger.charge(**terms | {"key": None}, mechanism=alone)  # fresh noise is paid for whatever it is


def test_a_sampler_is_released_and_charged(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,x\n1,1/5\n2,1\n")
    ledger = Ledger(tmp_path / "x.ledger")
    for k, (pixels, charged) in enumerate([(10, 1), (20, 1), (10, 0)]):
        target = tmp_path / f"out{k}.csv"
        release_file(
            laplace(pixels, 5), tmp_path / "in.csv", target, "x", key=KEY, row_id="id", ledger=ledger, dataset="d"
        )
        assert ledger.entries()[-1].charged == charged
    assert (tmp_path / "out0.csv").read_text() == (tmp_path / "out2.csv").read_text()


@pytest.mark.parametrize(
    ("kind", "secrets"),
    [
        ("a table", [0, 2]),
        ("a grid", [[0, 0], [19, 3]]),
        ("integers", [-5, 10**12]),
        ("integers at an ε", [-5, 10**12]),
        ("a product", [[0, 2], [1, 1]]),
    ],
)
def test_every_kind_is_released_under_a_key_once(tmp_path: Path, kind: str, secrets: list[Any]) -> None:
    mechanism, ledger = DRAWS[kind](), Ledger(tmp_path / "x.ledger")
    terms: dict[str, Any] = {"key": KEY, "row_id": "id", "ledger": ledger, "dataset": "d", "times": 1}
    table = pa.table({"id": [1, 2], "s": secrets})
    assert release_table(mechanism, table, "s", **terms) == release_table(
        sampler(mechanism), table.slice(0), "s", **terms
    )
    assert [entry.charged for entry in ledger.entries()] == [1, 0]
    with pytest.raises(InvalidInput, match="of other data"):
        release_table(mechanism, pa.table({"id": [1, 2], "s": secrets[::-1]}), "s", **terms)


def test_products_are_charged_for_the_dearest_factor() -> None:
    promise = charge_of(product("1/2", "1/2"))
    assert promise.text == "alpha 1/2" and promise.space == "line(3) × line(3)"
    assert promise.metric != charge_of(product("1/2")).metric
    uneven = charge_of(product("1/2", "1/3"))  # ln(2)·d + ln(3)·d′ ≤ ln(3)·(d + d′)
    assert uneven.text == "alpha 1/3" and uneven.metric == promise.metric and uneven.noise != promise.noise
    with pytest.raises(InvalidInput, match="promises something about events"):
        charge_of(sf.mechanisms.product_mechanism(best(near(1, "1/9")), best(near(1, "1/9"))))
    metres, hours = (sf.geometric(sf.PrivacyType(sf.line(3, unit=unit), epsilon=1)) for unit in ("m", "h"))
    with pytest.raises(InvalidInput, match="in different units, 'm', 'h'"):
        charge_of(sf.mechanisms.product_mechanism(metres, hours))


def test_samplers_and_promises_that_somebody_made() -> None:
    made = sampler(sf.geometric(sf.PrivacyType(LINE, alpha="1/2")))
    with pytest.raises(InvalidInput, match="does not say which mechanism"):
        charge_of(replace(made, source=None))
    for wrong in ({"text": "much"}, {"delta": 0.5}, {"delta": Fraction(2)}):
        with pytest.raises(InvalidInput):
            charge_of(replace(charge_of(made), **wrong))
