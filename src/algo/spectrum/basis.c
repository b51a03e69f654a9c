/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is orthonormalised by the eigenvectors of its Gram matrix, scaled to ones on the diagonal (Stathopoulos and
 * Wu, "A block orthogonalization procedure with constant synchronization requirements", SIAM J. Sci. Comput. 23, 2002).
 *
 * A sweep reads V twice: for h = V^T W with W^T W, and for W = (W - V h) turn. The Gram matrix of W - V h, which turn
 * comes of, is W^T W - h^T h while h is the smaller part (Carson, Lund, Rozloznik and Thomas, "Block Gram-Schmidt
 * algorithms and their stability properties", Linear Algebra Appl. 638, 2022). Where it is not, W - V h is measured
 * anew, in the pass that subtracts. One sweep is enough then, but where directions nearly depend on others: a Gram
 * matrix shows none below the root of the rounding; they are brought to about unit length, and the next sweep measures
 * them.
 */
#include "algo/spectrum/basis.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "algo/krylov/small_dense.h"
#include "base/error.h"
#include "base/random.h"

/* Jacobi's rotations: the same bits on PEs of different machines, which LAPACK's need not be. */
#include "algo/spectrum/small_eigen.h"
#include "tile/element.h"

enum { PANEL = TULLE__TALL_MOST, CHUNK = 256, SWEEPS = 16, OVER = 10, SHARED = 1 << 16 };

static int panels(int columns)
{
    return (columns + PANEL - 1) / PANEL;
}

static double epsilon(const tulle__basis *basis)
{
    return basis->multi.space.type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

size_t tulle__basis_bytes(tulle_gidx rows, tulle_type type, int capacity, int width, int pes)
{
    enum { PARTS = 160 }; /* subtrees of sums (multivector.c) */
    const size_t sums = (size_t)(capacity + width) * (size_t)width * sizeof(double);
    return (size_t)rows * (size_t)capacity * tulle_type_size(type) + sums * (PARTS + (size_t)pes) +
           (size_t)panels(capacity) * PANEL * PANEL * sizeof(double);
}

/* A step reads all values: it is worth threads sooner than a step with one vector. */
static tulle_status use_threads(tulle_comm *comm, size_t values, tulle__space *space)
{
    tulle__context *context;
    const tulle_status status = tulle__context_get(comm, &context);
    if (status == TULLE_OK && values >= SHARED && !tulle__is_virtual(comm)) space->pool = context->pool;
    return status;
}

tulle_status tulle__basis_init(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, int capacity, int width, tulle__basis *basis)
{
    *basis = (tulle__basis){.capacity = capacity, .width = width};
    const int most = (capacity + width) * width;
    const size_t line = PANEL, w = (size_t)width;
    TULLE_CALL(tulle__multi_init(comm, layout, type, most, &basis->multi));
    const size_t values = (size_t)basis->multi.space.rows * (size_t)capacity;
    TULLE_CALL(use_threads(comm, values, &basis->multi.space));
    TULLE_CALL(tulle__alloc(values, tulle_type_size(type), "the basis", &basis->V));
    TULLE_CALL(tulle__alloc((size_t)panels(capacity) * line, sizeof *basis->h, "inner products", &basis->h));
    TULLE_CALL(tulle__alloc(line, sizeof *basis->gram, "inner products", &basis->gram));
    TULLE_CALL(tulle__alloc(line, sizeof *basis->turn, "inner products", &basis->turn));
    TULLE_CALL(tulle__alloc(line, sizeof *basis->share, "inner products", &basis->share));
    TULLE_CALL(tulle__alloc(line, sizeof *basis->fold, "inner products", &basis->fold));
    return tulle__alloc(2 * w * w + w, sizeof *basis->small, "inner products", &basis->small);
}

void tulle__basis_fini(tulle__basis *basis)
{
    tulle__free(basis->V);
    tulle__free(basis->h);
    tulle__free(basis->gram);
    tulle__free(basis->turn);
    tulle__free(basis->share);
    tulle__free(basis->fold);
    tulle__free(basis->small);
    tulle__multi_fini(&basis->multi);
    *basis = (tulle__basis){.V = NULL};
}

static void *column(const tulle__basis *basis, int at)
{
    return (char *)basis->V + (size_t)at * tulle_type_size(basis->multi.space.type);
}

/* ---- products with the basis ---- */

/* V^T W of panels from column *at on, at most so many: the number of them. */
static int list_products(
    const tulle__basis *basis, const tulle__block_of_columns *W, int most, int *at, tulle__multi_tsmttsm *product)
{
    int count = 0;
    for (; count < most && *at < basis->columns; *at += PANEL) {
        const int m = basis->columns - *at < PANEL ? basis->columns - *at : PANEL;
        product[count++] = (tulle__multi_tsmttsm){
            column(basis, *at), basis->capacity, W->val, W->ld, m, W->columns, 0, basis->h + *at};
    }
    return count;
}

/* factor V h of panels from column *at on, at most so many, n columns: the number of them. */
static int list_terms(const tulle__basis *basis, int n, double factor, int most, int *at, tulle__multi_term *term)
{
    int count = 0;
    for (; count < most && *at < basis->columns; *at += PANEL) {
        const int k = basis->columns - *at < PANEL ? basis->columns - *at : PANEL;
        term[count++] = (tulle__multi_term){column(basis, *at), basis->capacity, k, n, factor, basis->h + *at};
    }
    return count;
}

/* h = V^T W, its rows from column `at` on. Collective, agreed. */
static tulle_status project_from(tulle__basis *basis, const tulle__block_of_columns *W, int at)
{
    enum { AT_A_TIME = 16 };
    tulle__multi_tsmttsm product[AT_A_TIME];
    tulle_status status = TULLE_OK;
    while (at < basis->columns && status == TULLE_OK) {
        const int count = list_products(basis, W, AT_A_TIME, &at, product);
        status = tulle__multi_tsmttsm_all(&basis->multi, count, product);
    }
    return status;
}

tulle_status tulle__basis_project(tulle__basis *basis, const tulle__block_of_columns *W)
{
    return project_from(basis, W, 0);
}

/* W = W + factor V h, columns of V from `at` on. Local. */
static void add_terms(tulle__basis *basis, const tulle__block_of_columns *W, double factor, int at)
{
    tulle__multi_term term[TULLE__MULTI_TERMS];
    while (at < basis->columns) {
        const int count = list_terms(basis, W->columns, factor, TULLE__MULTI_TERMS, &at, term);
        tulle__multi_tsmm(&basis->multi, count, term, W->columns, 1, W->val, W->ld);
    }
}

/* gram = W^T W. Collective, agreed. */
static tulle_status square(tulle__basis *basis, const tulle__block_of_columns *W)
{
    const tulle__multi_tsmttsm gram = {W->val, W->ld, W->val, W->ld, W->columns, W->columns, 1, basis->gram};
    return tulle__multi_tsmttsm_all(&basis->multi, 1, &gram);
}

/* W = W - V h, columns of V from `from` on, then h = V^T W and gram = W^T W: one pass over V. Collective, agreed. */
static tulle_status advance(tulle__basis *basis, const tulle__block_of_columns *W, int from)
{
    tulle__multi_tsmttsm product[TULLE__MULTI_TERMS + 1];
    tulle__multi_term term[TULLE__MULTI_TERMS];
    if (panels(basis->columns) > TULLE__MULTI_TERMS) {
        add_terms(basis, W, -1, from);
        const tulle_status status = tulle__basis_project(basis, W);
        return status == TULLE_OK ? square(basis, W) : status;
    }
    int at = 0;
    int count = list_products(basis, W, TULLE__MULTI_TERMS, &at, product);
    product[count++] = (tulle__multi_tsmttsm){W->val, W->ld, W->val, W->ld, W->columns, W->columns, 1, basis->gram};
    const int terms = list_terms(basis, W->columns, -1, TULLE__MULTI_TERMS, &from, term);
    if (!terms) return tulle__multi_tsmttsm_all(&basis->multi, count, product);
    return tulle__multi_tsmm_tsmttsm(&basis->multi, terms, term, W->columns, W->val, W->ld, count, product);
}

/* W = W turn + V h, `columns` of them. Local. */
static void mix(tulle__basis *basis, tulle__block_of_columns *W, int columns, bool apart)
{
    tulle__multi_term term[TULLE__MULTI_TERMS] = {{W->val, W->ld, W->columns, columns, 1, basis->turn}};
    int at = apart ? 0 : basis->columns;
    W->columns = columns;
    if (!columns) return;
    const int count = 1 + list_terms(basis, columns, 1, TULLE__MULTI_TERMS - 1, &at, term + 1);
    tulle__multi_tsmm(&basis->multi, count, term, columns, 0, W->val, W->ld);
    add_terms(basis, W, 1, at);
}

void tulle__basis_append(tulle__basis *basis, const tulle__block_of_columns *W)
{
    const tulle__multi_term term = {W->val, W->ld, W->columns, W->columns, 1, NULL};
    tulle__multi_tsmm(&basis->multi, 1, &term, W->columns, 0, column(basis, basis->columns), basis->capacity);
    basis->columns += W->columns;
}

void tulle__basis_extract(const tulle__basis *basis, int at, int count, const tulle__block_of_columns *W)
{
    const tulle__space *space = &basis->multi.space;
    const size_t size = tulle_type_size(space->type), line = (size_t)W->ld * size, used = (size_t)count * size;
    const char *from = column(basis, at);
    char *to = W->val;
    for (int64_t r = 0; r < space->rows; r++, to += line, from += (size_t)basis->capacity * size) {
        memcpy(to, from, used);
        memset(to + used, 0, line - used);
    }
}

void tulle__basis_random(const tulle__basis *basis, uint64_t seed, uint64_t stream, const tulle__block_of_columns *W)
{
    const tulle__space *space = &basis->multi.space;
    for (int64_t r = 0; r < space->rows; r++)
        for (int c = 0; c < W->columns; c++) {
            const uint64_t at = (uint64_t)(space->first + r) * PANEL + (uint64_t)c;
            const double x = 2 * tulle__random_unit(tulle__random_at(seed, stream, at)) - 1;
            tulle__element_set(space->type, W->val, r * W->ld + c, x);
        }
}

/* ---- orthonormal blocks ---- */

/* A sweep's lengths, the directions that stay, and how far these are from orthonormal. */
struct sweep {
    double length[TULLE__TALL_MOST];
    int order[TULLE__TALL_MOST], count; /* columns that stay */
    double worst;                       /* the least eigenvalue of the scaled Gram matrix over the largest */
    double dropped;                     /* squares of the lengths of those that did not */
};

/* Column j's part of the former W: its length there. */
static double former_length(const tulle__basis *basis, int j, int former)
{
    double square = 0;
    for (int c = 0; c < former; c++) square += basis->share[j][c] * basis->share[j][c];
    return (basis->gram[j][j] > 0 ? sqrt(basis->gram[j][j]) : 0) * sqrt(square);
}

/* Columns that stay, as long in the former W as 10 roundings of the scale; false: not finite. */
static bool measure(const tulle__basis *basis, int columns, int former, double least, struct sweep *sweep)
{
    sweep->count = 0;
    for (int j = 0; j < columns; j++) {
        if (!isfinite(basis->gram[j][j])) return false;
        sweep->length[j] = basis->gram[j][j] > 0 ? sqrt(basis->gram[j][j]) : 0;
        const double size = former_length(basis, j, former);
        if (size > least && size > 0)
            sweep->order[sweep->count++] = j;
        else
            sweep->dropped += size * size;
    }
    return true;
}

/*
 * The first `most` of the columns that stay become those that span the others best, by pivots of Cholesky's method.
 * Returns how many of them the Gram matrix tells from rounding.
 */
static int choose(const tulle__basis *basis, int most, double scale, struct sweep *sweep)
{
    tulle__small_matrix M = basis->turn;
    int *order = sweep->order;
    for (int i = 0; i < sweep->count; i++)
        for (int j = 0; j < sweep->count; j++) M[order[i]][order[j]] = basis->gram[order[i]][order[j]] / scale;
    int rank = 0;
    for (int k = 0; k < most; k++) {
        int best = k;
        for (int i = k + 1; i < sweep->count; i++)
            if (M[order[i]][order[i]] > M[order[best]][order[best]]) best = i;
        const int p = order[best];
        order[best] = order[k];
        order[k] = p;
        if (rank == k && M[p][p] > 1e-13 * (basis->gram[p][p] / scale)) rank++;
        for (int i = k + 1; i < sweep->count && M[p][p] > 0; i++)
            for (int j = k + 1; j < sweep->count; j++)
                M[order[i]][order[j]] -= M[order[i]][p] * M[p][order[j]] / M[p][p];
    }
    return rank;
}

/*
 * If there is room for `most` columns only, the others are combinations of these, w_j = sum of b_ij w_i, to
 * rounding: share's rows i take b_ij times row j.
 */
static void fold(tulle__basis *basis, int former, int most, struct sweep *sweep)
{
    tulle__small_matrix A = basis->turn, B = basis->fold;
    const int others = sweep->count - most;
    double pivot;
    double scale = 0; /* squares of lengths are not squared again */
    for (int i = 0; i < sweep->count; i++) scale = fmax(scale, basis->gram[sweep->order[i]][sweep->order[i]]);
    const int rank = choose(basis, most, scale, sweep), *order = sweep->order;
    for (int i = 0; i < rank; i++) {
        for (int j = 0; j < rank; j++) A[i][j] = basis->gram[order[i]][order[j]] / scale;
        for (int j = 0; j < others; j++) B[i][j] = basis->gram[order[i]][order[most + j]] / scale;
    }
    sweep->count = most;
    if (tulle__small_cholesky(rank, A, 0, &pivot) >= 0) return;
    tulle__small_solve(rank, A, others, B);
    for (int i = 0; i < rank; i++)
        for (int j = 0; j < others; j++)
            for (int c = 0; c < former; c++) basis->share[order[i]][c] += B[i][j] * basis->share[order[most + j]][c];
}

/* turn [columns x n]: D^-1 U L^(-1/2); share = its inverse, L^(1/2) U^T D, times share. */
static tulle_status turn(tulle__basis *basis, int columns, int former, struct sweep *sweep)
{
    const int n = sweep->count;
    double next[TULLE__TALL_MOST], *C = basis->small, *U = C + n * n, *lambda = U + n * n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const int p = sweep->order[i], q = sweep->order[j];
            C[i * n + j] = i == j ? 1 : basis->gram[p][q] / (sweep->length[p] * sweep->length[q]);
        }
    TULLE_CALL(tulle__small_eigen(n, C, U, lambda));
    const double largest = n ? lambda[n - 1] : 1;
    sweep->worst = n ? fmax(lambda[0], 0) / largest : 1;
    for (int i = 0; i < n; i++) lambda[i] = fmax(lambda[i], 1e-14 * largest);
    memset(basis->turn, 0, (size_t)columns * sizeof *basis->turn);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            basis->turn[sweep->order[i]][k] = U[k * n + i] / (sweep->length[sweep->order[i]] * sqrt(lambda[k]));
    for (int c = 0; c < former; c++) {
        for (int k = 0; k < n; k++) {
            next[k] = 0;
            for (int i = 0; i < n; i++)
                next[k] += U[k * n + i] * sweep->length[sweep->order[i]] * basis->share[sweep->order[i]][c];
            next[k] *= sqrt(lambda[k]);
        }
        for (int k = 0; k < n; k++) basis->share[k][c] = next[k];
    }
    return TULLE_OK;
}

/* H += h share: the coefficients of the former W. */
static void collect(const tulle__basis *basis, int columns, int former, double (*H)[TULLE__TALL_MOST])
{
    for (int r = 0; H && r < basis->columns; r++)
        for (int i = 0; i < columns; i++)
            for (int c = 0; c < former; c++) H[r][c] += basis->h[r][i] * basis->share[i][c];
}

/* The longest column of the former W, by what was subtracted from it, rows of h from `from` on, and is left. */
static double longest(const tulle__basis *basis, int columns, int from)
{
    double most = 0;
    for (int c = 0; c < columns; c++) {
        double square = 0;
        for (int r = from; r < basis->columns; r++) square += basis->h[r][c] * basis->h[r][c];
        most = fmax(most, square);
    }
    return sqrt(most);
}

/* False: W has what is not finite. */
static bool is_finite(const tulle__basis *basis, int columns)
{
    bool finite = true;
    for (int c = 0; c < columns; c++) finite &= isfinite(basis->gram[c][c]);
    return finite;
}

/*
 * gram = that of W - V h; false, and gram stays, where V h has a part of a column that rounding makes too large. A
 * column no longer than `least` is rounding itself, most of which lies in V where V spans most of the space: it is
 * dropped, and its part does not count.
 */
static bool without_parts(const tulle__basis *basis, int columns, int former, double least)
{
    for (int c = 0; c < columns; c++) {
        double square = 0;
        for (int r = 0; r < basis->columns; r++) square += basis->h[r][c] * basis->h[r][c];
        if (square > .25 * basis->gram[c][c] && former_length(basis, c, former) > least) return false;
    }
    for (int r = 0; r < basis->columns; r++)
        for (int i = 0; i < columns; i++)
            for (int j = 0; j < columns; j++) basis->gram[i][j] -= basis->h[r][i] * basis->h[r][j];
    return true;
}

/* h = -h turn, `count` columns. Returns the largest, in magnitude: parts of directions of unit length. */
static double turn_parts(const tulle__basis *basis, int columns, int count)
{
    double largest = 0;
    for (int r = 0; r < basis->columns; r++) {
        double h[TULLE__TALL_MOST];
        memcpy(h, basis->h[r], (size_t)columns * sizeof *h);
        for (int k = 0; k < count; k++) {
            double sum = 0;
            for (int i = 0; i < columns; i++) sum -= h[i] * basis->turn[i][k];
            basis->h[r][k] = sum;
            largest = fmax(largest, fabs(sum));
        }
    }
    return largest;
}

/* W, apart from V, becomes orthonormal once more: a Gram matrix far from diagonal has left it so to some digits. */
static tulle_status repeat(tulle__basis *basis, tulle__block_of_columns *W, int former, struct sweep *sweep)
{
    tulle_status status = square(basis, W);
    if (status == TULLE_OK && measure(basis, W->columns, former, 0, sweep))
        status = turn(basis, W->columns, former, sweep);
    if (status == TULLE_OK) mix(basis, W, sweep->count, false);
    return status;
}

tulle_status tulle__basis_orthonormalise(tulle__basis *basis, tulle__block_of_columns *W, int near, double scale,
    int most, double (*H)[TULLE__TALL_MOST], double (*S)[TULLE__TALL_MOST], bool *finite)
{
    static const double unmixed = .05, usable = 1e-3, aside = .1;
    const int former = W->columns, all = basis->columns;
    int from = near && near < all ? all - near : all; /* rows of h that wait to be subtracted */
    struct sweep sweep = {.worst = 0};
    *finite = true;
    if (H) memset(H, 0, (size_t)all * sizeof *H);
    for (int i = 0; i < former; i++)
        for (int c = 0; c < former; c++) basis->share[i][c] = i == c;
    if (from < all) TULLE_CALL(project_from(basis, W, from));
    if (from < all) scale = fmax(scale, longest(basis, former, from));
    for (int r = 0; H && r < from; r++) memset(basis->h[r], 0, sizeof *basis->h);
    if (from < all) collect(basis, former, former, H);
    bool settled = false;
    for (int pass = 0; pass < SWEEPS && W->columns && !settled; pass++) {
        TULLE_CALL(advance(basis, W, from));
        *finite = is_finite(basis, W->columns);
        if (!*finite) return TULLE_OK;
        collect(basis, W->columns, former, H);
        for (int c = 0; !pass && c < former; c++) scale = fmax(scale, sqrt(basis->gram[c][c]));
        from = 0;
        const double least = OVER * epsilon(basis) * scale;
        if (!without_parts(basis, W->columns, former, least)) continue;
        *finite = measure(basis, W->columns, former, least, &sweep);
        if (!*finite) return TULLE_OK;
        if (sweep.count > most) fold(basis, former, most, &sweep);
        TULLE_CALL(turn(basis, W->columns, former, &sweep));
        const double along = turn_parts(basis, W->columns, sweep.count);
        mix(basis, W, sweep.count, true);
        from = all;
        settled = along <= aside && sweep.worst >= usable;
        if (settled && sweep.worst < unmixed) TULLE_CALL(repeat(basis, W, former, &sweep));
    }
    if (W->columns && !settled)
        return tulle__fail(TULLE_ERR_CONVERGENCE, "%d vectors do not become orthogonal to %d others in %d sweeps",
            W->columns, all, SWEEPS);
    basis->dropped = sqrt(sweep.dropped);
    for (int i = 0; S && i < W->columns; i++) memcpy(S[i], basis->share[i], (size_t)former * sizeof(double));
    return TULLE_OK;
}

/* ---- rotations ---- */

struct rotation {
    tulle__basis *basis;
    const char *coefficients; /* of the vectors' type: panels of columns, each a panel of rows after another */
    char *rows;               /* [threads * CHUNK * count] */
    int count;
};

static const void *panel_of(const struct rotation *r, int from, int to)
{
    const size_t panel = (size_t)PANEL * PANEL * tulle_type_size(r->basis->multi.space.type);
    return r->coefficients + ((size_t)to * (size_t)panels(r->basis->columns) + (size_t)from) * panel;
}

/* `rows` rows from V to `to`, count columns. */
static void rotate_rows(const struct rotation *r, const char *V, int64_t rows, char *to)
{
    const tulle__basis *basis = r->basis;
    const tulle_type type = basis->multi.space.type;
    const size_t size = tulle_type_size(type);
    for (int out = 0; out < panels(r->count); out++) {
        const int n = r->count - out * PANEL < PANEL ? r->count - out * PANEL : PANEL;
        for (int in = 0; in < panels(basis->columns);) {
            tulle__tsmm_term term[TULLE__MULTI_TERMS];
            int nterms = 0;
            const int first = in;
            for (; nterms < TULLE__MULTI_TERMS && in < panels(basis->columns); in++) {
                const int k = basis->columns - in * PANEL < PANEL ? basis->columns - in * PANEL : PANEL;
                term[nterms++] = (tulle__tsmm_term){
                    .X = V + (size_t)(in * PANEL) * size, .ld = basis->capacity, .k = k, .B = panel_of(r, in, out)};
            }
            basis->multi.kernels->tsmm(&(tulle__tsmm_task){.type = type,
                .add = first > 0,
                .nterms = nterms,
                .rows = rows,
                .n = n,
                .term = term,
                .Y = to + (size_t)(out * PANEL) * size,
                .ld = r->count});
        }
    }
}

static tulle_status share_rows(void *arg, int thread, int nthreads)
{
    const struct rotation *r = arg;
    const tulle__basis *basis = r->basis;
    const size_t size = tulle_type_size(basis->multi.space.type), line = (size_t)basis->capacity * size,
                 used = (size_t)r->count * size;
    const int64_t rows = basis->multi.space.rows, chunks = (rows + CHUNK - 1) / CHUNK;
    char *workspace = r->rows + (size_t)thread * CHUNK * used;
    for (int64_t c = chunks * thread / nthreads; c < chunks * (thread + 1) / nthreads; c++) {
        const int64_t count = rows - c * CHUNK < CHUNK ? rows - c * CHUNK : CHUNK;
        char *V = (char *)basis->V + (size_t)(c * CHUNK) * line;
        rotate_rows(r, V, count, workspace);
        for (int64_t i = 0; i < count; i++) memcpy(V + (size_t)i * line, workspace + (size_t)i * used, used);
    }
    return TULLE_OK;
}

/* Y in panels of the vectors' type, zeros beyond its columns. */
static void pack(const struct rotation *r, const double *Y, char *to)
{
    const tulle_type type = r->basis->multi.space.type;
    const int rows = r->basis->columns;
    int64_t at = 0;
    for (int out = 0; out < panels(r->count); out++)
        for (int i = 0; i < panels(rows) * PANEL; i++)
            for (int j = out * PANEL; j < (out + 1) * PANEL; j++, at++) {
                const double y = i < rows && j < r->count ? Y[(int64_t)j * rows + i] : 0;
                if (type == TULLE_F32)
                    ((float *)(void *)to)[at] = (float)y;
                else
                    ((double *)(void *)to)[at] = y;
            }
}

tulle_status tulle__basis_rotate(tulle__basis *basis, const double *Y, int count)
{
    tulle_status status;
    tulle__space *space = &basis->multi.space;
    struct rotation r = {.basis = basis, .count = count};
    char *coefficients = NULL;
    const size_t size = tulle_type_size(space->type), threads = (size_t)tulle__pool_size(space->pool);
    const int64_t start = tulle__now(space->comm);
    TULLE_TRY(tulle__alloc(
        (size_t)panels(basis->columns) * (size_t)panels(count) * PANEL * PANEL, size, "coefficients", &coefficients));
    TULLE_TRY(tulle__alloc(threads * CHUNK * (size_t)count, size, "rows of the basis", &r.rows));
    r.coefficients = coefficients;
    pack(&r, Y, coefficients);
    tulle__work done = {.memory = (double)space->rows * (basis->columns + count) * (double)size};
    done.flops[space->type] = 2. * (double)space->rows * basis->columns * count;
    tulle__kernel_begin(space->comm);
    status = tulle__pool_run(space->pool, share_rows, &r);
    tulle__kernel_end(space->comm, &done);
    basis->columns = count;
    tulle__part_end(space->comm, "vectors", start, &space->vectors_ns);
out:
    tulle__free(coefficients);
    tulle__free(r.rows);
    return status;
}

/* ---- corrections ---- */

/* A reduction for each block of columns. */
tulle_status tulle__basis_gram(tulle__basis *basis, double *G)
{
    const int n = basis->columns;
    tulle_status status = TULLE_OK;
    for (int at = 0; at < n && status == TULLE_OK; at += basis->width) {
        const int cols = n - at < basis->width ? n - at : basis->width;
        status = tulle__basis_project(basis, &(tulle__block_of_columns){column(basis, at), basis->capacity, cols});
        for (int c = 0; c < cols; c++)
            for (int r = 0; r < n; r++) G[(int64_t)(at + c) * n + r] = basis->h[r][c];
    }
    return status;
}

tulle_status tulle__basis_correct(tulle__basis *basis, double *off)
{
    TULLE__SCOPED double *G = NULL;
    const int64_t n = basis->columns;
    tulle_comm *comm = basis->multi.space.comm;
    *off = 0;
    TULLE_CALL(tulle_comm_agree(comm, tulle__alloc((size_t)(n * n), sizeof *G, "inner products", &G)));
    TULLE_CALL(tulle__basis_gram(basis, G));
    for (int64_t i = 0; i < n * n; i++) {
        const double one = i % (n + 1) == 0;
        *off = fmax(*off, fabs(G[i] - one));
        G[i] = 1.5 * one - .5 * G[i];
    }
    return tulle_comm_agree(comm, tulle__basis_rotate(basis, G, (int)n));
}

tulle_status tulle__basis_check_orthonormal(int columns, double off)
{
    if (off < .1) return TULLE_OK; /* nan fails, too */
    return tulle__fail(TULLE_ERR_CONVERGENCE, "%d vectors are not orthonormal, by up to %.2g", columns, off);
}

tulle_status tulle__basis_finish(tulle__basis *basis, double *off)
{
    TULLE_CALL(tulle__basis_correct(basis, off));
    TULLE_CALL(tulle__basis_correct(basis, off));
    return tulle__basis_check_orthonormal(basis->columns, *off);
}
