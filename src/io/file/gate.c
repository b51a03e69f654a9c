/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/gate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/warning.h"
#include "io/number/number.h"
#include "tile/element.h"

/* ---- numbers of a file ---- */

static uint64_t stored_bits(tulle__stored as, const char *from)
{
    uint64_t x;
    uint16_t two;
    uint32_t four;
    switch (as.width) {
    case 1:
        return (unsigned char)*from;
    case 2:
        memcpy(&two, from, 2);
        return as.swapped ? __builtin_bswap16(two) : two;
    case 4:
        memcpy(&four, from, 4);
        return as.swapped ? __builtin_bswap32(four) : four;
    default:
        memcpy(&x, from, 8);
        return as.swapped ? __builtin_bswap64(x) : x;
    }
}

static int64_t with_sign(uint64_t x, int width)
{
    int unused = 64 - 8 * width;
    return (int64_t)(x << unused) >> unused;
}

int64_t tulle__stored_integer(tulle__stored as, const char *from)
{
    uint64_t x = stored_bits(as, from);
    return as.kind == 'i' ? with_sign(x, as.width) : x > INT64_MAX ? -1 : (int64_t)x;
}

static double real_of(uint64_t x, int width)
{
    double wide;
    float narrow;
    uint32_t low = (uint32_t)x;
    if (width == 8) {
        memcpy(&wide, &x, sizeof wide);
        return wide;
    }
    memcpy(&narrow, &low, sizeof narrow);
    return (double)narrow;
}

/* True if a type of so many significant bits holds the magnitude exactly. */
static bool fits(uint64_t magnitude, int bits)
{
    return !magnitude || 64 - __builtin_clzll(magnitude) - __builtin_ctzll(magnitude) <= bits;
}

void tulle__gate_numbers(tulle__gate *gate, tulle__stored as, const char *raw, int64_t n, double *to)
{
    int bits = gate->type == TULLE_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    for (int64_t i = 0; i < n; i++, raw += as.width) {
        uint64_t x = stored_bits(as, raw);
        if (as.kind == 'f') {
            to[i] = real_of(x, as.width);
        } else if (as.kind == 'b') {
            to[i] = x != 0;
        } else {
            int64_t whole = with_sign(x, as.width);
            bool negative = as.kind == 'i' && whole < 0;
            to[i] = as.kind == 'i' ? (double)whole : (double)x;
            gate->counts.rounded += !fits(negative ? -(uint64_t)whole : x, bits);
        }
    }
}

/* ---- values of a matrix ---- */

static tulle_status refuse(const tulle__gate *gate, int64_t row, int64_t col, double value)
{
    char text[TULLE__NUMBER_TEXT + 1];
    *tulle__number_write_f64(text, value) = '\0';
    if (isfinite(value))
        return tulle__fail(TULLE_ERR_OVERFLOW,
            "%s: entry (" TULLE__AT ", " TULLE__AT ") is %s, which is out of the range of %s" TULLE__COUNTED,
            gate->name, row, col, text, tulle_type_name(gate->type));
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s: entry (" TULLE__AT ", " TULLE__AT ") is %s, which is not finite" TULLE__COUNTED, gate->name, row, col,
        text);
}

/* Counts what is odd about a value; refuses it if it is not finite in the matrix, and none such is wanted. */
static tulle_status judge(tulle__gate *gate, int64_t row, int64_t col, double value)
{
    double held = gate->type == TULLE_F32 ? (double)(float)value : value;
    if (isfinite(held)) {
        gate->counts.underflows += held == 0 && value != 0;
        return TULLE_OK;
    }
    if (gate->finite) return refuse(gate, row, col, value);
    gate->counts.nans += isnan(value) != 0;
    gate->counts.infs += isinf(value) != 0; /* -1 of -inf */
    gate->counts.overflows += isfinite(value) != 0;
    return TULLE_OK;
}

/* Certain that nothing is odd. nan is not. */
static inline bool ordinary(tulle_type type, double value)
{
    double magnitude = fabs(value);
    return type == TULLE_F32 ? (magnitude <= (double)FLT_MAX && magnitude >= (double)FLT_MIN) || value == 0
                             : magnitude <= DBL_MAX;
}

tulle_status tulle__gate_add(tulle__gate *gate, tulle__entries *entries, int64_t row, int64_t col, double value)
{
    if (!ordinary(gate->type, value)) {
        TULLE_CALL(judge(gate, row, col, value));
    }
    return tulle__entries_add(entries, row, col, value);
}

tulle_status tulle__gate_store(tulle__gate *gate, int64_t row, int64_t col, bool down, const double *from, int64_t n,
    void *to, int64_t at, int64_t stride)
{
    for (int64_t i = 0; i < n; i++) {
        if (!ordinary(gate->type, from[i])) {
            TULLE_CALL(judge(gate, down ? row + i : row, down ? col : col + i, from[i]));
        }
        tulle__element_set(gate->type, to, at + i * stride, from[i]);
    }
    return TULLE_OK;
}

tulle_status tulle__gate_block(tulle__gate *gate, int64_t row, int64_t col, bool down, const void *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double x = tulle__element(gate->type, values, i);
        if (isfinite(x)) continue;
        TULLE_CALL(judge(gate, down ? row + i : row, down ? col : col + i, x));
    }
    return TULLE_OK;
}

tulle_status tulle__gate_tile(tulle__gate *gate, int64_t row, int64_t col, const tulle_tile *tile)
{
    const size_t size = tulle_type_size(gate->type);
    const bool dense = !tile->rowptr;
    const int64_t lines = !dense || tile->order == TULLE_ROW_MAJOR ? tile->m : tile->n;
    tulle_status status = TULLE_OK;
    if (!tile->nnz) return TULLE_OK;
    for (int64_t r = 0; r < lines && status == TULLE_OK; r++) {
        if (dense) {
            const char *line = (const char *)tile->val + (size_t)(r * tile->ld) * size;
            bool down = tile->order != TULLE_ROW_MAJOR;
            status = tulle__gate_block(
                gate, down ? row : row + r, down ? col + r : col, down, line, down ? tile->m : tile->n);
            continue;
        }
        for (int64_t e = tile->rowptr[r]; e < tile->rowptr[r + 1] && status == TULLE_OK; e++)
            status = tulle__gate_block(
                gate, row + r, col + tile->colind[e], false, (const char *)tile->val + (size_t)e * size, 1);
    }
    return status;
}

/* ---- counts ---- */

tulle_status tulle__gate_sum(tulle_comm *comm, tulle__gate *gate)
{
    int64_t words[sizeof gate->counts / sizeof(int64_t)];
    memcpy(words, &gate->counts, sizeof words);
    tulle_status status =
        tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_SUM, (int)(sizeof words / sizeof *words), words));
    memcpy(&gate->counts, words, sizeof words);
    return status;
}

void tulle__gate_warnings(const char *name, const tulle__value_counts *counts, char *text, size_t size)
{
    int64_t n = counts->nans;
    if (n) tulle__warn(text, size, "%s: %" PRId64 " %s nan", name, n, tulle__plural(n, "value is", "values are"));
    n = counts->infs;
    if (n) tulle__warn(text, size, "%s: %" PRId64 " %s infinite", name, n, tulle__plural(n, "value is", "values are"));
    n = counts->overflows;
    if (n)
        tulle__warn(text, size, "%s: %" PRId64 " %s beyond the largest number and became infinite", name, n,
            tulle__plural(n, "value is", "values are"));
    n = counts->underflows;
    if (n)
        tulle__warn(text, size, "%s: %" PRId64 " %s too small and became 0", name, n,
            tulle__plural(n, "value is", "values are"));
    n = counts->rounded;
    if (n)
        tulle__warn(text, size, "%s: %" PRId64 " %s rounded", name, n,
            tulle__plural(n, "integer is too large to be kept exactly and was",
                "integers are too large to be kept exactly and were"));
}
