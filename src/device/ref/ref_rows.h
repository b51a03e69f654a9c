/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the reference kernels, included by ref.c once a value type with
 *   T            the type
 *   NAME(x)      x with the type's suffix
 * One thread, one loop a formula.
 */

/* C = alpha sum_p A_p B_p + beta C */
static void NAME(spmm)(const tulle__spmm_task *task)
{
    T *C = task->C, alpha = (T)task->alpha, beta = (T)task->beta;
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->n; j++) {
            T sum = 0;
            for (int p = 0; p < task->npairs; p++) {
                const tulle__spmm_pair *pair = &task->pair[p];
                const tulle__csr *A = &pair->A;
                const T *val = A->val, *B = pair->B;
                for (int64_t a = A->rowptr[i]; a < A->rowptr[i + 1]; a++)
                    sum += val[a] * B[A->colind[a] * pair->b_row + j * pair->b_col];
            }
            T *c = &C[i * task->c_row + j * task->c_col];
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
}

/* The same with A^T of the only pair, entry by entry. */
static void NAME(scatter)(const tulle__spmm_task *task)
{
    const tulle__spmm_pair *pair = task->pair;
    const T *val = pair->A.val, *B = pair->B, alpha = (T)task->alpha, beta = (T)task->beta;
    T *C = task->C;
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->n; j++) {
            T *c = &C[i * task->c_row + j * task->c_col];
            *c = beta == 0 ? 0 : beta * *c;
        }
    for (int64_t k = 0; k < pair->A.m; k++)
        for (int64_t a = pair->A.rowptr[k]; a < pair->A.rowptr[k + 1]; a++)
            for (int64_t j = 0; j < task->n; j++)
                C[pair->A.colind[a] * task->c_row + j * task->c_col] +=
                    val[a] * (alpha * B[k * pair->b_row + j * pair->b_col]);
}

/* The same of dense factors. */
static void NAME(gemm)(const tulle__gemm_task *task)
{
    T *C = task->C, alpha = (T)task->alpha, beta = (T)task->beta;
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->n; j++) {
            T sum = 0;
            for (int p = 0; p < task->npairs; p++) {
                const tulle__gemm_pair *pair = &task->pair[p];
                const T *A = pair->A, *B = pair->B;
                for (int64_t k = 0; k < pair->k; k++)
                    sum += A[i * pair->a_row + k * pair->a_col] * B[k * pair->b_row + j * pair->b_col];
            }
            T *c = &C[i * task->c_row + j * task->c_col];
            *c = beta == 0 ? alpha * sum : alpha * sum + beta * *c;
        }
}

/* sum[c] += contributions of row i of C in the order (p, position in A's row); returns the columns first met in found.
 */
static int64_t NAME(row)(const tulle__spgemm_task *task, int64_t i, T *sum, unsigned char *mark, int32_t *found)
{
    int64_t count = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        const T *aval = pair->A.val, *bval = pair->B.val, scale = (T)pair->scale;
        int identity = pair->A.rowptr == NULL;
        int64_t begin = identity ? 0 : pair->A.rowptr[i], end = identity ? 1 : pair->A.rowptr[i + 1];
        for (int64_t a = begin; a < end; a++) {
            int64_t k = identity ? i : pair->A.colind[a];
            T scaled = identity ? scale : scale * aval[a];
            for (int64_t b = pair->B.rowptr[k]; b < pair->B.rowptr[k + 1]; b++) {
                int32_t c = pair->B.colind[b];
                if (!mark[c]) {
                    mark[c] = 1;
                    sum[c] = 0;
                    found[count++] = c;
                }
                sum[c] += scaled * bval[b];
            }
        }
    }
    qsort(found, (size_t)count, sizeof *found, compare_columns);
    return count;
}

/* The entries of a row that the task selects: columns in `found`, values in `chosen`. */
static int64_t NAME(selected_row)(
    const tulle__spgemm_task *task, int64_t i, T *sum, unsigned char *mark, int32_t *found, T *chosen)
{
    int64_t count = NAME(row)(task, i, sum, mark, found);
    for (int64_t f = 0; f < count; f++) {
        chosen[f] = sum[found[f]];
        mark[found[f]] = 0;
    }
    return task->select ? tulle__select_entries(task->select, task->type, i, count, found, chosen) : count;
}

/* The whole product, twice: to count, then to write. */
static tulle_status NAME(spgemm)(
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    T *sum = NULL;
    unsigned char *mark = NULL;
    int32_t *found = NULL;
    T *chosen = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)task->n, sizeof *sum, "the sums of a row of C", &sum));
    TULLE_TRY(tulle__alloc_zero((size_t)task->n, sizeof *mark, "the marks of a row of C", &mark));
    TULLE_TRY(tulle__alloc((size_t)task->n, sizeof *found, "the columns of a row of C", &found));
    TULLE_TRY(tulle__alloc((size_t)task->n, sizeof *chosen, "the values of a row of C", &chosen));
    int64_t nnz = 0;
    for (int64_t i = 0; i < task->m; i++) nnz += NAME(selected_row)(task, i, sum, mark, found, chosen);
    tulle__csr_result result;
    TULLE_TRY(place(context, task->m, nnz, &result));
    T *val = result.val;
    result.nnz = nnz;
    result.rowptr[0] = 0;
    for (int64_t i = 0; i < task->m; i++) {
        int64_t start = result.rowptr[i], count = NAME(selected_row)(task, i, sum, mark, found, chosen);
        for (int64_t f = 0; f < count; f++) {
            result.colind[start + f] = found[f];
            val[start + f] = chosen[f];
        }
        result.rowptr[i + 1] = start + count;
    }
    *C = result;
out:
    tulle__free(sum);
    tulle__free(mark);
    tulle__free(found);
    tulle__free(chosen);
    return status;
}

static tulle_status NAME(symbolic)(const tulle__spgemm_task *task, int64_t *rowptr)
{
    T *sum = NULL;
    unsigned char *mark = NULL;
    int32_t *found = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)task->n, sizeof *sum, "the sums of a row of C", &sum));
    TULLE_TRY(tulle__alloc_zero((size_t)task->n, sizeof *mark, "the marks of a row of C", &mark));
    TULLE_TRY(tulle__alloc((size_t)task->n, sizeof *found, "the columns of a row of C", &found));
    rowptr[0] = 0;
    for (int64_t i = 0; i < task->m; i++) {
        int64_t count = NAME(row)(task, i, sum, mark, found);
        for (int64_t f = 0; f < count; f++) mark[found[f]] = 0;
        rowptr[i + 1] = rowptr[i] + count;
    }
out:
    tulle__free(sum);
    tulle__free(mark);
    tulle__free(found);
    return status;
}

static tulle_status NAME(numeric)(const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    T *sum = NULL, *val = C->val;
    unsigned char *mark = NULL;
    int32_t *found = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)task->n, sizeof *sum, "the sums of a row of C", &sum));
    TULLE_TRY(tulle__alloc_zero((size_t)task->n, sizeof *mark, "the marks of a row of C", &mark));
    TULLE_TRY(tulle__alloc((size_t)task->n, sizeof *found, "the columns of a row of C", &found));
    for (int64_t i = 0; i < task->m; i++) {
        int64_t count = NAME(row)(task, i, sum, mark, found);
        for (int64_t c = C->rowptr[i]; c < C->rowptr[i + 1]; c++) val[c] = sum[C->colind[c]];
        for (int64_t f = 0; f < count; f++) mark[found[f]] = 0;
    }
out:
    tulle__free(sum);
    tulle__free(mark);
    tulle__free(found);
    return status;
}

/* Counting sort by columns; rows arrive in order, so the columns of T ascend. next[c] = where column c's next entry
 * goes. */
static void NAME(sddmm)(const tulle__sddmm_task *task)
{
    enum { LANES = sizeof(T) == sizeof(float) ? 16 : 8 };
    for (int64_t r = 0; r < task->m; r++)
        for (int64_t e = task->from[r]; e < task->to[r]; e++) {
            const T *x = (const T *)task->X + r * task->ldx,
                    *y = (const T *)task->Y + (task->colind[e] - task->first) * task->ldy;
            T sum[LANES] = {0};
            for (int64_t c = 0; c < task->k; c++) {
                const T product = x[c] * y[c];
                sum[c % LANES] += product;
            }
            for (int half = LANES / 2; half; half /= 2)
                for (int l = 0; l < half; l++) sum[l] += sum[l + half];
            ((T *)task->val)[e] = (T)task->alpha * sum[0];
        }
}

static void NAME(transpose)(const tulle__csr *A, tulle__csr_result *result, int64_t *next)
{
    const T *from = A->val;
    T *to = result->val;
    memcpy(next, result->rowptr, (size_t)A->n * sizeof *next);
    for (int64_t i = 0; i < A->m; i++)
        for (int64_t a = A->rowptr[i]; a < A->rowptr[i + 1]; a++) {
            int64_t t = next[A->colind[a]]++;
            result->colind[t] = (int32_t)i;
            to[t] = from[a];
        }
}

/* Rows of a triangular solve, by the formula. */
static void NAME(solve)(const tulle__solve_task *task)
{
    const T *val = task->val, *inverse = task->inverse, *b = task->b;
    T *x = task->x, *out = task->out;
    for (int64_t s = 0; s < task->count; s++)
        for (int64_t j = 0; j < task->cols; j++) {
            int64_t r = s * task->step, i = task->row ? task->row[s] : r;
            int64_t from = task->rowptr[r] + task->head, to = task->rowptr[r + 1] - task->tail;
            T sum = 0;
            for (int64_t e = from; e < to; e++) sum += val[e] * x[task->colind[e] * task->ldx + j];
            T value = b[i * task->ldb + j] - sum;
            if (inverse) value *= inverse[s];
            if (task->divides) value *= (1 / val[task->head ? from - 1 : to]);
            x[(task->at + r) * task->ldx + j] = value;
            if (out) out[i * task->ldo + j] = value;
        }
}

/* Dense blocks, element by element. */
static void NAME(subtract)(const tulle__dense_task *task)
{
    const T *A = task->A, *X = task->X;
    T *Y = task->Y;
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->cols; j++)
            for (int64_t k = 0; k < task->k; k++)
                Y[(task->y_line ? task->y_line[i] : i) * task->ldy + j] -=
                    A[i * task->lda + k] * X[(task->x_line ? task->x_line[k] : k) * task->ldx + j];
}

static void NAME(substitute)(const tulle__dense_task *task, int upper, int unit)
{
    const T *A = task->A;
    T *Y = task->Y;
    for (int64_t s = 0; s < task->m; s++)
        for (int64_t j = 0; j < task->cols; j++) {
            int64_t i = upper ? task->m - 1 - s : s;
            T sum = 0;
            for (int64_t k = upper ? i + 1 : 0; k < (upper ? task->m : i); k++)
                sum += A[i * task->lda + k] * Y[k * task->ldy + j];
            T value = Y[i * task->ldy + j] - sum;
            Y[i * task->ldy + j] = unit ? value : value / A[i * task->lda + i];
        }
}

/* Tall and narrow matrices: the order of sums is the contract's. */
static void NAME(tsmttsm)(const tulle__tsmttsm_task *task)
{
    const T *X = task->X, *Y = task->Y;
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->n; j++) {
            double sum = 0;
            int64_t a = task->symmetric && j < i ? j : i, b = task->symmetric && j < i ? i : j;
            for (int64_t at = 0; at < task->rows; at += TULLE__TALL_CHUNK) {
                double chunk = 0;
                for (int64_t r = at; r < task->rows && r < at + TULLE__TALL_CHUNK; r++)
                    chunk += (double)X[r * task->ldx + a] * (double)Y[r * task->ldy + b];
                sum += chunk;
            }
            task->G[i * task->n + j] = sum;
        }
}

static void NAME(tsmm)(const tulle__tsmm_task *task)
{
    T line[TULLE__TALL_MOST], *Y = task->Y;
    for (int64_t r = 0; r < task->rows; r++, Y += task->ld) {
        for (int64_t j = 0; j < task->n; j++) {
            line[j] = task->add ? Y[j] : 0;
            for (int t = 0; t < task->nterms; t++) {
                const T *x = (const T *)task->term[t].X + r * task->term[t].ld, *B = task->term[t].B;
                for (int64_t k = 0; k < task->term[t].k; k++) line[j] += x[k] * B[k * TULLE__TALL_MOST + j];
            }
        }
        for (int64_t j = 0; j < task->n; j++) Y[j] = line[j];
    }
}

static void NAME(gram)(const tulle__gram_task *task)
{
    for (int64_t r = 0; r < task->rows; r++)
        for (int64_t c = 0; c < task->n; c++) {
            T z = task->X ? 0 : ((const T *)task->Z)[r * task->ldz + c];
            for (int pass = !task->X; pass < 2; pass++) {
                for (int64_t e = task->ptr[r] - task->ptr[0]; e < task->ptr[r + 1] - task->ptr[0]; e++) {
                    const T a = task->values == TULLE_F32 ? (T)((const float *)task->val)[e]
                                                          : (T)((const double *)task->val)[e];
                    if (!pass) z += a * ((const T *)task->X)[task->col[e] * task->ldx + c];
                    if (pass && task->Y) ((T *)task->Y)[task->col[e] * task->ldy + c] += a * z;
                }
                if (!pass && task->shift) z -= ((const T *)task->shift)[c];
                if (!pass && task->keep) z += ((const T *)task->keep)[c] * ((const T *)task->Z)[r * task->ldz + c];
            }
            if (task->X && task->Z) ((T *)task->Z)[r * task->ldz + c] = z;
            if (task->Y) ((T *)task->total)[c] += z;
        }
}

/* Vectors: the order of sums is the contract's. */
static void NAME(dots)(const tulle__dots_task *task)
{
    for (int v = 0; v < task->nx; v++)
        for (int w = 0; w < task->ny; w++) {
            const T *x = task->x[v], *y = task->y[w];
            double s[8] = {0};
            for (int64_t r = task->begin; r < task->end; r++) s[(r - task->begin) % 8] += (double)x[r] * (double)y[r];
            task->sums[v * task->ny + w] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
}

static void NAME(combine)(const tulle__combine_task *task)
{
    for (int w = 0; w < task->ny; w++)
        for (int64_t r = task->begin; r < task->end; r++) {
            T *y = task->y[w], beta = (T)task->beta[w], sum = beta == 0 ? (task->nx ? -(T)0 : 0) : beta * y[r];
            for (int v = 0; v < task->nx; v++) sum += (T)task->coef[w * task->nx + v] * ((const T *)task->x[v])[r];
            y[r] = sum;
        }
}
