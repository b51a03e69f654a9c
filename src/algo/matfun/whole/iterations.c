/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/whole/iterations.h"

#include <float.h>
#include <math.h>

#include <tulle/algebra.h>
#include <tulle/product.h>

#include "base/error.h"
#include "mat/algebra/block_sum.h"
#include "tile/element.h"

/* ---- steps ---- */

void tulle__iterations_step(tulle__iterations *it, tulle_comm *comm)
{
    it->flops_before = it->flops;
    it->start = tulle__now(comm);
    if (it->count) return;
    it->before[0] = it->before[1] = INFINITY;
    it->begun = it->last = it->start;
}

tulle_status tulle__iterations_measure(tulle__iterations *it, const tulle_mat *defect, const tulle_mat *of)
{
    double norm = 0, whole = 0, row = 0;
    tulle_status status = tulle_mat_norm(defect, TULLE_NORM_FROBENIUS, &norm);
    if (status == TULLE_OK) status = tulle_mat_norm(defect, TULLE_NORM_INFINITY, &row);
    if (status == TULLE_OK && of) status = tulle_mat_norm(of, TULLE_NORM_FROBENIUS, &whole);
    if (!of) whole = sqrt((double)defect->layout->m);
    if (it->count) {
        it->before[1] = it->before[0];
        it->before[0] = it->residual;
    }
    it->residual = norm / fmax(whole, 1); /* of a matrix that vanishes the norm itself */
    it->bound = fmin(norm, row);
    return status;
}

double tulle__occupation_of(const tulle_mat *X)
{
    const tulle_layout *l = X->layout;
    double blocks = 0, all = (double)l->row_blocks.count * (double)l->row_blocks.count;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) blocks += (double)X->directory[tulle__tile_index(X, i, j)].blocks;
    return all > 0 ? blocks / all : 0;
}

void tulle__iterations_record(tulle__iterations *it, const tulle_mat *X, double trace, double mu)
{
    if (it->history && it->count < it->capacity)
        it->history[it->count] = (tulle_matfun_iteration){.residual = it->residual,
            .occupation = tulle__occupation_of(X),
            .trace = it->offset + it->scale * trace,
            .mu = mu,
            .flops = it->flops - it->flops_before,
            .seconds = (double)(tulle__now(X->comm) - it->start) * 1e-9};
    it->count++;
}

/* True if a residual and a bound of the spectral norm are those that the filter, or else `floor`, explains. */
static bool explained(const tulle__iterations *it, double floor)
{
    return it->residual <= fmax(10 * it->filter, floor) && it->bound <= fmax(100 * it->filter, floor);
}

bool tulle__iterations_ended(
    const tulle__iterations *it, const tulle_mat *X, double next, const tulle__iterations_stall *stall)
{
    double rounding = 100 * (X->type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON) * sqrt((double)X->layout->m + 1);
    if (next < it->tolerance) return true;
    return explained(it, rounding) && it->residual >= stall->part * it->before[stall->steps - 1];
}

bool tulle__iterations_diverge(const tulle__iterations *it)
{
    return !(it->residual < 1e3);
}

/*
 * After a step that is not the last: TULLE_ERR_CONVERGENCE if the remaining steps, by the forecast's proportions and
 * the measured time of the last one, take longer than the other method, and more than a twentieth of the latter's time
 * is spent, or a tenth would be in the next step. So a wrong forecast costs that much. Collective, agreed.
 */
static tulle_status iterations_afford(tulle__iterations *it, tulle_comm *comm)
{
    const tulle__forecast *f = it->forecast;
    if (!f) return TULLE_OK;
    const int64_t now = tulle__now(comm);
    double spent[2] = {(double)(now - it->begun) * 1e-9, (double)(now - it->last) * 1e-9};
    it->last = now;
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 2, spent)));
    double next = spent[1], rest = spent[1] * (1 + it->count / 4.); /* beyond the forecast */
    if (it->count < f->steps) {
        const double rate = spent[1] / f->step[it->count - 1];
        next = rate * f->step[it->count];
        rest = 0;
        for (int k = it->count; k < f->steps; k++) rest += rate * f->step[k];
    }
    if (rest <= f->other || (spent[0] <= .05 * f->other && next <= .1 * f->other)) return TULLE_OK;
    return tulle_comm_agree(comm,
        tulle__fail(TULLE_ERR_CONVERGENCE, "given up after %d steps: the others take %.3g s, the other method %.3g s",
            it->count, rest, f->other));
}

tulle_status tulle__iterations_fail(const tulle__iterations *it, tulle_comm *comm, const char *hint)
{
    return tulle_comm_agree(
        comm, tulle__fail(TULLE_ERR_CONVERGENCE, "no convergence in %d iterations: the residual is %.3g%s", it->count,
                  it->residual, hint));
}

/* ---- matrices ---- */

tulle_status tulle__square_layout(const tulle_mat *K, tulle_layout **layout)
{
    int pes = K->comm->size;
    const tulle_layout_spec spec = {.m = K->layout->m,
        .n = K->layout->n,
        .tile_rows = pes,
        .tile_cols = pes,
        .row_blocks = tulle_layout_row_blocks(K->layout),
        .col_blocks = tulle_layout_row_blocks(K->layout)};
    return tulle_layout_new(&spec, pes, layout);
}

static tulle_status multiply(
    tulle__iterations *it, const tulle_mat *A, const tulle_mat *B, bool symmetric, tulle_mat **C)
{
    tulle_product *product = NULL;
    tulle_mat *made = NULL;
    tulle_product_report report = {.flops = 0};
    /* at once: the entries that the filter leaves cannot be foreseen, and an upper bound would refuse large matrices */
    const tulle_product_options options = {.filter = it->filter, .phases = it->filter > 0, .symmetric_c = symmetric};
    tulle_status status = tulle_mat_new_vbsr(A->comm, A->layout, A->type, &made);
    if (status == TULLE_OK) status = tulle_product_new(A, B, made, &options, &product);
    if (status == TULLE_OK) status = tulle_product_execute(product, 1, 0, &report);
    tulle_product_free(product);
    it->flops += (double)report.flops;
    return tulle__mat_or_free(status, made, C);
}

tulle_status tulle__iterations_multiply(tulle__iterations *it, const tulle_mat *A, const tulle_mat *B, tulle_mat **C)
{
    return multiply(it, A, B, true, C);
}

tulle_status tulle__iterations_multiply_any(
    tulle__iterations *it, const tulle_mat *A, const tulle_mat *B, tulle_mat **C)
{
    return multiply(it, A, B, false, C);
}

tulle_status tulle__add_to(tulle_mat **A, double alpha, double beta, const tulle_mat *B, double gamma)
{
    tulle_mat *sum = NULL;
    const tulle__terms t = {.alpha = alpha, .beta = beta, .gamma = gamma};
    TULLE_CALL(tulle__block_sum(&t, *A, B, &sum));
    tulle_mat_free(*A);
    *A = sum;
    return TULLE_OK;
}

tulle_status tulle__combination(int n, const double *factor, const tulle_mat *const *term, double gamma, tulle_mat **C)
{
    tulle_mat *sum = NULL;
    const tulle__terms first = {.alpha = factor[0], .beta = n > 1 ? factor[1] : 0, .gamma = gamma};
    tulle_status status = tulle__block_sum(&first, term[0], term[n > 1], &sum);
    for (int k = 2; k < n && status == TULLE_OK; k++) status = tulle__add_to(&sum, 1, factor[k], term[k], 0);
    return tulle__mat_or_free(status, sum, C);
}

static double inner_product_of_tiles(const tulle_tile *x, const tulle_tile *y)
{
    double sum = 0;
    for (int64_t r = 0; r < x->block_rows; r++) {
        int64_t f = y->rowptr[r];
        for (int64_t e = x->rowptr[r]; e < x->rowptr[r + 1]; e++) {
            while (f < y->rowptr[r + 1] && y->colind[f] < x->colind[e]) f++;
            if (f == y->rowptr[r + 1] || y->colind[f] != x->colind[e]) continue;
            for (int64_t k = 0; k < x->offset[e + 1] - x->offset[e]; k++)
                sum += tulle__tile_element(x, x->offset[e] + k) * tulle__tile_element(y, y->offset[f] + k);
        }
    }
    return sum;
}

tulle_status tulle__inner_product(const tulle_mat *A, const tulle_mat *B, double *sum)
{
    const tulle_layout *l = A->layout;
    *sum = 0;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            int64_t index = tulle__tile_index(A, i, j);
            if (!tulle__tile_is_mine(A, i, j) || !A->directory[index].place.length || !B->directory[index].place.length)
                continue;
            tulle_tile x = tulle__tile_in_place(A, i, j), y = tulle__tile_in_place(B, i, j);
            *sum += inner_product_of_tiles(&x, &y);
        }
    return tulle_comm_agree(A->comm, tulle_comm_reduce_real(A->comm, TULLE_SUM, 1, sum));
}

tulle_status tulle__trace(const tulle_mat *A, double *sum)
{
    tulle_gidx n = A->layout->m;
    double *diagonal = NULL;
    tulle_status status = tulle__alloc((size_t)n, sizeof *diagonal, "a diagonal", &diagonal);
    status = tulle_comm_agree(A->comm, status);
    if (status == TULLE_OK) status = tulle_mat_diagonal(A, diagonal);
    *sum = 0;
    for (tulle_gidx i = 0; status == TULLE_OK && i < n; i++) *sum += diagonal[i];
    tulle__free(diagonal);
    return status;
}

/* ---- Newton-Schulz ---- */

/*
 * *C = sum over j < order of a_j y^j, a_j = binomial(2 j, j) / 4^j, with as few products as powers
 * of degree 2 or 3 allow (Paterson and Stockmeyer): 0, 1, 2, 2, 3, 3 for orders 2 to 7.
 */
static tulle_status inverse_root_series(tulle__iterations *it, int order, const tulle_mat *y, tulle_mat **C)
{
    double a[TULLE__ORDER_MOST] = {1};
    TULLE__SCOPED_MAT tulle_mat *y2 = NULL, *y3 = NULL, *high = NULL, *product = NULL;
    for (int j = 1; j < order; j++) a[j] = a[j - 1] * (2 * j - 1) / (2 * j);
    if (order > 2) TULLE_CALL(tulle__iterations_multiply(it, y, y, &y2));
    if (order > 5) TULLE_CALL(tulle__iterations_multiply(it, y, y2, &y3));
    const tulle_mat *const power[] = {y, y2, y3};
    if (order <= 3) {
        return tulle__combination(order - 1, a + 1, power, 1, C);
    }
    int low = order > 5 ? 3 : 2; /* terms below this degree */
    TULLE_CALL(tulle__combination(order - 1 - low, a + low + 1, power, a[low], &high));
    TULLE_CALL(tulle__iterations_multiply(it, power[low - 1], high, &product));
    const double factor[] = {1, a[1], a[2]};
    const tulle_mat *const term[] = {product, y, y2};
    return tulle__combination(low, factor, term, 1, C);
}

static tulle_status sign_step(tulle__iterations *it, int order, double mu, tulle_mat **X)
{
    double trace = 0;
    TULLE__SCOPED_MAT tulle_mat *square = NULL, *y = NULL, *series = NULL;
    tulle_mat *next = NULL;
    tulle__iterations_step(it, (*X)->comm);
    TULLE_CALL(tulle__iterations_multiply(it, *X, *X, &square));
    const double minus = -1;
    const tulle_mat *const term = square;
    TULLE_CALL(tulle__combination(1, &minus, &term, 1, &y));
    TULLE_CALL(tulle__iterations_measure(it, y, square));
    TULLE_CALL(inverse_root_series(it, order, y, &series));
    TULLE_CALL(tulle__trace(*X, &trace));
    TULLE_CALL(tulle__iterations_multiply(it, *X, series, &next));
    tulle__iterations_record(it, *X, trace, mu);
    tulle_mat_free(*X);
    *X = next;
    return TULLE_OK;
}

tulle_status tulle__newton_schulz(tulle__iterations *it, int order, double mu, tulle_mat **X)
{
    bool done = false;
    tulle_status status = TULLE_OK;
    const tulle__iterations_stall fast = {1, .5};
    while (status == TULLE_OK && !done && it->count < TULLE__ITERATIONS_MOST) {
        if (it->count && tulle__iterations_diverge(it)) break;
        status = sign_step(it, order, mu, X);
        /* the step takes y to less than y^order; not so where filters or rounding limit it */
        done = tulle__iterations_ended(it, *X, pow(it->bound, order), &fast);
        if (status == TULLE_OK && !done) status = iterations_afford(it, (*X)->comm);
    }
    return status == TULLE_OK && !done ? tulle__iterations_fail(it, (*X)->comm, "; is mu an eigenvalue?") : status;
}

/* ---- the coupled Newton iteration ---- */

tulle_status tulle__power_of(tulle__iterations *it, const tulle_mat *T, int p, tulle_mat **C)
{
    TULLE__SCOPED_MAT tulle_mat *square = NULL, *result = NULL;
    tulle_mat *next = NULL;
    const double one = 1;
    const tulle_mat *base = T;
    for (int bits = p; bits; bits >>= 1) {
        if (bits & 1) {
            if (result)
                TULLE_CALL(tulle__iterations_multiply(it, result, base, &next));
            else
                TULLE_CALL(tulle__combination(1, &one, &base, 0, &next));
            tulle_mat_free(result);
            result = next;
            next = NULL;
        }
        if (bits == 1) break;
        TULLE_CALL(tulle__iterations_multiply(it, base, base, &next));
        tulle_mat_free(square);
        base = square = next;
        next = NULL;
    }
    *C = result;
    result = NULL;
    return TULLE_OK;
}

/*
 * X <- X T, M <- T^p M with T = ((p + 1) I - M) / p, from X = I / c, M = A / c^p: Guo and Higham,
 * "A Schur-Newton method for the matrix pth root and its inverse", SIAM J. Matrix Anal. Appl. 28
 * (2006), section 3. It converges for eigenvalues of M in (0, p + 1). *X is NULL before the first
 * step. *last: M is not needed any more.
 */
static tulle_status root_step(tulle__iterations *it, int p, double c, tulle_mat **X, tulle_mat **M, bool *last)
{
    double trace = (double)(*M)->layout->m / c;
    TULLE__SCOPED_MAT tulle_mat *defect = NULL, *T = NULL, *power = NULL;
    tulle_mat *next = NULL;
    const tulle_mat *const m = *M;
    const double one = 1, down = -1.0 / p;
    const tulle__iterations_stall fast = {1, .5};
    tulle__iterations_step(it, m->comm);
    TULLE_CALL(tulle__combination(1, &one, &m, -1, &defect));
    TULLE_CALL(tulle__iterations_measure(it, defect, NULL));
    TULLE_CALL(tulle__combination(1, &down, &m, 1 + 1.0 / p, &T));
    if (*X) {
        TULLE_CALL(tulle__trace(*X, &trace));
        TULLE_CALL(tulle__iterations_multiply(it, *X, T, &next));
    } else {
        const double scale = 1 / c;
        const tulle_mat *const t = T;
        TULLE_CALL(tulle__combination(1, &scale, &t, 0, &next));
    }
    tulle__iterations_record(it, *X ? *X : next, trace, 0);
    tulle_mat_free(*X);
    *X = next;
    next = NULL;
    /* quadratic: the defect of X T is at most (p + 1) / 2 of its square */
    *last = tulle__iterations_ended(it, m, (p + 1) / 2.0 * it->bound * it->bound, &fast);
    if (*last || tulle__iterations_diverge(it)) return TULLE_OK;
    TULLE_CALL(tulle__power_of(it, T, p, &power));
    TULLE_CALL(tulle__iterations_multiply(it, power, *M, &next));
    tulle_mat_free(*M);
    *M = next;
    return TULLE_OK;
}

tulle_status tulle__coupled_newton(tulle__iterations *it, const tulle_mat *A, int p, tulle_mat **X)
{
    double norm = 0;
    bool last = false;
    tulle_mat *M = NULL, *root = NULL;
    TULLE_CALL(tulle_mat_norm(A, TULLE_NORM_INFINITY, &norm));
    double scale = norm > 0 ? 2 * norm / (p + 1) : 1, c = pow(scale, 1.0 / p);
    const double factor = 1 / scale;
    tulle_status status = tulle__combination(1, &factor, &A, 0, &M);
    while (status == TULLE_OK && !last && it->count < TULLE__ITERATIONS_MOST) {
        status = root_step(it, p, c, &root, &M, &last);
        if (status == TULLE_OK && !last) status = iterations_afford(it, A->comm);
        if (!last && tulle__iterations_diverge(it)) break;
    }
    if (status == TULLE_OK && !last) status = tulle__iterations_fail(it, A->comm, "; is the matrix positive definite?");
    tulle_mat_free(M);
    return tulle__mat_or_free(status, root, X);
}
