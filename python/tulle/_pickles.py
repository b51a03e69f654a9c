# SPDX-License-Identifier: Apache-2.0
"""Pickles of what is made from a matrix: the matrix and the options, from which it is made anew."""
import numpy as np

from ._team import alone, home_of


def remade(handle, kind, arguments, apply):
    """What pickle wants: kind(*arguments) makes the handle anew, on the team of whoever reads the pickle.

    The handle may be older than the values of its matrix, which are the caller's: both apply to one
    vector, and an error says that they differ.
    """
    with home_of(handle=handle):
        alone(f"a pickle of a {kind.__name__}")
        try:
            anew = kind(*arguments)
        except ValueError as refused:  # by values or a structure that the handle was not made with
            raise ValueError(f"the matrix has changed since the {kind.__name__} was made, and now: {refused}") from refused
    probe = np.random.default_rng(1).random((handle.shape[0], 1)).astype(handle.dtype)
    if not np.array_equal(apply(handle, probe), apply(anew, probe), equal_nan=True):
        raise ValueError(f"values of the matrix have changed since the {kind.__name__} was made: make it anew first")
    return kind, arguments
