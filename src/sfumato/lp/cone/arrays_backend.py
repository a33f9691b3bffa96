"""Arrays of the batched method, of NumPy or of torch: the few things on which the two do not agree.

The method is written once, in operations that both spell alike (``@``, ``.mT``, ``.sum(axis)``, ``.clip``, ``where``);
what differs is here. Torch is imported only when a device is named.
"""

from __future__ import annotations

import sys
from ctypes import CDLL
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from sfumato.errors import InvalidInput, keyword, needs, shown
from sfumato.memory import room

_NUMPY_CHUNK = 2**24  # A few arrays over pairs of so many bytes fit into the cache.
_DEVICE_SHARE = 0.94  # This part of the memory that is free on a device may be used.
# The drivers of NVIDIA's GPUs, where torch loads them from.
_DRIVERS = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}
_SHIFT = 2.0**-50  # What is added to a diagonal of 1 first.
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

    def scaled_root(self, matrix: Any) -> tuple[Any | None, Any]:
        """The lower Cholesky factor of a matrix whose diagonal is made 1, and what rows and columns were scaled by.

        Where rounding has left no factor, something is added to the diagonal, and more of it until there is one.
        """
        diagonal = self.module.diagonal(matrix)
        scale = 1.0 / self.module.sqrt(self.module.where(diagonal > 0, diagonal, 1.0))
        matrix = matrix * scale[:, None] * scale
        every = self.integers(np.arange(len(matrix)))
        shift, root = 0.0, self.root(matrix)
        while root is None and shift < 1:
            shift = max(8 * shift, _SHIFT)
            matrix[every, every] = 1.0 + shift
            root = self.root(matrix)
        return root, scale

    def solve(self, root: Any, right: Any) -> Any:
        """The solution for one right-hand side, from the Cholesky factor."""
        half = solve_triangular(root, right, lower=True, check_finite=False)
        return solve_triangular(root, half, lower=True, trans="T", check_finite=False)

    def roots(self, matrices: Any) -> tuple[Any, Any]:
        """The lower Cholesky factors of a batch, and which have none."""
        try:
            return np.linalg.cholesky(matrices), np.zeros(len(matrices), dtype=bool)
        except np.linalg.LinAlgError:
            found = [self.root(matrix) for matrix in matrices]
        filled = [matrix if root is None else root for matrix, root in zip(matrices, found, strict=True)]
        return np.stack(filled), np.array([root is None for root in found])

    def inverted(self, roots: Any) -> Any:
        """The inverses of a batch of lower triangles."""
        unit = np.eye(roots.shape[-1])
        return np.stack([solve_triangular(root, unit, lower=True, check_finite=False) for root in roots])

    def sparse(self, matrix: csr_array) -> Any:
        """A sparse matrix, for products with arrays."""
        return matrix

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
            from sfumato.lp.cone.arrays_corner import available

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

    def roots(self, matrices: Any) -> tuple[Any, Any]:
        found, failed = self.module.linalg.cholesky_ex(matrices)
        return found, failed > 0

    def inverted(self, roots: Any) -> Any:
        unit = self.module.eye(roots.shape[-1], dtype=roots.dtype, **self.place)
        return self.module.linalg.solve_triangular(roots, unit.expand_as(roots), upper=False)

    def sparse(self, matrix: csr_array) -> Any:
        if self.place["device"].type == "cpu" and not self.module.backends.mkl.is_available():
            return _OnHost(self.module, matrix)
        with catch_warnings():  # torch says that these matrices are new
            simplefilter("ignore")
            where = (self.integers(part).to(self.module.int32) for part in (matrix.indptr, matrix.indices))
            return self.module.sparse_csr_tensor(*where, self.given(matrix.data), size=matrix.shape)

    def summed_products(self, left: Any, right: Any) -> Any:
        return (left @ right.mT).sum(0)


class _OnHost:
    """A sparse matrix of SciPy that is multiplied with tensors in memory, where torch cannot do it."""

    def __init__(self, torch: Any, matrix: csr_array) -> None:
        self.torch, self.matrix = torch, matrix

    def __matmul__(self, right: Any) -> Any:
        return self.torch.from_numpy(self.matrix @ right.numpy())


def arrays_on(device: str | None) -> Arrays:
    """NumPy for None, else torch on the device of that name.

    Examples
    --------
    >>> arrays_on(None).zeros(2)
    array([0., 0.])
    """
    if device is None:
        return Arrays()
    with needs("gpu", "torch"):
        torch = import_module("torch")
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


def gpu_is_there() -> bool:
    """Whether torch is installed and finds a GPU; not imported, which takes seconds, where it cannot find one."""
    place = find_spec("torch")
    if place is None or not _knows_gpus(place.origin):
        return False
    import torch

    return bool(torch.cuda.is_available())


def _knows_gpus(origin: str | None) -> bool:
    """Whether this build of torch could use a GPU, and for NVIDIA's whether there is a driver; yes where unknown."""
    try:
        named = run_path(str(Path(str(origin)).with_name("version.py")))
    except (OSError, SyntaxError, ImportError):
        return True
    if named.get("hip", "unknown") is not None:
        return True
    if named.get("cuda", "unknown") is None or sys.platform not in _DRIVERS:
        return named.get("cuda", "unknown") is not None
    try:
        CDLL(_DRIVERS[sys.platform])
    except OSError:
        return False
    return True
