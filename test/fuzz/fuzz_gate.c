/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate for values: numbers of every stored kind in either byte order, against a plain conversion with 128-bit
 * integers; what a gate counts is what a strict one refuses, at its entry.
 */
#include <math.h>

#include "fuzz.h"
#include "io/file/gate.h"

static uint64_t bits_at(tulle__stored as, const uint8_t *p)
{
    uint64_t x = 0;
    for (int b = 0; b < as.width; b++) {
        const int little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != !!as.swapped;
        x |= (uint64_t)p[b] << 8 * (little ? b : as.width - 1 - b);
    }
    return x;
}

/* The number, exactly: whole, or real. */
static __int128 whole_at(tulle__stored as, const uint8_t *p)
{
    const uint64_t x = bits_at(as, p);
    if (as.kind == 'b') return x != 0;
    const __int128 range = (__int128)1 << 8 * as.width;
    return as.kind == 'i' && x >> (8 * as.width - 1) ? (__int128)x - range : (__int128)x;
}

static double real_at(tulle__stored as, const uint8_t *p)
{
    const uint64_t x = bits_at(as, p);
    const uint32_t low = (uint32_t)x;
    double wide;
    float narrow;
    memcpy(&wide, &x, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return as.width == 8 ? wide : (double)narrow;
}

enum { MOST = 200 };

static void look(tulle__stored as, tulle_type type, const uint8_t *data, int64_t n)
{
    tulle__gate gate = {.name = "file", .type = type}, strict = {.name = "file", .type = type, .finite = true};
    tulle__value_counts want = {0};
    double value[MOST];
    char held[MOST * 8];
    tulle__gate_numbers(&gate, as, (const char *)data, n, value);
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *p = data + i * as.width;
        const double exact = as.kind == 'f' ? real_at(as, p) : (double)whole_at(as, p);
        REQUIRE(memcmp(&exact, &value[i], sizeof exact) == 0 || (isnan(exact) && isnan(value[i])));
        const double in_type = type == TULLE_F32 ? (double)(float)exact : exact;
        if (as.kind != 'f') {
            /* through the type that holds it, at once: a float of 2^64 or 2^63 cannot be cast back to 64 bits */
            const double once = type == TULLE_F32 ? (double)(float)whole_at(as, p) : (double)whole_at(as, p);
            want.rounded += (__int128)once != whole_at(as, p);
        }
        want.nans += isnan(exact) != 0;
        want.infs += isinf(exact) != 0;
        want.overflows += isfinite(exact) && isinf(in_type);
        want.underflows += exact != 0 && in_type == 0;
    }
    REQUIRE(tulle__gate_store(&gate, 0, 0, true, value, n, held, 0, 1) == TULLE_OK);
    REQUIRE(memcmp(&gate.counts, &want, sizeof want) == 0);
    const int fine = tulle__gate_store(&strict, 5, 6, true, value, n, held, 0, 1) == TULLE_OK;
    REQUIRE(fine == (want.nans + want.infs + want.overflows == 0));
    int64_t first = 0;
    while (!fine && (type == TULLE_F32 ? isfinite((float)value[first]) : isfinite(value[first]))) first++;
    char entry[64];
    snprintf(entry, sizeof entry, "file: entry (%lld, 7) is ", (long long)first + 6);
    REQUIRE(fine || strncmp(tulle_error_message(), entry, strlen(entry)) == 0);
    /* what was stored is not judged again but for what is not finite */
    tulle__gate again = {.name = "file", .type = type};
    REQUIRE(tulle__gate_block(&again, 0, 0, false, held, n) == TULLE_OK);
    REQUIRE(again.counts.nans == want.nans && again.counts.infs == want.infs + want.overflows);
    char text[1024] = "";
    tulle__gate_warnings("file", &gate.counts, text, sizeof text);
    REQUIRE(!text[0] == (want.nans + want.infs + want.overflows + want.underflows + want.rounded == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tulle__stored kinds[] = {{'f', 4, 0}, {'f', 8, 0}, {'i', 1, 0}, {'i', 2, 0}, {'i', 4, 0}, {'i', 8, 0},
        {'u', 1, 0}, {'u', 2, 0}, {'u', 4, 0}, {'u', 8, 0}, {'b', 1, 0}};
    if (!size) return 0;
    tulle__stored as = kinds[*data % (sizeof kinds / sizeof *kinds)];
    as.swapped = as.width > 1 && *data >= 128;
    int64_t n = (int64_t)(size - 1) / as.width;
    if (n > MOST) n = MOST;
    for (int type = 0; type < TULLE_TYPE_COUNT; type++) look(as, (tulle_type)type, data + 1, n);
    return 0;
}
