/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/dense/step.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Distances below this are 0 for the bisection, whose pivots are not. */
#define TINY 1e-280

double tulle__fermi(double x, double mu, double kT)
{
    if (kT <= 0) return x < mu ? 1 : x > mu ? 0 : .5;
    double y = (x - mu) / kT;
    return y > 0 ? exp(-y) / (1 + exp(-y)) : 1 / (1 + exp(y));
}

/* ---- eigenvalues by bisection ---- */

/* Number of eigenvalues below x. */
static int64_t count_below(int64_t n, const double *d, const double *e, double x, double tiny)
{
    int64_t count = 0;
    double pivot = 1;
    for (int64_t i = 0; i < n; i++) {
        double before = i ? e[i - 1] * e[i - 1] / pivot : 0;
        pivot = d[i] - x - before;
        if (fabs(pivot) < tiny) pivot = -tiny;
        count += pivot < 0;
    }
    return count;
}

/* A bound on the magnitudes of eigenvalues, which are in (low, high). */
static double bounds(int64_t n, const double *d, const double *e, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double radius = (i ? fabs(e[i - 1]) : 0) + (i + 1 < n ? fabs(e[i]) : 0);
        *low = fmin(*low, d[i] - radius);
        *high = fmax(*high, d[i] + radius);
    }
    double largest = fmax(fabs(*low), fabs(*high)), margin = 4 * DBL_EPSILON * largest + DBL_MIN;
    *low -= margin;
    *high += margin;
    return largest;
}

/* Smaller pivots are replaced. */
static double least_pivot(double largest)
{
    return DBL_EPSILON * DBL_EPSILON * largest + DBL_MIN;
}

int64_t tulle__levels_below(int64_t n, const double *d, const double *e, double x)
{
    double low, high, largest = bounds(n, d, e, &low, &high);
    return x <= low ? 0 : x >= high ? n : count_below(n, d, e, x, least_pivot(largest));
}

/* The eigenvalue with that many below it, in (low, high). */
static double bisect(
    int64_t n, const double *d, const double *e, int64_t index, double low, double high, double tolerance, double tiny)
{
    while (high - low > tolerance) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        if (count_below(n, d, e, middle, tiny) > index)
            high = middle;
        else
            low = middle;
    }
    return low + (high - low) / 2;
}

tulle__gap tulle__gap_of(int64_t n, const double *d, const double *e, double mu)
{
    double low, high, largest = bounds(n, d, e, &low, &high);
    double tiny = least_pivot(largest), fine = 8 * DBL_EPSILON * largest;
    double rough = 1e-6 * (high - low);
    int64_t below = count_below(n, d, e, mu, tiny);
    return (tulle__gap){.least = bisect(n, d, e, 0, low, high, rough, tiny),
        .most = bisect(n, d, e, n - 1, low, high, rough, tiny),
        .below = below ? bisect(n, d, e, below - 1, low, fmin(mu, high), fine, tiny) : -INFINITY,
        .above = below < n ? bisect(n, d, e, below, fmax(mu, low), high, fine, tiny) : INFINITY};
}

/* ---- nodes ---- */

enum { NODES_MOST = 64, LANDEN = 24 };

struct nodes {
    int count;
    double s[NODES_MOST], weight[NODES_MOST];
};

/* Jacobi's sn, cn and dn of u, with the complementary parameter m1, by descending Landen steps. */
static void jacobi(double u, double m1, double *sn, double *cn, double *dn)
{
    double a[LANDEN + 1] = {1}, c[LANDEN + 1] = {0}, b = sqrt(m1), angle;
    int k = 0;
    while (k < LANDEN && fabs(a[k] - b) > DBL_EPSILON * a[k]) {
        a[k + 1] = (a[k] + b) / 2;
        c[k + 1] = (a[k] - b) / 2;
        b = sqrt(a[k] * b);
        k++;
    }
    angle = ldexp(a[k] * u, k);
    for (; k; k--) angle = (angle + asin(c[k] / a[k] * sin(angle))) / 2;
    *sn = sin(angle);
    *cn = cos(angle);
    *dn = sqrt(*cn * *cn + m1 * *sn * *sn);
}

/* For least <= |x| <= most. */
static void make_nodes(struct nodes *nodes, int count, double least, double most)
{
    double k = least / most, a = 1, b = k, pi = acos(-1);
    for (int step = 0; step < LANDEN && fabs(a - b) > DBL_EPSILON * a; step++) {
        double mean = (a + b) / 2;
        b = sqrt(a * b);
        a = mean;
    }
    double quarter = pi / 2 / a; /* K of the complementary modulus */
    nodes->count = count;
    for (int j = 0; j < count; j++) {
        double sn, cn, dn;
        jacobi((j + .5) * quarter / count, k * k, &sn, &cn, &dn);
        nodes->s[j] = least * sn / cn;
        nodes->weight[j] = 2 * quarter * least / (pi * count) * dn / (cn * cn);
    }
}

static double error_of(const struct nodes *nodes, double least, double most)
{
    enum { POINTS = 48 };
    double worst = 0;
    for (int p = 0; p <= POINTS; p++) {
        double x = least * pow(most / least, (double)p / POINTS), sum = 0;
        for (int j = 0; j < nodes->count; j++) sum += nodes->weight[j] * x / (x * x + nodes->s[j] * nodes->s[j]);
        worst = fmax(worst, fabs(sum - 1));
    }
    return worst;
}

/* As few nodes as are accurate; false: there are too many. */
static bool find_nodes(struct nodes *nodes, double least, double most)
{
    for (int count = 4; count <= NODES_MOST; count += 2) {
        make_nodes(nodes, count, least, most);
        if (error_of(nodes, least, most) < 2e-14) return true;
    }
    return false;
}

/* ---- solves ---- */

/*
 * Z += w Re (T - mu - i s)^-1 Y by L D L^T. The imaginary parts of pivots are at most -s, so that none
 * vanishes.
 */
static void add_node(int64_t n, const double *d, const double *e, double mu, double s, double w, int64_t b,
    const double *Y, double *Z, double *workspace)
{
    double *inverse = workspace, *re = workspace + 2 * n, *im = re + n * b; /* inverse pivots in pairs */
    for (int64_t i = 0; i < n; i++) {
        double x = d[i] - mu, y = -s;
        if (i) {
            double square = e[i - 1] * e[i - 1];
            x -= square * inverse[2 * i - 2];
            y -= square * inverse[2 * i - 1];
        }
        double norm = 1 / (x * x + y * y);
        inverse[2 * i] = x * norm;
        inverse[2 * i + 1] = -y * norm;
        /* the forward substitution: v_i = y_i - e v_(i - 1) / pivot */
        double lr = i ? e[i - 1] * inverse[2 * i - 2] : 0, li = i ? e[i - 1] * inverse[2 * i - 1] : 0;
        const double *vr = re + (i - 1) * b, *vi = im + (i - 1) * b;
        for (int64_t c = 0; c < b; c++) {
            re[i * b + c] = Y[i * b + c] - (i ? lr * vr[c] - li * vi[c] : 0);
            im[i * b + c] = -(i ? lr * vi[c] + li * vr[c] : 0);
        }
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        double pr = inverse[2 * i], pi = inverse[2 * i + 1], off = i + 1 < n ? e[i] : 0;
        const double *zr = re + (i + 1) * b, *zi = im + (i + 1) * b;
        for (int64_t c = 0; c < b; c++) {
            double vr = re[i * b + c] - (i + 1 < n ? off * zr[c] : 0),
                   vi = im[i * b + c] - (i + 1 < n ? off * zi[c] : 0);
            re[i * b + c] = pr * vr - pi * vi;
            im[i * b + c] = pr * vi + pi * vr;
            Z[i * b + c] += w * re[i * b + c];
        }
    }
}

/* True if the squares of columns of Z are the inner products of those of Y and W. */
static bool has_norms(int64_t n, int64_t b, const double *Y, const double *W, const double *Z)
{
    for (int64_t c = 0; c < b; c++) {
        double product = 0, square = 0;
        for (int64_t i = 0; i < n; i++) {
            product += Y[i * b + c] * W[i * b + c];
            square += Z[i * b + c] * Z[i * b + c];
        }
        if (!(fabs(square - product) <= 1e-11 * product)) return false;
    }
    return true;
}

bool tulle__step_apply(int64_t n, const double *d, const double *e, double mu, const tulle__gap *gap, int64_t b,
    const double *Y, double *Z, double *workspace)
{
    struct nodes nodes;
    double scale = fmax(fabs(gap->least), fabs(gap->most));
    double least = fmin(mu - gap->below, gap->above - mu), most = fmax(gap->most - mu, mu - gap->least) * (1 + 1e-5);
    if (isinf(gap->below) || isinf(gap->above)) { /* all on one side */
        double sign = isinf(gap->below) ? 1 : -1;
        least = isinf(gap->below) ? gap->above - mu : mu - gap->below;
        for (int64_t k = 0; k < n * b; k++) Z[k] = sign * Y[k];
        return least > 1e-12 * scale && least > TINY;
    }
    if (!(least > 1e-10 * scale && least > TINY) || !find_nodes(&nodes, least * (1 - 1e-9), most)) return false;
    memset(Z, 0, (size_t)(n * b) * sizeof *Z);
    for (int j = 0; j < nodes.count; j++) add_node(n, d, e, mu, nodes.s[j], nodes.weight[j], b, Y, Z, workspace);
    return has_norms(n, b, Y, Y, Z);
}

/* Z += w (T + s)^-1 Y for a positive definite T. */
static void add_shift(int64_t n, const double *d, const double *e, double s, double w, int64_t b, const double *Y,
    double *Z, double *workspace)
{
    double *inverse = workspace, *v = workspace + 2 * n;
    for (int64_t i = 0; i < n; i++) {
        double factor = i ? e[i - 1] * inverse[i - 1] : 0;
        inverse[i] = 1 / (d[i] + s - (i ? factor * e[i - 1] : 0));
        for (int64_t c = 0; c < b; c++) v[i * b + c] = Y[i * b + c] - (i ? factor * v[(i - 1) * b + c] : 0);
    }
    for (int64_t i = n - 1; i >= 0; i--)
        for (int64_t c = 0; c < b; c++) {
            v[i * b + c] = inverse[i] * (v[i * b + c] - (i + 1 < n ? e[i] * v[(i + 1) * b + c] : 0));
            Z[i * b + c] += w * v[i * b + c];
        }
}

/* Z = T Y; they do not overlap. */
static void multiply(int64_t n, const double *d, const double *e, int64_t b, const double *Y, double *Z)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++)
            Z[i * b + c] = d[i] * Y[i * b + c] + (i ? e[i - 1] * Y[(i - 1) * b + c] : 0) +
                           (i + 1 < n ? e[i] * Y[(i + 1) * b + c] : 0);
}

void tulle__step_sums(
    int64_t n, const double *d, const double *e, int64_t b, const double *Y, const double *Z, double sums[2])
{
    sums[0] = sums[1] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++) {
            double product = d[i] * Z[i * b + c] + (i ? e[i - 1] * Z[(i - 1) * b + c] : 0) +
                             (i + 1 < n ? e[i] * Z[(i + 1) * b + c] : 0);
            sums[0] += Y[i * b + c] * Z[i * b + c];
            sums[1] += Y[i * b + c] * product;
        }
}

bool tulle__power_apply(int64_t n, const double *d, const double *e, tulle__power power, const tulle__gap *gap,
    int64_t b, const double *Y, double *Z, double *workspace)
{
    struct nodes nodes;
    double *W = workspace + 2 * n + n * b;
    if (!isinf(gap->below) || !(gap->above > 1e-10 * gap->most && gap->above > TINY)) return false;
    memset(Z, 0, (size_t)(n * b) * sizeof *Z);
    if (power == TULLE__INVERSE) {
        add_shift(n, d, e, 0, 1, b, Y, Z, workspace);
        return true;
    }
    if (!find_nodes(&nodes, sqrt(gap->above * (1 - 1e-9)), sqrt(gap->most * (1 + 1e-5)))) return false;
    for (int j = 0; j < nodes.count; j++)
        add_shift(n, d, e, nodes.s[j] * nodes.s[j], nodes.weight[j], b, Y, Z, workspace);
    if (power == TULLE__SQRT) {
        memcpy(W, Z, (size_t)(n * b) * sizeof *Z);
        multiply(n, d, e, b, W, Z);
        multiply(n, d, e, b, Y, W);
    } else {
        memset(W, 0, (size_t)(n * b) * sizeof *W);
        add_shift(n, d, e, 0, 1, b, Y, W, workspace);
    }
    return has_norms(n, b, Y, W, Z);
}
