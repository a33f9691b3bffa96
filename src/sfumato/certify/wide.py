"""Integers of 256 or 384 bits inside compiled code, for sums and products that exceed 64.

Numba has no such values, so this file adds them: ``wide`` makes one of 256 bits of an unsigned word, ``longer`` one of
384, ``like`` one as long as another; ``+``, ``-`` and ``*`` act on two of one length (modulo 2^256 or 2^384, in two's
complement), ``shifted`` multiplies by a power of two and ``shifted_down`` divides by one, ``lower`` is the smaller
one, ``digits`` counts binary digits, ``low_word`` and ``shortened`` cut off what is above, ``extended`` makes 384 bits
of 256, ``load_integer`` and ``store_integer`` move one of 256 bits between a variable and four neighbouring words of an
array.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

from sfumato.compiled import arithmetic, instructions

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


for _symbol, _instruction in ((operator.add, "add"), (operator.sub, "sub"), (operator.mul, "mul")):
    arithmetic(_WideType, _symbol, _instruction)


wide = instructions(lambda _: _wide(types.uint64), lambda builder, word: builder.zext(word, _BITS))
"""An unsigned 64-bit integer in 256 bits."""

longer = instructions(
    lambda _: _longer(types.uint64), lambda builder, word: builder.zext(word, ir.IntType(_longer.bits))
)
"""An unsigned 64-bit integer in 384 bits."""

like = instructions(
    lambda value, _: value(value, types.uint64), lambda builder, value, word: builder.zext(word, value.type)
)
"""An unsigned 64-bit integer, the second argument, in as many bits as the first one has."""

shortened = instructions(lambda _: _wide(_longer), lambda builder, value: builder.trunc(value, _BITS))
"""The lower 256 of 384 bits."""

extended = instructions(lambda _: _longer(_wide), lambda builder, value: builder.sext(value, ir.IntType(_longer.bits)))
"""The same integer in 384 bits, signed."""

low_word = instructions(lambda value: types.uint64(value), lambda builder, value: builder.trunc(value, _WORD))
"""The lowest 64 bits."""

shifted = instructions(
    lambda value, _: value(value, types.uint64),
    lambda builder, value, bits: builder.shl(value, builder.zext(bits, value.type)),
)
"""value · 2^bits, 0 ≤ bits < the length of value."""

shifted_down = instructions(
    lambda value, _: value(value, types.uint64),
    lambda builder, value, bits: builder.ashr(value, builder.zext(bits, value.type)),
)
"""value / 2^bits, rounded down, also where value is negative; 0 ≤ bits < the length of value."""

negative = instructions(
    lambda value: types.boolean(value),
    lambda builder, value: builder.icmp_signed("<", value, ir.Constant(value.type, 0)),
)
"""Whether value < 0."""

lower = instructions(
    lambda left, _: left(left, left),
    lambda builder, left, right: builder.select(builder.icmp_signed("<", left, right), left, right),
)
"""The smaller one, signed."""


def _digits(builder: Any, value: Any) -> Any:
    zeros = builder.ctlz(value, ir.Constant(ir.IntType(1), 0))
    return builder.sub(ir.Constant(_WORD, value.type.width), builder.trunc(zeros, _WORD))


digits = instructions(lambda value: types.int64(value), _digits)
"""How many binary digits a value ≥ 0 has: 0 for 0. Negative values have all."""


@intrinsic
def load_integer(typing_context, words, position):  # type: ignore[no-untyped-def]
    """Integer number ``position`` of a C-contiguous array of words."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(_address(context, builder, signature, arguments), align=8)

    return _wide(words, types.int64), generate


@intrinsic
def store_integer(typing_context, words, position, value):  # type: ignore[no-untyped-def]
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
