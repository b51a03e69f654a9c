/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobi's eigenvectors: A V = S V diag(w), V^T S V = 1, w ascending; refusals. */
#include "algo/matfun/dense/jacobi.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { MOST = 60 };
enum kind { PLAIN, DIAGONAL, EQUAL, TRIDIAGONAL, ZERO, GRADED, KINDS };

struct matrices {
    double A[MOST * MOST], S[MOST * MOST], V[MOST * MOST], B[MOST * MOST], T[MOST * MOST], w[MOST];
};

static double entry(enum kind kind, int64_t i, int64_t j, double random)
{
    switch (kind) {
    case DIAGONAL:
        return i == j ? random : 0;
    case EQUAL:
        return i == j ? 2 : 0;
    case TRIDIAGONAL:
        return i == j ? 2 : i - j == 1 || j - i == 1 ? -1 : 0;
    case ZERO:
        return 0;
    case GRADED:
        return random * pow(10, -(double)(i + j) / 4);
    default:
        return random;
    }
}

static void test(struct matrices *m, enum kind kind, int64_t n, int pair)
{
    uint64_t state = (uint64_t)(n * 7 + kind);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const double random = (double)(int64_t)state / 9.3e18;
            m->A[j * n + i] = entry(kind, i, j, random);
            m->A[i * n + j] = NAN; /* is not read */
            m->S[j * n + i] = i == j ? 3 + (double)n / 4 : random / 2;
            m->S[i * n + j] = i == j ? m->S[j * n + i] : NAN;
            if (i == j) m->A[j * n + i] = entry(kind, i, j, random);
        }
    memcpy(m->B, m->A, sizeof m->A);
    memcpy(m->T, m->S, sizeof m->S);
    int64_t info = tulle__jacobi(n, m->A, pair ? m->S : NULL, m->V, m->w);
    double residual = 0, angle = 0, disorder = 0;
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < n; i++) {
            double left = 0, right = 0, dot = 0;
            for (int64_t k = 0; k < n; k++) {
                const int64_t at = i > k ? k * n + i : i * n + k;
                left += m->B[at] * m->V[c * n + k];
                right += (pair ? m->T[at] : i == k) * m->V[c * n + k];
                for (int64_t l = 0; l < n; l++)
                    dot += m->V[i * n + k] * (pair ? m->T[k > l ? l * n + k : k * n + l] : k == l) * m->V[c * n + l];
            }
            residual = fmax(residual, fabs(left - m->w[c] * right));
            angle = fmax(angle, fabs(dot - (i == c)));
            disorder += c && m->w[c] < m->w[c - 1];
        }
    ok(info == 0 && residual < 1e-12 && angle < 1e-12 && !disorder,
        "kind %d, %d rows%s: info %d, residual %.1e, angles %.1e", (int)kind, (int)n, pair ? ", a pair" : "", (int)info,
        residual, angle);
}

int main(void)
{
    struct matrices *m = calloc(1, sizeof *m);
    if (!m) return 2;
    for (enum kind kind = PLAIN; kind < KINDS; kind++)
        for (int n = 1; n <= 40; n = 2 * n + (n > 4))
            for (int pair = 0; pair < 2; pair++) test(m, kind, n, pair);
    double indefinite[] = {1, 2, 2, 1}, one[] = {1, 0, 0, 1}, broken[] = {1, NAN, NAN, 1}, V[4], w[2];
    ok(tulle__jacobi(2, one, indefinite, V, w) == 3, "S is not positive definite");
    ok(tulle__jacobi(2, broken, NULL, V, w) == 2, "a matrix is not finite");
    free(m);
    return tap_done();
}
