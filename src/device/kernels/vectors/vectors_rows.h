/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of inner products and linear combinations of vectors of type T, over lanes.h; LANES fill a register. Several
 * x go through memory side by side, so that y is read once for them and so that more than one stream comes from memory,
 * each fetched a page ahead.
 */
#define NAME(x) TULLE__SUFFIX_OF(x, T)
#define DOUBLES MOST(double)
#define SUM VECTOR(double, DOUBLES)

/* The eight sums of an inner product take PER_SUM registers; LINE: values of a line of memory. */
enum { NAME(PER_SUM) = 8 / DOUBLES, NAME(LINE) = 64 / SIZE };

/* ---- inner products ---- */

/* Inner products of x[at .. at + nx - 1]. */
INLINE void NAME(dots_of)(const tulle__dots_task *task, int at, const int nx, const int ny)
{
    const T *x[8], *y[2];
    SUM sum[8][2][NAME(PER_SUM)];
    int64_t r = task->begin;
    for (int v = 0; v < nx; v++) {
        x[v] = task->x[at + v];
        for (int w = 0; w < ny; w++)
            for (int s = 0; s < NAME(PER_SUM); s++) sum[v][w][s] = (SUM){0};
    }
    for (int w = 0; w < ny; w++) y[w] = task->y[w];
    for (; r + 8 <= task->end; r += 8) {
        for (int v = 0; v < nx; v++) tulle__fetch_page_ahead(x[v] + r);
        for (int s = 0; s < NAME(PER_SUM); s++) {
            const int64_t e = r + s * DOUBLES;
            SUM right[2];
            for (int w = 0; w < ny; w++) right[w] = LOAD_DOUBLES(DOUBLES, T, y[w] + e);
            for (int v = 0; v < nx; v++) {
                const SUM left = LOAD_DOUBLES(DOUBLES, T, x[v] + e);
                for (int w = 0; w < ny; w++) sum[v][w][s] += left * right[w];
            }
        }
    }
    for (int v = 0; v < nx; v++) {
        for (int w = 0; w < ny; w++) {
            double s[8];
            memcpy(s, sum[v][w], sizeof s);
            for (int64_t e = r; e < task->end; e++) s[e - r] += (double)x[v][e] * (double)y[w][e];
            task->sums[(at + v) * ny + w] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
    }
}

static void NAME(dots)(const tulle__dots_task *task)
{
    /* so many that their sums are half of all registers, and the others are for x and y */
    enum { TWO = NAME(PER_SUM) < 4 ? 4 / NAME(PER_SUM) : 1, ONE = 8 / NAME(PER_SUM) };
    int v = 0;
    if (task->ny == 2) {
        for (; v + TWO <= task->nx; v += TWO) NAME(dots_of)(task, v, TWO, 2);
        for (; v < task->nx; v++) NAME(dots_of)(task, v, 1, 2);
    } else {
        for (; v + ONE <= task->nx; v += ONE) NAME(dots_of)(task, v, ONE, 1);
        for (; v < task->nx; v++) NAME(dots_of)(task, v, 1, 1);
    }
}

/* ---- combinations ---- */

/* y[w] += the sum of x[at .. at + nx - 1] times coefficients; first: y[w] times beta[w] before. A sum that begins with
 * nothing begins with -0, to which any x is added without a change. */
INLINE void NAME(add)(const tulle__combine_task *task, int at, const int nx, const int ny, const int first)
{
    const T *x[4];
    T *y[2], by[2][4], beta[2];
    int64_t r = task->begin;
    for (int v = 0; v < nx; v++) x[v] = task->x[at + v];
    for (int w = 0; w < ny; w++) {
        y[w] = task->y[w];
        beta[w] = (T)task->beta[w];
        for (int v = 0; v < nx; v++) by[w][v] = (T)task->coef[w * task->nx + at + v];
    }
    for (; r + NAME(LINE) <= task->end; r += NAME(LINE)) {
        for (int v = 0; v < nx; v++) tulle__fetch_page_ahead(x[v] + r);
        for (int64_t e = r; e < r + NAME(LINE); e += LANES) {
            V sum[2];
            for (int w = 0; w < ny; w++) {
                if (!first)
                    sum[w] = LOAD(y[w] + e);
                else if (beta[w] != 0)
                    sum[w] = beta[w] * LOAD(y[w] + e);
                else
                    sum[w] = nx ? -(V){0} : (V){0};
            }
            for (int v = 0; v < nx; v++) {
                const V line = LOAD(x[v] + e);
                for (int w = 0; w < ny; w++) sum[w] += by[w][v] * line;
            }
            for (int w = 0; w < ny; w++) STORE(y[w] + e, sum[w]);
        }
    }
    for (; r < task->end; r++) {
        T sum[2];
        for (int w = 0; w < ny; w++) sum[w] = !first ? y[w][r] : beta[w] != 0 ? beta[w] * y[w][r] : nx ? -(T)0 : 0;
        for (int v = 0; v < nx; v++)
            for (int w = 0; w < ny; w++) sum[w] += by[w][v] * x[v][r];
        for (int w = 0; w < ny; w++) y[w][r] = sum[w];
    }
}

INLINE void NAME(combine_into)(const tulle__combine_task *task, const int ny)
{
    int v = task->nx & 3;
    switch (v) { /* what is left over is first */
    case 0:
        if (task->nx)
            NAME(add)(task, 0, v = 4, ny, 1);
        else
            NAME(add)(task, 0, 0, ny, 1);
        break;
    case 1:
        NAME(add)(task, 0, 1, ny, 1);
        break;
    case 2:
        NAME(add)(task, 0, 2, ny, 1);
        break;
    default:
        NAME(add)(task, 0, 3, ny, 1);
        break;
    }
    for (; v < task->nx; v += 4) NAME(add)(task, v, 4, ny, 0);
}

static void NAME(combine)(const tulle__combine_task *task)
{
    if (task->ny == 2)
        NAME(combine_into)(task, 2);
    else
        NAME(combine_into)(task, 1);
}

#undef T
#undef LANES
