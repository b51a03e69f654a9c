/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix-free operator of a cantilever. Each PE sweeps over the elements that have a node among
 * its rows and adds the element matrix times the nodal values. It verifies the assembled matrix,
 * and therefore shares only the element matrix and the coefficient with the assembly.
 */
#include <string.h>

#include <tulle/krylov.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "io/generate/cantilever.h"
#include "io/generate/hexahedron.h"
#include "io/operand.h"
#include "mat/fetch.h"
#include "tile/element.h"

enum { NODES = TULLE__HEXAHEDRON_NODES, UNKNOWNS = NODES * TULLE__HEXAHEDRON_DOF };

struct elements {
    tulle__owned owned;
    tulle__generator *generator;
    tulle_layout *layout;
};

struct bound {
    tulle__owned owned;
    const tulle__generator *generator;
    tulle_mat *x, *y;
    tulle_gidx first, end; /* own rows */
    tulle_gidx low, high;  /* the rows of x that its elements read */
    double *values;        /* x[low .. high - 1] */
};

static void drop(tulle__owned *object)
{
    struct elements *elements = (struct elements *)object;
    tulle__generator_close(elements->generator);
    tulle_layout_free(elements->layout);
    tulle__free(elements);
}

static void free_elements(void *context)
{
    struct elements *elements = context;
    tulle__pe_disown(&elements->owned);
    drop(&elements->owned);
}

static void drop_bound(tulle__owned *object)
{
    struct bound *bound = (struct bound *)object;
    tulle__free(bound->values);
    tulle__free(bound);
}

static void unbind_elements(void *arg)
{
    struct bound *bound = arg;
    tulle__pe_disown(&bound->owned);
    drop_bound(&bound->owned);
}

static tulle_status bind_elements(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    const struct elements *elements = context;
    const tulle__generator *g = elements->generator;
    const int64_t *n = g->as.cantilever.nodes, d = g->as.cantilever.dof;
    const tulle_layout *l = x->layout;
    struct bound *bound = NULL;
    /* an upper bound on the distance of an element's last node from its first */
    tulle_gidx reach = (n[0] * n[1] + n[0] + 2) * d;
    tulle_status status = tulle__alloc_zero(1, sizeof *bound, "an operator", &bound);
    if (status == TULLE_OK) {
        bound->generator = g;
        bound->x = x;
        bound->y = y;
        for (int i = 0; i < l->mt; i++)
            if (tulle__tile_is_mine(x, i, 0) && tulle__tile_rows(x, i)) {
                bound->first = l->row_cut[i];
                bound->end = l->row_cut[i + 1];
            }
        bound->low = bound->first > reach ? bound->first - reach : 0;
        bound->high = bound->end + reach < g->n ? bound->end + reach : g->n;
        if (bound->first == bound->end) bound->high = bound->low = 0;
        status = tulle__alloc(
            (size_t)((bound->high - bound->low) * l->n), sizeof(double), "values at nodes", &bound->values);
    }
    status = tulle_comm_agree(x->comm, status);
    if (status != TULLE_OK) {
        if (bound) drop_bound(&bound->owned);
        return status;
    }
    tulle__pe_own(x->comm->pe, &bound->owned, drop_bound);
    *out = bound;
    return TULLE_OK;
}

/* Gathers the required rows of x from all tiles that hold some. */
static tulle_status gather(struct bound *bound)
{
    const tulle_layout *l = bound->x->layout;
    for (int i = 0; i < l->mt; i++) {
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
        tulle_gidx from = l->row_cut[i] > bound->low ? l->row_cut[i] : bound->low;
        tulle_gidx to = l->row_cut[i + 1] < bound->high ? l->row_cut[i + 1] : bound->high;
        tulle_tile tile;
        if (from >= to) continue;
        TULLE_CALL(tulle__fetch_read(bound->x, i, 0, &fetch, &tile));
        for (tulle_gidx r = from; r < to; r++)
            for (tulle_gidx c = 0; c < l->n; c++)
                bound->values[(r - bound->low) * l->n + c] =
                    tulle__element(tile.type, tile.val, (r - l->row_cut[i]) * tile.ld + c);
    }
    return TULLE_OK;
}

static int clamped(const tulle__generator *g, int64_t node)
{
    return g->as.cantilever.clamp && node % g->as.cantilever.nodes[0] == 0;
}

/*
 * sum[own rows] += element matrix times column c of x. Clamped unknowns are neither read nor
 * written.
 */
static void add_element(const struct bound *bound, const int64_t e[3], tulle_gidx c, double *sum)
{
    const tulle__generator *g = bound->generator;
    const int64_t *n = g->as.cantilever.nodes, d = g->as.cantilever.dof;
    double at[UNKNOWNS];
    int64_t node[NODES];
    for (int l = 0; l < NODES; l++) {
        node[l] = ((e[2] + (l >> 2)) * n[1] + e[1] + (l >> 1 & 1)) * n[0] + e[0] + (l & 1);
        int64_t here = node[l] * d >= bound->low && (node[l] + 1) * d <= bound->high && !clamped(g, node[l]);
        for (int64_t a = 0; a < d; a++)
            at[l * d + a] = here ? bound->values[(node[l] * d + a - bound->low) * bound->x->layout->n + c] : 0;
    }
    double coefficient = tulle__cantilever_coefficient(g, e[0], e[1], e[2]);
    for (int l = 0; l < NODES; l++)
        for (int64_t a = 0; a < d && !clamped(g, node[l]); a++) {
            int64_t row = node[l] * d + a;
            double product = 0;
            if (row < bound->first || row >= bound->end) continue;
            for (int64_t b = 0; b < NODES * d; b++) product += g->as.cantilever.K[(l * d + a) * NODES * d + b] * at[b];
            sum[row - bound->first] += coefficient * product;
        }
}

/* Computes column c of y, own rows. */
static void multiply(const struct bound *bound, tulle_gidx c, double *sum)
{
    const tulle__generator *g = bound->generator;
    const int64_t *n = g->as.cantilever.nodes, d = g->as.cantilever.dof, plane = n[0] * n[1];
    int64_t low = bound->first / d / plane - 1, high = (bound->end - 1) / d / plane; /* layers of elements */
    for (tulle_gidx r = bound->first; r < bound->end; r++)
        sum[r - bound->first] = clamped(g, r / d) ? bound->values[(r - bound->low) * bound->x->layout->n + c] : 0;
    for (int64_t z = low > 0 ? low : 0; z <= high && z + 1 < n[2]; z++)
        for (int64_t y = 0; y + 1 < n[1]; y++)
            for (int64_t x = 0; x + 1 < n[0]; x++) {
                int64_t first = (z * n[1] + y) * n[0] + x, last = first + plane + n[0] + 1;
                if ((last + 1) * d > bound->first && first * d < bound->end)
                    add_element(bound, (int64_t[]){x, y, z}, c, sum);
            }
}

static tulle_status apply_elements(void *arg)
{
    struct bound *bound = arg;
    tulle_comm *comm = bound->x->comm;
    tulle_gidx rows = bound->end - bound->first, cols = bound->x->layout->n;
    double *sum = NULL;
    tulle_status status = tulle_comm_agree(comm, TULLE_OK); /* all PEs have written x */
    if (status != TULLE_OK) return status;
    TULLE_TRY(tulle__alloc((size_t)rows, sizeof *sum, "sums of elements", &sum));
    TULLE_TRY(gather(bound));
    for (int i = 0; i < bound->y->layout->mt; i++) {
        if (!tulle__tile_is_mine(bound->y, i, 0) || !tulle__tile_rows(bound->y, i)) continue;
        tulle_own_tile y = tulle__own_tile_in_place(bound->y, i, 0);
        for (tulle_gidx c = 0; c < cols; c++) {
            multiply(bound, c, sum);
            for (tulle_gidx r = 0; r < rows; r++) tulle__element_set(y.type, y.val, r * y.ld + c, sum[r]);
        }
    }
out:
    tulle__free(sum);
    return tulle_comm_agree(comm, status); /* no PE reads x any more */
}

static tulle_status open_elements(tulle_comm *comm, const char *operand, struct elements **out)
{
    struct elements *elements = NULL;
    tulle_gidx *cut = NULL;
    int *owner = NULL, size = comm->size;
    tulle_status status;
    if (tulle__operand_format(operand) != TULLE__FORMAT_GENERATOR)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s is a file: only a cantilever has an element operator", operand);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *elements, "an operator", &elements));
    TULLE_TRY(tulle__generator_open(operand, &elements->generator));
    if (!tulle__is_cantilever(elements->generator))
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: only a cantilever has an element operator", operand));
    TULLE_TRY(tulle__alloc((size_t)size + 1, sizeof *cut, "cuts", &cut));
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *owner, "owners", &owner));
    tulle_cuts_even(elements->generator->m, size, cut);
    for (int r = 0; r < size; r++) owner[r] = r;
    tulle_layout_spec spec = {
        .m = elements->generator->m, .n = 1, .tile_rows = size, .tile_cols = 1, .row_cut = cut, .owner = owner};
    TULLE_TRY(tulle_layout_new(&spec, size, &elements->layout));
    *out = elements;
    elements = NULL;
out:
    tulle__free(cut);
    tulle__free(owner);
    if (elements) drop(&elements->owned);
    return status;
}

tulle_status tulle_operator_of_elements(tulle_comm *comm, const char *operand, tulle_type type, tulle_operator *op)
{
    if (TULLE__NULL(comm) || TULLE__NULL(operand) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(op))
        return tulle__refuse(comm);
    struct elements *elements = NULL;
    tulle_status status = tulle_comm_agree(comm, open_elements(comm, operand, &elements));
    if (status != TULLE_OK) {
        if (elements) drop(&elements->owned);
        return status;
    }
    tulle__pe_own(comm->pe, &elements->owned, drop);
    const tulle_operator made = {.comm = comm,
        .n = elements->generator->m,
        .type = type,
        .layout = elements->layout,
        .context = elements,
        .bind = bind_elements,
        .apply = apply_elements,
        .unbind = unbind_elements,
        .free = free_elements};
    TULLE__OPTIONS_WRITE(op, &made, cols);
    return TULLE_OK;
}
