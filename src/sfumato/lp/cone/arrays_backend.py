"""Arrays of the batched method, of NumPy or of torch: the few things on which the two do not agree.

The method is written once, in operations that both spell alike (``@``, ``.mT``, ``.sum(axis)``, ``.clip``, ``where``);
what differs is here. Torch is imported only when a device is named.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from sfumato.errors import InvalidInput, MissingExtra, keyword, shown
from sfumato.memory import room

_NUMPY_CHUNK = 2**24  # A few arrays over pairs of so many bytes fit into the cache.
_DEVICE_SHARE = 0.94  # This part of the memory that is free on a device may be used.
_TORCH_CHUNK = 2**32  # Arrays of so many bytes fill a device and are small beside its memory.


class Arrays:
    """NumPy arrays in memory.

    Attributes
    ----------
    module
        ``numpy`` or ``torch``.
    memory
        Bytes that a run may use.
    chunk
        Bytes that one temporary array may have.
    place
        Where new arrays are made, as the module has it.
    fused
        Whether kernels of Triton run on these arrays.
    """

    module: Any = np
    chunk = _NUMPY_CHUNK
    fused = False

    def __init__(self) -> None:
        self.memory, self.place = room(), dict[str, Any]()

    def given(self, values: Any) -> Any:
        """Floats as an array, a copy."""
        return self.module.asarray(np.array(values, dtype=np.float64), **self.place)

    def integers(self, values: Any) -> Any:
        """Indices as an array, a copy."""
        return self.module.asarray(np.array(values, dtype=np.int64), **self.place)

    def numpy(self, values: Any) -> NDArray[Any]:
        """As an array of NumPy."""
        return np.asarray(values)

    def copy(self, values: Any, into: NDArray[Any]) -> None:
        """Into an array of NumPy."""
        into[:] = values

    def zeros(self, *shape: int) -> Any:
        """Zeros, in double precision."""
        return self.module.zeros(shape, dtype=self.module.float64, **self.place)

    def empty(self, *shape: int, single: bool = False) -> Any:
        """Room for numbers."""
        return self.module.empty(shape, dtype=self.module.float32 if single else self.module.float64, **self.place)

    def root(self, matrix: Any) -> Any | None:
        """The lower Cholesky factor, None if there is none."""
        try:
            return np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return None

    def solve(self, root: Any, right: Any) -> Any:
        """The solution for one right-hand side, from the Cholesky factor."""
        half = solve_triangular(root, right, lower=True, check_finite=False)
        return solve_triangular(root, half, lower=True, trans="T", check_finite=False)

    def summed_products(self, left: Any, right: Any) -> Any:
        """Σ_c left_c right_cᵀ, as one product."""
        return np.tensordot(left, right, axes=([0, 2], [0, 2]))


class _TorchArrays(Arrays):
    """Tensors on a device."""

    def __init__(self, torch: Any, device: Any) -> None:
        super().__init__()
        self.module, self.place = torch, {"device": device}
        if device.type == "cuda":
            self.memory = int(_DEVICE_SHARE * torch.cuda.mem_get_info(device)[0])
            self.chunk = _TORCH_CHUNK
            from sfumato.lp.cone.arrays_triton import available

            self.fused = available()

    def numpy(self, values: Any) -> NDArray[Any]:
        result: NDArray[Any] = values.cpu().numpy()
        return result

    def copy(self, values: Any, into: NDArray[Any]) -> None:
        self.module.from_numpy(into).copy_(values)

    def root(self, matrix: Any) -> Any | None:
        root, failed = self.module.linalg.cholesky_ex(matrix)
        return None if int(failed) else root

    def solve(self, root: Any, right: Any) -> Any:
        return self.module.cholesky_solve(right[:, None], root)[:, 0]

    def summed_products(self, left: Any, right: Any) -> Any:
        return (left @ right.mT).sum(0)


def arrays_on(device: str | None) -> Arrays:
    """NumPy for None, else torch on the device of that name.

    Examples
    --------
    >>> arrays_on(None).zeros(2)
    array([0., 0.])
    """
    if device is None:
        return Arrays()
    try:
        torch = import_module("torch")
    except ImportError:
        raise MissingExtra("gpu", "torch") from None
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError):
        raise InvalidInput(f"torch knows no device {shown(device)}: name one like 'cpu', 'cuda' or 'cuda:1'") from None
    if place.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInput(
            f"there is no device {shown(device)}: torch finds no CUDA on this machine, use {keyword('device', 'cpu')}"
        )
    if place.type not in ("cpu", "cuda"):
        raise InvalidInput(f"double precision is needed: use device 'cpu' or 'cuda', not {shown(device)}")
    return _TorchArrays(torch, place)
