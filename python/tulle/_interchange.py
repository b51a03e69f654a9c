# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices for other libraries, by the protocol __binsparse__."""
from ._arrays import kind_of, sound, structure
from ._binsparse import opened
from ._values import without_gradient

_TYPES = {"bool": "bint8", "complex64": "complex[float32]", "complex128": "complex[float64]"}  # names of the format's own


class Binsparse:
    """A sparse matrix for libraries that read the protocol: see as_binsparse."""

    def __init__(self, A):
        name = {"csr": "CSR", "csc": "CSC", "coo": "COO"}[A.format]
        self.shape, self.dtype = tuple(A.shape), A.data.dtype
        if name == "COO":
            self._arrays = {"indices_0": A.row, "indices_1": A.col, "values": A.data}
        else:
            self._arrays = {"pointers_to_1": A.indptr, "indices_1": A.indices, "values": A.data}
        types = {key: _TYPES.get(array.dtype.name, array.dtype.name) for key, array in self._arrays.items()}
        self._descriptor = {"version": "0.1", "format": name, "shape": list(self.shape),
                            "number_of_stored_values": len(A.data), "data_types": types}

    def __binsparse_descriptor__(self):
        return {"binsparse": dict(self._descriptor)}

    def __binsparse__(self):
        return dict(self._arrays)


def as_binsparse(A):
    """A sparse A of scipy or torch as an object with __binsparse__ and __binsparse_descriptor__.

    Its arrays are A's own, without a copy, for matrices in CSR, CSC and COO; others become CSR.
    """
    A = opened(A)
    if kind_of(A) == "torch":
        import scipy.sparse

        without_gradient("A", A)
        pointers, columns = structure(A)
        A = scipy.sparse.csr_array((A.detach().cpu().to_sparse_csr().values().numpy(), columns, pointers), A.shape)
    if not hasattr(A, "tocsr"):
        raise ValueError("A is dense: __dlpack__ is the protocol for dense arrays")
    if len(A.shape) != 2:
        raise ValueError(f"A is a sparse array of {len(A.shape)} dimensions: no matrix")
    return Binsparse(A if A.format in ("csr", "csc", "coo") else sound("A", A).tocsr())
