/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/half/joined.h"

#include <string.h>

#include "base/error.h"
#include "mat/sum_vector.h"
#include "tile/tile_blocks.h"

/* ---- the index ---- */

static bool is_mirrored(const tulle__joined_parts *p, int64_t row, int64_t col)
{
    return !p->diagonal || row != col; /* diagonal blocks are there already */
}

/* Counts blocks of rows, in rowptr[r + 1]; those of the direct part in first[r]. */
static void count_rows(const tulle__joined_parts *p, const tulle_own_tile *to, int64_t *first)
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
    const tulle__joined_parts *p, const tulle_own_tile *to, const int64_t *first, int64_t *next, int64_t *source)
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
static void merge_row(const tulle__joined_parts *p, const tulle_own_tile *to, int64_t r, int64_t first, int64_t *source)
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

tulle_status tulle__joined_index(const tulle__joined_parts *parts, const tulle_own_tile *to, int64_t *source)
{
    tulle_status status;
    int64_t *first = NULL, *next = NULL, at = 0;
    TULLE_TRY(tulle__alloc((size_t)to->block_rows, sizeof *first, "blocks of rows", &first));
    TULLE_TRY(tulle__alloc((size_t)to->block_rows, sizeof *next, "blocks of rows", &next));
    count_rows(parts, to, first);
    place_mirrored(parts, to, first, next, source);
    for (int64_t r = 0; r < to->block_rows; r++) {
        merge_row(parts, to, r, first[r], source);
        for (int64_t e = to->rowptr[r]; e < to->rowptr[r + 1]; e++) {
            to->offset[e] = at;
            at += size_of(to, r, to->colind[e]);
        }
    }
    to->offset[to->rowptr[to->block_rows]] = at;
out:
    tulle__free(first);
    tulle__free(next);
    return status;
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
    const tulle_mat *X, const tulle__joined_values *v, const int64_t *source, const tulle_own_tile *to)
{
    const bool skew = X->half->symmetry == TULLE_SKEW;
    for (int64_t r = 0; r < to->block_rows; r++)
        for (int64_t e = to->rowptr[r]; e < to->rowptr[r + 1]; e++) {
            const tulle_gidx c = to->colind[e], rows = to->row_block[r + 1] - to->row_block[r],
                             cols = to->col_block[c + 1] - to->col_block[c];
            if (source[e] == TULLE__JOINED_NONE) continue;
            const bool mirrored = source[e] < 0, negated = X->negated != (mirrored && skew);
            const int64_t from = mirrored ? ~source[e] : source[e];
            const void *val = mirrored ? v->mirrored : v->direct;
            if (to->type == TULLE_F32)
                copy_f32((float *)to->val + to->offset[e], (const float *)val + from, rows, cols, mirrored, negated);
            else
                copy_f64((double *)to->val + to->offset[e], (const double *)val + from, rows, cols, mirrored, negated);
        }
}

/* ---- fetches ---- */

/* Bytes of a stored tile that are got; 0: it is empty or mapped. */
static size_t got(const tulle_mat *X, int i, int j)
{
    return tulle__fetch_bytes(X->half, i, j);
}

static size_t transferred(const tulle_mat *X, int i, int j)
{
    return got(X, i, j) + (i == j ? 0 : got(X, j, i));
}

/* Starts a get of a stored tile into the buffer, if it needs one; its view, which can be read behind that. */
static tulle_tile start_part(const tulle_mat *X, int i, int j, tulle__fetch *f, char **to)
{
    const tulle_mat *H = X->half;
    const tulle__tile_record *record = &H->directory[tulle__tile_index(H, i, j)];
    void *block = tulle__tile_mapped(H, i, j);
    if (!block && record->place.length) {
        block = *to;
        if (f->group < 0) f->group = tulle__comm_group(X->comm);
        f->count = tulle__fetch_start(H, i, j, f->group, block).count;
        *to += tulle__joined_padded(record->place.length);
    }
    return tulle__tile_view(H, i, j, record, block);
}

static tulle_status start(const tulle_mat *X, int i, int j, tulle__fetch *fetch)
{
    tulle_status status = TULLE_OK;
    tulle__fetch f = {.A = X, .i = i, .j = j, .group = -1, .record = X->directory[tulle__tile_index(X, i, j)]};
    if (f.record.place.length) {
        const size_t head = tulle__joined_padded(sizeof(tulle__joined_values));
        TULLE_TRY(tulle__fetch_room(0, NULL, false, &f));
        tulle__fetch_head *joint = f.head;
        TULLE_TRY(
            tulle__alloc(head + tulle__joined_padded(got(X, i, j)) + (i == j ? 0 : tulle__joined_padded(got(X, j, i))),
                1, "parts of a joined tile", &joint->parts));
        tulle__joined_values *v = joint->parts;
        char *to = (char *)v + head;
        *v = (tulle__joined_values){.parts = {.diagonal = i == j}};
        v->parts.direct = start_part(X, i, j, &f, &to);
        v->parts.mirrored = i == j ? v->parts.direct : start_part(X, j, i, &f, &to);
    }
    *fetch = f;
out:
    if (status != TULLE_OK) tulle__fetch_fini(&f);
    return status;
}

static tulle_status finish(tulle__fetch *f)
{
    tulle_status status = TULLE_OK;
    const tulle_mat *X = f->A;
    tulle__fetch_head *joint = f->head;
    tulle__joined_values *v = joint->parts;
    const int64_t *source = v->source;
    int64_t *made = NULL;
    if (!joint->block) TULLE_TRY(tulle__alloc(f->record.place.length, 1, "a joined tile", &joint->block));
    const tulle_own_tile to = tulle__own_tile_view(X, f->i, f->j, &f->record, joint->block);
    if (!source) {
        TULLE_TRY(tulle__alloc((size_t)f->record.blocks, sizeof *made, "blocks of a joined tile", &made));
        TULLE_TRY(tulle__joined_index(&v->parts, &to, made));
        source = made;
        v->direct = v->parts.direct.val;
        v->mirrored = v->parts.mirrored.val;
    }
    copy_values(X, v, source, &to);
    tulle__free(joint->parts);
    joint->parts = NULL;
out:
    tulle__free(made);
    return status;
}

static const tulle__joining joining = {.start = start, .finish = finish, .transferred = transferred};

/* ---- the matrix ---- */

/* Diagonal blocks, and their values, of each diagonal tile: of all PEs. */
static tulle_status count_diagonals(const tulle_mat *H, int64_t *count)
{
    memset(count, 0, 2 * (size_t)H->layout->mt * sizeof *count);
    for (int i = 0; i < H->layout->mt; i++) {
        if (!tulle__tile_is_mine(H, i, i) || !H->directory[tulle__tile_index(H, i, i)].place.length) continue;
        const tulle_tile t = tulle__tile_in_place(H, i, i);
        for (int64_t r = 0; r < t.block_rows; r++)
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                if (t.colind[e] != r) continue;
                count[2 * i]++;
                count[2 * i + 1] += t.offset[e + 1] - t.offset[e];
            }
    }
    return tulle__sum_vector(H->comm, 2 * (int64_t)H->layout->mt, count);
}

static tulle_status make(const tulle_mat *H, tulle_op op, tulle_mat **out)
{
    tulle_status status;
    const tulle_layout *l = H->layout;
    int64_t *diagonal = NULL;
    TULLE_TRY(tulle__alloc(2 * (size_t)l->mt, sizeof *diagonal, "diagonal blocks", &diagonal));
    TULLE_TRY(count_diagonals(H, diagonal));
    TULLE_TRY(tulle__mat_make_empty(H->comm, l, H->kind, H->type, H->order, out));
    tulle_mat *X = *out;
    tulle__pe_disown(&X->owned);
    X->joining = &joining;
    X->half = H;
    X->negated = op == TULLE_OP_T && H->symmetry == TULLE_SKEW;
    X->structure = H->structure;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            const tulle__tile_record *a = &H->directory[tulle__tile_index(H, i, j)],
                                     *b = &H->directory[tulle__tile_index(H, j, i)];
            tulle__tile_record *x = &X->directory[tulle__tile_index(X, i, j)];
            x->blocks = a->blocks + b->blocks - (i == j ? diagonal[2 * i] : 0);
            x->nnz = a->nnz + b->nnz - (i == j ? diagonal[2 * i + 1] : 0);
            X->nnz += x->nnz;
            if (!x->blocks) continue;
            const tulle__shape shape = tulle__tile_shape(X, i, j, x->nnz, x->blocks);
            x->place = (tulle__place){
                .segment = TULLE__DATA, .rank = tulle__layout_owner(l, i, j), .length = X->format->bytes(&shape)};
        }
out:
    tulle__free(diagonal);
    return status;
}

tulle_status tulle__joined_renew(const tulle_mat *H, tulle_op op, tulle_mat **X, uint64_t *of)
{
    tulle_mat *made = NULL;
    if (*X && *of == H->structure) return TULLE_OK; /* on all PEs */
    const tulle_status status = tulle_comm_agree(H->comm, make(H, op, &made));
    if (status != TULLE_OK) {
        tulle__mat_drop(made);
        return status;
    }
    tulle__mat_drop(*X);
    *X = made;
    *of = H->structure;
    return TULLE_OK;
}
