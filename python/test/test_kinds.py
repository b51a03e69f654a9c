# SPDX-License-Identifier: Apache-2.0
"""Products that bench/kinds/draw.py draws: the same ones of a seed, of every kind, and as their names say."""
import os
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import tulle

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "kinds"))
kinds = pytest.importorskip("draw", reason="the benchmarks lie beside the source tree only")

DRAWS = 60


@pytest.fixture(scope="module")
def drawn():
    return [kinds.draw(1, number) for number in range(DRAWS)]


def test_draws_repeat_and_differ(drawn):
    for number in range(0, DRAWS, 7):
        name, A, B = kinds.draw(1, number)
        first = drawn[number]
        assert name == first[0] and (B is None) == (first[2] is None)
        for X, Y in ((A, first[1]), (B, first[2])):
            if X is not None:
                assert all((x == y).all() for x, y in zip((X.indptr, X.indices, X.data), (Y.indptr, Y.indices, Y.data)))
    assert len({(A.shape, A.nnz) for _, A, _ in drawn}) > DRAWS - 5
    assert kinds.draw(2, 0)[1].nnz != drawn[0][1].nnz


def test_products_are_canonical_and_bounded(drawn):
    for name, A, B in drawn:
        assert 0 < kinds.multiplications(A, B) <= kinds.MULTIPLICATIONS, name
        for X in (A,) if B is None else (A, B):
            assert sp.issparse(X) and X.has_canonical_format and np.isfinite(X.data).all(), name
            assert X.indices.max() < X.shape[1] and X.indices.dtype == np.int32
        assert A.shape[1] == (A if B is None else B).shape[0]


def test_all_kinds_come(drawn):
    names = " ".join(name for name, _, _ in drawn)
    for kind in [*kinds.ROWS, *kinds.COLUMNS, "logic", "roads", "weights", "ratings", "blocks"]:
        assert kind in names, kind


def test_likes_are_like(drawn):
    for name, A, B in drawn:
        lengths = np.diff(A.indptr)
        if name.startswith("logic"):
            assert np.median(lengths) <= 3 and lengths.max() <= 3
        if name.startswith("roads"):
            assert 1.5 < lengths.mean() < 3.5 and lengths.max() <= 4 and (A.indptr == sp.csr_matrix(A.T).indptr).all()
        if name.startswith("weights"):
            assert A.shape[0] < A.shape[1] and tulle.matmul(A, B).nnz > 0.4 * A.shape[0] ** 2
