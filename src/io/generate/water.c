/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices like those of liquid water in a local basis, in dense blocks, one a molecule. A cubic box of n^3
 * cells of 3.104 Angstrom holds one molecule each, off its centre by up to 0.25 in each direction at
 * random. An infinite crystal repeats it; the block of two molecules at a distance r within `cutoff` is a
 * fixed random matrix times a norm that decays with r, as measured on 216 molecules (SZV basis, CP2K):
 * log-linear between the bins' middles. The diagonal has the levels of a molecule, scattered by 0.055 Ha.
 *
 * The matrix is that of `repeat`^3 boxes with periodic boundaries: block (i, j) is the sum over the images
 * of j. So it is block-circulant, and the eigenvalues of any repetition are those of repeat^3 Hermitian
 * matrices of one box, H(k)_pq = sum_T h(p, q, T) exp(2 pi i k T / repeat) (Bloch sums).
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "io/generate/generator.h"

enum { REACH_MOST = 6, WIDTH_MOST = 2 * REACH_MOST + 1, IMAGES_MOST = WIDTH_MOST * WIDTH_MOST * WIDTH_MOST };
enum { SIZE_LEAST = 5, SIZE_MOST = 64, BINS = 5 };

static const double cell = 3.104, jitter = 0.25, scatter = 0.055, nearest = 2.4;

/* Distances, logarithms of the mean Frobenius norms there, and the length of the decay beyond. */
static const double middle[BINS] = {2.95, 4, 5, 6, 7};
static const struct {
    const char *name;
    double log_norm[BINS], decay;
} matrices[] = {{"k", {-2.995732, -5.426151, -6.907755, -7.824046, -9.210340}, .66},
    {"h", {-2.525729, -4.605170, -5.878136, -7.600902, -9.567015}, .51},
    {"s", {-2.040221, -4.074542, -5.360193, -7.264430, -9.433484}, .48}};
enum { K, H, S, MATRICES };

static tulle_status open_water(tulle__spec_part *part, tulle__generator *g)
{
    static const char *const names[MATRICES] = {"k", "h", "s"};
    int64_t n = -1, repeat = 1, size = 6, box, all;
    const char *word = "k";
    int which;
    double cutoff = 10, coupling = 1, level = .44;
    TULLE_CALL(tulle__spec_int(part, "n", 1, 1 << 14, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'water' needs n, the molecules along an edge of the box");
    TULLE_CALL(tulle__spec_int(part, "repeat", 1, 1 << 10, &repeat));
    TULLE_CALL(tulle__spec_int(part, "size", SIZE_LEAST, SIZE_MOST, &size));
    TULLE_CALL(tulle__spec_real(part, "cutoff", 0, REACH_MOST * cell - 2 * jitter, &cutoff));
    TULLE_CALL(tulle__spec_real(part, "coupling", -4, 4, &coupling));
    TULLE_CALL(tulle__spec_real(part, "level", -2, 2, &level));
    TULLE_CALL(tulle__spec_word(part, "matrix", &word));
    TULLE_CALL(tulle__name_parse("matrix of water (matrix=)", word, names, MATRICES, &which));
    box = n * n * n;
    if (n * repeat > 1 << 14)
        return tulle__fail(
            TULLE_ERR_ARG, "'water': %" PRId64 " molecules along an edge are over the limit", n * repeat);
    all = box * repeat * repeat * repeat;
    g->m = g->n = all * size;
    g->symmetric = 1;
    g->block = (int)size;
    g->as.water.n = n;
    g->as.water.edge = n * repeat;
    g->as.water.box = box;
    g->as.water.matrix = which;
    g->as.water.reach = (int)((cutoff + 2 * jitter) / cell) + 1;
    g->as.water.cutoff = cutoff;
    g->as.water.coupling = coupling;
    g->as.water.level = level;
    return TULLE_OK;
}

/* ---- one block ---- */

/* e^x for x <= 0 by additions and products alone, so that every machine makes the same matrix. */
static double portable_exp(double x)
{
    if (x < -700) return 0;
    const int64_t halvings = (int64_t)(-x * 1.44269504088896340736);
    const double r = x + (double)halvings * 0.693147180559945309417; /* in (-ln 2, 0], up to rounding */
    double sum = 1;
    for (int k = 20; k > 0; k--) sum = 1 + r * sum / k;
    const uint64_t bits = (uint64_t)(1023 - halvings) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return scale * sum;
}

static double norm_at(int matrix, double r)
{
    const double *log_norm = matrices[matrix].log_norm;
    if (r < nearest) r = nearest;
    if (r >= middle[BINS - 1])
        return portable_exp(log_norm[BINS - 1] - (r - middle[BINS - 1]) / matrices[matrix].decay);
    int bin = 0;
    while (bin + 2 < BINS && r >= middle[bin + 1]) bin++;
    const double slope = (log_norm[bin + 1] - log_norm[bin]) / (middle[bin + 1] - middle[bin]);
    return portable_exp(log_norm[bin] + slope * (r - middle[bin]));
}

/* A molecule j that is seen from i: the offset of its cell, in an infinite crystal. */
struct image {
    int64_t molecule;
    int d[3];
    double norm;
};

static int64_t floor_mod(int64_t x, int64_t n)
{
    const int64_t r = x % n;
    return r < 0 ? r + n : r;
}

static double unit(uint64_t seed, uint64_t a, uint64_t b)
{
    return 2 * tulle__random_unit(tulle__random_at(seed, a, b)) - 1;
}

/* A multiple of 2^-50, so that sums of images are exact, and symmetric in whatever order. */
static double quantise(double x)
{
    return x + 6 - 6;
}

/* Coordinate `axis` of a molecule of the box within its cell. */
static double place(const tulle__generator *g, int64_t base, int axis)
{
    return jitter * unit(g->pattern_seed, (uint64_t)base, (uint64_t)axis);
}

/* A molecule's cell in the whole crystal, and the molecule of the box that it repeats. */
static void find_cell(const tulle__generator *g, int64_t molecule, int64_t at[3], int64_t *base)
{
    const int64_t n = g->as.water.n, edge = g->as.water.edge;
    at[0] = molecule % edge;
    at[1] = molecule / edge % edge;
    at[2] = molecule / edge / edge;
    *base = (at[2] % n * n + at[1] % n) * n + at[0] % n;
}

/* Sets everything of an image but its offset; false: it is beyond the cutoff. */
static bool see(const tulle__generator *g, const int64_t at[3], int64_t base, struct image *image)
{
    const int64_t n = g->as.water.n, edge = g->as.water.edge;
    int64_t other[3], other_base, square_of_cells = 0;
    double square = 0;
    for (int a = 0; a < 3; a++) other[a] = floor_mod(at[a] + image->d[a], edge);
    other_base = (other[2] % n * n + other[1] % n) * n + other[0] % n;
    for (int a = 0; a < 3; a++) {
        const double x = cell * image->d[a] + (place(g, other_base, a) - place(g, base, a));
        square += x * x;
        square_of_cells += image->d[a] * image->d[a];
    }
    image->molecule = (other[2] * edge + other[1]) * edge + other[0];
    image->norm = 0;
    if (!square_of_cells) return true;
    const double r = sqrt(square);
    if (r > g->as.water.cutoff) return false;
    image->norm = g->as.water.coupling * norm_at(g->as.water.matrix, r);
    return true;
}

/* A level of the molecule, in Hartree; of an overlap matrix 1. */
static double level_of(const tulle__generator *g, int64_t base, int64_t k)
{
    static const double levels[] = {-.80, -.35, -.15, -.09};
    if (g->as.water.matrix == S) return 1;
    return (k < 4 ? levels[k] : g->as.water.level + .07 * (double)(k - 4)) +
           scatter * unit(g->value_seed, UINT64_MAX - (uint64_t)base, (uint64_t)k);
}

/* Adds the block of one image, rows a0 .. a1 - 1, to sum[(a - a0) * size + b]; values as of a pair, seen from either.
 */
static void add_image(const tulle__generator *g, int64_t base, const struct image *image, const int64_t at[3],
    int64_t a0, int64_t a1, double *sum)
{
    const int64_t size = g->block, n = g->as.water.n;
    int64_t other[3], there;
    int sign = 0;
    for (int a = 0; a < 3; a++) other[a] = floor_mod(at[a] + image->d[a], n);
    there = (other[2] * n + other[1]) * n + other[0];
    for (int a = 2; a >= 0 && !sign; a--) sign = (image->d[a] > 0) - (image->d[a] < 0);
    if (!sign) {
        for (int64_t a = a0; a < a1; a++) sum[(a - a0) * size + a] += quantise(level_of(g, base, a));
        return;
    }
    /* the offset leads from the first to the second */
    const int64_t first = sign > 0 ? base : there, second = sign > 0 ? there : base;
    uint64_t way = 0;
    for (int a = 0; a < 3; a++) way = way * 64 + (uint64_t)(sign * image->d[a] + 32);
    const uint64_t seed = tulle__random_at(tulle__random_at(g->value_seed, (uint64_t)first, way), (uint64_t)second, 1);
    /* elements uniform in [-1, 1) have a mean square of 1/3 */
    const double factor = image->norm * 1.7320508075688772 / (double)size;
    for (int64_t a = a0; a < a1; a++)
        for (int64_t b = 0; b < size; b++)
            sum[(a - a0) * size + b] += quantise(
                factor * (sign > 0 ? unit(seed, (uint64_t)a, (uint64_t)b) : unit(seed, (uint64_t)b, (uint64_t)a)));
}

/* ---- rows ---- */

/* All images that molecule i sees, itself too, sorted by molecule. Returns their number. */
static int list_images(const tulle__generator *g, int64_t i, int64_t at[3], int64_t *base, struct image *image)
{
    const int reach = g->as.water.reach;
    int count = 0;
    find_cell(g, i, at, base);
    for (int z = -reach; z <= reach; z++)
        for (int y = -reach; y <= reach; y++)
            for (int x = -reach; x <= reach; x++) {
                image[count] = (struct image){.d = {x, y, z}};
                count += see(g, at, *base, &image[count]);
            }
    /* nearly sorted: where boundaries are crossed, some come late */
    for (int k = 1; k < count; k++) {
        const struct image moved = image[k];
        int to = k;
        for (; to > 0 && image[to - 1].molecule > moved.molecule; to--) image[to] = image[to - 1];
        image[to] = moved;
    }
    return count;
}

/* Columns c0 .. c1 - 1 that belong to a molecule: from *from on. Returns their number. */
static int64_t clip(const tulle__generator *g, int64_t molecule, int64_t c0, int64_t c1, int64_t *from)
{
    const int64_t begin = molecule * g->block, end = begin + g->block;
    *from = begin > c0 ? begin : c0;
    const int64_t until = end < c1 ? end : c1;
    return until > *from ? until - *from : 0;
}

static int64_t row_columns(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    struct image image[IMAGES_MOST];
    int64_t at[3], base, from, found = 0;
    const int count = list_images(g, row / g->block, at, &base, image);
    for (int k = 0; k < count; k++) {
        if (k && image[k].molecule == image[k - 1].molecule) continue;
        const int64_t columns = clip(g, image[k].molecule, c0, c1, &from);
        for (int64_t c = 0; c < columns; c++, found++)
            if (col) col[found] = from + c;
    }
    return found;
}

static int64_t count_columns(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    return row_columns(g, row, c0, c1, NULL);
}

/* Rows of one molecule, a0 .. a1 - 1 of its own; the first of the box is row r0. */
static void fill_molecule(
    const tulle__generator *g, int64_t i, int64_t a0, int64_t a1, int64_t r0, const tulle__generator_box *box)
{
    struct image image[IMAGES_MOST];
    int64_t at[3], base, from, done = 0;
    const int64_t size = g->block;
    double sum[SIZE_MOST * SIZE_MOST];
    const int count = list_images(g, i, at, &base, image);
    for (int k = 0; k < count;) {
        const int64_t j = image[k].molecule, columns = clip(g, j, box->c0, box->c1, &from);
        memset(sum, 0, (size_t)((a1 - a0) * size) * sizeof *sum);
        for (; k < count && image[k].molecule == j; k++)
            if (columns) add_image(g, base, &image[k], at, a0, a1, sum);
        for (int64_t a = a0; a < a1 && columns; a++)
            tulle__generator_box_put(
                box, box->rowptr[i * size + a - r0] + done, from, columns, sum + (a - a0) * size + from - j * size);
        done += columns;
    }
}

static void fill(const tulle__generator *g, int64_t r0, int64_t r1, const tulle__generator_box *box)
{
    const int64_t size = g->block;
    for (int64_t row = r0; row < r1;) {
        const int64_t i = row / size, end = (i + 1) * size < r1 ? (i + 1) * size : r1;
        fill_molecule(g, i, row - i * size, end - i * size, r0, box);
        row = end;
    }
}

static double element(const tulle__generator *g, int64_t row, int64_t col)
{
    struct image image[IMAGES_MOST];
    int64_t at[3], base;
    const int64_t size = g->block, a = row % size;
    double sum[SIZE_MOST] = {0};
    const int count = list_images(g, row / size, at, &base, image);
    for (int k = 0; k < count; k++)
        if (image[k].molecule == col / size) add_image(g, base, &image[k], at, a, a + 1, sum);
    return sum[col % size];
}

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    const int64_t width = 2 * g->as.water.reach + 1, most = width * width * width * g->block;
    (void)row;
    return most < c1 - c0 ? most : c1 - c0;
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    const double r = g->as.water.cutoff / cell, all = (double)g->n;
    double columns = (4.18879020478639098 * r * r * r + 1) * g->block;
    if (columns > all) columns = all;
    return (double)(r1 - r0) * columns * ((double)(c1 - c0) / all);
}

static const char *const keys[] = {"n", "repeat", "size", "matrix", "cutoff", "coupling", "level", NULL};

const tulle__generator_kind tulle__generator_water = {
    .name = "water",
    .sentence = "n^3 molecules of liquid water, a block of size=6 each, whose norms decay with distances up to "
                "cutoff=10 Angstrom; repeat=1: copies of the box along each edge; matrix=k, h or s",
    .keys = keys,
    .mode = TULLE__VALUES_ELEMENTS,
    .open = open_water,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
    .element = element,
    .count = count_columns,
    .fill = fill,
};
