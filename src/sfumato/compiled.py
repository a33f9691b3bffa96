"""What compiled code of any room says in instructions of the processor, where Numba has no words for it.

:func:`instructions` makes a function of what is emitted, :func:`arithmetic` lets operators act on values that Numba
does not know. Where a product of two words is all that is needed, ``product_exceeds`` and ``product_shifted`` form it
in 128 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload


def instructions(kind: Callable[..., Any], emit: Callable[..., Any]) -> Any:
    """A function for compiled code: ``emit`` builds its value, of the ``kind`` that its arguments' types make."""

    def function(typing_context, *given):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return emit(builder, *arguments)

        return kind(*given), generate

    function.__signature__ = signature(emit)  # type: ignore[attr-defined]  # Numba asks how many arguments there are
    return intrinsic(function)


def arithmetic(family: type[types.Type], symbol: Any, instruction: str, **options: Any) -> None:
    """Let a Python operator between two values of one type of a family emit one instruction."""
    combine = instructions(
        lambda left, _: left(left, left),
        lambda builder, left, right: getattr(builder, instruction)(left, right, **options),
    )

    @overload(symbol)
    def between(left, right):  # type: ignore[no-untyped-def]
        if isinstance(left, family) and left == right:
            return lambda left, right: combine(left, right)
        return None


def _product(builder: Any, a: Any, b: Any) -> Any:
    return builder.mul(*(builder.zext(word, ir.IntType(128)) for word in (a, b)))


def _product_shifted(builder: Any, a: Any, b: Any, bits: Any) -> Any:
    return builder.trunc(builder.lshr(_product(builder, a, b), builder.zext(bits, ir.IntType(128))), ir.IntType(64))


product_exceeds = instructions(
    lambda *_: types.boolean(*[types.uint64] * 4),
    lambda builder, a, b, c, d: builder.icmp_unsigned(">", _product(builder, a, b), _product(builder, c, d)),
)
"""a·b > c·d for unsigned 64-bit integers."""

product_shifted = instructions(lambda *_: types.uint64(*[types.uint64] * 3), _product_shifted)
"""⌊a·b / 2^bits⌋ for unsigned 64-bit integers and bits < 128, the lowest 64 bits of it."""
