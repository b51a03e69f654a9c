# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices of other libraries, by the protocol __binsparse__: named arrays and the format's description."""
from collections.abc import Mapping

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

    name, shape, types, stored = _described(x.__binsparse_descriptor__())
    made, keys = _FORMATS[name]
    named = x.__binsparse__()
    if not isinstance(named, Mapping):
        raise ValueError(f"arrays that are {named!r}: a dict of them is required")
    arrays = {key: _array(value) for key, value in named.items()}
    missing = [key for key in (*keys, "values") if key not in arrays]
    if missing or "[" in str(types.get("values", "")):
        raise ValueError(f"a matrix without {', '.join(missing)}" if missing else "values of one for all entries, or in parts")
    first, second = (_indices(key, arrays[key]) for key in keys)
    values = arrays["values"]
    if values.ndim != 1:
        raise ValueError(f"values of {values.ndim} dimensions: a vector is required")
    if stored not in (None, len(values)) or len(first) != len(values) or (
            made != "coo" and second[-1:].tolist() != [len(values)]):
        raise ValueError(f"a matrix of {len(values)} values whose description, or other arrays, have another number of them")
    kind = getattr(scipy.sparse, f"{made}_array", None) or getattr(scipy.sparse, f"{made}_matrix")
    matrix = kind((values, (first, second)) if made == "coo" else (values, first, second), shape=shape, copy=False)
    if made != "coo":  # its constructor has looked
        matrix.check_format(full_check=True)
    return matrix


def _described(descriptor):
    """Format, shape, types and number of entries of a matrix that is read; an error for others, and for what describes none."""
    if isinstance(descriptor, Mapping):
        descriptor = descriptor.get("binsparse", descriptor)
    if not isinstance(descriptor, Mapping):
        raise ValueError(f"a description that is {descriptor!r}: a dict is required")
    version, name, shape, types = (descriptor.get(key) for key in ("version", "format", "shape", "data_types"))
    if version is not None and str(version).split(".")[0] != "0":
        raise ValueError(f"a description of version {version}: 0 is read")
    if not isinstance(name, str) or name not in _FORMATS:
        raise ValueError(f"a matrix of format {name!r}: {', '.join(_FORMATS)} are read")
    if (not isinstance(shape, (list, tuple)) or len(shape) != 2
            or not all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape)):
        raise ValueError(f"a {name} matrix of shape {shape!r}: two numbers are required")
    for key in ("structure", "fill"):
        if descriptor.get(key):
            raise ValueError(f"a matrix of {key} {descriptor[key]!r}: one that stores all entries is read")
    if not isinstance(types, (Mapping, type(None))):
        raise ValueError(f"data_types that are {types!r}: a dict is required")
    return name, tuple(int(n) for n in shape), types or {}, descriptor.get("number_of_stored_values")


def _indices(name, array):
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ValueError(f"{name} of {array.dtype} and {array.ndim} dimensions: a vector of integers is required")
    return array


def _array(values):
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        return np.from_dlpack(values)
    return np.asarray(values)


def opened(X):
    """scipy's matrix of an object that has the protocol, or of the library sparse; others as they are."""
    if hasattr(X, "to_coo") and not hasattr(X, "tocsr"):  # its DOK
        X = X.to_coo()
    if hasattr(X, "to_scipy_sparse"):
        return X.to_scipy_sparse()
    return from_binsparse(X) if hasattr(X, "__binsparse__") and not hasattr(X, "tocsr") else X
