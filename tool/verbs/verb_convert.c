/* SPDX-License-Identifier: Apache-2.0 */
/* tulle gen, tulle convert: writes an operand to a file. */
#include <string.h>

#include "needs.h"
#include "outputs.h"
#include "verb.h"

struct task {
    const struct options *options;
    tulle_read_options reading;
    tulle_kind kind;
    int by_slabs;
    const char *from, *to, *format; /* format: or NULL */
    char warnings[TULLE_WARNINGS_MAX];
    int64_t nnz;
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct task *task = arg;
    char warnings[TULLE_WARNINGS_MAX];
    tulle_mat *A = NULL;
    if (task->by_slabs) return tulle_operand_save(comm, task->from, task->reading.type, task->to, task->format);
    tulle_status status = tulle_mat_load(comm, task->from, NULL, task->kind, &task->reading, warnings, &A);
    if (status != TULLE_OK) return status;
    status = tulle_mat_save_as(A, task->to, task->format);
    if (tulle_comm_rank(comm) == 0) {
        snprintf(task->warnings, sizeof task->warnings, "%s", warnings);
        task->nnz = tulle_mat_nnz(A);
    }
    tulle_mat_free(A);
    return status;
}

/* One triangle of a symmetric or skew-symmetric Matrix Market file stays one, unless --general. */
static const char *kept_symmetry(const struct options *options, const tulle_operand_shape *shape)
{
    if (!shape->symmetric || options_flag(options, "general") || strncmp(shape->format, "matrix market", 13) != 0)
        return NULL;
    return shape->skew ? "skew-symmetric" : "symmetric";
}

static tulle_status check_needs(
    const struct options *options, const struct task *task, const tulle_operand_shape *shape)
{
    struct needs n;
    needs_begin(&n, options, task->reading.type);
    double bytes = task->kind == TULLE_DENSE ? needs_bytes(&n, shape, 1) : needs_stored(&n, shape);
    if (task->by_slabs) {
        needs_stage(&n, 16e6 + 8 * (double)shape->m);
    } else {
        needs_matrix(&n, bytes);
        needs_reading(&n, bytes);
        needs_stage(&n, (task->format ? 1.2 * bytes : 0) + 8e6 + 2e6 * n.pes); /* blocks, text in transit */
    }
    return needs_check(&n, options_has(options, "output") ? "gen" : "convert");
}

static tulle_status run_to(const struct options *options, const char *from, const char *to)
{
    tulle_operand_shape shape;
    struct task task = {.options = options, .from = from, .to = to};
    tulle_team *team = NULL;
    tulle_status status = reading_options(options, &task.reading);
    const char *format = options_word(options, "format", "");
    if (status == TULLE_OK && options_flag(options, "general") &&
        (same_word(format, "symmetric") || same_word(format, "skew-symmetric")))
        status =
            tulle_fail(TULLE_ERR_ARG, "--general writes both triangles, and --format %s one: give one of them", format);
    if (status == TULLE_OK) status = tulle_operand_inspect(from, &task.reading, &shape);
    task.kind = status == TULLE_OK && shape.dense && !options_flag(options, "sparse") ? TULLE_DENSE : TULLE_CSR;
    task.by_slabs = status == TULLE_OK && shape.by_slabs;
    task.nnz = status == TULLE_OK ? shape.stored : 0;
    if (status == TULLE_OK) task.format = options_word(options, "format", kept_symmetry(options, &shape));
    if (status == TULLE_OK) status = check_needs(options, &task, &shape);
    if (status == TULLE_OK) status = try_outputs(options, to, task.kind);
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, &task);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        show_warnings(options, task.warnings);
        if (!options_flag(options, "quiet"))
            fprintf(stderr, "%s: %lld x %lld, %lld entries\n", to, (long long)shape.m, (long long)shape.n,
                (long long)task.nnz);
    }
    tulle_team_free(team);
    return status;
}

static tulle_status run_convert(const struct options *options)
{
    return run_to(options, options->operand[0], options->operand[1]);
}

static tulle_status run_gen(const struct options *options)
{
    const char *to = options_word(options, "output", NULL);
    if (!to) return tulle_fail(TULLE_ERR_ARG, "no output is named: -o FILE");
    return run_to(options, options->operand[0], to);
}

#define OPTION_FORMAT                                                                                                  \
    {                                                                                                                  \
        .name = "format", .kind = KIND_WORD, .argument = "FORMAT",                                                     \
        .text =                                                                                                        \
            "of a sparse .bsp.h5 file: csr (default); bsr:b=3, blocks of 3 x 3, the last ones padded (without b: the " \
            "best size); "                                                                                             \
            "auto: the format with the fewest bytes; with half, the upper half of a symmetric matrix, and "            \
            "values=f32: `bsr:b=3,half`. tulle stream and solve read all of them by slabs. Of a .mtx file: general, "  \
            "symmetric or skew-symmetric"                                                                              \
    }

static const struct option convert_options[] = {OPTION_PES, OPTION_COMM, OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING,
    {.name = "sparse", .kind = KIND_FLAG, .text = "write an array as a sparse matrix, without its zeros"},
    {.name = "general",
        .kind = KIND_FLAG,
        .text = "write both triangles of a symmetric or skew-symmetric Matrix Market file"},
    OPTION_FORMAT, OPTION_QUIET, OPTION_HELP, {.name = NULL}};

static const struct option gen_options[] = {OPTION_OUTPUT("the file to write"), OPTION_PES, OPTION_COMM, OPTION_TYPE,
    OPTION_MEMORY,
    {.name = "sparse", .kind = KIND_FLAG, .text = "write an array as a sparse matrix, without its zeros"},
    OPTION_FORMAT, OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_convert = {
    .name = "convert",
    .operands = "FROM TO",
    .summary = "Convert a matrix file to the format of the new name's ending",
    .description =
        "Endings, in any case: .mtx and .mtx.gz (Matrix Market), .npy (NumPy, dense), .npz (SciPy's CSR),\n"
        ".petsc (PETSc's binary format: AIJ, dense, a vector),\n"
        ".bsp.h5 (Binsparse: CSR, DMATR for an array, and with --format blocks or the upper half of a symmetric\n"
        "matrix). - is Matrix Market on standard input or output. The file appears under its name when it is "
        "complete.\n"
        "\n"
        "A Matrix Market file that holds one triangle of a symmetric or skew-symmetric matrix becomes another such\n"
        "file, unless --general is given. Input and output cannot be the same file.",
    .examples = "tulle convert west0067.mtx.gz west0067.bsp.h5\ntulle convert west0067.bsp.h5 copy.mtx\n"
                "tulle convert scipy.npz - | head\n"
                "tulle convert west0067.mtx.gz west0067.petsc\n"
                "tulle convert bcsstk16.mtx.gz K.bsp.h5 --format auto",
    .options = convert_options,
    .least = 2,
    .most = 2,
    .inputs = 1,
    .run = run_convert,
};

const struct verb verb_gen = {
    .name = "gen",
    .operands = "SPEC -o FILE",
    .summary = "Generate a matrix into a file",
    .description = "The matrix does not depend on the number of PEs. `tulle --help` lists the generators. A cantilever "
                   "is written\n"
                   "some rows at a time and need not fit in memory.",
    .examples =
        "tulle gen rmat:scale=17,edgefactor=8,seed=1 -o rmat.mtx.gz\ntulle gen fem:nodes=64,dof=3 -o fem.bsp.h5\n"
        "tulle gen cantilever:nodes=128,dof=3,vary=2 -o K.bsp.h5 --pes 1 --format bsr:b=3,half",
    .options = gen_options,
    .least = 1,
    .most = 1,
    .inputs = 1,
    .run = run_gen,
};
