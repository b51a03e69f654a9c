/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/half/expanded.h"

#include <string.h>

#include "base/error.h"

/* ---- the index ---- */

static bool is_mirrored(const tulle__expansion *p, int64_t row, int64_t col)
{
    return !p->diagonal || row != col; /* diagonal blocks are there already */
}

/* Counts blocks of rows, in rowptr[r + 1]; those of the direct part in first[r]. */
static void count_rows(const tulle__expansion *p, const tulle_own_tile *to, int64_t *first)
{
    const tulle_tile *d = &p->direct, *m = &p->mirrored;
    memset(to->rowptr, 0, ((size_t)to->block_rows + 1) * sizeof *to->rowptr);
    for (int64_t r = 0; r < to->block_rows; r++)
        to->rowptr[r + 1] = first[r] = d->rowptr ? d->rowptr[r + 1] - d->rowptr[r] : 0;
    for (int64_t q = 0; m->rowptr && q < m->block_rows; q++)
        for (int64_t e = m->rowptr[q]; e < m->rowptr[q + 1]; e++)
            to->rowptr[m->colind[e] + 1] += is_mirrored(p, q, m->colind[e]);
    for (int64_t r = 0; r < to->block_rows; r++) to->rowptr[r + 1] += to->rowptr[r];
}

/* Blocks of the mirrored part, which ascend in each row, behind the room for those of the direct one. */
static void place_mirrored(
    const tulle__expansion *p, const tulle_own_tile *to, const int64_t *first, int64_t *next, int64_t *source)
{
    const tulle_tile *m = &p->mirrored;
    for (int64_t r = 0; r < to->block_rows; r++) next[r] = to->rowptr[r] + first[r];
    for (int64_t q = 0; m->rowptr && q < m->block_rows; q++)
        for (int64_t e = m->rowptr[q]; e < m->rowptr[q + 1]; e++) {
            if (!is_mirrored(p, q, m->colind[e])) continue;
            const int64_t at = next[m->colind[e]]++;
            to->colind[at] = (tulle_lidx)q;
            to->norm[at] = m->norm[e];
            source[at] = ~m->offset[e];
        }
}

/* Merges row r: what is written never overtakes what is read. */
static void merge_row(const tulle__expansion *p, const tulle_own_tile *to, int64_t r, int64_t first, int64_t *source)
{
    const tulle_tile *d = &p->direct;
    int64_t e = first ? d->rowptr[r] : 0, end = e + first, f = to->rowptr[r] + first, at = to->rowptr[r];
    for (; e < end; at++) {
        const bool mirrored = f < to->rowptr[r + 1] && to->colind[f] < d->colind[e];
        to->colind[at] = mirrored ? to->colind[f] : d->colind[e];
        to->norm[at] = mirrored ? to->norm[f] : d->norm[e];
        source[at] = mirrored ? source[f] : d->offset[e];
        if (mirrored)
            f++;
        else
            e++;
    }
}

static int64_t size_of(const tulle_own_tile *t, int64_t r, int64_t c)
{
    return (t->row_block[r + 1] - t->row_block[r]) * (t->col_block[c + 1] - t->col_block[c]);
}

/* The index and the norms; source[e]: where block e begins among the values of the direct part, or ~ that of the
 * mirrored one. */
static tulle_status make_index(const tulle__expansion *x, const tulle_own_tile *to, int64_t *source)
{
    TULLE__SCOPED int64_t *first = NULL, *next = NULL;
    int64_t at = 0;
    TULLE_CALL(tulle__alloc((size_t)to->block_rows, sizeof *first, "blocks of rows", &first));
    TULLE_CALL(tulle__alloc((size_t)to->block_rows, sizeof *next, "blocks of rows", &next));
    count_rows(x, to, first);
    place_mirrored(x, to, first, next, source);
    for (int64_t r = 0; r < to->block_rows; r++) {
        merge_row(x, to, r, first[r], source);
        for (int64_t e = to->rowptr[r]; e < to->rowptr[r + 1]; e++) {
            to->offset[e] = at;
            at += size_of(to, r, to->colind[e]);
        }
    }
    to->offset[to->rowptr[to->block_rows]] = at;
    return TULLE_OK;
}

/* ---- values ---- */

/* A block of rows x cols, or of the transpose of one; times 1 or -1. */
#define COPY_OF(name, T)                                                                                               \
    static void name(T *to, const T *from, int64_t rows, int64_t cols, bool transposed, bool negated)                  \
    {                                                                                                                  \
        const int64_t by_row = transposed ? 1 : cols, by_col = transposed ? rows : 1;                                  \
        if (!transposed && !negated) {                                                                                 \
            memcpy(to, from, (size_t)(rows * cols) * sizeof *to);                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t r = 0; r < rows; r++)                                                                             \
            for (int64_t c = 0; c < cols; c++) {                                                                       \
                const T x = from[r * by_row + c * by_col];                                                             \
                to[r * cols + c] = negated ? -x : x;                                                                   \
            }                                                                                                          \
    }
COPY_OF(copy_f32, float)
COPY_OF(copy_f64, double)

static void copy_values(
    const tulle__expansion *x, bool skew, bool negated, const int64_t *source, const tulle_own_tile *to)
{
    for (int64_t r = 0; r < to->block_rows; r++)
        for (int64_t e = to->rowptr[r]; e < to->rowptr[r + 1]; e++) {
            const tulle_gidx c = to->colind[e], rows = to->row_block[r + 1] - to->row_block[r],
                             cols = to->col_block[c + 1] - to->col_block[c];
            const bool mirrored = source[e] < 0, changes = negated != (mirrored && skew);
            const int64_t from = mirrored ? ~source[e] : source[e];
            const void *val = mirrored ? x->mirrored.val : x->direct.val;
            if (to->type == TULLE_F32)
                copy_f32((float *)to->val + to->offset[e], (const float *)val + from, rows, cols, mirrored, changes);
            else
                copy_f64((double *)to->val + to->offset[e], (const double *)val + from, rows, cols, mirrored, changes);
        }
}

/* ---- a tile ---- */

static tulle_status fetch_part(const tulle_mat *H, int i, int j, tulle__fetch *fetch, tulle_tile *part)
{
    tulle_status status = tulle__fetch_await(fetch, part);
    if (!H->directory[tulle__tile_index(H, i, j)].place.length) part->rowptr = NULL;
    return status;
}

/* Blocks on the diagonal are there once. */
static void count(tulle__expansion *x)
{
    const tulle_tile *t = &x->direct;
    x->blocks = t->blocks + x->mirrored.blocks;
    x->nnz = t->nnz + x->mirrored.nnz;
    for (int64_t r = 0; x->diagonal && t->rowptr && r < t->block_rows; r++)
        for (int64_t e = t->rowptr[r]; e < t->rowptr[r + 1]; e++) {
            if (t->colind[e] != r) continue;
            x->blocks--;
            x->nnz -= t->offset[e + 1] - t->offset[e];
        }
}

tulle_status tulle__expansion_init(const tulle_mat *H, int i, int j, tulle__expansion *x)
{
    *x = (tulle__expansion){.fetch = {{.group = -1}, {.group = -1}}, .diagonal = i == j};
    TULLE_CALL(tulle__fetch_init(H, i, j, &x->fetch[0]));
    if (i != j) TULLE_CALL(tulle__fetch_init(H, j, i, &x->fetch[1]));
    TULLE_CALL(fetch_part(H, i, j, &x->fetch[0], &x->direct));
    x->mirrored = x->direct;
    if (i != j) TULLE_CALL(fetch_part(H, j, i, &x->fetch[1], &x->mirrored));
    count(x);
    return TULLE_OK;
}

tulle_status tulle__expansion_write(
    const tulle__expansion *x, tulle_symmetry symmetry, tulle_op op, const tulle_own_tile *to)
{
    const bool skew = symmetry == TULLE_SKEW;
    TULLE__SCOPED int64_t *source = NULL;
    TULLE_CALL(tulle__alloc((size_t)x->blocks, sizeof *source, "blocks of a half", &source));
    TULLE_CALL(make_index(x, to, source));
    copy_values(x, skew, skew && op == TULLE_OP_T, source, to);
    return TULLE_OK;
}

void tulle__expansion_fini(tulle__expansion *x)
{
    tulle__fetch_fini(&x->fetch[0]);
    tulle__fetch_fini(&x->fetch[1]);
}

/* ---- the matrix ---- */

/* Own tiles of A become those of op(H); new: they have no place yet. */
static tulle_status expand_tiles(const tulle_mat *H, tulle_op op, tulle_mat *A, bool new, int64_t *copied)
{
    TULLE__SCOPED_BY(tulle__expansion_fini) tulle__expansion x = {.fetch = {{.group = -1}, {.group = -1}}};
    tulle_own_tile to;
    TULLE__EACH_OWN_TILE(A, i, j) {
        TULLE_CALL(tulle__expansion_init(H, i, j, &x));
        if (x.blocks) {
            TULLE_CALL(new ? tulle__mat_place_blocks(A, i, j, x.blocks, x.nnz, &to) : tulle_mat_own_tile(A, i, j, &to));
            TULLE_CALL(tulle__expansion_write(&x, H->symmetry, op, &to));
            *copied += x.nnz * (int64_t)tulle_type_size(A->type);
        }
        tulle__expansion_fini(&x);
    }
    return TULLE_OK;
}

/* status: of a preparation, agreed first: then all PEs are here, and H is as it is to be read. */
static tulle_status expand(
    const tulle_mat *H, tulle_op op, tulle_status status, tulle_mat *A, bool new, int64_t *copied)
{
    status = tulle_comm_agree(H->comm, status);
    if (status == TULLE_OK) {
        status = expand_tiles(H, op, A, new, copied);
        if (status == TULLE_OK && new) status = tulle__mat_publish(A);
        status = tulle_comm_agree(H->comm, status);
    }
    return status;
}

tulle_status tulle__expand(const tulle_mat *H, tulle_op op, tulle_mat **A, int64_t *copied)
{
    tulle_mat *made = NULL;
    tulle_status status = tulle__mat_make(H->comm, H->layout, H->kind, H->type, H->order, &made);
    status = expand(H, op, status, made, true, copied);
    return tulle__mat_or_drop(status, made, A);
}

tulle_status tulle__expanded_renew(const tulle_mat *H, tulle_op op, tulle_mat **A, uint64_t *of, int64_t *copied)
{
    tulle_mat *made = NULL;
    if (*A && *of == H->structure) return expand(H, op, TULLE_OK, *A, false, copied);
    TULLE_CALL(tulle__expand(H, op, &made, copied));
    tulle__pe_disown(&made->owned);
    tulle__mat_drop(*A);
    *A = made;
    *of = H->structure;
    return TULLE_OK;
}
