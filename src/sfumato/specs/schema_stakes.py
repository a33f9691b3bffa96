"""The tables of a spec about what is at stake: losses, what may come out, and what is made small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from sfumato.specs.schema import PriorSpec
from sfumato.specs.schema_base import (
    KIND,
    OF_THE_SPACE,
    FromFileSpec,
    KeyWords,
    Label,
    Length,
    Quantity,
    TableSpec,
    as_label,
    number_words,
)


class OutputsSpec(TableSpec):
    """Outputs that are listed in a column of a CSV file, points of a box in several."""

    file: Annotated[str, KeyWords("The CSV file.")]
    column: Annotated[str | None, KeyWords("The column of the outputs.")] = None
    columns: Annotated[list[str] | None, KeyWords("The columns of the coordinates of points of a box.")] = None

    def _wrong(self) -> Iterator[str]:
        if (self.column is None) == (self.columns is None):
            yield "give column, where the outputs stand, or columns, where the coordinates of points stand"


def _outputs(value: Any) -> Any:
    if isinstance(value, list):
        return [as_label(part) for part in value]
    if isinstance(value, dict):
        return OutputsSpec.model_validate(value)
    if isinstance(value, OutputsSpec):
        return value
    raise ValueError("a list of actions, or {file = 'some.csv', column = 'name'}, is needed")


class StakeSpec(TableSpec):
    """Any loss; ``outputs`` are the actions that the mechanism may suggest, all by default."""

    outputs: Annotated[
        Any, BeforeValidator(_outputs), KeyWords("What may come out: a list, or {file, column}; all actions otherwise.")
    ] = None


class NamedLossSpec(StakeSpec):
    """A loss that needs nothing but the space; by default that of :func:`sfumato.losses.default`."""

    kind: Annotated[
        Literal["default", "bin", "nib", "distance", "absolute", "squared"],
        KeyWords(
            KIND,
            options={
                "distance": "the distance to the truth",
                "absolute": "the absolute error, for secrets that are numbers",
                "squared": "the squared error, for secrets that are numbers",
                "bin": "1 for every wrong guess",
                "nib": "1 for naming the truth: the answer is used to rule a value out",
                "default": "as usual: the absolute error for the answers of a query, else the distance",
            },
        ),
    ] = "default"


class ThresholdSpec(StakeSpec):
    """0 within a radius, 1 beyond."""

    kind: Annotated[Literal["threshold"], KeyWords(KIND, options={"threshold": "1 for a guess beyond a radius"})]
    radius: Annotated[
        Length,
        KeyWords("How far from the secret a guess costs nothing.", asked="Radius in {unit}", label="Radius", usual="1",
                 unit=OF_THE_SPACE),
    ]  # fmt: skip


class MemberSpec(StakeSpec):
    """Whether the secret is one of these."""

    kind: Annotated[
        Literal["member"], KeyWords(KIND, options={"member": "1 for a wrong yes or no to: is it one of these?"})
    ]
    members: Annotated[
        list[Label],
        Field(min_length=1),
        KeyWords("The secrets for which the answer is yes.",
                 asked="Which of them, with commas or in ranges such as 3-5 ({secrets})",
                 label="Which of them, with commas"),
    ]  # fmt: skip


class LossMatrixSpec(FromFileSpec, StakeSpec):
    """Any table, one row an action, one column a secret."""

    inline = "table"
    kind: Annotated[
        Literal["matrix"], KeyWords(KIND, options={"matrix": "any table: what each answer costs under each truth"})
    ]
    table: Annotated[
        list[list[Quantity]] | None,
        KeyWords("A row for each action, with a number for each secret.", asked="File or rows"),
    ] = None
    actions: Annotated[list[Label] | None, KeyWords("The names of the rows.")] = None

    def _wrong(self) -> Iterator[str]:
        yield from super()._wrong()
        if self.file is not None and self.actions is not None:
            yield "the first column of the file names the actions: leave actions out"


LossSpec = Annotated[
    NamedLossSpec | ThresholdSpec | MemberSpec | LossMatrixSpec,
    Field(discriminator="kind"),
]
"""Every kind of loss."""


class DisplacementSpec(TableSpec):
    """At most this probability that the action is farther than ``radius`` from the secret."""

    radius: Annotated[Length, KeyWords("How far is far.", unit=OF_THE_SPACE)]
    probability: Annotated[Quantity, KeyWords("How often, at most, for every secret.")]

    def _wrong(self) -> Iterator[str]:
        if not 0 <= self.probability < 1:
            yield f"probability lies between 0 and 1, found {number_words(self.probability)}"


class _Beside(NamedTuple):
    """What stands beside a kind of objective: whether there are priors, a workload, limits on a loss."""

    priors: tuple[bool, ...] = (False,)
    workload: bool = False
    limits: bool = True


_BESIDE = {
    "expected": _Beside(), "worst secret": _Beside(), "worst prior": _Beside((True,)),
    "shares": _Beside((True, False), workload=True, limits=False),
}  # fmt: skip


class ObjectiveSpec(TableSpec):
    """What is made small, under which limits, and what decides among equals."""

    kind: Annotated[
        Literal["expected", "worst secret", "worst prior", "shares"],
        KeyWords(
            KIND,
            options={
                "expected": "the expected loss",
                "worst secret": "the loss of the secret that loses most",
                "worst prior": "the largest of several expected losses",
                "shares": "how many people gave each answer, with error bars",
            },
        ),
    ] = "expected"
    priors: Annotated[
        list[PriorSpec] | None,
        KeyWords("Tables like [prior], for 'worst prior'; for 'shares' the worst mixture of them."),
    ] = None
    workload: Annotated[
        str | list[list[Quantity]] | None,
        KeyWords("What is estimated of shares: 'shares', 'cumulative', 'mean', or a matrix."),
    ] = None
    values: Annotated[list[Quantity] | None, KeyWords("A number for each secret, with workload = 'mean'.")] = None
    worst_loss: Annotated[Quantity | None, KeyWords("No secret loses more than this.")] = None
    displacement: Annotated[
        DisplacementSpec | None,
        KeyWords("How often, at most, an action is how far from the secret: radius, probability."),
    ] = None
    then: Annotated[
        Literal["worst secret", "entropy"] | None, KeyWords("What decides between mechanisms that are equally good.")
    ] = None

    def _wrong(self) -> Iterator[str]:
        beside = _BESIDE[self.kind]
        if bool(self.priors) not in beside.priors:
            yield "priors, a list of tables like [prior], goes with kind = 'worst prior' or 'shares', and with no other"
        if self.workload is not None and not beside.workload:
            yield "workload goes with kind = 'shares'"
        if self.values is not None and self.workload != "mean":
            yield "values, a number for each secret, goes with workload = 'mean'"
        if (self.worst_loss is not None or self.displacement is not None) and not beside.limits:
            yield "limits on a loss do not go with kind = 'shares'"
        if self.then is not None and self.kind != "expected":
            yield "then goes with kind = 'expected'"
