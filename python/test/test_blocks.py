# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in blocks, and sums in ranges, against scipy's."""
import numpy as np
import pytest
import scipy.sparse as sp

import tulle

RNG = np.random.default_rng(7)
SIZES = [3, 1, 4, 2, 5, 4, 3]
N = sum(SIZES)


def random(m=N, n=N, dtype=np.float64):
    A = RNG.integers(-4, 5, (m, n)) * (RNG.random((m, n)) < .2)
    return sp.csr_matrix(A.astype(dtype))


def symmetric(dtype=np.float64):
    A = random(dtype=dtype)
    return sp.csr_matrix(A + A.T)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products(threads, dtype):
    with tulle.threads(threads):
        A, B = random(dtype=dtype), random(dtype=dtype)
        C = tulle.block_matmul(A, B, blocks=SIZES, alpha=2)
        assert type(C) is type(A) and C.dtype == dtype
        assert abs(C - 2 * A @ B).max() == 0
        assert tulle.report()["flops"] > 0
        S = symmetric(dtype)
        whole = tulle.report()
        for half in (False, True):
            for symmetric_c in (False, True):
                C = tulle.block_matmul(S, blocks=SIZES, symmetric_c=symmetric_c, half=half)
                assert abs(C - S @ S).max() == 0
                flops = tulle.report()["flops"]
                whole = flops if not symmetric_c else whole
                assert flops < .8 * whole if symmetric_c else flops == whole
        C = tulle.block_matmul(A, random(N, 12, dtype), blocks=(SIZES, SIZES, 4), filter=1e3)
        assert C.nnz == 0 and tulle.report()["skipped_products"] + tulle.report()["filtered_blocks"] > 0


def test_errors():
    A = random()
    with pytest.raises(ValueError, match="symmetric bit by bit"):
        tulle.block_matmul(A, blocks=SIZES, half=True)
    with pytest.raises(ValueError, match="A is dense"):
        tulle.block_matmul(A.toarray(), blocks=SIZES)
    with pytest.raises(ValueError, match="not three"):
        tulle.block_matmul(A, blocks=(SIZES, SIZES))
    with pytest.raises(ValueError, match="divide one of its blocks"):
        tulle.block_range_add(A, random(3, 4), 1, 3, blocks=SIZES)


@pytest.mark.parametrize("beta", [0, 1, -2])
def test_ranges(beta):
    C, P, row, col = random(), random(4 + 2, 1 + 4), 4, 3
    before = C.copy()
    D = tulle.block_range_add(C, P, row, col, blocks=SIZES, alpha=3, beta=beta)
    expected = C.toarray()
    part = expected[row:row + 6, col:col + 5]
    expected[row:row + 6, col:col + 5] = 3 * P.toarray() + beta * part
    assert type(D) is type(C) and np.abs(D.toarray() - expected).max() == 0
    assert abs(C - before).nnz == 0  # C stays as it was
