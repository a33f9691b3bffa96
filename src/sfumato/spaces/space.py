"""What all spaces are asked, whether their secrets are listed or all points of a box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from sfumato.spaces.finite import FiniteSpace


class Space:
    """Where a secret lives: :class:`~sfumato.spaces.finite.FiniteSpace` or :class:`~sfumato.spaces.box.Box`."""

    about: ClassVar[Literal["secrets", "coordinates"]]
    """What promises on it are about: secrets that are counted, or all points of a box."""

    if TYPE_CHECKING:

        @property
        def labels(self) -> tuple[Any, ...]:
            """What has a probability in a prior: secrets, or cells."""

        @property
        def unit(self) -> str:
            """Of distances."""

        def as_list(self) -> FiniteSpace:
            """The space, if its secrets are a list; an error that says how to make one."""

    @property
    def per(self) -> str:
        """What ε is per: a unit of distance, and along what it is measured."""
        return f" per {self.unit}" if self.unit else ""
