/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the operands, chooses the grid, redistributes. */
#include "verbs/product_operands.h"

#include <stdlib.h>

#include "needs.h"
#include "verbs/block_sizes.h"
#include "verbs/device_fit.h"

/* Reads sparse operands in their initial layout; *B is *A for a square A alone. Collective. */
int lookahead_option(const struct options *options)
{
    int asked = (int)options_int(options, "lookahead", -1);
    return asked < 0 ? 0 : asked == 0 ? TULLE_NONE : asked;
}

static tulle_status read_both(
    const struct product *p, tulle_comm *comm, struct operands *x, tulle_mat **A, tulle_mat **B, char *warnings)
{
    const struct options *o = p->options;
    tulle_status status = load_operand(comm, o->operand[0], NULL, TULLE_CSR, &p->reading, warnings, A);
    if (status == TULLE_OK) status = permute_operand(o, A, &x->permutation);
    if (status != TULLE_OK) return status;
    const bool transpose = options_has(o, "transpose-b") && options_flag(o, "transpose-b");
    if (o->noperands == 2) {
        tulle_mat *given = NULL;
        status = load_operand(comm, o->operand[1], NULL, p->sparse ? TULLE_CSR : TULLE_DENSE, &p->reading, warnings,
            transpose ? &given : B);
        if (status == TULLE_OK && transpose) status = tulle_mat_transpose(given, B);
        tulle_mat_free(given);
        return status;
    }
    if (!p->sparse) {
        tulle_layout_spec spec = {.m = tulle_mat_cols(*A),
            .n = options_int(o, "cols", DEFAULT_COLS),
            .grid_rows = tulle_comm_size(comm),
            .grid_cols = 1};
        tulle_layout *layout;
        status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
        if (status != TULLE_OK) return status;
        status = tulle_mat_new_dense(comm, layout, p->reading.type, TULLE_ROW_MAJOR, B);
        tulle_layout_free(layout);
        if (status == TULLE_OK) status = tulle_mat_fill_random(*B, (uint64_t)options_int(o, "seed", 1));
        return status;
    }
    *B = *A;
    return tulle_mat_rows(*A) == tulle_mat_cols(*A) && !transpose ? TULLE_OK : tulle_mat_transpose(*A, B);
}

/* The rows of B in the order of A's columns. */
static tulle_status read_operands(
    const struct product *p, tulle_comm *comm, struct operands *x, tulle_mat **A, tulle_mat **B, char *warnings)
{
    tulle_status status = read_both(p, comm, x, A, B, warnings);
    if (status != TULLE_OK || !x->permutation.square || (p->sparse && p->options->noperands == 1) ||
        tulle_mat_rows(*B) != tulle_mat_cols(*A))
        return status;
    return permute_rows(&x->permutation, B);
}

/*
 * Redistributes *from and frees the original as early as possible, so that two factors never exist
 * twice.
 */
static tulle_status redistribute(tulle_mat **from, const tulle_layout *layout, int last, tulle_mat **to)
{
    tulle_status status = tulle_mat_redistribute(*from, layout, to);
    if (status != TULLE_OK || !last) return status;
    tulle_mat_free(*from);
    *from = NULL;
    return TULLE_OK;
}

/* The status of an optional step, which is skipped if memory is short. */
static tulle_status skip_if_short(tulle_status status)
{
    return status == TULLE_ERR_MEMORY || status == TULLE_ERR_LIMIT ? TULLE_OK : status;
}

static int in_blocks(const struct product *p)
{
    return options_has(p->options, "blocks") && options_word(p->options, "blocks", NULL);
}

/*
 * True if operation counts pay: every PE reads all of B for them, so large ones are only made where
 * something is chosen. Otherwise the model uses the entries of tiles.
 */
static int worth_counting(const struct product *p, const tulle_mat *B, tulle_layout *const l[3])
{
    int asked = p->grid.choose || (p->nalgs == 1 && p->alg[0] == TULLE_PRODUCT_AUTO);
    if (grid_is_mixed(&p->grid)) return 0;                        /* counts need matching layouts */
    if (in_blocks(p) && tulle_mat_kind(B) == TULLE_CSR) return 0; /* that of blocks comes once they are there */
    /* with so many PEs and so large a B counting would take longer than the rest */
    if (p->sizes_only && !asked) return 0;
    double units = (double)tulle_layout_tile_rows(l[0]) * tulle_layout_tile_cols(l[0]) * tulle_layout_tile_cols(l[1]);
    return units <= 1 << 20 && (double)tulle_mat_bytes(B) <= (asked ? 2e9 : 64e6);
}

/* The grid, the layouts, and the operation counts on them. A dense B needs no reading. */
static tulle_status plan_layouts(
    const struct product *p, tulle_comm *comm, struct operands *x, tulle_mat *A, tulle_mat *B, tulle_layout *l[3])
{
    tulle_mat *sparse = p->sparse ? B : NULL;
    tulle_model_options model = {.threads = p->threads,
        .lookahead = lookahead_option(p->options),
        .deterministic = options_flag(p->options, "deterministic"),
        .transfers = p->transfers};
    tulle_status status = grid_weigh(&x->grid, A, sparse);
    if (status == TULLE_OK && x->grid.choose)
        status = grid_choose(&x->grid, A, sparse, tulle_mat_cols(B), p->nalgs == 1 ? p->alg[0] : TULLE_PRODUCT_AUTO,
            &x->machine, &model);
    if (status == TULLE_OK)
        status = tulle_comm_agree(comm, grid_layouts(&x->grid, tulle_mat_rows(A), x->k, tulle_mat_cols(B), l));
    if (status == TULLE_OK && sparse && worth_counting(p, B, l))
        status = skip_if_short(grid_counts(&x->grid, A, sparse, l, TULLE_COUNT_FLOPS, 0, &x->counts));
    grid_fini(&x->grid);
    return status;
}

/* Distributes PE 0's machine; for this machine also measures the network, wrappers included. */
static tulle_status broadcast_machine(const struct product *p, tulle_comm *comm, struct operands *x)
{
    if (tulle_comm_rank(comm) == 0) x->machine = p->machine;
    tulle_status status = tulle_comm_broadcast(comm, 0, &x->machine, sizeof x->machine);
    if (status == TULLE_OK && p->is_here && tulle_comm_size(comm) > 1)
        status = skip_if_short(tulle_machine_measure_tiers(comm, &x->machine));
    return status;
}

void product_sizes(const struct options *o, const tulle_operand_shape *shape, tulle_gidx size[3])
{
    int64_t all = options_int(o, "size", 0);
    size[0] = o->noperands ? shape[0].m : options_int(o, "m", all);
    size[1] = o->noperands ? shape[0].n : options_int(o, "k", all);
    size[2] = o->noperands == 2 ? shape[1].n : options_int(o, "n", all ? all : size[1]);
}

/* The grid of PEs that moves the fewest bytes: each PE reads its rows of A and its columns of B. */
static void choose_dense_grid(struct grid *grid, const tulle_gidx size[3])
{
    double least = -1;
    for (int cols = 1; cols <= grid->pes; cols++) {
        int rows = grid->pes / cols;
        if (grid->pes % cols) continue;
        double moved = (double)size[1] * ((double)size[0] * (cols - 1) + (double)size[2] * (rows - 1));
        if (least >= 0 && moved >= least) continue;
        least = moved;
        grid->rows = rows;
        grid->cols = cols;
    }
}

/* True if --grid auto may have layers: for owners of C, in layouts of its own. */
static int may_have_layers(const struct product *p)
{
    static const char *const excluded[] = {"replication", "cyclic", "tiles-b", "tiles-c", "grid-b", "grid-c"};
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        if (options_flag(p->options, excluded[i])) return 0;
    return p->nalgs == 1 && (p->alg[0] == TULLE_PRODUCT_AUTO || p->alg[0] == TULLE_PRODUCT_STATIONARY_C);
}

static double volume_of(const struct grid *grid, const tulle_gidx size[3])
{
    return (double)size[1] * ((double)size[0] * (grid->cols - 1) + (double)size[2] * (grid->rows - 1)) *
           (double)tulle_type_size(grid->type);
}

/*
 * A grid with layers, or with idle PEs, if it moves at least a tenth less and fits; not where PEs
 * read each other's memory in place, as nothing moves then. PE 0 decides.
 */
static tulle_status choose_layers(
    const struct product *p, tulle_comm *comm, struct operands *x, const tulle_gidx size[3])
{
    struct grid *grid = &x->grid;
    int in_place = x->machine.in_place && x->machine.node_pes >= grid->pes;
    double memory = options_size(p->options, "memory", 0.8 * tulle_memory_free()) / grid->pes;
    tulle_gemm_grid best = {.pes = 0};
    int64_t chosen[3] = {0, 0, 0};
    if (tulle_comm_rank(comm) == 0 && !in_place && may_have_layers(p) &&
        tulle_gemm_grid_best(size[0], size[2], size[1], grid->type, grid->pes, (size_t)memory, &best) == TULLE_OK &&
        (double)best.volume < 0.9 * volume_of(grid, size)) {
        chosen[0] = best.rows;
        chosen[1] = best.cols;
        chosen[2] = best.layers;
    }
    tulle_status status = tulle_comm_broadcast(comm, 0, chosen, sizeof chosen);
    if (status != TULLE_OK || !chosen[0]) return status;
    grid->rows = (int)chosen[0];
    grid->cols = (int)chosen[1];
    grid->layers = (int)chosen[2];
    return TULLE_OK;
}

/* Without --tiles: as many as it takes until blocks of them fit a device. PE 0 decides. */
static tulle_status choose_tiles(
    const struct product *p, tulle_comm *comm, struct operands *x, const tulle_gidx size[3])
{
    struct grid *grid = &x->grid;
    int64_t tiles = grid->tiles;
    const int across = grid->rows > grid->cols ? grid->rows : grid->cols; /* of inner indices: pe_grid.c */
    const struct device_share share = device_share_of(
        size, grid->type, grid->rows, grid->cols, grid->layers ? grid->layers : 1, grid->layers ? 0 : across);
    if (options_int(p->options, "tiles", 0) || grid_is_mixed(grid)) return TULLE_OK;
    if (tulle_comm_rank(comm) == 0) tiles = device_fit_fitting(p->options, &share, device_fit_memory(p->options));
    tulle_status status = tulle_comm_broadcast(comm, 0, &tiles, sizeof tiles);
    if (status == TULLE_OK) grid->tiles = (int)tiles;
    return status;
}

/* A dense factor in its layout: from a file, or random. */
static tulle_status dense_factor(
    const struct product *p, tulle_comm *comm, int operand, const tulle_layout *layout, char *warnings, tulle_mat **X)
{
    const struct options *o = p->options;
    if (operand < o->noperands)
        return load_operand(comm, o->operand[operand], layout, TULLE_DENSE, &p->reading, warnings, X);
    tulle_status status = tulle_mat_new_dense_undefined(comm, layout, p->reading.type, TULLE_ROW_MAJOR, X);
    return status == TULLE_OK ? tulle_mat_fill_random(*X, (uint64_t)options_int(o, "seed", 1) + (uint64_t)operand)
                              : status;
}

static tulle_status distribute_dense(const struct product *p, tulle_comm *comm, struct operands *x, char *warnings)
{
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_operand_shape shape[2] = {{.m = 0}};
    tulle_gidx size[3];
    tulle_status status = broadcast_machine(p, comm, x);
    for (int i = 0; i < p->options->noperands && status == TULLE_OK; i++)
        status = tulle_comm_agree(comm, tulle_operand_inspect(p->options->operand[i], &p->reading, &shape[i]));
    if (status != TULLE_OK) return status;
    product_sizes(p->options, shape, size);
    x->k = size[1];
    if (x->grid.choose) choose_dense_grid(&x->grid, size);
    if (x->grid.choose) status = choose_layers(p, comm, x, size);
    if (status == TULLE_OK) status = choose_tiles(p, comm, x, size);
    if (status != TULLE_OK) return status;
    status = tulle_comm_agree(comm, grid_layouts(&x->grid, size[0], size[1], size[2], l));
    if (status == TULLE_OK) status = dense_factor(p, comm, 0, l[0], warnings, &x->A);
    if (status == TULLE_OK) status = dense_factor(p, comm, 1, l[1], warnings, &x->B);
    if (status == TULLE_OK) {
        x->C = l[2];
        l[2] = NULL;
    }
    for (int i = 0; i < 3; i++) tulle_layout_free(l[i]);
    return status;
}

/* Layouts with block cuts: those of A, of B and of C; dense ones have blocks of one column. */
static tulle_status lay_in_blocks(const struct product *p, const struct block_sizes *sizes, tulle_layout *l[3])
{
    tulle_gidx *workspace = NULL;
    tulle_block_cuts cols = sizes->cut[2];
    tulle_status status = p->sparse ? TULLE_OK : block_sizes_ones(tulle_layout_cols(l[1]), &cols, &workspace);
    for (int i = 0; i < 3 && status == TULLE_OK; i++) {
        tulle_layout *moved = NULL;
        status = tulle_layout_in_blocks(l[i], &sizes->cut[i == 1], i == 0 ? &sizes->cut[1] : &cols, &moved);
        if (status != TULLE_OK) break;
        tulle_layout_free(l[i]);
        l[i] = moved;
    }
    free(workspace);
    return status;
}

/* The factors in blocks; frees the originals, which may be one matrix. */
static tulle_status into_blocks(
    const struct product *p, const struct block_sizes *sizes, tulle_layout *const l[3], struct operands *x)
{
    tulle_mat *A = x->A, *B = x->B;
    tulle_status status = !p->sparse && sizes->even ? tulle_mat_to_bsr(A, sizes->even, sizes->even, &x->A)
                                                    : tulle_mat_to_vbsr(A, l[0], &x->A);
    if (status == TULLE_OK && p->sparse) status = tulle_mat_to_vbsr(B, l[1], &x->B);
    if (status == TULLE_OK && p->sparse && B != A) tulle_mat_free(B);
    if (status == TULLE_OK) tulle_mat_free(A);
    return status;
}

/* Half of *X in its place, or, of the same matrix twice, of the first. Collective. */
static tulle_status halve(const struct product *p, int operand, tulle_mat **X)
{
    tulle_operand_shape shape;
    tulle_mat *half = NULL;
    tulle_status status =
        tulle_comm_agree(tulle_mat_comm(*X), tulle_operand_inspect(p->options->operand[operand], &p->reading, &shape));
    if (status == TULLE_OK) status = tulle_mat_to_half(*X, shape.skew ? TULLE_SKEW : TULLE_SYMMETRIC, &half);
    if (status != TULLE_OK) return status;
    tulle_mat_free(*X);
    *X = half;
    return TULLE_OK;
}

/* --half: the factors, and square tiles of C. Collective. */
static tulle_status store_halves(const struct product *p, struct operands *x, tulle_layout **c)
{
    tulle_comm *comm = tulle_mat_comm(x->A);
    tulle_layout *square = NULL;
    tulle_status status = tulle_comm_agree(comm, tulle_layout_square(*c, &square));
    if (status == TULLE_OK) status = halve(p, 0, &x->A);
    if (status == TULLE_OK) status = halve(p, p->options->noperands > 1 ? 1 : 0, &x->B);
    if (status != TULLE_OK) {
        tulle_layout_free(square);
        return status;
    }
    tulle_layout_free(*c);
    *c = square;
    return TULLE_OK;
}

/* True if predictions are of this machine, and the product has all of its rows: a selection never has. */
static bool kernel_is_timed(const struct product *p, const struct operands *x)
{
    const struct options *o = p->options;
    const bool selects = options_has(o, "top") && (options_int(o, "top", -1) >= 0 || options_word(o, "above", NULL));
    return p->is_here && !x->machine.simulated && !grid_is_mixed(&p->grid) && !selects &&
           !options_word(o, "device", NULL);
}

static tulle_status distribute_sparse(const struct product *p, tulle_comm *comm, struct operands *x, char *warnings)
{
    tulle_mat *A = NULL, *B = NULL;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    struct block_sizes sizes = {.even = 0};
    tulle_status status = broadcast_machine(p, comm, x);
    if (status == TULLE_OK) status = read_operands(p, comm, x, &A, &B, warnings);
    if (status == TULLE_OK && tulle_mat_cols(A) != tulle_mat_rows(B))
        status = tulle_fail(TULLE_ERR_ARG, "A is %lld x %lld and B %lld x %lld: the inner sizes differ",
            (long long)tulle_mat_rows(A), (long long)tulle_mat_cols(A), (long long)tulle_mat_rows(B),
            (long long)tulle_mat_cols(B));
    if (status == TULLE_OK) {
        x->k = tulle_mat_cols(A);
        status = plan_layouts(p, comm, x, A, B, l);
    }
    if (status == TULLE_OK) {
        const tulle_gidx n[3] = {tulle_mat_rows(A), x->k, tulle_mat_cols(B)};
        const char *list = options_has(p->options, "blocks") ? options_word(p->options, "blocks", NULL) : NULL;
        int known[3] = {0, 0, 0};
        if (list) status = block_sizes_known(p->options, &p->reading, p->sparse, comm, known);
        if (status == TULLE_OK) status = block_sizes_read(list, p->sparse ? 3 : 2, comm, n, known, &sizes);
    }
    if (status == TULLE_OK && sizes.cut[0].cut) status = tulle_comm_agree(comm, lay_in_blocks(p, &sizes, l));
    if (status == TULLE_OK && tulle_comm_size(comm) == 1 && p->grid.tiles == 1 && !grid_is_mixed(&p->grid)) {
        x->A = A; /* a single tile is in its layout already */
        x->B = B;
    } else {
        int same = A == B;
        if (status == TULLE_OK) status = redistribute(&A, l[0], !same, &x->A);
        if (status == TULLE_OK) status = redistribute(&B, l[1], 1, &x->B);
    } /* after a failure the run ends, and the team frees all matrices */
    if (status == TULLE_OK && sizes.cut[0].cut) status = into_blocks(p, &sizes, l, x);
    const bool half = block_flag(p->options, "half");
    if (status == TULLE_OK && half) status = store_halves(p, x, &l[2]);
    if (status == TULLE_OK && sizes.cut[0].cut && p->sparse && !half && worth_counting(p, x->B, l))
        status = skip_if_short(grid_counts(&x->grid, x->A, x->B, l, TULLE_COUNT_FLOPS, 0, &x->counts));
    if (status == TULLE_OK && kernel_is_timed(p, x))
        status = skip_if_short(tulle_machine_time_product(x->A, x->B, &x->machine));
    if (status == TULLE_OK) {
        x->C = l[2];
        l[2] = NULL;
    }
    block_sizes_free(&sizes);
    for (int i = 0; i < 3; i++) tulle_layout_free(l[i]);
    return status;
}

tulle_status distribute(const struct product *p, tulle_comm *comm, struct operands *x, char *warnings)
{
    return p->kind == GEMM ? distribute_dense(p, comm, x, warnings) : distribute_sparse(p, comm, x, warnings);
}

/* Refuses sizes that named factors have already. */
static tulle_status check_sizes(const struct options *o)
{
    static const char *const names[] = {"m", "k", "n", "size"};
    enum { OF_FIRST = 2, ALL = 4 };
    const int named = o->noperands == 0 ? 0 : o->noperands == 1 ? OF_FIRST : ALL;
    for (int i = 0; i < named; i++)
        if (options_flag(o, names[i]))
            return tulle_fail(TULLE_ERR_ARG, "--%s is a size of random factors, and %s %s", names[i],
                o->noperands == 1 ? "A is in" : "both are in files, as", o->operand[0]);
    return TULLE_OK;
}

static tulle_status gemm_needs(const struct product *p, const tulle_operand_shape *shape, int layers)
{
    struct needs n;
    tulle_gidx size[3];
    const struct options *o = p->options;
    const tulle_status sizes = check_sizes(o);
    if (sizes != TULLE_OK) return sizes;
    product_sizes(o, shape, size);
    if (!o->noperands && (options_int(o, "size", -1) < 0) &&
        (options_int(o, "m", -1) < 0 || options_int(o, "k", -1) < 0))
        return tulle_fail(TULLE_ERR_ARG, "there are no factors: name files, or give --size, or --m, --n and --k");
    if (o->noperands == 2 && shape[0].n != shape[1].m)
        return tulle_fail(TULLE_ERR_ARG, "A is %lld x %lld and B %lld x %lld: the inner sizes differ",
            (long long)shape[0].m, (long long)shape[0].n, (long long)shape[1].m, (long long)shape[1].n);
    double m = (double)size[0], k = (double)size[1], cols = (double)size[2], copies = layers > 1 ? layers - 1 : 0;
    double tiles = (double)options_int(o, "tiles", 1); /* at least, of a PE in each direction */
    needs_begin(&n, o, p->reading.type);
    double A = needs_dense(&n, m, k), B = needs_dense(&n, k, cols), C = needs_dense(&n, m, cols);
    needs_matrix(&n, (1 + copies) * (A + B + C));
    if (o->noperands) needs_reading(&n, A + (o->noperands == 2 ? B : 0));
    /* fetched tiles, partial results in transit, and those stored to fix their order */
    int kept = options_flag(o, "deterministic") ? n.pes : 0;
    needs_stage(&n, (n.pes > 1 ? A + B : 0) + kept * C + 6e6 + 2e6 * n.pes);
    needs_device(&n, (A + B + C) / tiles, C / tiles);
    if (options_flag(o, "check")) needs_matrix(&n, 16 * n.pes * (cols + k + 2 * m));
    return needs_check(&n, "gemm");
}

static bool is_hypersparse(const tulle_operand_shape *shape, int two, int pes)
{
    for (int x = 0; x < (two ? 2 : 1); x++) /* a negative number is unknown */
        if (shape[x].stored >= 0 && tulle_mat_compresses(shape[x].m, shape[x].stored, pes)) return true;
    return false;
}

/* Blocks and orders are of all rows. */
static double sparse_bytes(const struct needs *n, const tulle_operand_shape *shape, bool all_rows)
{
    return all_rows ? needs_bytes(n, shape, 0) : needs_stored(n, shape);
}

/* The needs of any algorithm: ranges of a sparse C's columns can be as narrow as necessary. */
tulle_status product_needs(const struct product *p, const tulle_operand_shape *shape, int layers)
{
    const struct options *o = p->options;
    struct needs n;
    int two = o->noperands == 2;
    if (p->kind == GEMM) return gemm_needs(p, shape, layers);
    double m = (double)shape[0].m, k = (double)shape[0].n, cols = (double)options_int(o, "cols", DEFAULT_COLS);
    double tiles = (double)options_int(o, "tiles", 1); /* at least, of a PE in each direction */
    needs_begin(&n, o, p->reading.type);
    const bool all_rows = in_blocks(p) || options_flag(o, "permute");
    double A = sparse_bytes(&n, &shape[0], all_rows), B = 0, C = 0, workers = (double)n.pes * n.threads;
    if (two) B = p->sparse ? sparse_bytes(&n, &shape[1], all_rows) : needs_bytes(&n, &shape[1], 1);
    const int transpose = p->sparse && options_flag(o, "transpose-b");
    if (two) cols = transpose ? (double)shape[1].m : (double)shape[1].n;
    if (p->sparse && !two) cols = shape[0].m == shape[0].n ? k : m;
    if (p->sparse && !two && (transpose || shape[0].m != shape[0].n))
        B = sparse_bytes(&n, &shape[0], all_rows);                     /* the transpose */
    if (p->sparse && !all_rows && is_hypersparse(shape, two, n.pes)) { /* lines that have entries count */
        const double most = (double)shape[0].stored + (two ? (double)shape[1].stored : 0);
        m = m < most ? m : most;
        k = k < most ? k : most;
        cols = cols < most ? cols : most;
    }
    if (!p->sparse && !two) B = needs_dense(&n, k, cols);
    if (!p->sparse) C = needs_dense(&n, m, cols);
    double copies = layers > 1 ? layers - 1 : 0;
    needs_matrix(&n, (1 + copies) * (A + B + C));
    needs_reading(&n, A + B);
    if (p->sparse) {
        /*
         * slices of B, the kernels' rows, and a range of columns with its contributions before
         * merging
         */
        double fixed = 22e6 + 2e6 * n.pes > 30e6 ? 22e6 + 2e6 * n.pes : 30e6;
        needs_stage(&n, 2.5 * (A + B) + fixed + 8 * k * n.pes + n.value * cols * workers);
    } else {
        /*
         * redistribution of the random B; partial results in transit, and those stored to fix their
         * order
         */
        int kept = options_flag(o, "deterministic") ? n.pes : 0;
        needs_stage(&n, A + B + kept * C + 6e6 + 2e6 * n.pes);
        needs_device(&n, (A + B + C) / tiles, C / tiles);
    }
    if (options_flag(o, "permute")) needs_stage(&n, 40 / (n.value + 4) * (A + B + C));
    if (options_flag(o, "check")) needs_matrix(&n, 16 * n.pes * (cols + k + 2 * m));
    if (p->sparse && options_flag(o, "cosine")) needs_matrix(&n, 16 * n.pes * (cols + m)); /* norms */
    return needs_check(&n, p->sparse ? "spgemm" : "spmm");
}
