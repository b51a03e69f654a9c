# SPDX-License-Identifier: Apache-2.0
"""Lines of TAP, for the programs beside it."""
import sys

count = failed = 0


def ok(right, what):
    global count, failed
    count += 1
    failed += not right
    print(f"{'ok' if right else 'not ok'} {count} - {what}")


def done():
    """Ends the program, with 1 if a check failed."""
    print(f"1..{count}")
    sys.exit(failed != 0)
