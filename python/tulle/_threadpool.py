# SPDX-License-Identifier: Apache-2.0
"""threadpoolctl's control of the threads of calls outside of `tulle.threads` blocks, where threadpoolctl is installed."""
from . import _core
from ._team import default_threads, set_default_threads


def register():
    try:
        import threadpoolctl
    except ImportError:
        return
    if not hasattr(threadpoolctl, "register"):  # before 3.2
        return

    members = {
        "user_api": "tulle",
        "internal_api": "tulle",
        "filename_prefixes": ("libtulle",),
        "get_num_threads": lambda self: default_threads(),
        "set_num_threads": lambda self, number: set_default_threads(number),
        "get_version": lambda self: _core.version(),
    }
    threadpoolctl.register(type("Controller", (threadpoolctl.LibController,), members))
