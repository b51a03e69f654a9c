/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse-dense products of matrices whose rows are alike, which are made several at a time: to the bits of the same
 * product made row by row, where no row has a like one.
 */
#include "device/kernels/spmm/identical_rows.h"
#include "matrices.h"

enum { ROWS = 150, COLUMNS = 90, PAIRS = 3 };
static const int threads[] = {1, 3};

/* Kinds of rows, their number and their columns. */
enum kind { SAME, SHIFTED, RUNS_SHIFTED, MIXED, KINDS };
static const char *const kind_names[] = {"the same columns", "shifted columns", "shifted runs", "a mixture"};

static void set_value(matrix *A, int64_t a, double value)
{
    if (A->type == TULLE_F32)
        ((float *)A->val)[a] = (float)value;
    else
        ((double *)A->val)[a] = value;
}

/* Columns of the first row of a stretch of which `room` lie beyond. Not always ascending. */
static int choose_columns(enum kind kind, uint64_t seed, uint64_t stretch, int capacity, int32_t *column)
{
    uint64_t r = tulle__random_at(seed, 1, stretch);
    int length = (int)(r % 40);
    if ((r >> 8) % 9 == 0) length = 0;
    for (int e = 0, at = 0; e < length; e++) {
        uint64_t s = tulle__random_at(seed, 2 + stretch, (uint64_t)e);
        int runs = kind == RUNS_SHIFTED || (kind == MIXED && stretch % 2);
        at = runs && s % 5 ? at + 1 : (int)((s >> 8) % (uint64_t)(COLUMNS - capacity));
        column[e] = at = at < COLUMNS - capacity ? at : 0;
    }
    return length;
}

/* Stretches of 1 to 14 rows that are alike; in some, a row has one column or one entry less than those before. */
static matrix alike(enum kind kind, tulle_type type, uint64_t seed)
{
    size_t most = (size_t)ROWS * 40;
    matrix A = {.type = type};
    A.rowptr = malloc((ROWS + 1) * sizeof *A.rowptr);
    A.colind = malloc(most * sizeof *A.colind);
    A.val = malloc(most * tulle_type_size(type));
    int64_t at = 0;
    A.rowptr[0] = 0;
    for (int i = 0, rows, stretch = 0; i < ROWS; i += rows, stretch++) {
        int32_t column[40];
        uint64_t r = tulle__random_at(seed, 0, (uint64_t)stretch);
        rows = 1 + (int)(r % 14);
        if (rows > ROWS - i) rows = ROWS - i;
        int shift = kind == SAME ? 0 : kind == MIXED ? (int)((r >> 16) % 3) : 1;
        int length = choose_columns(kind, seed, (uint64_t)stretch, 1 + shift * rows, column);
        for (int t = 0; t < rows; t++) {
            uint64_t odd = tulle__random_at(seed, 3, (uint64_t)(i + t)) % 40;
            for (int e = 0; e < length - (odd == 1); e++) {
                A.colind[at] = column[e] + shift * t + (odd == 2 && e == length / 2);
                set_value(&A, at, tulle__random_unit(tulle__random_at(seed, 4, (uint64_t)at)) - 0.5);
                at++;
            }
            A.rowptr[i + t + 1] = at;
        }
    }
    A.colind = realloc(A.colind, (size_t)at * sizeof *A.colind + 1); /* so that sanitizers see a read over the end */
    A.val = realloc(A.val, (size_t)at * tulle_type_size(type) + 1);
    A.csr = (tulle__csr){.m = ROWS, .n = COLUMNS, .rowptr = A.rowptr, .colind = A.colind, .val = A.val};
    return A;
}

static void *reals(tulle_type type, int64_t size, uint64_t seed)
{
    void *x = malloc((size_t)size * tulle_type_size(type) + 1);
    for (int64_t i = 0; i < size; i++) {
        double v = tulle__random_unit(tulle__random_at(seed, 5, (uint64_t)i)) - 0.5;
        if (type == TULLE_F32)
            ((float *)x)[i] = (float)v;
        else
            ((double *)x)[i] = v;
    }
    return x;
}

/* The whole product, and each row as a product of its own. */
static int same_as_rows(const tulle__kernels *kernels, tulle__pool *pool, tulle__spmm_task task, char *whole,
    char *single, int64_t elements)
{
    const size_t bytes = (size_t)elements * tulle_type_size(task.type);
    tulle__spmm_pair row_pair[PAIRS];
    const tulle__spmm_pair *pair = task.pair;
    memcpy(whole, single, bytes);
    task.C = whole;
    if (kernels->spmm(pool, &task) != TULLE_OK) return 0;
    task.m = 1;
    task.pair = row_pair;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int p = 0; p < task.npairs; p++) {
            row_pair[p] = pair[p];
            row_pair[p].A.m = 1;
            row_pair[p].A.rowptr += i;
        }
        task.C = single + (size_t)(i * task.c_row) * tulle_type_size(task.type);
        if (kernels->spmm(NULL, &task) != TULLE_OK) return 0;
    }
    return !memcmp(whole, single, bytes);
}

/* One to three pairs of one kind; C with rows that are padded, or by columns, read or not. */
static void test_bits(tulle__isa isa, enum kind kind, tulle_type type)
{
    static const int64_t widths[] = {
        1, 3, 1, 1, 8, 9, 16, 24, 31, 32, 40, 48, 57, 64, 66, 72, 96, 100, 128, 130, 176, 200, 256};
    const tulle__kernels *kernels = tulle__kernels_cpu_at(isa);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        tulle__pool *pool = NULL;
        int same = 1, cases = 0;
        tulle__pool_new(threads[t], &pool);
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (int npairs = 1; npairs <= PAIRS; npairs++, cases++) {
                const int64_t n = widths[w];
                const int by_columns = cases % 7 == 6;
                matrix A[PAIRS];
                void *B[PAIRS];
                tulle__spmm_pair pair[PAIRS];
                for (int p = 0; p < npairs; p++) { /* the same stretches in each, but other columns in the last */
                    A[p] = alike(kind, type, (uint64_t)(20 + cases + (p == 2)));
                    B[p] = reals(type, COLUMNS * n, (uint64_t)p);
                    pair[p] = (tulle__spmm_pair){.A = A[p].csr, .B = B[p], .b_row = n, .b_col = 1};
                }
                tulle__spmm_task task = {.type = type,
                    .m = ROWS,
                    .n = n,
                    .npairs = npairs,
                    .pair = pair,
                    .c_row = by_columns ? 1 : n + cases % 3,
                    .c_col = by_columns ? ROWS : 1,
                    .alpha = cases % 2 ? 1 : -0.3,
                    .beta = cases % 4 ? 0 : 0.7};
                const int64_t elements = ROWS * (n + 3);
                char *whole = malloc((size_t)elements * tulle_type_size(type)), *single = reals(type, elements, 9);
                same = same && same_as_rows(kernels, pool, task, whole, single, elements);
                free(whole);
                free(single);
                for (int p = 0; p < npairs; p++) {
                    free(B[p]);
                    matrix_free(&A[p]);
                }
            }
        ok(same, "%s, %s, %s, %d threads: as row by row", tulle__isa_name(isa), kind_names[kind], tulle_type_name(type),
            threads[t]);
        tulle__pool_free(pool);
    }
}

/* A grid's lines are as long as samples are often apart: its ends are foreseen, wherever samples fall. */
static void test_grids(void)
{
    enum { WIDEST = 64, MOST = 5 * WIDEST * WIDEST };
    static int64_t rowptr[WIDEST * WIDEST + 1];
    static int32_t colind[MOST];
    for (int64_t width = 16; width <= WIDEST; width *= 2) {
        const int64_t m = width * 24 < WIDEST * WIDEST ? width * 24 : WIDEST * WIDEST;
        int64_t nnz = 0;
        for (int64_t i = 0; i < m; i++) {
            const int64_t cols[] = {i - width, i % width ? i - 1 : -1, i, (i + 1) % width ? i + 1 : -1, i + width};
            for (int e = 0; e < 5; e++)
                if (cols[e] >= 0 && cols[e] < m) colind[nnz++] = (int32_t)cols[e];
            rowptr[i + 1] = nnz;
        }
        tulle__spmm_operand pair = {.A = {.m = m, .n = m, .rowptr = rowptr, .colind = colind}};
        double fours = tulle__spmm_fours_an_unlike_end(&pair, 1, m, INT64_MAX);
        ok(fours > 12, "a grid, lines of %d: %.1f fours of entries an unlike end", (int)width, fours);
        ok(tulle__spmm_groups(&pair, 1, m, 1) == TULLE__ROWS_AT_OFFSETS, "its rows are shifted");
    }
}

/* Kinds that are looked for: by the share of their entries, and the length of runs. */
static void test_choice(void)
{
    static const int groups[KINDS] = {TULLE__ROWS_OF_SAME_COLUMNS, 0, TULLE__ROWS_AT_OFFSETS, -1};
    static const int of_column[KINDS] = {
        TULLE__ROWS_OF_SAME_COLUMNS, TULLE__ROWS_AT_OFFSETS, TULLE__ROWS_AT_OFFSETS, -1};
    for (int kind = 0; kind < KINDS; kind++) {
        if (groups[kind] < 0) continue;
        matrix A = alike((enum kind)kind, TULLE_F64, 3);
        tulle__spmm_operand pair = {.A = A.csr};
        int found = tulle__spmm_groups(&pair, 1, ROWS, 0);
        ok(found == groups[kind], "%s: groups %d", kind_names[kind], found);
        found = tulle__spmm_groups(&pair, 1, ROWS, 1);
        ok(found == of_column[kind], "%s, one column: groups %d", kind_names[kind], found);
        matrix_free(&A);
    }
    tulle__spmm_operand none = {.A = {.rowptr = (int64_t[]){0}}};
    ok(tulle__spmm_groups(&none, 1, 0, 1) == 0, "no rows, no groups");
}

/* Rows alike, found one entry at a time. */
static int like_rows_of(const tulle__csr *A, int64_t i, int64_t end, int shift)
{
    int like = 1;
    for (; i + like < end && like < TULLE__IDENTICAL_ROWS; like++) {
        const int64_t *row = A->rowptr + i + like - 1, length = row[1] - row[0];
        if (!length || row[2] - row[1] != length) break;
        int64_t a = row[0];
        while (a < row[1] && A->colind[a + length] == A->colind[a] + shift) a++;
        if (a < row[1]) break;
    }
    return like;
}

static void test_likeness(enum kind kind)
{
    int right = 1, most[2] = {1, 1};
    for (uint64_t seed = 0; seed < 20; seed++) {
        matrix A = alike(kind, TULLE_F32, seed);
        tulle__spmm_operand pair = {.A = A.csr};
        for (int64_t i = 0; i < ROWS; i++) {
            int shift, like = tulle__identical_rows(&pair, 1, i, ROWS, &shift);
            int same = like_rows_of(&A.csr, i, ROWS, 0), shifted = like_rows_of(&A.csr, i, ROWS, 1);
            right = right && like == (same > shifted ? same : shifted) && (like == 1 || shift == (shifted > same));
            if (like > most[shift]) most[shift] = like;
        }
        matrix_free(&A);
    }
    ok(right, "%s: %d rows with the same columns, %d shifted ones at most", kind_names[kind], most[0], most[1]);
}

int main(void)
{
    for (int kind = 0; kind < KINDS; kind++) test_likeness((enum kind)kind);
    test_grids();
    test_choice();
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
        if (!tulle__kernels_cpu_at((tulle__isa)isa)) {
            skip("this processor lacks %s", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        for (int kind = 0; kind < KINDS; kind++)
            for (int type = 0; type < TULLE_TYPE_COUNT; type++)
                test_bits((tulle__isa)isa, (enum kind)kind, (tulle_type)type);
    }
    return tap_done();
}
