# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices of other libraries, by the protocol __binsparse__: named arrays and the format's description."""
import numpy as np

_FORMATS = {  # in the order of scipy's constructors
    "CSR": ("csr", ("indices_1", "pointers_to_1")),
    "CSC": ("csc", ("indices_1", "pointers_to_1")),
    "COO": ("coo", ("indices_0", "indices_1")),
    "COOR": ("coo", ("indices_0", "indices_1")),
    "COOC": ("coo", ("indices_1", "indices_0")),  # as in files: columns first
}


def from_binsparse(x):
    """The matrix of an object with __binsparse__, as scipy's csr_array, csc_array or coo_array, without a copy if possible."""
    import scipy.sparse

    name, shape, types = _described(x.__binsparse_descriptor__())
    made, keys = _FORMATS[name]
    arrays = {key: _array(value) for key, value in x.__binsparse__().items()}
    missing = [key for key in (*keys, "values") if key not in arrays]
    if missing or "[" in str(types.get("values", "")):
        raise ValueError(f"a matrix without {', '.join(missing)}" if missing else "values of one for all entries, or in parts")
    kind = getattr(scipy.sparse, f"{made}_array", None) or getattr(scipy.sparse, f"{made}_matrix")
    first, second = (arrays[key] for key in keys)
    parts = (arrays["values"], (first, second)) if made == "coo" else (arrays["values"], first, second)
    return kind(parts, shape=shape, copy=False)


def _described(descriptor):
    """Format, shape and types of a matrix that is read; an error for others, and for a description that is none."""
    descriptor = descriptor.get("binsparse", descriptor)
    name, shape, structure = (descriptor.get(key) for key in ("format", "shape", "structure"))
    if name not in _FORMATS:
        raise ValueError(f"a matrix of format {name!r}: {', '.join(_FORMATS)} are read")
    if not isinstance(shape, (list, tuple)) or len(shape) != 2:
        raise ValueError(f"a {name} matrix of shape {shape!r}: two numbers are required")
    if structure:
        raise ValueError(f"a matrix of structure {structure!r}: one that stores all entries is read")
    return name, tuple(shape), descriptor.get("data_types", {})


def _array(values):
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        return np.from_dlpack(values)
    return np.asarray(values)


def opened(X):
    """scipy's matrix of an object that has the protocol, or of the library sparse; others as they are."""
    if hasattr(X, "to_scipy_sparse"):
        return X.to_scipy_sparse()
    return from_binsparse(X) if hasattr(X, "__binsparse__") and not hasattr(X, "tocsr") else X
