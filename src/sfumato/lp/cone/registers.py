"""Four doubles at a time inside compiled code: one number for each of four columns.

Work that is the same for many columns runs fastest when a processor register holds the same entry of
several of them. Numba has no such value, so this file adds one: ``load`` and ``store_lanes`` move four
neighbours between an array and a register, and the four rules of arithmetic, ``larger``, ``smaller``
and ``root`` act on each lane alone. An array of shape (…, 4) is read as a list of registers. The
functions with ``wide`` in their name are for eight doubles. An array of single precision and
shape (…, 8) is read as a list of registers too, with eight numbers each. Code that is to run in either
precision does its arithmetic in as many doubles as the registers of an array ``like`` hold: ``beside``
makes them of one register of doubles or of two, and ``halves`` give these back; ``narrowed`` and
``widened`` go to single precision and back where there is any.

Every operation is the IEEE one lane by lane; a product and a sum may be fused into one rounding.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

from sfumato.compiled import arithmetic, instructions

LANES = 4
"""Width of a register in doubles: what AVX2 has, half of what AVX-512 has, two of NEON's."""

WIDE = 8
"""Numbers in a wide value: one register of AVX-512, two of AVX2."""

SINGLES = 2 * LANES
"""Width of a register in numbers of single precision."""

PLANES = 4
"""The most components of a vector that is read and written at once."""

_LINE = 64  # Bytes of a cache line: a register that lies across two of them takes twice as long.
_FUSED = ("contract",)


def registers(*shape: int, single: bool = False) -> NDArray[Any]:
    """An array of zeros whose registers do not lie across cache lines."""
    size, bytes_each = int(np.prod(shape)), 4 if single else 8
    memory = np.zeros(size + _LINE // bytes_each, dtype=np.float32 if single else np.float64)
    start = -memory.ctypes.data % _LINE // bytes_each
    return memory[start : start + size].reshape(shape)


class _LanesType(types.Type):
    def __init__(self, width: int, *, single: bool = False) -> None:
        self.width, self.bits = width, 32 if single else 64
        self.element = ir.FloatType() if single else ir.DoubleType()
        self.vector = ir.VectorType(self.element, width)
        super().__init__(name=f"lanes({width} of {self.bits} bits)")


_lanes = _LanesType(LANES)
_wide = _LanesType(WIDE)
_singles = _LanesType(SINGLES, single=True)


def _kind(array: Any) -> _LanesType:
    """What the registers of an array hold."""
    return _singles if array.dtype == types.float32 else _lanes


def _doubles(array: Any) -> _LanesType:
    """As many doubles as a register of an array holds."""
    return _wide if array.dtype == types.float32 else _lanes


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.vector)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    arithmetic(_LanesType, _symbol, _instruction, flags=_FUSED)


def _choice(comparison: str) -> Any:
    return instructions(
        lambda left, _: left(left, left),
        lambda builder, left, right: builder.select(builder.fcmp_ordered(comparison, left, right), left, right),
    )


larger, smaller = _choice(">"), _choice("<")


def _root(builder: Any, value: Any) -> Any:
    kind = ir.FunctionType(value.type, [value.type])
    bits = 32 if value.type.element == ir.FloatType() else 64
    name = f"llvm.sqrt.v{value.type.count}f{bits}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [value])


root = instructions(lambda value: value(value), _root)
"""The square root of each lane."""


def _in_all_lanes(kind: _LanesType, builder: Any, number: Any) -> Any:
    number = builder.fptrunc(number, kind.element) if kind is _singles else number
    result = ir.Constant(kind.vector, ir.Undefined)
    for lane in range(kind.width):
        result = builder.insert_element(result, number, ir.Constant(ir.IntType(32), lane))
    return result


def _spread(kind: _LanesType) -> Any:
    """A double in all lanes."""
    return instructions(lambda _: kind(types.float64), lambda builder, value: _in_all_lanes(kind, builder, value))


def _spread_as(kind_of: Callable[[Any], _LanesType]) -> Any:
    """The same for lanes that an array says."""

    @intrinsic
    def spread_out(typing_context, like, value):  # type: ignore[no-untyped-def]
        kind = kind_of(like)
        return kind(like, types.float64), lambda context, builder, _, given: _in_all_lanes(kind, builder, given[1])

    return spread_out


spread, spread_wide = _spread(_lanes), _spread(_wide)
spread_like, spread_doubles = _spread_as(_kind), _spread_as(_doubles)


def _converted(given: _LanesType, wanted: _LanesType, instruction: str) -> Any:
    """Registers of one kind as such of another; others are what they were."""

    def emit(builder: Any, value: Any) -> Any:
        return getattr(builder, instruction)(value, wanted.vector) if value.type == given.vector else value

    return instructions(lambda value: (wanted if value == given else value)(value), emit)


narrowed, widened = _converted(_wide, _singles, "fptrunc"), _converted(_singles, _wide, "fpext")


def _half(start: int) -> Any:
    """Four of eight doubles; four are what they were."""

    def emit(builder: Any, value: Any) -> Any:
        if value.type == _lanes.vector:
            return value
        return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), _places(start, LANES))

    return instructions(lambda value: _lanes(value), emit)


def _places(start: int, count: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(start, start + count)))


first_half, second_half = _half(0), _half(LANES)


def _loaded(kind: _LanesType, context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    return builder.load(_address(kind, context, builder, array_type, array, position), align=8)


def _address(kind: _LanesType, context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    given = context.make_array(array_type)(context, builder, array)
    return builder.gep(builder.bitcast(given.data, kind.vector.as_pointer()), [position])


@intrinsic
def beside(typing_context, like, array, left, right):  # type: ignore[no-untyped-def]
    """Registers ``left`` and ``right`` of an array of doubles beside each other, or the left one alone."""
    kind = _doubles(like)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        at = (_lanes, context, builder, signature.args[1], arguments[1])
        one = _loaded(*at, arguments[2])
        return one if kind is _lanes else builder.shuffle_vector(one, _loaded(*at, arguments[3]), _places(0, WIDE))

    return kind(like, array, types.int64, types.int64), generate


@intrinsic
def load_doubles(typing_context, like, array, position):  # type: ignore[no-untyped-def]
    """As many doubles as a register of ``like`` holds, from an array of such."""
    kind = _doubles(like)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _loaded(kind, context, builder, signature.args[1], *arguments[1:])

    return kind(like, array, types.int64), generate


def _load(kind_of: Callable[[Any], _LanesType]) -> Any:
    """Register number ``position`` of a C-contiguous array whose last axis has the lanes."""

    @intrinsic
    def load_from(typing_context, array, position):  # type: ignore[no-untyped-def]
        kind = kind_of(array)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _loaded(kind, context, builder, signature.args[0], *arguments)

        return kind(array, types.int64), generate

    return load_from


load, load_wide = _load(_kind), _load(lambda array: _wide)


@intrinsic
def store_lanes(typing_context, array, position, value):  # type: ignore[no-untyped-def]
    """Write register number ``position`` of a C-contiguous array whose last axis has the lanes of the value."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.store(arguments[2], _address(value, context, builder, signature.args[0], *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), generate


def _planes(context: Any, builder: Any, array_type: Any, array: Any) -> tuple[Any, Any]:
    """How many planes an array has, and registers in each."""
    given = context.make_array(array_type)(context, builder, array)
    planes, many = cgutils.unpack_tuple(builder, given.shape, 3)[:2]
    return planes, many


@intrinsic
def load_planes(typing_context, array, position):  # type: ignore[no-untyped-def]
    """Register number ``position`` of each of four planes of an array (planes, many, lanes); those that are not there
    are zero.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        planes, many = _planes(context, builder, signature.args[0], arguments[0])
        zero, values = ir.Constant(_lanes.vector, [0.0] * LANES), []
        for k in range(PLANES):
            number = ir.Constant(ir.IntType(64), k)
            there = builder.icmp_signed("<", number, planes)
            at = builder.select(there, builder.add(builder.mul(number, many), arguments[1]), arguments[1])
            loaded = _loaded(_lanes, context, builder, signature.args[0], arguments[0], at)
            values.append(builder.select(there, loaded, zero))
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(_lanes, PLANES)(array, types.int64), generate


@intrinsic
def store_planes(typing_context, array, position, values):  # type: ignore[no-untyped-def]
    """Write register number ``position`` of each plane that is there, from a tuple of four."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        planes, many = _planes(context, builder, signature.args[0], arguments[0])
        for k in range(PLANES):
            number = ir.Constant(ir.IntType(64), k)
            with builder.if_then(builder.icmp_signed("<", number, planes), likely=True):
                at = builder.add(builder.mul(number, many), arguments[1])
                place = _address(_lanes, context, builder, signature.args[0], arguments[0], at)
                builder.store(builder.extract_value(arguments[2], k), place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, values), generate
