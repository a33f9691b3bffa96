"""What is to be designed, as a file: how a spec in TOML is read and written.

A spec says where secrets live, what is promised, how likely they are and what is at stake. Its tables are in
:mod:`sfumato.specs.schema`; :mod:`sfumato.specs.families` makes Python values of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from os import PathLike
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, PrivateAttr, ValidationError, field_validator

from sfumato.errors import InvalidInput
from sfumato.files import Kind, read_text, write_whole
from sfumato.specs.complaints import complaint
from sfumato.specs.schema import PriorSpec, PrivacySpec, SolveSpec, SpaceSpec
from sfumato.specs.schema_base import KeyWords, TableSpec
from sfumato.specs.schema_release import ReleaseSpec
from sfumato.specs.schema_stakes import LossSpec, NamedLossSpec, ObjectiveSpec
from sfumato.specs.tables import Columns, read_columns
from sfumato.specs.toml import toml

_LARGEST_FILE = 2**26  # bytes of a spec: room for a table of a few thousand numbers squared


class Spec(TableSpec):
    """A whole spec. Relative paths start in its folder."""

    space: Annotated[SpaceSpec, KeyWords("Where secrets live.", asked="Where do the secrets live?")]
    privacy: Annotated[PrivacySpec | None, KeyWords("What is promised.")] = None
    prior: Annotated[PriorSpec, KeyWords("How likely secrets are.")] = PriorSpec()
    loss: Annotated[LossSpec, KeyWords("What a mistake costs.", asked="What does a wrong answer cost?")] = (
        NamedLossSpec()
    )
    objective: Annotated[ObjectiveSpec, KeyWords("What is made small.", asked="What do you want to know?")] = (
        ObjectiveSpec()
    )
    solve: Annotated[SolveSpec, KeyWords("How far a search goes.")] = SolveSpec()
    release: Annotated[ReleaseSpec | None, KeyWords("Which columns are released, on which terms.")] = None
    _folder: Path = PrivateAttr(default=Path())
    _source: str = PrivateAttr(default="spec")
    _files: dict[str, Columns] = PrivateAttr(default_factory=dict)

    @field_validator("loss", mode="before")
    @classmethod
    def _default_loss(cls, value: Any) -> Any:
        return {"kind": "default", **value} if isinstance(value, dict) else value

    @field_validator("objective", mode="before")
    @classmethod
    def _named_objective(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, wherever they were read."""
        return isinstance(other, Spec) and dict(self) == dict(other)

    __hash__ = None  # type: ignore[assignment]  # tables hold lists

    @property
    def source(self) -> str:
        """How errors call the file."""
        return self._source

    def path(self, file: str) -> Path:
        """Where a file is that a table names."""
        return self._folder / file

    def columns(self, file: str) -> Columns:
        """A CSV file that a table names; it is read once, however many tables name it."""
        if file not in self._files:
            self._files[file] = read_columns(self.path(file))
        return self._files[file]


def read_spec(path: str | PathLike[str]) -> Spec:
    """Read a spec; whatever is wrong with it is one line that names file, table and key."""
    file = Path(path)
    return spec_from_text(read_text(file, _LARGEST_FILE), file.parent, str(file))


def spec_from_text(text: str, folder: str | PathLike[str] = ".", source: str = "spec") -> Spec:
    """The spec that a text says; floats are not rounded to binary."""
    try:
        values = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"{source}: not TOML: {str(error).splitlines()[0]}") from error
    except (ValueError, ArithmeticError) as error:  # of int and Decimal: more digits, or a larger power, than they read
        raise InvalidInput(f"{source}: a number has too many digits, or ten to too large a power") from error
    return spec_from_values(values, folder, source)


def spec_from_values(values: Any, folder: str | PathLike[str] = ".", source: str = "spec") -> Spec:
    """The spec that a dictionary of tables says, as TOML or JSON give it.

    Examples
    --------
    >>> spec_from_values({"space": {"kind": "line", "n": 4}, "privacy": {"epsiln": 1}})
    Traceback (most recent call last):
        ...
    sfumato.errors.InvalidInput: spec: unknown key 'epsiln' in [privacy], did you mean 'epsilon'?
    """
    try:
        spec = Spec.model_validate(values)
    except ValidationError as error:
        raise InvalidInput(f"{source}: {complaint(error, Spec)}") from error
    spec._folder, spec._source = Path(folder), source
    return spec


def to_toml(spec: Spec, *, renamed: Callable[[str], str] | None = None) -> str:
    """The spec as a file; what was not said is left out. ``renamed`` says how a file that it names is called there.

    Examples
    --------
    >>> print(to_toml(spec_from_values({"space": {"kind": "line", "n": 4}, "privacy": {"alpha": "1/3"}})), end="")
    [space]
    kind = "line"
    n = 4
    <BLANKLINE>
    [privacy]
    alpha = "1/3"
    """
    values = _values(spec)
    return toml(values if renamed is None else _with_files(values, renamed))


def seen_from(spec: Spec, folder: str | PathLike[str]) -> Callable[[str], str]:
    """How files that a spec names are called in a spec in another folder."""

    def renamed(file: str) -> str:
        try:
            return Path(relpath(spec.path(file), folder)).as_posix()
        except ValueError:  # on another drive
            return str(spec.path(file).resolve())

    return renamed


def file_digests(spec: Spec) -> Callable[[str], str]:
    """The contents of files that a spec names, as digests."""

    def renamed(file: str) -> str:
        place = spec.path(file)
        return sha256(place.read_bytes()).hexdigest() if place.is_file() else file

    return renamed


def _with_files(values: Any, renamed: Callable[[str], str]) -> Any:
    if isinstance(values, list):
        return [_with_files(part, renamed) for part in values]
    if not isinstance(values, dict):
        return values
    return {
        name: renamed(value) if name == "file" and isinstance(value, str) else _with_files(value, renamed)
        for name, value in values.items()
    }


SPEC = Kind("a spec", lambda data: re.search(rb"^\s*\[\s*space\s*\]", data, re.MULTILINE) is not None)
"""What :func:`write_spec` writes: every question has a space."""


def write_spec(spec: Spec, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a spec, whole or not at all; one that is already there is replaced with ``overwrite``."""
    write_whole(path, lambda: to_toml(spec).encode(), SPEC, overwrite=overwrite)


def _values(value: Any) -> Any:
    """A table as a dictionary of what was said: its kind first, its unit last."""
    if not isinstance(value, BaseModel):
        return [_values(part) for part in value] if isinstance(value, list) else value
    names = [name for name in type(value).model_fields if name in value.model_fields_set]
    if isinstance(value, NamedLossSpec) and value.kind == "default":
        names.remove("kind")
    return {name: _values(getattr(value, name)) for name in sorted(names, key=lambda n: (n != "kind", n == "unit"))}
