# SPDX-License-Identifier: Apache-2.0
"""Values of operands: their types, and arrays of NumPy that have them; numbers and names of files among arguments."""
import os
import sys

import numpy as np

from ._binsparse import opened

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def is_tensor(X):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_sparse(X):
    """True for sparse matrices of scipy, and for what converts itself to one, as arrays of the library sparse."""
    return any(hasattr(X, name) for name in ("tocsr", "to_scipy_sparse", "to_coo"))


def namespace(X):
    """The Array API's namespace of a dense array that is neither NumPy's nor torch's; None: it has none."""
    if isinstance(X, np.ndarray) or is_tensor(X) or is_sparse(X) or not hasattr(X, "__array_namespace__"):
        return None
    return X.__array_namespace__()


def in_namespace(values, space):
    """NumPy's values as an array of that namespace, without a copy where it takes DLPack of the host."""
    try:
        return space.from_dlpack(values)
    except (AttributeError, BufferError, TypeError, ValueError):
        return space.asarray(values)


def _elements(name, X):
    """NumPy's array of X; an error that says what X is if it has no elements there."""
    values = np.asarray(X)
    if values.dtype.kind != "O" or values.ndim:
        return values
    if is_sparse(X):
        raise TypeError(f"{name} is sparse, where an array is required: {name}.toarray() is one")
    raise TypeError(f"{name} is an object of {type(X).__name__}, where an array or a matrix is required")


def _given_type(name, X):
    """NumPy's type of X's values; that of a list is its array's."""
    dtype = getattr(X, "dtype", None)
    if dtype is None:
        X = opened(X)
        return X.dtype if hasattr(X, "dtype") else _elements(name, X).dtype
    if isinstance(dtype, np.dtype):
        return dtype
    name = str(dtype).rpartition(".")[2]  # torch's
    return _F32 if name == "bfloat16" else np.dtype(name)


def _real(name, dtype):
    """The type in which values of that type are computed with: float32 for shorter ones, float64 for integers."""
    if dtype is _F64 or dtype is _F32:
        return dtype
    if dtype.kind == "c":
        raise TypeError(f"{name} is of {dtype}: complex numbers are not supported; {name}.real and {name}.imag are")
    if dtype.kind not in "biuf":
        raise TypeError(f"{name} is of {dtype}: numbers are required, such as float64")
    return _F32 if dtype.kind == "f" and dtype.itemsize <= 4 else _F64


def type_of(name, X):
    """The type in which the library computes with X; an error that names X for complex numbers and what is no number."""
    return _real(name, _given_type(name, X))


def common_type(**operands):
    """The type of a result, by NumPy's promotion. Operands by their names; None: left out, but not the first."""
    first = next(iter(operands))
    given = {name: _given_type(name, X) for name, X in operands.items() if X is not None or name == first}
    for name, dtype in given.items():
        _real(name, dtype)
    return _real("the result", np.result_type(*given.values()))


def without_gradient(name, X, instead="tulle.torch has products that are differentiated, .detach() leaves it out"):
    """An error if torch expects a gradient by the tensor X, which calls of arrays do not have."""
    if X.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise TypeError(f"{name} requires a gradient, which this call does not have: {instead}")


def tensor_array(X):
    """The values of a tensor on the host, without its gradient."""
    X = X.detach().cpu().resolve_conj().resolve_neg()
    return (X.float() if str(X.dtype) == "torch.bfloat16" else X).numpy()


def on_host(name, X):
    """A dense X as NumPy's array, in the type that it has."""
    if is_tensor(X):
        without_gradient(name, X)
        return tensor_array(X)
    if hasattr(X, "__cuda_array_interface__") and hasattr(X, "get"):
        X = X.get()  # CuPy's way to the host
    if hasattr(X, "__dlpack__") and not hasattr(X, "__array__"):
        X = np.from_dlpack(X)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise TypeError(f"{name} has masked elements, which have no value here: {name}.filled(0) has zeros for them")
    return _elements(name, X)


def in_type(name, values, dtype=None):
    """NumPy's values in that type, in this machine's byte order; None: as type_of. The array itself if it is so."""
    own = _real(name, values.dtype)
    dtype = own if dtype is None else dtype
    return values if values.dtype == dtype else values.astype(dtype)


def at_least_0(name, value):
    """A real argument; an error if it is negative or nan. None stays."""
    if value is not None and not float(value) >= 0:
        raise ValueError(f"{name} is {value}: at least 0")
    return None if value is None else float(value)


def whole(name, value, least=1, most=2**31 - 1):
    """A whole number among the arguments, of any type that has its value; an error if it is outside least ... most."""
    number = int(value)
    if number != value or number < least:
        raise ValueError(f"{name} is {value}: a whole number, at least {least}")
    if number > most:
        raise ValueError(f"{name} is {value}: at most {most}")
    return number


def path_of(path):
    """The name of a file as text; what follows a null byte would be lost."""
    path = os.fsdecode(path)
    if "\0" in path:
        raise ValueError(f"{path!r} has a null byte, which names of files have not")
    return path


def real(name, X, dtype=None):
    """A dense X as NumPy's array of float32 or float64; dtype: in that one."""
    return in_type(name, on_host(name, X), dtype)
