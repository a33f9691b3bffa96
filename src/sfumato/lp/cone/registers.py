"""Four doubles at a time inside compiled code: one number for each of four columns.

Work that is the same for many columns runs fastest when a processor register holds the same entry of
several of them. Numba has no such value, so this file adds one: ``load`` and ``store`` move four
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
from numba.extending import intrinsic, models, overload, register_model
from numpy.typing import NDArray

LANES = 4
"""Width of a register in doubles: what AVX2 has, half of what AVX-512 has, two of NEON's."""

WIDE = 8
"""Numbers in a wide value: one register of AVX-512, two of AVX2."""

SINGLES = 2 * LANES
"""Width of a register in numbers of single precision."""

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


def _arithmetic(symbol: Any, instruction: str) -> None:
    """Let a Python operator between two registers emit one instruction."""

    @intrinsic
    def combine(typing_context, left, right):  # type: ignore[no-untyped-def]
        return left(left, left), lambda context, builder, _, given: getattr(builder, instruction)(*given, flags=_FUSED)

    @overload(symbol)
    def between_registers(left, right):  # type: ignore[no-untyped-def]
        if isinstance(left, _LanesType) and left == right:
            return lambda left, right: combine(left, right)
        return None


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_symbol, _instruction)


def _choice(comparison: str) -> Any:
    @intrinsic
    def choose(typing_context, left, right):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.select(builder.fcmp_ordered(comparison, *arguments), *arguments)

        return left(left, left), generate

    return choose


larger, smaller = _choice(">"), _choice("<")


@intrinsic
def root(typing_context, value):  # type: ignore[no-untyped-def]
    """The square root of each lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(value.vector, [value.vector])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{value.width}f{value.bits}")
        return builder.call(function, arguments)

    return value(value), generate


def _in_all_lanes(kind: _LanesType, builder: Any, number: Any) -> Any:
    number = builder.fptrunc(number, kind.element) if kind is _singles else number
    result = ir.Constant(kind.vector, ir.Undefined)
    for lane in range(kind.width):
        result = builder.insert_element(result, number, ir.Constant(ir.IntType(32), lane))
    return result


def _spread(kind: _LanesType) -> Any:
    """A double in all lanes."""

    @intrinsic
    def spread_out(typing_context, value):  # type: ignore[no-untyped-def]
        return kind(types.float64), lambda context, builder, _, given: _in_all_lanes(kind, builder, given[0])

    return spread_out


def _spread_as(kind_of: Callable[[Any], _LanesType]) -> Any:
    """The same for lanes that an array says."""

    @intrinsic
    def spread_out(typing_context, like, value):  # type: ignore[no-untyped-def]
        kind = kind_of(like)
        return kind(like, types.float64), lambda context, builder, _, given: _in_all_lanes(kind, builder, given[1])

    return spread_out


spread, spread_wide = _spread(_lanes), _spread(_wide)
spread_like, spread_doubles = _spread_as(_kind), _spread_as(_doubles)


def _converted(given_kind: _LanesType, wanted: _LanesType, instruction: str) -> Any:
    """Registers of one kind as such of another; others are what they were."""

    @intrinsic
    def convert(typing_context, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return getattr(builder, instruction)(*arguments, wanted.vector) if value == given_kind else arguments[0]

        return (wanted if value == given_kind else value)(value), generate

    return convert


narrowed, widened = _converted(_wide, _singles, "fptrunc"), _converted(_singles, _wide, "fpext")


def _half(start: int) -> Any:
    """Four of eight doubles; four are what they were."""

    @intrinsic
    def half(typing_context, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            if value == _lanes:
                return arguments[0]
            return builder.shuffle_vector(arguments[0], ir.Constant(value.vector, ir.Undefined), _places(start, LANES))

        return _lanes(value), generate

    return half


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
def store(typing_context, array, position, value):  # type: ignore[no-untyped-def]
    """Write register number ``position`` of a C-contiguous array whose last axis has the lanes of the value."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.store(arguments[2], _address(value, context, builder, signature.args[0], *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), generate
