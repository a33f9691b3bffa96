"""Specs: what they say, what they refuse in one line, and that they can be written back."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.losses import LOSSES
from sfumato.spaces import SPACES
from sfumato.specs import schema, schema_stakes
from sfumato.specs.boxes import BOXES
from sfumato.specs.complaints import _NEEDS_PYTHON
from sfumato.specs.families import as_question
from sfumato.specs.lists import BUILDERS
from sfumato.specs.spec import read_spec, spec_from_text, spec_from_values, to_toml, write_spec
from sfumato.specs.toml import toml
from sfumato.specs.words import loss_amount, stake

LINE = "[space]\nkind = 'line'\nn = 3\n"

EVERYTHING = """
[space]
kind = "grid"
shape = [2, 3]
metric = "manhattan"
step = 0.5
unit = "km"
[privacy]
epsilon = 0.7
per = "km"
[prior]
counts = {"0,1" = 3, "1,2" = 1}
[loss]
kind = "threshold"
radius = "1/3"
outputs = [[0, 1], [1, 2]]
[objective]
kind = "worst prior"
priors = [{uniform = true}, {weights = [0.1, 0.2, 0.3, 0.4, 0, 0]}]
worst_loss = 0.9
displacement = {radius = 1, probability = 0.95}
[solve]
tolerance = 1e-3
time_limit = 60
solver = "interior"
"""


def test_every_space_and_loss_is_in_the_schema_or_needs_python() -> None:
    kinds, losses = (
        {kind for model in get_args(get_args(union)[0]) for kind in get_args(model.model_fields["kind"].annotation)}
        for union in (schema.SpaceSpec, schema_stakes.LossSpec)
    )
    assert kinds == set(BUILDERS) | set(BOXES)
    assert set(SPACES) - kinds <= set(_NEEDS_PYTHON)
    assert set(LOSSES) - losses <= set(_NEEDS_PYTHON)
    assert losses <= {*LOSSES, "default"}


def test_numbers_are_what_is_written() -> None:
    made = as_question(spec_from_text(EVERYTHING))
    assert made.privacy is not None
    assert made.privacy.epsilon == Fraction(7, 10)
    assert made.space.distance((0, 0), (1, 2)) == 1.5
    assert made.prior.weights.tolist() == [0, Fraction(3, 4), 0, 0, 0, Fraction(1, 4)]
    assert made.outputs == ((0, 1), (1, 2))
    assert made.loss_on_outputs.actions == made.outputs
    assert made.objective.criterion == "worst prior"
    assert made.objective.priors[1].weights.tolist()[0] == Fraction(1, 10)
    assert [limit.level for limit in made.objective.limits] == [Fraction(9, 10), Fraction(19, 20)]
    assert (made.tolerance, made.time_limit, made.solver) == (0.001, 60.0, "interior")
    logarithm = as_question(spec_from_text(LINE + "[privacy]\nepsilon = 'ln 3'"))
    assert logarithm.privacy is not None and logarithm.privacy.alpha == Fraction(1, 3)


def test_what_is_left_out_is_uniform_and_distance() -> None:
    made = as_question(spec_from_text(LINE))
    assert made.privacy is None
    assert made.prior.weights.tolist() == [Fraction(1, 3)] * 3
    assert made.loss.name == "distance"
    assert made.objective.plain
    assert made.loss_on_outputs is made.loss


SPACES_AS_TEXT: dict[str, tuple[str, sf.FiniteSpace]] = {
    "line": ("n = 4\nstep = '1/2'", sf.line(4, step="1/2")),
    "grid": ("shape = [2, 2]\nmetric = 'chebyshev'", sf.grid(2, 2, metric="chebyshev")),
    "discrete": ("labels = ['a', 'b', 'c']\ndistance = 2", sf.discrete(list("abc"), distance=2)),
    "hamming": ("length = 2\nsymbols = 3", sf.hamming(2, symbols=3)),
    "cycle": ("n = 5", sf.cycle(5)),
    "star": ("leaves = 3", sf.spaces.star(3)),
    "complete_bipartite": ("a = 2\nb = 3", sf.spaces.complete_bipartite(2, 3)),
    "count_query": ("individuals = 3", sf.count_query(3)),
    "sum_query": ("individuals = 2\nlargest = 3", sf.sum_query(2, 3)),
    "k_count_query": ("individuals = 2\nk = 2", sf.spaces.k_count_query(2, 2)),
    "graph": ("edges = [['a', 'b', 0.5], ['b', 'c']]", sf.graph([("a", "b", "1/2"), ("b", "c")])),
    "points": ("coordinates = [[0, 0], [0.5, 1]]", sf.points([[0, 0], ["1/2", 1]])),
    "geo": ("coordinates = [[48.8, 2.3], [51.5, -0.1]]", sf.geo([[48.8, 2.3], [51.5, -0.1]])),
    "matrix": ("distances = [[0, inf], [inf, 0]]", sf.FiniteSpace(range(2), [[0, inf], [inf, 0]])),
    "h3_cells": ("box = [48.85, 2.34, 48.86, 2.36]\nresolution = 8", sf.spaces.h3_cells((48.85, 2.34, 48.86, 2.36), 8)),
    "square_cells": (
        "south = '48 N'\nwest = 2\nsides = [2, 1]\nstep = '500 m'",
        sf.spaces.square_cells(48, 2, sides=(2, 1), step="500 m"),
    ),
    "roads": (
        "streets = [['a', 'b', 0.5, true], ['b', 'c', 2]]\nways = 'both'",
        sf.spaces.roads([("a", "b", "1/2"), ("b", "c", 2)]),
    ),
    "elastic": ("of = {kind = 'line', n = 3}\nweights = [1, 1, 2.5]", sf.elastic(sf.line(3), [1, 1, "5/2"])),
}
OWN_UNITS = {"geo": "km", "h3_cells": "km", "square_cells": "km", "elastic": ""}


@pytest.mark.parametrize("kind", [kind for kind in BUILDERS if kind != "areas"])  # whose outlines are in a file
def test_every_kind_of_space(kind: str) -> None:
    keys, expected = SPACES_AS_TEXT[kind]
    spec = spec_from_text(f"[space]\nkind = '{kind}'\n{keys}\n" + ("" if kind in OWN_UNITS else "unit = 'step'\n"))
    space = as_question(spec_from_text(to_toml(spec) + "[loss]\nkind = 'bin'")).space
    assert space.labels == expected.labels
    assert (space.distances.floats == expected.distances.floats).all()
    assert space.distances.form is expected.distances.form
    assert space.unit == OWN_UNITS.get(kind, "step")
    assert spec_from_text(to_toml(spec)) == spec


def test_names_for_a_line_and_the_unit_of_the_promise() -> None:
    text = "[space]\nkind = 'line'\nlabels = ['no', 'perhaps', 'yes']\n[privacy]\nalpha = 0.5\nper = 'answer'"
    made = as_question(spec_from_text(text))
    assert made.space.distance("no", "yes") == 2.0
    assert made.space.unit == "answer"
    assert made.privacy is not None and made.privacy.space is made.space


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cities.csv").write_text(
        "\ufeffname;lat;lon;people\nParis;48.8566;2.3522;6\nLyon;45.764;4.8357;3\n\nLille;50.6292;3.0573;1\n"
    )
    (tmp_path / "roads.csv").write_text("from,to,length\na,b,0.5\nb,c,1/2\n")
    (tmp_path / "people.csv").write_text("node,people\nc,1\na,2\nb,1\n")
    (tmp_path / "table.csv").write_text("from,b,a\na,2,0\nb,0,2\n")
    (tmp_path / "loss.csv").write_text("action,b,a\nstay,1,1\ngo,5,0\n")
    return tmp_path


def test_files_are_found_beside_the_spec(folder: Path) -> None:
    (folder / "places.toml").write_text(
        "[space]\nkind = 'geo'\nfile = 'cities.csv'\nlabel = 'name'\n[prior]\ncounts = 'people'\n"
        "[loss]\noutputs = {file = 'cities.csv', column = 'name'}"
    )
    made = as_question(read_spec(folder / "places.toml"))
    assert made.space.labels == ("Paris", "Lyon", "Lille") == made.outputs
    assert made.prior.weights.tolist() == [Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)]
    assert made.space.distance("Paris", "Lyon") == pytest.approx(391.5, abs=1)
    roads = spec_from_text(
        "[space]\nkind = 'graph'\nfile = 'roads.csv'\nunit = 'km'\n"
        "[prior]\ncounts = 'people'\nfile = 'people.csv'\nlabel = 'node'",
        folder,
    )
    made = as_question(roads)
    assert (made.space.labels, made.space.distance("a", "c")) == (("a", "b", "c"), 1.0)
    assert made.prior.weights.tolist() == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    points = "[space]\nkind = 'points'\nfile = 'cities.csv'\ncolumns = ['lon', 'lat']"
    assert as_question(spec_from_text(points, folder)).space.labels == (0, 1, 2)


def test_tables_are_sorted_by_their_names(folder: Path) -> None:
    (folder / "square.csv").write_text("x,b,a\na,2,0\nb,0,2\n")
    made = as_question(
        spec_from_text(
            "[space]\nkind = 'matrix'\nfile = 'square.csv'\n[loss]\nkind = 'matrix'\nfile = 'loss.csv'", folder
        )
    )
    assert made.space.labels == ("a", "b")
    assert made.space.distance("a", "b") == 2.0
    assert made.loss.actions == ("stay", "go")
    assert made.loss.at("go", "b") == 5
    assert made.loss.at("go", "a") == 0


def refusal(text: str, folder: Path | str = ".") -> str:
    with pytest.raises(InvalidInput) as caught:
        as_question(spec_from_text(text, folder, "my.toml"))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("my.toml: ")
    return message.removeprefix("my.toml: ")


REFUSED = {
    "": "table [space] is missing",
    "[space": "not TOML: ",
    "space = 3": "[space] must be a table of keys, found 3",
    LINE + "[privcy]\nepsilon = 1": "unknown table [privcy], did you mean 'privacy'?",
    LINE + "[privacy]\nepsiln = 1": "unknown key 'epsiln' in [privacy], did you mean 'epsilon'?",
    LINE + "[privacy]\nepsilon = 1\nalpha = 0.5": "[privacy]: give either epsilon or alpha",
    LINE + "[privacy]\nepsilon = -1": "[privacy]: epsilon must be positive, found -1",
    LINE + "[privacy]\nepsilon = 'much'": "key 'epsilon' in [privacy]: epsilon must be a number such as 2, 0.7",
    LINE + "[privacy]\nepsilon = nan": "key 'epsilon' in [privacy]: epsilon must be a number",
    LINE + "[privacy]\nepsilon = true": "key 'epsilon' in [privacy]: epsilon must be a number",
    LINE + "[privacy]\nepsilon = 1e999999999": "key 'epsilon' in [privacy]: epsilon must be a number",
    LINE + "[privacy]\nepsilon = '1/0'": "key 'epsilon' in [privacy]: epsilon must be a number",
    LINE + "[privacy]\nepsilon = 'ln 1'": "key 'epsilon' in [privacy]: epsilon must be positive, the logarithm",
    LINE + "[privacy]\nalpha = 1": "[privacy]: alpha lies strictly between 0 and 1, found 1",
    LINE + "unit = 'm'\n[privacy]\nepsilon = 1\nper = 'km'": "[privacy]: the promise is per 'km', but the distances",
    "[space]\nn = 3": "key 'kind' is missing in [space]: one of line, grid",
    "[space]\nkind = 'gird'": "unknown kind 'gird' in [space], did you mean 'grid'?",
    "[space]\nkind = 'query'": "kind 'query' in [space] needs a Python function",
    "[space]\nkind = 'line'": "[space]: give n, the number of secrets, or labels",
    "[space]\nkind = 'line'\nn = 2\nlabels = ['a']": "[space]: n is 2, but there are 1 labels",
    "[space]\nkind = 'grid'\nshape = [3, 0]": "key 'shape' in [space], item 2: at least 1 is needed, found 0",
    "[space]\nkind = 'grid'\nshape = 3": "key 'shape' in [space]: a list is needed, found 3",
    "[space]\nkind = 'grid'\nshape = [3]\nmetric = 'euclid'":
        "key 'metric' in [space]: unknown word 'euclid', did you mean 'euclidean'?",
    "[space]\nkind = 'hamming'\nlength = '3'": "key 'length' in [space]: a whole number is needed, found '3'",
    "[space]\nkind = 'hamming'\nlength = 3\nstep = 2": "unknown key 'step' in [space] of kind 'hamming': one of",
    "[space]\nkind = 'hamming'\nlength = 3\nsymbols = 99": "[space]: 99 symbols are not supported; instead: at most 36",
    "[space]\nkind = 'graph'": "[space]: give either file, a CSV, or edges",
    "[space]\nkind = 'graph'\nedges = [['a']]": "key 'edges' in [space]: an edge is",
    "[space]\nkind = 'geo'\ncoordinates = [[1, 2, 3]]": "key 'coordinates' in [space], item 1: a list of at most 2",
    "[space]\nkind = 'matrix'\ndistances = [[0, 1], [2, 0]]": "[space]: distances are not symmetric",
    LINE + "[prior]\nweights = [0.5, 0.4, 0.2]": "[prior]: the weights of a prior sum to 11/10, not to 1",
    LINE + "[prior]\ncounts = [1, 2]": "[prior]: 2 counts for 3 secrets",
    LINE + "[prior]\ncounts = {3 = 1}": "[prior]: '3' is no secret of the space: one of 0, 1, 2",
    LINE + "[prior]\ncounts = 'people'": "[prior]: 'people' names a column, but neither",
    LINE + "[prior]\ncounts = [1, 1, 'x']": "key 'counts' in [prior]: it must be a number",
    LINE + "[prior]\nuniform = true\ncounts = [1, 1, 1]": "[prior]: uniform and counts say different things",
    LINE + "[prior]\nuniform = false": "[prior]: a prior that is not uniform",
    LINE + "[loss]\nkind = 'dist'": "unknown kind 'dist' in [loss], did you mean 'distance'?",
    LINE + "[loss]\nkind = 'threshold'": "key 'radius' is missing in [loss]",
    LINE + "[loss]\nkind = 'member'\nmembers = [7]": "[loss]: 7 is no secret of the space",
    LINE + "[loss]\nkind = 'matrix'\ntable = [[1, 2]]": "[loss]: 1 actions and 3 secrets need a table",
    LINE + "[loss]\noutputs = [7]": "[loss.outputs]: 7 is no action of the loss",
    LINE + "[loss]\noutputs = []": "[loss.outputs]: name at least one action",
    "[space]\nkind = 'grid'\nshape = [2, 2]\n[loss]\nkind = 'absolute'": "[loss]: this loss needs labels that are",
    LINE + "[objective]\nkind = 'worst'": "key 'kind' in [objective]: unknown word 'worst'",
    LINE + "[objective]\nkind = 'worst prior'": "[objective]: priors, a list of tables",
    LINE + "[objective]\nkind = 'worst prior'\npriors = [{count = [1]}]": "unknown key 'count' in [objective.priors, i",
    LINE + "[objective]\ndisplacement = {radius = 1, probability = 2}": "[objective.displacement]: probability lies",
    LINE + "[solve]\ntolerance = 0": "[solve]: tolerance must be positive, found 0",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_wrong_is_one_line_with_table_and_key(text: str) -> None:
    assert refusal(text).startswith(REFUSED[text])


def test_what_is_wrong_in_a_file_is_named_with_its_line(folder: Path) -> None:
    geo = "[space]\nkind = 'geo'\nfile = 'cities.csv'\n"
    assert "cities.csv has no column 'peple', did you mean 'people'?" in refusal(
        geo + "[prior]\ncounts = 'peple'", folder
    )
    assert "cannot be read: No such file" in refusal("[space]\nkind = 'geo'\nfile = 'none.csv'", folder)
    cases = {
        "lat,lon\n1,2\n3\n": "line 3: 1 cells, but the header has 2",
        "lat,lon\n1,2\n3,north\n": "line 3, column 'lon': 'north' is no number",
        "lat,lon\n1,2\n3,\n": "line 3: 'lon' is empty",
        "lat,lon\n": "needs a header",
        "x,y\n1,2\n": "has no column 'latitude': say latitude = … (it has x, y)",
        'lat,lon\n1,"2\n': "line 2: a quoted cell does not end",
    }
    for content, words in cases.items():
        (folder / "bad.csv").write_text(content)
        assert words in refusal("[space]\nkind = 'geo'\nfile = 'bad.csv'", folder)
    (folder / "bad.csv").write_bytes(b"\xff\xfe")
    assert "not text in UTF-8" in refusal("[space]\nkind = 'geo'\nfile = 'bad.csv'", folder)
    (folder / "few.csv").write_text("people\n1\n")
    line = LINE + "[prior]\nfile = 'few.csv'\ncounts = 'people'"
    assert "few.csv has 1 rows for 3 secrets" in refusal(line, folder)
    roads = "[space]\nkind = 'graph'\nfile = 'roads.csv'\n[prior]\ncounts = 'length'"
    assert "the rows of roads.csv are no secrets" in refusal(roads, folder)
    loss = LINE + "[loss]\nkind = 'matrix'\nfile = 'loss.csv'"
    assert "loss.csv has no column for '0': one of b, a" in refusal(loss, folder)


def test_the_spec_of_the_guide(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "specs.md").read_text()
    (tmp_path / "town.toml").write_text(page.split("```toml")[1].split("```")[0])
    (tmp_path / "cells.csv").write_text("residents\n" + "1\n" * 64)
    made = as_question(read_spec(tmp_path / "town.toml"))
    assert repr(made.privacy) == "PrivacyType(grid(8, 8, euclidean), epsilon=2 per km)"
    for kind in (*BUILDERS, *BOXES):
        assert f"`{kind}`" in page


def test_unreadable_specs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.toml cannot be read"):
        read_spec(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_spec(tmp_path / "bytes.toml")


def test_a_spec_is_written_back(tmp_path: Path) -> None:
    spec = spec_from_text(EVERYTHING)
    text = to_toml(spec)
    assert "step = 0.5" in text
    assert 'radius = "1/3"' in text
    assert spec_from_text(text) == spec
    write_spec(spec, tmp_path / "again.toml")
    assert read_spec(tmp_path / "again.toml") == spec
    assert spec_from_values(tomllib.loads(text)) == spec  # floats are read for the shortest decimal


def test_a_float_is_read_for_what_is_printed() -> None:
    assert spec_from_values({"space": {"kind": "line", "n": 2, "step": 0.1}}).space.step == Fraction(1, 10)


text = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.one_of(text, st.booleans(), st.integers(-(2**63), 2**63 - 1))
values = st.recursive(scalars, lambda x: st.lists(x, max_size=3) | st.dictionaries(text, x, max_size=3), max_leaves=8)


@given(st.dictionaries(text, st.dictionaries(text, values, max_size=3), max_size=3))
def test_toml_reads_back_what_was_written(tables: dict[str, Any]) -> None:
    assert tomllib.loads(toml(tables)) == tables


@given(st.fractions())
def test_fractions_are_written_exactly(value: Fraction) -> None:
    written = tomllib.loads(toml({"t": {"x": value}}), parse_float=Decimal)["t"]["x"]
    assert Fraction(written) == value


QUERIES = {
    "count_query": ({"individuals": 4}, 0, 4, 4, 4),
    "sum_query": ({"individuals": 10, "largest": 3}, 0, 30, 30, 10),
    "k_count_query": ({"individuals": 2, "k": 2}, (0, 0), (2, 2), 4, 2),
}


@pytest.mark.parametrize("kind", QUERIES)
def test_the_default_loss_of_a_query_is_the_error_of_its_answer(kind: str) -> None:
    keys, first, last, error, people = QUERIES[kind]
    space = {"kind": kind, **keys, "unit": "people"}
    for told in ({"space": space}, {"space": space, "loss": {"outputs": [first, last]}}):
        made = as_question(spec_from_values(told))
        assert made.loss.name == "absolute" and made.loss.at(first, last) == error
        assert stake(made) == "expected absolute error of the answer"
        assert loss_amount(Fraction(2), made) == "2"  # not people
    other = as_question(spec_from_values({"space": space, "loss": {"kind": "distance"}}))
    assert other.loss.at(first, last) == people and loss_amount(Fraction(2), other) == "2 people"
    assert stake(other).endswith("in people who must change")


def test_a_loss_that_was_not_said_is_not_written() -> None:
    told = {"space": {"kind": "line", "n": 3}, "loss": {"outputs": [0, 2]}}
    spec = spec_from_values(told)
    assert "kind" not in to_toml(spec).split("[loss]")[1] and spec_from_text(to_toml(spec)) == spec
    assert as_question(spec).loss.name == "distance"
    assert as_question(spec_from_values({**told, "loss": {"kind": "default"}})).loss.name == "distance"
