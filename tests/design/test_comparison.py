from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.design import families_places
from sfumato.design.comparison import compare_known
from sfumato.measures.shares import share_variance
from sfumato.mechanisms.registry import MECHANISMS


def line_comparison(size: int = 5, alpha: str = "1/4"):  # type: ignore[no-untyped-def]
    space = sf.line(size)
    return compare_known(sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, alpha=alpha))


def test_on_a_line_nothing_beats_the_geometric_mechanism() -> None:
    """Ghosh, Roughgarden and Sundararajan 2012, for any prior."""
    space = sf.line(5)
    for counts in ([1, 1, 1, 1, 1], [5, 1, 0, 1, 1], [0, 0, 3, 1, 0]):
        for loss in (sf.losses.absolute(space), sf.losses.squared(space), sf.losses.threshold(space, 1)):
            prior = sf.Prior.from_counts(counts, space)
            found = compare_known(prior, loss, sf.PrivacyType(space, alpha="1/2"))
            assert found["geometric"].remapped == min(row.remapped for row in found)
    assert len(found) == 18


def test_rows_say_what_the_measures_say() -> None:
    found = line_comparison()
    prior, loss = found.prior, found.stake
    for row in found:
        assert row.mechanism is not None
        channel = row.mechanism.channel
        assert row.remapped == sf.posterior_loss(prior, channel, loss)
        assert row.multiplicative == sf.leakage(prior, channel)
        assert row.additive == sf.leakage(prior, channel, kind="additive")
        assert row.epsilon == pytest.approx(sf.smallest_epsilon(channel, found.privacy.space), rel=1e-14)
        assert row.proved and row.epsilon <= found.privacy.rate * (1 + 1e-14)
        if row.loss is None:
            assert not set(channel.outputs) <= set(loss.actions)
        else:
            assert row.loss == sf.expected_loss(prior, channel, loss) >= row.remapped
    assert found.blind == Fraction(6, 5)
    assert found["geometric"].loss == Fraction(313, 800)
    remapped = [float(row.remapped) for row in found]
    assert remapped == sorted(remapped)


def test_floats_tell_the_same_as_fractions() -> None:
    exactly, roughly = line_comparison(6, "1/4"), line_comparison(6, "1/4")
    space = sf.line(6)
    prior = sf.Prior.uniform(space).to_floats()
    roughly = compare_known(prior, sf.losses.absolute(space), sf.PrivacyType(space, alpha="1/4"))
    for row in roughly:
        if row.name == "optimal":  # several may be the best, and leak differently
            assert row.remapped == pytest.approx(float(exactly["optimal"].remapped), rel=1e-4)
            continue
        other = exactly[row.name]
        assert isinstance(row.remapped, float)
        assert row.remapped == pytest.approx(float(other.remapped), abs=1e-12)
        assert row.additive == pytest.approx(float(other.additive), abs=1e-12)


def test_the_best_mechanism_is_beside_them_with_its_bound() -> None:
    found = line_comparison()
    best = found["optimal"]
    assert best is found.rows[0] and best.bound == best.remapped == found["geometric"].remapped == Fraction(313, 800)
    assert all(row.bound is None for row in found.rows[1:])
    assert str(found).endswith(
        "\noptimal is a design for this loss and prior: no mechanism with this promise loses less"
    )
    space = sf.grid(2, 3)
    prior, loss, privacy = (
        sf.Prior.from_counts([5, 1, 1, 1, 1, 4], space),
        sf.losses.distance(space),
        sf.PrivacyType(space, epsilon=2),
    )
    found = compare_known(prior, loss, privacy)
    bound = found["optimal"].bound
    assert bound is not None and all(row.remapped >= bound for row in found)
    assert float(found["optimal"].remapped) <= float(bound) * (1 + 1e-4)
    shown = float(str(found).rpartition(" loses less than ")[2])
    assert 0 <= float(bound) - shown < 1e-5 * float(bound)  # rounded down: what is said of all mechanisms stays true
    assert [record["bound"] for record in found.records() if record["mechanism"] == "optimal"] == [float(bound)]


def test_the_best_mechanism_can_be_left_out_and_asked_for() -> None:
    space = sf.line(101)
    prior, loss, privacy = sf.Prior.uniform(space), sf.losses.bin(space), sf.PrivacyType(space, alpha="1/2")
    one = ["random_response"]
    assert [row.name for row in compare_known(prior, loss, privacy, mechanisms=one)] == one
    assert "optimal" in [row.name for row in compare_known(prior, loss, privacy, mechanisms=one, optimal=True)]
    many = compare_known(prior, loss, privacy)
    assert "at most 100 secrets, here are 101" in many.left_out["optimal"]
    assert str(many).rpartition("\n")[2].startswith("no row optimal: the best of all mechanisms is looked for unasked")
    few = sf.line(3)
    none = compare_known(sf.Prior.uniform(few), sf.losses.bin(few), sf.PrivacyType(few, alpha="1/2"), optimal=False)
    assert "optimal" not in none.left_out and "optimal" not in str(none)


def test_a_design_that_fails_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise sf.errors.SolverError("no luck")

    monkeypatch.setattr(families_places, "design", fails)
    assert line_comparison().left_out["optimal"] == "no luck"


def test_what_is_left_out_has_a_reason() -> None:
    found = line_comparison()
    assert set(found.left_out) | {row.name for row in found} == {*MECHANISMS, "optimal"}
    assert "points in the plane" in found.left_out["planar_laplace"]
    star = sf.spaces.star(4)
    refused = compare_known(sf.Prior.uniform(star), sf.losses.bin(star), sf.PrivacyType(star, alpha="1/2")).left_out
    assert "z = -1/3 < 0" in refused["tight_constraints"]


def test_on_a_grid() -> None:
    space = sf.grid(3, 3)
    seen: list[str] = []
    found = compare_known(
        sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=1), progress=seen.append
    )
    assert seen == [*MECHANISMS, "optimal"]
    assert found["planar_laplace"].epsilon < 0.99 < found["planar_laplace_within"].epsilon <= 1
    assert found["planar_laplace_within"].remapped < found["planar_laplace"].remapped
    assert found["permute_and_flip"].loss < found["exponential"].loss
    assert all(row.proved for row in found)


def test_mechanisms_of_ones_own() -> None:
    space = sf.line(3)
    privacy = sf.PrivacyType(space, alpha="1/2")
    leaky = sf.Channel(space, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], space.labels)
    mine = {"truth": leaky, "mine": sf.geometric(sf.PrivacyType(space, alpha="2/3")), "made": sf.random_response}
    found = compare_known(sf.Prior.uniform(space), sf.losses.bin(space), privacy, mechanisms=mine)
    assert found.rows[0].name == "truth"
    assert found["truth"].proved.outcome == "fails" and found["truth"].epsilon == np.inf
    assert found["truth"].mechanism is None
    assert found["mine"].proved and found["made"].proved
    strict = sf.PrivacyType(space, alpha="9/10")
    assert (
        compare_known(sf.Prior.uniform(space), sf.losses.bin(space), strict, mechanisms=mine)["mine"].proved.outcome
        == "fails"
    )


def test_text_records_and_errors() -> None:
    found = line_comparison()
    lines = str(found).splitlines()
    assert lines[0] == "absolute, PrivacyType(line(5), alpha=1/4), 1.2 without disclosure"
    assert lines[1].split() == ["mechanism", "loss", "remapped", "needs", "ε", "leaks", "×", "leaks", "+", "proved"]
    assert len(lines) == 2 + len(found) + 1
    record = found.records()[0]
    assert record["proved"] == "holds" and isinstance(record["remapped"], float)
    space = sf.line(3)
    prior, loss, privacy = sf.Prior.uniform(space), sf.losses.bin(space), sf.PrivacyType(space, epsilon=1)
    assert len(compare_known(prior, loss, privacy, mechanisms="geometric")) == 1
    for bad in (["oracle"], {"a": 3}):
        with pytest.raises((sf.errors.NotSupported, sf.errors.InvalidInput)):
            compare_known(prior, loss, privacy, mechanisms=bad)
    with pytest.raises(sf.errors.Mismatch):
        compare_known(sf.Prior.uniform(sf.line(4)), loss, privacy)
    with pytest.raises(sf.errors.InvalidInput, match="a loss"):
        compare_known(prior, prior, privacy)  # type: ignore[arg-type]
    with pytest.raises(sf.errors.InvalidInput, match="not compared"):
        found["oracle"]
    far = sf.line(2501)
    with pytest.raises(sf.errors.NotSupported, match="2501 secrets"):
        compare_known(sf.Prior.uniform(far), sf.losses.bin(far), sf.PrivacyType(far, epsilon=1))


# ----------------------------------------------------------------- for a survey


def test_a_survey_is_compared_by_its_respondents() -> None:
    """Values of ../shared/design/estimation.md, with pᵀp taken off."""
    privacy = sf.PrivacyType(sf.line(4), alpha="1/2")
    found = compare_known(None, None, privacy, objective="shares")
    prior = sf.Prior.uniform(privacy.space)
    assert found.rows[0].name == "optimal" and found["geometric"].variance == Fraction(61, 4)
    assert found["geometric"].times == pytest.approx(1.376, abs=1e-3)
    assert found.clear == pytest.approx(0.75)
    for row in found:
        assert row.mechanism is not None
        assert row.variance == share_variance(prior, row.mechanism.channel)
        assert row.proved and row.recovered == (row.variance < float("inf"))
    lost = {row.name for row in found if not row.recovered}
    assert lost == {"closest_pair", "membership", "one_against_rest"} == {row.name for row in found.rows[-3:]}
    times = [row.times for row in found]
    assert times == sorted(times)
    assert set(found.left_out) | {row.name for row in found} == {*MECHANISMS, "optimal"}


def test_known_ones_of_local_privacy_beside_the_design() -> None:
    """Six answers at e^ε = 3: subset selection is the design, the others need more."""
    privacy = sf.PrivacyType(sf.discrete(6), alpha="1/3")
    found = compare_known(None, None, privacy, objective="shares")
    assert [row.name for row in found][:2] == ["optimal", "subset_selection"]
    assert found["subset_selection"].variance == Fraction(625, 48)
    best = found["optimal"]
    assert best.bound is not None and float(best.bound) == pytest.approx(625 / 48, rel=1e-9)
    assert 1 < found["random_response"].times < found["unary_encoding"].times < found["hadamard_response"].times
    assert str(found).endswith("no mechanism with this promise has N × variance below 13.0208")


def test_workloads_and_guesses_of_a_survey() -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha="1/4")
    guess = sf.Prior.from_counts([5, 3, 2, 0], privacy.space)
    for what in ("cumulative", "mean", [[1, 1, 0, 0]]):
        found = compare_known(guess, None, privacy, objective=sf.objectives.shares(what))
        best = found["optimal"]
        assert found.rows[0] is best and best.bound is not None
        assert all(float(row.variance) >= float(best.bound) * (1 - 1e-9) for row in found)
        assert float(best.variance) <= float(best.bound) * (1 + 2e-3)
    assert str(compare_known(guess, None, privacy, objective=sf.objectives.shares("mean"))).startswith("mean, ")
    truth = sf.Channel(privacy.space, np.eye(4), privacy.space.labels)
    even = compare_known(None, None, privacy, objective="shares", mechanisms={"truth": truth, "mine": sf.geometric})
    assert even["truth"].variance == pytest.approx(even.clear) and even["truth"].proved.outcome == "fails"
    assert even["truth"].times < 1 == even["mine"].times  # what breaks the promise is no measure


def test_texts_and_records_of_a_survey() -> None:
    privacy = sf.PrivacyType(sf.discrete(["no", "yes", "why"]), alpha="1/2")
    found = compare_known(None, None, privacy, objective="shares", mechanisms=["random_response", "membership"])
    assert str(found).splitlines() == [
        "shares, PrivacyType(discrete(3), alpha=1/2), 0.666667 in the clear",
        "mechanism        N × variance  respondents  recovered  outputs   needs ε  proved",
        "random_response       10.6667          1 ×        yes        3  0.693147   holds",
        "membership                  –            –         no        2  0.693147   holds",
    ]
    first, last = found.records()
    assert first["variance"] == pytest.approx(32 / 3) and first["recovered"] and first["times"] == 1
    assert last["variance"] is None and last["times"] is None and not last["recovered"]
    assert list(found.to_pandas().index) == ["random_response", "membership"]
    seen: list[str] = []
    compare_known(None, None, privacy, objective="shares", progress=seen.append)
    assert seen == [*MECHANISMS, "optimal"]


def test_a_survey_on_many_answers_says_why_no_design_is_there() -> None:
    many = sf.PrivacyType(sf.line(101), alpha="1/2")
    found = compare_known(None, None, many, objective="shares")
    assert "at most 100 secrets, here are 101" in found.left_out["optimal"]
    assert str(found).rpartition("\n")[2].startswith("no row optimal: ")
    apart = sf.PrivacyType(sf.graph([("a", "b")], labels=["a", "b", "c"]), alpha="1/2")
    assert "infinite" in compare_known(None, None, apart, objective="shares").left_out["optimal"]


def test_what_a_survey_cannot_be_asked() -> None:
    space = sf.line(3)
    prior, loss, privacy = sf.Prior.uniform(space), sf.losses.bin(space), sf.PrivacyType(space, alpha="1/2")
    with pytest.raises(sf.errors.NotSupported, match="a loss beside an objective about shares"):
        compare_known(prior, loss, privacy, objective="shares")
    with pytest.raises(sf.errors.InvalidInput, match="a loss"):
        compare_known(prior, None, privacy)
    with pytest.raises(sf.errors.NotSupported, match="the worst"):
        compare_known(prior, loss, privacy, objective="worst secret")
    with pytest.raises(sf.errors.NotSupported, match="worst of several"):
        compare_known(None, None, privacy, objective=sf.objectives.shares(priors=[prior]))
    with pytest.raises(sf.errors.InvalidInput, match="at least two"):
        compare_known(None, None, sf.PrivacyType(sf.line(1), alpha="1/2"), objective="shares")
    with pytest.raises(sf.errors.Mismatch):
        compare_known(sf.Prior.uniform(sf.line(4)), None, privacy, objective="shares")
    with pytest.raises(sf.errors.NotSupported, match="all points of"):
        compare_known(None, None, sf.PrivacyType(sf.box(2, step=1), epsilon=1), objective="shares")
    with pytest.raises(sf.errors.InvalidInput, match="not compared"):
        compare_known(None, None, privacy, objective="shares", mechanisms=["geometric"])["oracle"]
