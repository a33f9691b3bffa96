"""Integers of 256 bits inside compiled code, for sums of products that exceed 64.

Numba has no such value, so this file adds one: ``wide`` makes one of an unsigned word, ``+``, ``-`` and ``*`` act on
two of them (modulo 2^256, in two's complement), ``shifted`` multiplies by a power of two, ``lower`` is the smaller
one, ``load`` and ``store`` move one between a variable and four neighbouring words of an array.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model
from numpy.typing import NDArray

__all__ = ["LARGEST", "WORDS", "integers_of", "load", "lower", "shifted", "store", "wide", "words_of"]

WORDS = 4
"""Unsigned 64-bit words of one integer, the lowest first."""

LARGEST = (1 << (64 * WORDS - 1)) - 1
"""The largest of them; the least is −LARGEST − 1."""

_BITS = ir.IntType(64 * WORDS)
_BYTES = 8 * WORDS


class _WideType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="wide")


_wide = _WideType()


@register_model(_WideType)
class _WideModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BITS)


def _arithmetic(symbol: Any, instruction: str) -> None:
    """Let a Python operator between two of them emit one instruction."""

    @intrinsic
    def combine(typing_context, left, right):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return getattr(builder, instruction)(*arguments)

        return left(left, left), generate

    @overload(symbol)
    def between(left, right):  # type: ignore[no-untyped-def]
        if isinstance(left, _WideType) and isinstance(right, _WideType):
            return lambda left, right: combine(left, right)
        return None


for _symbol, _instruction in ((operator.add, "add"), (operator.sub, "sub"), (operator.mul, "mul")):
    _arithmetic(_symbol, _instruction)


@intrinsic
def wide(typing_context, word):  # type: ignore[no-untyped-def]
    """An unsigned 64-bit integer in 256 bits."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.zext(arguments[0], _BITS)

    return _wide(types.uint64), generate


@intrinsic
def shifted(typing_context, value, bits):  # type: ignore[no-untyped-def]
    """value · 2^bits, 0 ≤ bits < 256."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.shl(arguments[0], builder.zext(arguments[1], _BITS))

    return _wide(_wide, types.uint64), generate


@intrinsic
def lower(typing_context, left, right):  # type: ignore[no-untyped-def]
    """The smaller one, signed."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.select(builder.icmp_signed("<", *arguments), *arguments)

    return _wide(_wide, _wide), generate


@intrinsic
def load(typing_context, words, position):  # type: ignore[no-untyped-def]
    """Integer number ``position`` of a C-contiguous array of words."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(_address(context, builder, signature, arguments), align=8)

    return _wide(words, types.int64), generate


@intrinsic
def store(typing_context, words, position, value):  # type: ignore[no-untyped-def]
    """Write integer number ``position`` of a C-contiguous array of words."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.store(arguments[2], _address(context, builder, signature, arguments), align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, _wide), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(builder.bitcast(array.data, _BITS.as_pointer()), [arguments[1]])


def integers_of(words: NDArray[np.uint64]) -> list[int]:
    """The integers of an array of words.

    Examples
    --------
    >>> integers_of(np.array([1, 0, 0, 0, 2**64 - 2, 2**64 - 1, 2**64 - 1, 2**64 - 1], dtype=np.uint64))
    [1, -2]
    """
    raw = words.astype("<u8").tobytes()
    return [int.from_bytes(raw[i : i + _BYTES], "little", signed=True) for i in range(0, len(raw), _BYTES)]


def words_of(integers: list[int]) -> NDArray[np.uint64]:
    """The words of integers between −2^255 and 2^255."""
    raw = b"".join(value.to_bytes(_BYTES, "little", signed=True) for value in integers)
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)
