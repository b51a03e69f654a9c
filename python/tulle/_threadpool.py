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

    class Controller(threadpoolctl.LibController):
        user_api = "tulle"
        internal_api = "tulle"
        filename_prefixes = ("libtulle",)

        def get_num_threads(self):
            return default_threads()

        def set_num_threads(self, num_threads):
            set_default_threads(num_threads)

        def get_version(self):
            return _core.version()

    threadpoolctl.register(Controller)
