"""Four doubles at a time inside compiled code: one number for each of four columns.

Work that is the same for many columns runs fastest when a processor register holds the same entry of
several of them. Numba has no such value, so this file adds one: ``load`` and ``store`` move four
neighbours between an array and a register, and the four rules of arithmetic, ``larger``, ``smaller``
and ``root`` act on each lane alone. An array of shape (…, 4) is read as a list of registers. The
functions with ``wide`` in their name are the same for eight doubles. An array of single precision and
shape (…, 8) is read as a list of registers too, with eight numbers each. Code that is to run in either
precision does its arithmetic in as many doubles as the registers of an array ``like`` hold: ``beside``
makes them of one register of doubles or of two, and ``halves`` give these back; ``narrowed`` and
``widened`` go to single precision and back where there is any.

Every operation is the IEEE one lane by lane; a product and a sum may be fused into one rounding.
"""

from __future__ import annotations

import operator
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
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return getattr(builder, instruction)(*arguments, flags=_FUSED)

        return left(left, left), generate

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


larger = _choice(">")
smaller = _choice("<")


@intrinsic
def root(typing_context, value):  # type: ignore[no-untyped-def]
    """The square root of each lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(value.vector, [value.vector])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{value.width}f{value.bits}")
        return builder.call(function, arguments)

    return value(value), generate


def _in_all_lanes(kind: _LanesType, builder: Any, number: Any) -> Any:
    result = ir.Constant(kind.vector, ir.Undefined)
    for lane in range(kind.width):
        result = builder.insert_element(result, number, ir.Constant(ir.IntType(32), lane))
    return result


def _spread(kind: _LanesType) -> Any:
    @intrinsic
    def spread_out(typing_context, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _in_all_lanes(kind, builder, arguments[0])

        return kind(types.float64), generate

    return spread_out


spread = _spread(_lanes)
spread_wide = _spread(_wide)


@intrinsic
def spread_like(typing_context, array, value):  # type: ignore[no-untyped-def]
    """A number in all lanes of a register such as an array holds."""
    kind = _kind(array)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        number = builder.fptrunc(arguments[1], kind.element) if kind is _singles else arguments[1]
        return _in_all_lanes(kind, builder, number)

    return kind(array, types.float64), generate


@intrinsic
def spread_doubles(typing_context, like, value):  # type: ignore[no-untyped-def]
    """A double in as many lanes as a register of an array holds."""
    kind = _doubles(like)
    return kind(like, types.float64), lambda context, builder, _, given: _in_all_lanes(kind, builder, given[1])


@intrinsic
def narrowed(typing_context, value):  # type: ignore[no-untyped-def]
    """Eight doubles in single precision; four are what they were."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.fptrunc(arguments[0], _singles.vector) if value == _wide else arguments[0]

    return (_singles if value == _wide else value)(value), generate


@intrinsic
def widened(typing_context, value):  # type: ignore[no-untyped-def]
    """Eight numbers of single precision as doubles; doubles are what they were."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.fpext(arguments[0], _wide.vector) if value == _singles else arguments[0]

    return (_wide if value == _singles else value)(value), generate


def _half(start: int) -> Any:
    """Four of eight doubles; four are what they were."""

    @intrinsic
    def half(typing_context, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            if value == _lanes:
                return arguments[0]
            places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(start, start + LANES)))
            return builder.shuffle_vector(arguments[0], ir.Constant(value.vector, ir.Undefined), places)

        return _lanes(value), generate

    return half


first_half, second_half = _half(0), _half(LANES)


@intrinsic
def beside(typing_context, like, array, left, right):  # type: ignore[no-untyped-def]
    """Registers ``left`` and ``right`` of an array of doubles beside each other, or the left one alone."""
    kind = _doubles(like)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        at = (context, builder, signature.args[1], arguments[1])
        one = builder.load(_address(_lanes, *at, arguments[2]), align=8)
        if kind is _lanes:
            return one
        other = builder.load(_address(_lanes, *at, arguments[3]), align=8)
        return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), WIDE), list(range(WIDE))))

    return kind(like, array, types.int64, types.int64), generate


@intrinsic
def load_doubles(typing_context, like, array, position):  # type: ignore[no-untyped-def]
    """As many doubles as a register of ``like`` holds, from an array of such."""
    kind = _doubles(like)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(_address(kind, context, builder, signature.args[1], *arguments[1:]), align=8)

    return kind(like, array, types.int64), generate


@intrinsic
def store_doubles(typing_context, array, position, value):  # type: ignore[no-untyped-def]
    """Write a value into an array of as many doubles."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.store(arguments[2], _address(value, context, builder, signature.args[0], *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), generate


def _load(wide: bool) -> Any:
    """Register number ``position`` of a C-contiguous array whose last axis has the lanes."""

    @intrinsic
    def load_from(typing_context, array, position):  # type: ignore[no-untyped-def]
        kind = _wide if wide else _kind(array)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.load(_address(kind, context, builder, signature.args[0], *arguments), align=8)

        return kind(array, types.int64), generate

    return load_from


def _store(wide: bool) -> Any:
    """Write register number ``position`` of a C-contiguous array whose last axis has the lanes."""

    @intrinsic
    def store_to(typing_context, array, position, value):  # type: ignore[no-untyped-def]
        kind = _wide if wide else _kind(array)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            builder.store(arguments[2], _address(kind, context, builder, signature.args[0], *arguments[:2]), align=8)
            return context.get_dummy_value()

        return types.void(array, types.int64, kind), generate

    return store_to


def _address(kind: _LanesType, context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    given = context.make_array(array_type)(context, builder, array)
    return builder.gep(builder.bitcast(given.data, kind.vector.as_pointer()), [position])


load, load_wide = _load(wide=False), _load(wide=True)
store, store_wide = _store(wide=False), _store(wide=True)
