"""Four doubles at a time inside compiled code: one number for each of four columns.

Work that is the same for many columns runs fastest when a processor register holds the same entry of
several of them. Numba has no such value, so this file adds one: ``load`` and ``store`` move four
neighbours between an array and a register, and the four rules of arithmetic, ``larger``, ``smaller``
and ``root`` act on each lane alone. An array of shape (…, 4) is read as a list of registers.

Every operation is the IEEE one lane by lane; a product and a sum may be fused into one rounding.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

__all__ = ["LANES", "larger", "load", "root", "smaller", "spread", "store", "total"]

LANES = 4
"""Width of a register in doubles: what AVX2 has, half of what AVX-512 has, two of NEON's."""

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FUSED = ("contract",)


class _LanesType(types.Type):
    def __init__(self) -> None:
        super().__init__(name=f"lanes({LANES})")


_lanes = _LanesType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _arithmetic(symbol: Any, instruction: str) -> None:
    """Let a Python operator between two registers emit one instruction."""

    @intrinsic
    def combine(typing_context, left, right):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return getattr(builder, instruction)(*arguments, flags=_FUSED)

        return _lanes(_lanes, _lanes), generate

    @overload(symbol)
    def between_registers(left, right):  # type: ignore[no-untyped-def]
        if isinstance(left, _LanesType) and isinstance(right, _LanesType):
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

        return _lanes(_lanes, _lanes), generate

    return choose


larger = _choice(">")
smaller = _choice("<")


@intrinsic
def root(typing_context, value):  # type: ignore[no-untyped-def]
    """The square root of each lane."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f64")
        return builder.call(function, arguments)

    return _lanes(_lanes), generate


@intrinsic
def spread(typing_context, value):  # type: ignore[no-untyped-def]
    """One number in all lanes."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        result = ir.Constant(_VECTOR, ir.Undefined)
        for lane in range(LANES):
            result = builder.insert_element(result, arguments[0], ir.Constant(ir.IntType(32), lane))
        return result

    return _lanes(types.float64), generate


@intrinsic
def total(typing_context, value):  # type: ignore[no-untyped-def]
    """The sum of the lanes."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        parts = [builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), i)) for i in range(LANES)]
        result = parts[0]
        for part in parts[1:]:
            result = builder.fadd(result, part)
        return result

    return types.float64(_lanes), generate


@intrinsic
def load(typing_context, array, position):  # type: ignore[no-untyped-def]
    """Register number ``position`` of a C-contiguous array whose last axis has the lanes."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(_address(context, builder, signature, arguments), align=8)

    return _lanes(array, types.int64), generate


@intrinsic
def store(typing_context, array, position, value):  # type: ignore[no-untyped-def]
    """Write register number ``position`` of a C-contiguous array whose last axis has the lanes."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.store(arguments[2], _address(context, builder, signature, arguments), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _lanes), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(builder.bitcast(array.data, _VECTOR.as_pointer()), [arguments[1]])
