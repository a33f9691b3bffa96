from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.mechanism import Mechanism, Proof
from sfumato.errors import InvalidInput, Mismatch
from sfumato.mechanisms.planar import planar_laplace_masses, plane_of
from sfumato.privacy.predicates import epsilon_delta
from sfumato.report.maps import map_layout
from sfumato.report.page_facts import facts_of, laplace_table, named_loss
from sfumato.report.sections_words import loss_meaning, loss_unit

space = sf.grid(3, 3, unit="km")
prior = sf.Prior.from_counts(range(1, 10), space)
loss = sf.losses.distance(space)
best = sf.design(prior, loss, sf.PrivacyType(space, epsilon=1))


def test_losses_and_bounds_are_those_that_were_proved() -> None:
    facts = facts_of(best)
    assert (facts.value, facts.bound) == (best.loss, best.bound)
    assert facts.gap == pytest.approx(best.gap)
    assert facts.blind == pytest.approx(float(sf.prior_loss(prior, loss)))
    assert facts.as_is is not None and facts.as_is >= float(best.loss) - 1e-12
    assert (facts.before, facts.after) == pytest.approx(
        (9 / 45, float(sf.bayes_vulnerability(prior, best.mechanism.channel)))
    )
    assert facts.type_leaks is not None
    assert float(facts.leaks.multiplicative) <= float(facts.type_leaks.multiplicative_bound) + 1e-12


def test_the_tightest_pair_is_the_tightest() -> None:
    facts = facts_of(best, compare=False)
    reference = sf.tightest_pair(best.mechanism.channel, space)
    assert facts.tightest is not None and reference is not None
    assert facts.tightest.epsilon == pytest.approx(reference.epsilon, rel=1e-12)
    x, z = (best.mechanism.secrets.index(s) for s in facts.tightest.pair)
    y = best.mechanism.outputs.index(facts.tightest.output)
    weights = best.mechanism.weights
    assert facts.tightest.ratio == Fraction(int(weights[x, y]), int(weights[z, y])) > 1
    assert facts.tightest.epsilon <= 1


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(1, 30), min_size=3, max_size=3), min_size=4, max_size=4))
def test_the_tightest_pair_of_any_table(rows: list[list[int]]) -> None:
    table = np.array(rows, dtype=np.int64)
    table[:, 0] += 90 - table.sum(axis=1)
    line = sf.line(4)
    made = Mechanism(sf.PrivacyType(line, epsilon=9), (0, 1, 2), table, 90, Proof("nobody", 0, 0, 0, ""))
    facts, reference = facts_of(made, compare=False), sf.tightest_pair(made.channel, line)
    assert reference is not None and facts.tightest is not None
    assert facts.tightest.epsilon == pytest.approx(reference.epsilon, rel=1e-12)


def test_another_prior_is_measured_and_loses_the_bound() -> None:
    same = facts_of(best, prior=sf.Prior.from_counts([2 * k for k in range(1, 10)], space), compare=False)
    assert same.bound == best.bound
    other = sf.Prior.uniform(space)
    facts = facts_of(best, prior=other, compare=False)
    assert facts.bound is None and facts.gap is None
    assert facts.value is not None
    assert float(facts.value) == pytest.approx(float(sf.posterior_loss(other, best.mechanism, loss)))  # type: ignore[arg-type]
    guessing = facts_of(best, loss=sf.losses.bin(space), compare=False)
    assert float(guessing.value or 0) == pytest.approx(float(sf.measures.bayes_risk(prior, best.mechanism)))  # type: ignore[arg-type]


def test_a_mechanism_without_a_claim_has_no_losses() -> None:
    bare = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2"))
    facts = facts_of(bare)
    assert (facts.value, facts.loss, facts.peers) == (None, None, ())
    assert facts.assumed
    assert facts.before == 0.25
    assert "nothing to compare" in facts.notes["peers"]
    with pytest.raises(InvalidInput, match="no prior"):
        facts_of(bare, loss=sf.losses.absolute(sf.line(4)))
    with_both = facts_of(bare, prior=sf.Prior.uniform(sf.line(4)), loss=sf.losses.absolute(sf.line(4)))
    assert with_both.value == Fraction(17, 24)
    assert {peer.name for peer in with_both.peers} >= {"geometric", "exponential", "random_response"}


def test_peers_lose_at_least_as_much_as_the_best_and_are_sorted() -> None:
    facts = facts_of(best)
    names = [peer.name for peer in facts.peers]
    assert {"exponential", "planar_laplace", "planar_geometric", "permute_and_flip"} <= set(names)
    assert all(peer.remapped >= float(best.bound) for peer in facts.peers)
    assert [peer.remapped for peer in facts.peers] == sorted(peer.remapped for peer in facts.peers)
    assert all(peer.loss is None or peer.loss >= peer.remapped - 1e-12 for peer in facts.peers)
    assert all(peer.epsilon is not None and peer.epsilon <= 1 + 1e-9 for peer in facts.peers)


def test_large_tables_are_compared_in_floats_and_quickly() -> None:
    wide = sf.grid(18, 18, unit="km")
    privacy = sf.PrivacyType(wide, epsilon=1)
    made = sf.exponential(privacy)
    facts = facts_of(made, prior=sf.Prior.uniform(wide), loss=sf.losses.distance(wide))
    assert [peer.epsilon for peer in facts.peers] == [None, None]
    own = next(peer for peer in facts.peers if peer.name == "exponential")
    assert own.remapped == pytest.approx(float(facts.value or 0), rel=1e-9)
    assert "not proved" in facts.notes["peers"]
    assert "not computed" in facts.notes["leaks"]
    assert facts.type_leaks is None


def test_promises_about_events() -> None:
    line = sf.line(4)
    under = (epsilon_delta(epsilon=1, delta="1/10"), line)
    made = sf.design(sf.Prior.uniform(line), sf.losses.absolute(line), None, under=under)
    facts = facts_of(made)
    assert not facts.bounds_ratios
    assert facts.tightest is None
    (excess,) = facts.excesses
    assert 0.099 < excess.excess <= 0.1 + 1e-9
    assert abs(excess.pair[0] - excess.pair[1]) == 1
    assert facts.type_leaks is None


def test_released_outputs_are_counted_or_refused() -> None:
    outputs = best.mechanism.outputs
    facts = facts_of(best, compare=False, released=[outputs[0], outputs[1], outputs[0]])
    assert facts.released is not None
    assert facts.released.tolist()[:3] == [2, 1, 0]
    again = facts_of(best, compare=False, released={outputs[1]: 7})
    assert again.released is not None and again.released.sum() == 7
    with pytest.raises(Mismatch, match="released outputs"):
        facts_of(best, compare=False, released=["nowhere"])
    with pytest.raises(InvalidInput, match="at least one row"):
        facts_of(best, compare=False, released=[])
    with pytest.raises(Mismatch, match="not among"):
        facts_of(best, compare=False, secret="nowhere")
    with pytest.raises(InvalidInput, match="must be a Mechanism"):
        facts_of(best.mechanism.channel)  # type: ignore[arg-type]
    with pytest.raises(Mismatch):
        facts_of(best, prior=sf.Prior.uniform(sf.line(9)))


def test_a_file_keeps_the_name_of_the_loss(tmp_path: Path) -> None:
    sf.save(best.mechanism, tmp_path / "m.sfm")
    facts = facts_of(sf.load(tmp_path / "m.sfm"), compare=False)
    assert facts.loss is not None and facts.loss.name == "distance"
    assert (facts.claimed_name, loss_meaning(facts)) == ("", "the distance between what is concluded and the truth")


@pytest.mark.parametrize(("name", "words"), [
    ("absolute", "the absolute error"),  # labels bear it out, no metric is needed
    ("distance", "one that its author calls “distance”"),  # a promise about events alone keeps no metric
    ("threshold", "one that its author calls “threshold(1)”"),
])  # fmt: skip
def test_a_design_with_delta_names_its_loss(tmp_path: Path, name: str, words: str) -> None:
    home = sf.grid(2, 2, unit="km") if name == "distance" else sf.line(4, unit="km")
    stake = sf.losses.threshold(home, 1) if name == "threshold" else getattr(sf.losses, name)(home)
    made = sf.design(sf.Prior.uniform(home), stake, None, under=epsilon_delta(epsilon=1, delta="1/10"))
    assert loss_meaning(facts_of(made, compare=False)).startswith("the ")  # who designed it knows what was asked
    sf.save(made.mechanism, tmp_path / "m.sfm")
    loaded = sf.load(tmp_path / "m.sfm")
    facts = facts_of(loaded, compare=False)
    assert loss_meaning(facts) == words
    assert bool(loss_unit(facts)) == (name == "absolute" and bool(facts.space.unit))
    assert loss_meaning(facts_of(loaded, compare=False, loss=stake)).startswith("the ")


def test_a_name_that_the_numbers_do_not_bear_out_is_its_author_s(tmp_path: Path) -> None:
    line = sf.line(3, unit="km")
    shorter = sf.Loss(line.labels, line, sf.losses.distance(line).matrix / 10, "distance")
    sf.save(sf.design(sf.Prior.uniform(line), shorter, sf.PrivacyType(line, alpha="1/2")).mechanism, tmp_path / "m.sfm")
    facts = facts_of(sf.load(tmp_path / "m.sfm"), compare=False)
    assert loss_meaning(facts) == "one that its author calls “distance”" and loss_unit(facts) == ""
    own = sf.Loss(line.labels, line, shorter.matrix, "walking time")
    made = sf.design(sf.Prior.uniform(line), own, sf.PrivacyType(line, alpha="1/2"))
    assert loss_meaning(facts_of(made.mechanism, compare=False)) == "the loss “walking time”"


def test_losses_without_a_name_get_that_of_a_standard_one() -> None:
    line = sf.line(3)
    assert named_loss(sf.Loss(space.labels, space, loss.matrix), space).name == "distance"
    some = sf.losses.absolute(line)
    assert named_loss(sf.Loss([2, 0], line, some.matrix[[2, 0]], "absolute"), line).name == "absolute"
    assert named_loss(sf.Loss([0, 2], line, some.matrix[[2, 0]], "absolute"), line).name == ""
    for name in ("bin", "squared", "nib"):
        table = sf.Loss(line.labels, line, getattr(sf.losses, name)(line).matrix)
        assert named_loss(table, line).name == name
    strange = sf.Loss(line.labels, line, [[0, 7, 7], [7, 0, 7], [7, 7, 0]])
    assert named_loss(strange, line) is strange
    lopsided = sf.Loss(["a"], line, [[1, 2, 3]])
    assert named_loss(lopsided, line) is lopsided


def test_on_a_grid_it_is_the_planar_laplace_mechanism() -> None:
    space = sf.grid(6, 5)
    table = laplace_table(space, map_layout(space), np.arange(len(space)), 0.8)
    exact = planar_laplace_masses(plane_of(space), 0.8)
    assert np.abs(table - exact).max() < 0.01
    assert table.sum(axis=1) == pytest.approx(np.ones(len(space)))
    prior, loss = sf.Prior.uniform(space).to_floats(), sf.losses.distance(space)
    ours = float(sf.expected_loss(prior, sf.Channel(space, table, space.labels), loss))
    theirs = float(sf.expected_loss(prior, sf.Channel(space, sf.channels.normalise(exact), space.labels), loss))
    assert ours == pytest.approx(theirs, rel=5e-3)


def test_on_the_earth_it_agrees_with_the_plane_where_that_is_flat() -> None:
    degrees = np.array([(0.0, 0.0), (0.0, 0.1), (0.1, 0.05), (-0.1, 0.02)])
    sphere = sf.geo(degrees)
    flat = sf.points(degrees[:, ::-1] * np.pi / 180 * sf.spaces.EARTH_RADIUS_KM, unit="km")
    tables = [laplace_table(s, map_layout(s), np.arange(4), 0.2) for s in (sphere, flat)]
    assert [map_layout(s).sphere for s in (sphere, flat)] == [True, False]
    assert np.abs(tables[0] - tables[1]).max() < 0.005


def test_outputs_may_be_few() -> None:
    space = sf.grid(4, 4)
    table = laplace_table(space, map_layout(space), np.array([0, 15]), 1.0)
    assert table.shape == (16, 2)
    assert table[0, 0] > 0.8
    assert table[15, 1] == pytest.approx(table[0, 0], abs=0.01)
