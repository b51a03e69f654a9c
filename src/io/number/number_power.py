#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes number_power.c: 5^q for q = -342 .. 324, cut to its leading 128 bits (never rounded up)."""

LOW, HIGH = -342, 324


def leading(q):
    if q >= 0:
        x = 5**q
        bits = x.bit_length()
        return x << (128 - bits) if bits <= 128 else x >> (bits - 128)
    d = 5**-q
    shift = d.bit_length() + 127
    x = (1 << shift) // d
    assert x.bit_length() == 128
    return x


print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Written by number_power.py: do not edit. */")
print('#include "io/number/number_power.h"\n')
print("const tulle__power5 tulle__power5_table[TULLE__POWER5_HIGH - TULLE__POWER5_LOW + 1] = {")
for first in range(LOW, HIGH + 1, 2):
    pair = [leading(q) for q in (first, first + 1) if q <= HIGH]
    entries = ", ".join("{0x%016x, 0x%016x}" % (x >> 64, x & (2**64 - 1)) for x in pair) + ","
    print("    %-83s /* %d */" % (entries, first))
print("};")
