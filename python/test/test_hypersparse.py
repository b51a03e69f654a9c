# SPDX-License-Identifier: Apache-2.0
"""Matrices with far fewer entries than rows, which only coordinates can describe."""
import numpy as np
import pytest
import scipy.sparse as sp

import tulle

HUGE = 2**33


def tall(rows=HUGE):
    return sp.coo_array((np.array([1.5, -2.0, 3.0]), (np.array([0, rows - 1, 7]), np.array([0, 1, 1]))), shape=(rows, 2))


def same(A, B):
    """True if both have the same entries; in coordinates of any order."""
    def entries(M):
        M = M.tocoo()
        return sorted(zip(M.row.tolist(), M.col.tolist(), M.data.tolist()))

    return A.shape == B.shape and entries(A) == entries(B)


def test_products_in_coordinates():
    A, B = tall(), sp.csr_array(np.array([[1.0, 0, 2], [0, 4, 0]]))
    C = tulle.matmul(A, B)
    assert isinstance(C, sp.coo_array)
    dense = B.toarray()
    wanted = {(int(i), j): v * dense[k, j] for i, k, v in zip(A.row, A.col, A.data) for j in range(3) if dense[k, j]}
    assert C.shape == (HUGE, 3) and dict(zip(zip(C.row.tolist(), C.col.tolist()), C.data.tolist())) == wanted
    gram = tulle.matmul(A.T, A)
    assert np.array_equal(gram.toarray(), [[2.25, 0], [0, 13]])
    wide = tulle.matmul(B.T.tocsr(), A.T)  # of CSR and coordinates: only coordinates can have it
    assert isinstance(wide, sp.coo_array) and same(wide, C.T)


@pytest.mark.parametrize("name", ["A.mtx", "A.npz"])
def test_files(tmp_path, name):
    tulle.write(tmp_path / name, tall())
    read = tulle.read(tmp_path / name)
    assert isinstance(read, sp.coo_array) and same(read, tall())


def test_dense_factors():
    rows, X = 1 << 23, np.array([[1.0, 2], [3, 4]])
    A = tall(rows)
    Y = tulle.matmul(A, X)
    assert Y.shape == (rows, 2) and np.count_nonzero(Y) == 6
    assert np.array_equal(Y[[0, rows - 1, 7]], [[1.5, 3], [-6, -8], [9, 12]])
    assert np.array_equal(tulle.matmul(A.T, Y), A.T @ Y)


def test_refusals_name_the_matrix(tmp_path):
    with pytest.raises(Exception, match="hypersparse matrix, 8589934592 x 2"):
        tulle.write(tmp_path / "A.petsc", tall())
