/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses parts of a coordinate file to entries, with two parsers. The fast one takes lines of the
 * usual form and decides only what is certain. It leaves everything else (odd spacing, comments,
 * nan, 20 digits, errors) to the careful one in mtx_line.c, which alone knows all rules. They agree
 * wherever the fast one decides.
 *
 * The fast parser reads 8 characters at a time and may look up to TULLE__LINES_PAD bytes past the
 * run of lines.
 */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "io/mtx/mtx_file.h"
#include "io/number/number.h"
#include "io/number/number_scale.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Eight characters, the first in the lowest byte, with '0' taken off each. */
ALWAYS_INLINE uint64_t eight(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x ^ 0x3030303030303030u;
}

/*
 * Number of digits, up to the first that is none. (A carry out of a byte means that it
 * was no digit.)
 */
ALWAYS_INLINE unsigned leading_digits(uint64_t x)
{
    uint64_t others = ((x + 0x0606060606060606u) | x) & 0xf0f0f0f0f0f0f0f0u;
    return others ? (unsigned)__builtin_ctzll(others) >> 3 : 8;
}

/* The number that 8 digits form: pairs, then two products that gather four pairs. */
ALWAYS_INLINE uint64_t number8(uint64_t x)
{
    const uint64_t mask = 0x000000ff000000ffu;
    x = x * 10 + (x >> 8);
    return (((x & mask) * (100 + (1000000ull << 32))) + (((x >> 16) & mask) * (1 + (10000ull << 32)))) >> 32;
}

/* Number of n < 8 digits: shifted up, the places before them become leading zeros. */
ALWAYS_INLINE uint64_t number_below8(uint64_t x, unsigned n)
{
    return number8((x << (56 - 8 * n)) << 8);
}

static const uint64_t ten_to[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
static const double exact_ten[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Appends the digits at p to *m, returns the end of them; *m is worthless after more than 19. */
ALWAYS_INLINE const char *digits(const char *p, uint64_t *m)
{
    for (;;) {
        uint64_t x = eight(p);
        unsigned n = leading_digits(x);
        if (n < 8) {
            *m = *m * ten_to[n] + number_below8(x, n);
            return p + n;
        }
        *m = *m * 100000000 + number8(x);
        p += 8;
    }
}

ALWAYS_INLINE int blank(char c)
{
    return c == ' ' || c == '\t';
}

/* An index of at most 18 digits and the blanks behind it; NULL: something else. */
ALWAYS_INLINE const char *index_and_blanks(const char *p, uint64_t *x)
{
    const char *begin = p;
    *x = 0;
    p = digits(p, x);
    if (p == begin || p - begin > 18) return NULL;
    if (blank(*p)) {
        p++;
        while (blank(*p)) p++;
    }
    return p; /* without a blank the next field cannot begin here, and its parser says so */
}

/* -d or d, without a branch, which random signs would mispredict. */
ALWAYS_INLINE double with_sign(double d, unsigned negative)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    bits |= (uint64_t)negative << 63;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* A decimal number whose value is certain; NULL: something else. */
ALWAYS_INLINE const char *decimal(const char *p, double *value, int *zero)
{
    int negative = *p == '-';
    p += negative | (*p == '+');
    const char *begin = p;
    uint64_t m = 0;
    int exponent = 0, count;
    p = digits(p, &m);
    count = (int)(p - begin);
    if (*p == '.') {
        const char *fraction = ++p;
        p = digits(p, &m);
        exponent = (int)(fraction - p);
        count -= exponent;
    }
    if (count == 0) return NULL;
    if (count > 19) {
        /* leading zeros are no significant digits: 0.000123456789012345678 has 18 */
        const char *q = begin;
        while (*q == '0' || *q == '.') q++, count -= q[-1] == '0';
        if (count > 19) return NULL;
    }
    char letter = (char)(*p | 32);
    if (letter == 'e' || letter == 'd') {
        int minus = p[1] == '-';
        p += 1 + (minus | (p[1] == '+'));
        uint64_t x = eight(p);
        unsigned n = leading_digits(x);
        if (n == 0 || n > 4) return NULL;
        int power = (int)number_below8(x, n);
        exponent += minus ? -power : power;
        p += n;
    }
    double d;
    if (m >> 53 == 0 && exponent >= -22 && exponent <= 22) {
        d = (double)(int64_t)m;
        d = exponent < 0 ? d / exact_ten[-exponent] : d * exact_ten[exponent];
    } else {
        if (!tulle__number_scale(m, exponent, &d)) return NULL;
        /* left to the careful parser, which counts these */
        if (d > 1.7976931348623157e308 || (d == 0) != (m == 0)) return NULL;
    }
    *zero = m == 0;
    *value = with_sign(d, (unsigned)negative);
    return p;
}

ALWAYS_INLINE const char *integer(const char *p, int64_t *value)
{
    int negative = *p == '-';
    p += negative | (*p == '+');
    const char *begin = p;
    uint64_t x = 0;
    p = digits(p, &x);
    if (p == begin || p - begin > 18) return NULL;
    *value = negative ? -(int64_t)x : (int64_t)x;
    return p;
}

/* The end of the line after the last field: NULL if anything else follows. */
ALWAYS_INLINE const char *line_end(const char *p)
{
    if (*p == '\n') return p + 1;
    while (blank(*p)) p++;
    if (*p == '\r') p++;
    return *p == '\n' ? p + 1 : NULL;
}

#ifdef __SSE2__
/*
 * The fastest path: a mask of the non-digits among the next 64 characters gives the ends of all
 * fields of a line at once. The loops above find one end after the other, each waiting for the
 * previous one.
 */
ALWAYS_INLINE uint64_t non_digits(const char *p)
{
    uint64_t mask = 0;
    for (int k = 0; k < 4; k++) {
        __m128i x = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * k)), _mm_set1_epi8('0'));
        __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(9)), x);
        mask |= (uint64_t)(unsigned)(_mm_movemask_epi8(is_digit) ^ 0xffff) << 16 * k;
    }
    return mask;
}

/* The number of n digits at p, 1 <= n <= 8. */
ALWAYS_INLINE uint64_t number_of(const char *p, unsigned n)
{
    return number8(eight(p) << (64 - 8 * n));
}

/*
 * One line of the simplest form: fields one blank apart, indices of up to 8 digits; NULL: anything
 * else.
 */
ALWAYS_INLINE const char *plain_line(
    const char *p, const int field, uint64_t *r, uint64_t *c, double *value, int64_t *whole, int *zero)
{
    uint64_t ends = non_digits(p);
#define NEXT_END(to)                                                                                                   \
    do {                                                                                                               \
        ends &= ends - 1;                                                                                              \
        if (!ends) return NULL;                                                                                        \
        (to) = (unsigned)__builtin_ctzll(ends);                                                                        \
    } while (0)
    unsigned row_end, col_end, end;
    if (!ends) return NULL;
    row_end = (unsigned)__builtin_ctzll(ends);
    NEXT_END(col_end);
    unsigned col_digits = col_end - row_end - 1;
    if (row_end - 1 > 7 || col_digits - 1 > 7 || p[row_end] != ' ') return NULL;
    *r = number_of(p, row_end);
    *c = number_of(p + row_end + 1, col_digits);
    if (field == TULLE__MTX_PATTERN) return p[col_end] == '\n' ? p + col_end + 1 : NULL;
    if (p[col_end] != ' ') return NULL;
    unsigned begin = col_end + 1;
    unsigned negative = p[begin] == '-';
    ends &= ends - negative; /* the blank's bit is the lowest: clearing it clears the sign's too */
    begin += negative;
    ends &= ends - 1;
    if (!ends) return NULL;
    end = (unsigned)__builtin_ctzll(ends);
    unsigned n = end - begin;
    if (n - 1 > 7) return NULL;
    uint64_t m = number_of(p + begin, n);
    if (field == TULLE__MTX_INTEGER) {
        *whole = negative ? -(int64_t)m : (int64_t)m;
        return p[end] == '\n' ? p + end + 1 : NULL;
    }
    int exponent = 0;
    int few = 1; /* up to 16 digits below 2^53: decided by branches that are taken anyway */
    char next = p[end];
    if (next == '.') {
        const char *fraction = p + end + 1;
        unsigned count, before = end + 1;
        NEXT_END(end);
        count = end - before;
        if (count > 8) {
            /* at most 19 digits in all; a single 0 before the point is none */
            if (count + n - (m == 0) > 19) return NULL;
            few = 0;
            unsigned second = count < 16 ? count - 8 : 8, third = count - 8 - second;
            m = m * 100000000 + number8(eight(fraction));
            m = m * ten_to[second] + number_of(fraction + 8, second);
            m = m * ten_to[third] + number_below8(eight(fraction + 16), third);
        } else if (count) {
            m = m * ten_to[count] + number_of(fraction, count);
            few = n < 8;
        }
        exponent = -(int)count;
        next = p[end];
    }
    if (next == 'e' || next == 'E') {
        unsigned from = end + 1;
        unsigned minus = p[from] == '-', sign = minus | (p[from] == '+');
        ends &= ends - sign;
        from += sign;
        NEXT_END(end);
        unsigned count = end - from;
        if (count - 1 > 3) return NULL;
        int power = (int)number_of(p + from, count);
        exponent += (power ^ -(int)minus) + (int)minus;
        next = p[end];
    }
#undef NEXT_END
    double d;
    if (next != '\n') return NULL;
    if (few && exponent >= -22 && exponent <= 22) {
        d = (double)(int64_t)m;
        d = exponent < 0 ? d / exact_ten[-exponent] : d * exact_ten[exponent];
    } else {
        if (!tulle__scale(m, exponent, &d)) return NULL;
        if (d > 1.7976931348623157e308 || (d == 0) != (m == 0)) return NULL;
    }
    *zero = m == 0;
    *value = with_sign(d, negative);
    return p + end + 1;
}
#endif

struct pass {
    const tulle__mtx *mtx;
    tulle_type type;
    tulle__entries *entries;
    tulle__mtx_stats *stats;
};

/* An f32 that is neither rounded twice nor out of range. */
ALWAYS_INLINE int fits_single(double value, int zero, float *narrow)
{
    return tulle__number_narrow(value, narrow) && (*narrow == 0) == zero && *narrow <= 3.4028235e38f &&
           *narrow >= -3.4028235e38f;
}

/*
 * True if the type certainly represents the integer exactly; others go to the careful parser, which
 * counts roundings.
 */
ALWAYS_INLINE int is_exact(int64_t x, int single)
{
    int64_t most = single ? (int64_t)1 << 24 : (int64_t)1 << 53;
    return x <= most && x >= -most;
}

/*
 * Parses lines of [p, end) into the current chunk until it is full or a line is unusual; returns
 * that line.
 */
ALWAYS_INLINE const char *quick(
    struct pass *t, const char *p, const char *end, const int field, const int wide, const int single)
{
    tulle__entries *entries = t->entries;
    const tulle__mtx_header *head = &t->mtx->header;
    int64_t chunk = entries->count / TULLE__ENTRIES_CHUNK, i = entries->count % TULLE__ENTRIES_CHUNK, first = i;
    int32_t *row = entries->row[chunk], *col = entries->col[chunk];
    int64_t *wide_row = entries->row[chunk], *wide_col = entries->col[chunk];
    double *val = entries->val[chunk];
    float *single_val = entries->val[chunk];
    const uint64_t low = !t->mtx->options.zero_based, rows = (uint64_t)head->rows, cols = (uint64_t)head->cols;
    const int skew = head->symmetry == TULLE__MTX_SKEW, keep_zeros = !t->mtx->options.drop_zeros;
    int64_t upper = 0, lower = 0, zeros = 0, lines = 0;
    while (p < end && i < TULLE__ENTRIES_CHUNK) {
        uint64_t r, c;
        double value = 1;
        float narrow = 1;
        int zero = 0;
        int64_t x = 0;
        const char *q;
#ifdef __SSE2__
        q = plain_line(p, field, &r, &c, &value, &x, &zero);
        if (q) {
            r -= low;
            c -= low;
            if (r >= rows || c >= cols) break;
            if (field == TULLE__MTX_INTEGER) {
                if (!is_exact(x, single)) break;
                value = (double)x;
                zero = x == 0;
            }
            if (single && !fits_single(value, zero, &narrow)) break;
            if (skew && r == c && !zero) break;
            goto store;
        }
#endif
        q = p;
        while (blank(*q)) q++;
        q = index_and_blanks(q, &r);
        if (!q) break;
        const char *before = q;
        q = index_and_blanks(q, &c);
        if (!q || !blank(before[-1])) break;
        r -= low; /* 0 becomes the largest number */
        c -= low;
        if (r >= rows || c >= cols) break;
        if (field != TULLE__MTX_PATTERN && !blank(q[-1])) break;
        if (field == TULLE__MTX_REAL) {
            q = decimal(q, &value, &zero);
            if (!q) break;
            if (single && !fits_single(value, zero, &narrow)) break;
        } else if (field == TULLE__MTX_INTEGER) {
            q = integer(q, &x);
            if (!q) break;
            if (!is_exact(x, single)) break;
            value = (double)x;
            narrow = (float)x;
            zero = x == 0;
        }
        q = line_end(q);
        if (!q || (skew && r == c && !zero)) break;
#ifdef __SSE2__
    store:
#endif
        p = q;
        if (wide) {
            wide_row[i] = (int64_t)r;
            wide_col[i] = (int64_t)c;
        } else {
            row[i] = (int32_t)r;
            col[i] = (int32_t)c;
        }
        if (field != TULLE__MTX_PATTERN) {
            if (single)
                single_val[i] = narrow;
            else
                val[i] = value;
        }
        lines++;
        upper += r < c;
        lower += r > c;
        zeros += zero;
        i += keep_zeros | !zero;
    }
    entries->count += i - first;
    t->stats->stored += lines;
    t->stats->upper += upper;
    t->stats->lower += lower;
    t->stats->diagonal += lines - upper - lower;
    t->stats->zeros += zeros;
    t->stats->dropped += lines - (i - first);
    return p;
}

typedef const char *quick_function(struct pass *t, const char *p, const char *end);

#define QUICK(name, field, wide, single)                                                                               \
    static const char *name(struct pass *t, const char *p, const char *end)                                            \
    {                                                                                                                  \
        return quick(t, p, end, field, wide, single);                                                                  \
    }
QUICK(quick_real_f32, TULLE__MTX_REAL, 0, 1)
QUICK(quick_real_f64, TULLE__MTX_REAL, 0, 0)
QUICK(quick_real_f32_wide, TULLE__MTX_REAL, 1, 1)
QUICK(quick_real_f64_wide, TULLE__MTX_REAL, 1, 0)
QUICK(quick_integer_f32, TULLE__MTX_INTEGER, 0, 1)
QUICK(quick_integer_f64, TULLE__MTX_INTEGER, 0, 0)
QUICK(quick_integer_f32_wide, TULLE__MTX_INTEGER, 1, 1)
QUICK(quick_integer_f64_wide, TULLE__MTX_INTEGER, 1, 0)
QUICK(quick_pattern, TULLE__MTX_PATTERN, 0, 0)
QUICK(quick_pattern_wide, TULLE__MTX_PATTERN, 1, 0)

static quick_function *const quick_table[3][2][TULLE_TYPE_COUNT] = {
    [TULLE__MTX_REAL] = {{[TULLE_F32] = quick_real_f32, [TULLE_F64] = quick_real_f64},
        {[TULLE_F32] = quick_real_f32_wide, [TULLE_F64] = quick_real_f64_wide}},
    [TULLE__MTX_INTEGER] = {{[TULLE_F32] = quick_integer_f32, [TULLE_F64] = quick_integer_f64},
        {[TULLE_F32] = quick_integer_f32_wide, [TULLE_F64] = quick_integer_f64_wide}},
    [TULLE__MTX_PATTERN] = {{quick_pattern, quick_pattern}, {quick_pattern_wide, quick_pattern_wide}},
};

/* Parses one line by the careful parser. */
static tulle_status careful(struct pass *t, const char **p, const char *begin, const char *end, int64_t offset)
{
    tulle__mtx_item item;
    tulle__mtx_fault fault;
    const char *line = *p, *newline = memchr(line, '\n', (size_t)(end - line));
    if (!tulle__mtx_line(t->mtx, t->type, line, newline, &item, t->stats, &fault))
        return tulle__mtx_fail(t->mtx, offset + (line - begin), &fault);
    *p = newline + 1;
    if (item.kind != TULLE__MTX_ENTRY) return TULLE_OK;
    if (item.value == 0 && t->mtx->options.drop_zeros) {
        t->stats->dropped++;
        return TULLE_OK;
    }
    return tulle__entries_add(t->entries, item.row, item.col, item.value);
}

/* Parses lines [p, end), the first at `offset` of the file. */
static tulle_status parse_run(struct pass *t, const char *begin, const char *end, int64_t offset)
{
    const tulle__mtx_header *head = &t->mtx->header;
    quick_function *function = quick_table[head->field][t->entries->wide][t->type];
    int quick_works = !t->mtx->options.careful && !t->mtx->range.checked && !head->vector;
    tulle_status status = TULLE_OK;
    const char *p = begin;
    while (p < end) {
        if (quick_works) {
            if (t->entries->count == t->entries->nchunks * TULLE__ENTRIES_CHUNK)
                TULLE_TRY(tulle__entries_grow(t->entries));
            p = function(t, p, end);
            if (p == end) break;
            if (t->entries->count == t->entries->nchunks * TULLE__ENTRIES_CHUNK) continue;
        }
        TULLE_TRY(careful(t, &p, begin, end, offset));
    }
    t->stats->bytes += end - begin;
    /* a file with far more entries than stated must not fill the memory first */
    if (t->stats->stored > head->stored) status = tulle__mtx_check((tulle__mtx *)(uintptr_t)t->mtx, t->stats);
out:
    return status;
}

tulle_status tulle__mtx_parse(
    tulle__mtx *mtx, int part, int nparts, tulle_type type, tulle__entries *entries, tulle__mtx_stats *stats)
{
    struct pass t = {mtx, type, entries, stats};
    tulle__lines *lines = NULL;
    tulle_status status;
    tulle__entries_init(entries, mtx->header.wide, mtx->header.field == TULLE__MTX_PATTERN, type);
    memset(stats, 0, sizeof *stats);
    if (mtx->header.array) return tulle__fail(TULLE_ERR_ARG, "%s: is a dense array, which has no entries", mtx->path);
    TULLE_TRY(tulle__lines_open(&mtx->text, mtx->header.data, part, nparts, &lines));
    for (;;) {
        char *begin, *end;
        int64_t offset;
        TULLE_TRY(tulle__lines_next(lines, &begin, &end, &offset));
        if (begin == end) break;
        TULLE_TRY(parse_run(&t, begin, end, offset));
    }
out:
    tulle__lines_close(lines);
    return status;
}
