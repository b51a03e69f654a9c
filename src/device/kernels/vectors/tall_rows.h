/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the products of tall and skinny matrices of type T, over lanes.h; LANES fill a register. The kernels work
 * on a few rows at a time, so that a row is read from memory once; sums are kept in registers, PARTS of columns side by
 * side.
 */
#define NAME(x) TULLE__SUFFIX_OF(x, T)
#define DOUBLES MOST(double)
#define SUM VECTOR(double, DOUBLES)
#if TULLE__REGISTER == 64
#define PARTS 1
#else
#define PARTS 2
#endif
#define EACH_PART _Pragma("GCC unroll 2") for (int q = 0; q < PARTS; q++)

/* ---- G = X^T Y ---- */

enum { NAME(SUMS) = PARTS * DOUBLES }; /* columns of G that are made at a time */

/* The first n values from X on, and zeros. */
INLINE SUM NAME(some)(const T *X, int64_t n)
{
    return n >= DOUBLES ? LOAD_DOUBLES(DOUBLES, T, X) : n > 0 ? LOAD_FIRST_DOUBLES(DOUBLES, T, X, n) : (SUM){0};
}

/* A chunk in double, lines TULLE__TALL_MOST apart, filled up with zeros to whole vectors. */
static void NAME(pack)(const T *X, int64_t ld, int64_t rows, int64_t m, double *to)
{
    for (int64_t r = 0; r < rows; r++, X += ld, to += TULLE__TALL_MOST)
        for (int64_t c = 0; c < m; c += NAME(SUMS)) {
            EACH_PART VECTOR_AT(double, DOUBLES, to + c + q * DOUBLES) =
                NAME(some)(X + c + q * DOUBLES, m - c - q * DOUBLES);
        }
}

/* G[0 .. 3][0 .. SUMS - 1] += the sums of a chunk. */
static void NAME(tsmttsm_tile)(const double *x, int64_t ldx, const double *y, int64_t ldy, int64_t rows, double *G)
{
    SUM s0[PARTS] = {{0}}, s1[PARTS] = {{0}}, s2[PARTS] = {{0}}, s3[PARTS] = {{0}};
    for (int64_t r = 0; r < rows; r++, x += ldx, y += ldy) {
        EACH_PART
        {
            const SUM line = VECTOR_AT(double, DOUBLES, y + q * DOUBLES);
            s0[q] += line * x[0];
            s1[q] += line * x[1];
            s2[q] += line * x[2];
            s3[q] += line * x[3];
        }
    }
    EACH_PART
    {
        VECTOR_AT(double, DOUBLES, G + q * DOUBLES) += s0[q];
        VECTOR_AT(double, DOUBLES, G + TULLE__TALL_MOST + q * DOUBLES) += s1[q];
        VECTOR_AT(double, DOUBLES, G + 2 * TULLE__TALL_MOST + q * DOUBLES) += s2[q];
        VECTOR_AT(double, DOUBLES, G + 3 * TULLE__TALL_MOST + q * DOUBLES) += s3[q];
    }
}

/* Columns of a chunk that are read as they lie, whole groups of SUMS; the others are packed. */
static int64_t NAME(pack_others)(const T *X, int64_t ld, int64_t rows, int64_t m, double *workspace)
{
    const int64_t whole = sizeof(T) == sizeof(double) ? m / NAME(SUMS) * NAME(SUMS) : 0;
    if (whole < m) NAME(pack)(X + whole, ld, rows, m - whole, workspace + whole);
    return whole;
}

/* Columns from c on, lines *ldc apart. */
INLINE const double *NAME(columns)(
    const T *X, int64_t ld, int64_t whole, const double *workspace, int64_t c, int64_t *ldc)
{
    *ldc = c < whole ? ld : TULLE__TALL_MOST;
    return c < whole ? (const double *)(const void *)(X + c) : workspace + c;
}

/* ---- few columns of X: lines of Y as they lie, and no copies ---- */

enum { NAME(FEW) = 4, NAME(GROUPS) = 4 /* of SUMS columns of Y that are read at a time */ };

/* G[c][0 .. n - 1] += the sums of a chunk, m columns c of X; n columns of Y, in groups of SUMS. */
INLINE void NAME(few_tile)(
    const T *x, int64_t ldx, const int m, const T *y, int64_t ldy, const int groups, int64_t n, int64_t rows, double *G)
{
    SUM s[NAME(FEW)][NAME(GROUPS) * PARTS] = {{{0}}};
    const int whole = (groups - 1) * PARTS, parts = groups * PARTS;
    for (int64_t r = 0; r < rows; r++, x += ldx, y += ldy) {
#pragma GCC unroll 8
        for (int q = 0; q < parts; q++) {
            const T *part = y + q * DOUBLES;
            const SUM line = q < whole ? LOAD_DOUBLES(DOUBLES, T, part) : NAME(some)(part, n - q * DOUBLES);
#pragma GCC unroll 4
            for (int c = 0; c < m; c++) s[c][q] += line * (double)x[c];
        }
    }
#pragma GCC unroll 4
    for (int c = 0; c < m; c++)
#pragma GCC unroll 8
        for (int q = 0; q < parts; q++) VECTOR_AT(double, DOUBLES, G + c * TULLE__TALL_MOST + q * DOUBLES) += s[c][q];
}

/* A chunk. */
INLINE void NAME(few_rows)(
    const T *x, int64_t ldx, const int m, const T *y, int64_t ldy, int64_t n, int64_t rows, double *G)
{
    const int most = TULLE__REGISTER == 64 ? NAME(GROUPS) : NAME(GROUPS) / m; /* as sums have registers */
    for (int64_t j = 0; j < n; j += most * NAME(SUMS)) {
        const int64_t groups = (n - j + NAME(SUMS) - 1) / NAME(SUMS);
        if (groups >= 4 && most >= 4)
            NAME(few_tile)(x, ldx, m, y + j, ldy, 4, n - j, rows, G + j);
        else if (groups >= 3 && most >= 3)
            NAME(few_tile)(x, ldx, m, y + j, ldy, 3, n - j, rows, G + j);
        else if (groups >= 2 && most >= 2)
            NAME(few_tile)(x, ldx, m, y + j, ldy, 2, n - j, rows, G + j);
        else
            NAME(few_tile)(x, ldx, m, y + j, ldy, 1, n - j, rows, G + j);
    }
}

static void NAME(tsmttsm_few)(const tulle__tsmttsm_task *task, double *G)
{
    for (int64_t at = 0; at < task->rows; at += TULLE__TALL_CHUNK) {
        const int64_t rows = task->rows - at < TULLE__TALL_CHUNK ? task->rows - at : TULLE__TALL_CHUNK;
        const T *X = (const T *)task->X + at * task->ldx, *Y = (const T *)task->Y + at * task->ldy;
        switch (task->m) {
        case 1:
            NAME(few_rows)(X, task->ldx, 1, Y, task->ldy, task->n, rows, G);
            break;
        case 2:
            NAME(few_rows)(X, task->ldx, 2, Y, task->ldy, task->n, rows, G);
            break;
        case 3:
            NAME(few_rows)(X, task->ldx, 3, Y, task->ldy, task->n, rows, G);
            break;
        default:
            NAME(few_rows)(X, task->ldx, 4, Y, task->ldy, task->n, rows, G);
        }
    }
}

/* ---- any number of columns ---- */

static void NAME(tsmttsm_many)(const tulle__tsmttsm_task *task, double *G)
{
    double x[TULLE__TALL_CHUNK * TULLE__TALL_MOST], y[TULLE__TALL_CHUNK * TULLE__TALL_MOST];
    const int same = task->X == task->Y && task->ldx == task->ldy && task->m == task->n;
    for (int64_t at = 0; at < task->rows; at += TULLE__TALL_CHUNK) {
        const int64_t rows = task->rows - at < TULLE__TALL_CHUNK ? task->rows - at : TULLE__TALL_CHUNK;
        const T *X = (const T *)task->X + at * task->ldx, *Y = (const T *)task->Y + at * task->ldy;
        const int64_t left = NAME(pack_others)(X, task->ldx, rows, task->m, x),
                      right = same ? left : NAME(pack_others)(Y, task->ldy, rows, task->n, y);
        for (int64_t i = 0; i < task->m; i += 4)
            for (int64_t j = task->symmetric ? i / NAME(SUMS) * NAME(SUMS) : 0; j < task->n; j += NAME(SUMS)) {
                int64_t ldx, ldy;
                const double *xi = NAME(columns)(X, task->ldx, left, x, i, &ldx),
                             *yj = NAME(columns)(Y, task->ldy, right, same ? x : y, j, &ldy);
                NAME(tsmttsm_tile)(xi, ldx, yj, ldy, rows, G + i * TULLE__TALL_MOST + j);
            }
    }
}

/*
 * The task with X and Y in each other's place: few columns of Y, as lines, would leave lanes empty. A sum has the same
 * terms in the same order.
 */
static tulle__tsmttsm_task NAME(turned)(const tulle__tsmttsm_task *task)
{
    tulle__tsmttsm_task t = *task;
    t.X = task->Y, t.Y = task->X;
    t.ldx = task->ldy, t.ldy = task->ldx;
    t.m = task->n, t.n = task->m;
    return t;
}

static void NAME(tsmttsm)(const tulle__tsmttsm_task *given)
{
    double G[TULLE__TALL_MOST * TULLE__TALL_MOST];
    const bool turns = given->m > given->n;
    const tulle__tsmttsm_task task = turns ? NAME(turned)(given) : *given;
    const int64_t whole = (task.n + NAME(SUMS) - 1) / NAME(SUMS) * NAME(SUMS);
    for (int64_t i = 0; i < (task.m + 3) / 4 * 4; i++)
        for (int64_t j = 0; j < whole; j++) G[i * TULLE__TALL_MOST + j] = 0;
    task.m <= NAME(FEW) ? NAME(tsmttsm_few)(&task, G) : NAME(tsmttsm_many)(&task, G);
    for (int64_t i = 0; i < given->m; i++)
        for (int64_t j = 0; j < given->n; j++)
            given->G[i * given->n + j] =
                turns || (given->symmetric && j < i) ? G[j * TULLE__TALL_MOST + i] : G[i * TULLE__TALL_MOST + j];
}

/* ---- Y = sum of X B ---- */

enum { NAME(COLUMNS) = PARTS * LANES }; /* of Y that are made at a time */

/* Columns c .. c + COLUMNS - 1 of `rows` (1 or 4) rows, added to those in `sum`. */
INLINE void NAME(tsmm_lanes)(const tulle__tsmm_task *task, int64_t r, const int rows, int64_t c, V (*sum)[PARTS])
{
    V s0[PARTS], s1[PARTS], s2[PARTS], s3[PARTS];
    EACH_PART s0[q] = sum[0][q], s1[q] = sum[1][q], s2[q] = sum[2][q], s3[q] = sum[3][q];
    for (int t = 0; t < task->nterms; t++) {
        const tulle__tsmm_term *term = &task->term[t];
        const T *x = (const T *)term->X + r * term->ld, *B = (const T *)term->B + c;
        for (int64_t k = 0; k < term->k; k++) {
            EACH_PART
            {
                const V b = LOAD(B + k * TULLE__TALL_MOST + q * LANES);
                s0[q] += b * x[k];
                if (rows == 1) continue;
                s1[q] += b * x[term->ld + k];
                s2[q] += b * x[2 * term->ld + k];
                s3[q] += b * x[3 * term->ld + k];
            }
        }
    }
    EACH_PART sum[0][q] = s0[q], sum[1][q] = s1[q], sum[2][q] = s2[q], sum[3][q] = s3[q];
}

/* n values; 4 and 8 of them in one move. */
INLINE void NAME(move_few)(T *to, const T *from, int64_t n)
{
    if (n == 4) {
        memcpy(to, from, 4 * sizeof(T));
    } else if (n == 8) {
        memcpy(to, from, 8 * sizeof(T));
    } else {
        for (int64_t i = 0; i < n; i++) to[i] = from[i];
    }
}

/* `rows` (1 or 4) rows of at most COLUMNS columns, written after all that they are made of is read: X may be Y. */
INLINE void NAME(tsmm_narrow)(const tulle__tsmm_task *task, int64_t r, const int rows)
{
    V sum[4][PARTS] = {{{0}}};
    T *Y = (T *)task->Y + r * task->ld;
    for (int q = 0; task->add && q < rows; q++) NAME(move_few)((T *)(void *)sum[q], Y + q * task->ld, task->n);
    NAME(tsmm_lanes)(task, r, rows, 0, sum);
    for (int q = 0; q < rows; q++) NAME(move_few)(Y + q * task->ld, (const T *)(void *)sum[q], task->n);
}

/* At most four columns: registers of four lanes, two of which are loaded in the time of a wider one. */
enum { NAME(FOURS) = 8 /* rows that are made at a time */ };
#define FOUR VECTOR(T, 4)

/* FOURS rows of at most four columns, written after all that they are made of is read. */
INLINE void NAME(tsmm_fours)(const tulle__tsmm_task *task, int64_t r)
{
    FOUR sum[NAME(FOURS)] = {{0}};
    T *Y = (T *)task->Y + r * task->ld;
    for (int q = 0; task->add && q < NAME(FOURS); q++) NAME(move_few)((T *)(void *)&sum[q], Y + q * task->ld, task->n);
    for (int t = 0; t < task->nterms; t++) {
        const tulle__tsmm_term *term = &task->term[t];
        const T *x = (const T *)term->X + r * term->ld, *B = term->B;
        for (int64_t k = 0; k < term->k; k++, x++, B += TULLE__TALL_MOST) {
            const FOUR b = VECTOR_AT(T, 4, (void *)(uintptr_t)B);
#pragma GCC unroll 8
            for (int q = 0; q < NAME(FOURS); q++) sum[q] += b * x[q * term->ld];
        }
    }
    for (int q = 0; q < NAME(FOURS); q++) NAME(move_few)(Y + q * task->ld, (const T *)(void *)&sum[q], task->n);
}
#undef FOUR

/* All columns of some rows are made before the first is written, since X may be Y. */
INLINE void NAME(tsmm_rows)(const tulle__tsmm_task *task, int64_t r, int rows)
{
    T out[4][TULLE__TALL_MOST];
    T *Y = (T *)task->Y + r * task->ld;
    size_t line = (size_t)task->n * sizeof(T);
    for (int q = 0; task->add && q < rows; q++) memcpy(out[q], Y + q * task->ld, line);
    for (int64_t c = 0; c < task->n; c += NAME(COLUMNS)) {
        V sum[4][PARTS] = {{{0}}};
        for (int q = 0; task->add && q < rows; q++)
            memcpy(sum[q], out[q] + c, (size_t)(task->n - c < NAME(COLUMNS) ? task->n - c : NAME(COLUMNS)) * sizeof(T));
        NAME(tsmm_lanes)(task, r, rows, c, sum);
        for (int q = 0; q < rows; q++) memcpy(out[q] + c, sum[q], sizeof *sum);
    }
    for (int q = 0; q < rows; q++) memcpy(Y + q * task->ld, out[q], line);
}

static void NAME(tsmm)(const tulle__tsmm_task *task)
{
    int64_t r = 0;
    const bool narrow = task->n <= NAME(COLUMNS);
    if (task->n == 1) r = NAME(tsmm_column)(task);
    for (; task->n <= 4 && r + NAME(FOURS) <= task->rows; r += NAME(FOURS)) NAME(tsmm_fours)(task, r);
    for (; narrow && r + 4 <= task->rows; r += 4) NAME(tsmm_narrow)(task, r, 4);
    for (; narrow && r < task->rows; r++) NAME(tsmm_narrow)(task, r, 1);
    for (; r + 4 <= task->rows; r += 4) NAME(tsmm_rows)(task, r, 4);
    for (; r < task->rows; r++) NAME(tsmm_rows)(task, r, 1);
}

#undef T
#undef LANES
