# SPDX-License-Identifier: Apache-2.0
"""Sparse products drawn by a seed: kinds of rows, columns, sizes, values and shapes that nobody has tuned for.

draw(seed, number) is the same product in every run: (name, A, B) in CSR, B None for A A. Half are compositions of a
distribution of row lengths with one of columns; the others are like inputs that were slow before: rows of two or three
entries (logic circuits), roads, a wide A whose A A^T is nearly full (pruned weights), ratings of items by users, blocks.
"""
import numpy as np
import scipy.sparse as sp

MULTIPLICATIONS = 6e7  # most of a product: larger draws are halved until they fit


def _log_uniform(rng, low, high):
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


# ---- lengths of rows ----

def _constant(rng, rows, most):
    return np.full(rows, min(_log_uniform(rng, 1, 65), most))


def _zipf(rng, rows, most):
    return np.minimum(rng.zipf(rng.uniform(1.6, 2.6), rows) * _log_uniform(rng, 1, 5), max(most // 4, 1))


def _bimodal(rng, rows, most):
    few, many = _log_uniform(rng, 1, 5), _log_uniform(rng, 20, 200)
    return np.minimum(np.where(rng.random(rows) < rng.uniform(0.01, 0.5), many, few), most)


def _few_huge(rng, rows, most):
    lengths = np.full(rows, min(_log_uniform(rng, 1, 9), most))
    lengths[rng.integers(0, rows, int(rng.integers(1, 9)))] = max(most // 8, 1)
    return lengths


ROWS = {"constant": _constant, "zipf": _zipf, "bimodal": _bimodal, "few-huge": _few_huge}


# ---- columns: of entry t of row r, all entries at once ----

def _local(rng, r, t, rows, cols):
    return r * (cols / rows) + rng.normal(0, _log_uniform(rng, 2, max(cols // 20, 3)), len(r))


def _clustered(rng, r, t, rows, cols):
    clusters = _log_uniform(rng, 2, 200)
    width = max(cols // (4 * clusters), 2)
    home = rng.integers(0, clusters, rows)[r] * (cols / clusters)
    return home + rng.integers(0, width, len(r))


def _uniform(rng, r, t, rows, cols):
    return rng.integers(0, cols, len(r))


def _hubs(rng, r, t, rows, cols):
    return cols * rng.random(len(r)) ** rng.uniform(1.5, 5)


def _strided(rng, r, t, rows, cols):
    return r * (cols / rows) + t * _log_uniform(rng, 1, max(cols // 8, 2))


COLUMNS = {"local": _local, "clustered": _clustered, "uniform": _uniform, "hubs": _hubs, "strided": _strided}


def _values(rng, count):
    kind = rng.integers(0, 3)
    return np.ones(count) if kind == 0 else rng.normal(size=count) if kind == 1 else rng.random(count) + 0.1


def matrix(rng, rows, cols, lengths, columns):
    """A CSR matrix of these row lengths, less entries that fall on others, by a function of COLUMNS."""
    r = np.repeat(np.arange(rows), lengths)
    t = np.arange(len(r)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    c = np.asarray(columns(rng, r, t, rows, cols)).astype(np.int64) % cols
    A = sp.csr_matrix((np.ones(len(r)), (r, c)), (rows, cols))
    A.sum_duplicates()
    A.data = _values(rng, A.nnz)
    return A


def _composed(rng, size):
    rows_of, columns_of = rng.choice(list(ROWS)), rng.choice(list(COLUMNS))
    rows = _log_uniform(rng, 200, 200000) // size + 20
    shape = rng.integers(0, 4)
    cols = rows if shape < 2 else max(int(rows * rng.choice([0.05, 0.3, 3, 20])), 20)
    A = matrix(rng, rows, cols, ROWS[rows_of](rng, rows, cols), COLUMNS[columns_of])
    name = f"{rows_of} rows, {columns_of} columns"
    if shape == 1:
        other = rng.choice(list(COLUMNS))
        return f"{name}, times {other}", A, matrix(rng, cols, cols, _constant(rng, cols, cols), COLUMNS[other])
    return name, A, A.T.tocsr() if cols != rows else None


def _logic(rng, size):
    rows = _log_uniform(rng, 20000, 300000) // size
    return "logic: rows of 2 and 3", matrix(rng, rows, rows, rng.integers(2, 4, rows), _local), None


def _roads(rng, size):
    side = int(np.sqrt(_log_uniform(rng, 20000, 400000) // size)) + 2
    node = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate([np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()]),
                            np.stack([node[:-1].ravel(), node[1:].ravel()])], axis=1)
    pairs = pairs[:, rng.random(pairs.shape[1]) < rng.uniform(0.55, 0.75)]
    order = rng.permutation(side * side) if rng.random() < 0.3 else np.arange(side * side)
    A = sp.csr_matrix((_values(rng, pairs.shape[1]), (order[pairs[0]], order[pairs[1]])), (side * side, side * side))
    return "roads", sp.csr_matrix(A + A.T), None


def _weights(rng, size):
    rows, cols = _log_uniform(rng, 200, 1200) // min(size, 4) + 20, _log_uniform(rng, 1000, 8000) // min(size, 4)
    A = matrix(rng, rows, cols, np.maximum(1, rng.binomial(cols, rng.uniform(0.03, 0.2), rows)), _uniform)
    return "weights: wide, A A^T nearly full", A, A.T.tocsr()


def _ratings(rng, size):
    users, items = _log_uniform(rng, 1000, 8000) // size + 20, _log_uniform(rng, 500, 10000) // size + 20
    A = matrix(rng, users, items, _zipf(rng, users, items) + 10, _hubs)
    return "ratings", A, A.T.tocsr()


def _blocks(rng, size):
    b, nodes = int(rng.integers(2, 9)), _log_uniform(rng, 300, 8000) // size + 10
    A = matrix(rng, nodes, nodes, _constant(rng, nodes, 20), _local)
    return f"blocks of {b}", sp.csr_matrix(sp.kron(A, np.ones((b, b)), "csr")), None


LIKE = [_logic, _roads, _weights, _ratings, _blocks]


def multiplications(A, B):
    return int(np.diff((A if B is None else B).indptr)[A.indices].sum())


def draw(seed, number):
    """Product `number` of the seed."""
    for size in (2 ** x for x in range(16)):
        rng = np.random.default_rng([seed, number])
        kind = rng.integers(0, 2 * len(LIKE))
        name, A, B = LIKE[kind](rng, size) if kind < len(LIKE) else _composed(rng, size)
        if multiplications(A, B) <= MULTIPLICATIONS:
            break
    for X in (A, B):
        if X is not None:
            X.sort_indices()
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return name, A, B
