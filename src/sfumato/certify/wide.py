"""Integers of 256 or 384 bits inside compiled code, for sums and products that exceed 64.

Numba has no such values, so this file adds them: ``wide`` makes one of 256 bits of an unsigned word, ``longer`` one of
384, ``like`` one as long as another; ``+``, ``-`` and ``*`` act on two of one length (modulo 2^256 or 2^384, in two's
complement), ``shifted`` multiplies by a power of two and ``shifted_down`` divides by one, ``lower`` is the smaller
one, ``digits`` counts binary digits, ``low_word`` and ``shortened`` cut off what is above, ``load`` and ``store`` move
one of 256 bits between a variable and four neighbouring words of an array.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model
from numpy.typing import NDArray

WORDS = 4
"""Unsigned 64-bit words of one integer of 256 bits, the lowest first."""

LONGER_WORDS = 6
"""Words of one integer of 384 bits."""

LARGEST = (1 << (64 * WORDS - 1)) - 1
"""The largest integer of 256 bits; the least is −LARGEST − 1."""

_BITS = ir.IntType(64 * WORDS)
_BYTES = 8 * WORDS
_WORD = ir.IntType(64)


class _WideType(types.Type):
    def __init__(self, bits: int) -> None:
        self.bits = bits
        super().__init__(name=f"wide{bits}")


_wide = _WideType(64 * WORDS)
_longer = _WideType(64 * LONGER_WORDS)


@register_model(_WideType)
class _WideModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(kind.bits))


def _arithmetic(symbol: Any, instruction: str) -> None:
    """Let a Python operator between two of them emit one instruction."""

    @intrinsic
    def combine(typing_context, left, right):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return getattr(builder, instruction)(*arguments)

        return left(left, left), generate

    @overload(symbol)
    def between(left, right):  # type: ignore[no-untyped-def]
        if isinstance(left, _WideType) and left == right:
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
def longer(typing_context, word):  # type: ignore[no-untyped-def]
    """An unsigned 64-bit integer in 384 bits."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.zext(arguments[0], ir.IntType(_longer.bits))

    return _longer(types.uint64), generate


@intrinsic
def like(typing_context, value, word):  # type: ignore[no-untyped-def]
    """An unsigned 64-bit integer in as many bits as ``value`` has."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.zext(arguments[1], arguments[0].type)

    return value(value, types.uint64), generate


@intrinsic
def shortened(typing_context, value):  # type: ignore[no-untyped-def]
    """The lower 256 of 384 bits."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.trunc(arguments[0], _BITS)

    return _wide(_longer), generate


@intrinsic
def low_word(typing_context, value):  # type: ignore[no-untyped-def]
    """The lowest 64 bits."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.trunc(arguments[0], _WORD)

    return types.uint64(value), generate


@intrinsic
def shifted(typing_context, value, bits):  # type: ignore[no-untyped-def]
    """value · 2^bits, 0 ≤ bits < the length of value."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.shl(arguments[0], builder.zext(arguments[1], arguments[0].type))

    return value(value, types.uint64), generate


@intrinsic
def shifted_down(typing_context, value, bits):  # type: ignore[no-untyped-def]
    """value / 2^bits, rounded down, also where value is negative; 0 ≤ bits < the length of value."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ashr(arguments[0], builder.zext(arguments[1], arguments[0].type))

    return value(value, types.uint64), generate


@intrinsic
def digits(typing_context, value):  # type: ignore[no-untyped-def]
    """How many binary digits a value ≥ 0 has: 0 for 0. Negative values have all."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(_WORD, arguments[0].type.width), builder.trunc(zeros, _WORD))

    return types.int64(value), generate


@intrinsic
def negative(typing_context, value):  # type: ignore[no-untyped-def]
    """Whether value < 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.icmp_signed("<", arguments[0], ir.Constant(arguments[0].type, 0))

    return types.boolean(value), generate


@intrinsic
def lower(typing_context, left, right):  # type: ignore[no-untyped-def]
    """The smaller one, signed."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.select(builder.icmp_signed("<", *arguments), *arguments)

    return left(left, left), generate


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
