/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submatrices on a device, beside those of threads: on_device SPEC PES DEVICE. Functions and density matrices agree to
 * rounding, bytes over the link are those of the submatrices, what does not fit threads compute, and the failure of
 * any of the device's operations ends the call on all PEs with its message. Without LAPACK, which threads need, GPUs
 * still compute: the checks of some submatrices take the place of what threads have, and what does not fit is refused.
 */
#include <string.h>

#include <tulle/density.h>
#include <tulle/device.h>

#include "base/error.h"
#include "functions.h"
#include "problem.h"
#include "run_tests.h"

struct setting {
    const char *device;
    bool host; /* threads compute submatrices, too: there is LAPACK */
    double worst;
};

/* The largest difference of blocks of two matrices of one structure. */
static tulle_status compare(const tulle_mat *F, const tulle_mat *G, double *worst)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(F);
    EXPECT(tulle_mat_nnz(F) == tulle_mat_nnz(G));
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_fetch *of_f = NULL, *of_g = NULL;
            tulle_tile f, g;
            TULLE_TRY(tulle_mat_get_tile(F, i, j, &of_f));
            TULLE_TRY(tulle_fetch_wait(of_f, &f));
            TULLE_TRY(tulle_mat_get_tile(G, i, j, &of_g));
            TULLE_TRY(tulle_fetch_wait(of_g, &g));
            for (int64_t k = 0; f.rowptr && k < f.offset[f.rowptr[f.block_rows]]; k++) {
                double x = f.type == TULLE_F32 ? (double)((const float *)f.val)[k] : ((const double *)f.val)[k];
                double y = g.type == TULLE_F32 ? (double)((const float *)g.val)[k] : ((const double *)g.val)[k];
                double apart = fabs(x - y) / (1 + fabs(y));
                *worst = apart <= *worst ? *worst : apart; /* also nan */
            }
            tulle_fetch_free(of_f);
            tulle_fetch_free(of_g);
        }
out:
    return status;
}

static double near_of(tulle_type type, bool mixed)
{
    return type == TULLE_F32 || mixed ? 2e-4 : 1e-11;
}

/* ---- functions ---- */

static tulle_status one_function(tulle_comm *comm, struct setting *s, const struct problem *p, tulle_type type,
    const tulle_function *f, tulle_matfun_options options)
{
    tulle_status status;
    tulle_mat *A = NULL, *F = NULL, *G = NULL;
    tulle_matfun_report report, plain;
    double worst = 0, near = near_of(type, options.mixed);
    TULLE_TRY(build(comm, p, type, 0, NONE, &A));
    if (s->host) TULLE_TRY(evaluate(A, f, &options, 3, near, &G, &plain));
    options.device = s->device;
    TULLE_TRY(evaluate(A, f, &options, 3, near, &F, &report));
    EXPECT(report.on_device == report.submatrices && report.off_device == 0 && report.device.devices == 1);
    EXPECT(report.rounding <= near && report.device.kernels > 0);
    if (!s->host) goto out;
    TULLE_TRY(compare(F, G, &worst));
    EXPECT(worst <= near);
    EXPECT(plain.on_device == 0 && plain.device.devices == 0 && plain.device.bytes[0] == 0);
    if (isfinite(plain.below) || isfinite(report.below)) EXPECT(fabs(plain.below - report.below) <= 1e3 * near);
    if (isfinite(plain.above) || isfinite(report.above)) EXPECT(fabs(plain.above - report.above) <= 1e3 * near);
    if (tulle_comm_rank(comm) == 0) s->worst = fmax(s->worst, worst);
out:
    tulle_mat_free(F);
    tulle_mat_free(G);
    tulle_mat_free(A);
    return status;
}

static tulle_status test_functions(tulle_comm *comm, void *arg)
{
    static const tulle_function functions[] = {{.kind = TULLE_FUNCTION_SIGN, .mu = .1}, {.kind = TULLE_FUNCTION_EXP},
        {.kind = TULLE_FUNCTION_INVERSE}, {.kind = TULLE_FUNCTION_INVSQRT},
        {.kind = TULLE_FUNCTION_FERMI, .mu = 5, .kT = .3}};
    tulle_status status = TULLE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int t = 0; t < 3; t++) { /* f64, f32, mixed */
            static const int combine[] = {0, TULLE_NONE, 4};
            bool positive = functions[i].kind != TULLE_FUNCTION_SIGN && functions[i].kind != TULLE_FUNCTION_EXP;
            struct problem p;
            problem_init(&p, i == 3 ? DIAGONAL : SPARSE, BLOCKS, positive ? 8 : 0);
            const tulle_matfun_options options = {.combine = combine[(i + (size_t)t) % 3], .mixed = t == 2};
            TULLE_TRY(one_function(comm, arg, &p, t == 1 ? TULLE_F32 : TULLE_F64, &functions[i], options));
        }
out:
    return status;
}

/* One submatrix of all rows: each array goes once, in multiples of 256 bytes. */
static tulle_status test_bytes(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct setting *s = arg;
    struct problem p;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report r;
    const tulle_function f = {.kind = TULLE_FUNCTION_EXP};
    const tulle_matfun_options options = {.combine = BLOCKS, .device = s->device};
    problem_init(&p, FULL, BLOCKS, 0);
    int64_t square = (int64_t)(p.n * p.n * 8 + 255) / 256 * 256, line = (p.n * 8 + 255) / 256 * 256;
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    TULLE_TRY(evaluate(A, &f, &options, 3, 1e-11, &F, &r));
    EXPECT(r.submatrices == 1 && r.on_device == 1);
    EXPECT(r.device.bytes[0] == 2 * square && r.device.copies[0] == 2); /* A; parts of all columns */
    EXPECT(r.device.bytes[1] == 2 * square + line + 256 && r.device.copies[1] == 2);
out:
    tulle_mat_free(F);
    tulle_mat_free(A);
    return status;
}

/* ---- densities ---- */

static tulle_status one_density(
    tulle_comm *comm, struct setting *s, const tulle_mat *H, const tulle_mat *S, double mu, tulle_density_options o)
{
    tulle_status status;
    tulle_mat *D = NULL, *E = NULL;
    tulle_density_report r, plain;
    double worst = 0;
    o.check = 3;
    if (s->host)
        TULLE_TRY(mu > 0 ? tulle_density_of_mu(H, S, mu, &o, &E, &plain)
                         : tulle_density_of_electrons(H, S, -mu, &o, &E, &plain));
    o.device = s->device;
    TULLE_TRY(mu > 0 ? tulle_density_of_mu(H, S, mu, &o, &D, &r) : tulle_density_of_electrons(H, S, -mu, &o, &D, &r));
    EXPECT(r.function.on_device >= r.function.submatrices);
    if (!s->host) goto out;
    TULLE_TRY(compare(D, E, &worst));
    EXPECT(worst <= 1e-9 && fabs(r.mu - plain.mu) <= 1e-9 && fabs(r.electrons - plain.electrons) <= 1e-9);
    EXPECT(fabs(r.energy - plain.energy) <= 1e-8);
    if (tulle_comm_rank(comm) == 0) s->worst = fmax(s->worst, worst);
out:
    tulle_mat_free(D);
    tulle_mat_free(E);
    return status;
}

static tulle_status test_densities(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct problem p, q;
    tulle_mat *H = NULL, *S = NULL;
    problem_init(&p, SPARSE, BLOCKS, 5);
    problem_init(&q, SPARSE, BLOCKS, 12);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &H));
    TULLE_TRY(build(comm, &q, TULLE_F64, 0, NONE, &S));
    for (int pairs = 0; pairs < 2; pairs++)
        for (int warm = 0; warm < 2; warm++) {
            const tulle_density_options o = {.kT = warm ? .05 : 0, .nonorthogonal = pairs, .combine = TULLE_NONE};
            TULLE_TRY(one_density(comm, arg, H, pairs ? S : NULL, pairs ? .4 : 5.1, o));
            TULLE_TRY(one_density(comm, arg, H, pairs ? S : NULL, -(p.n / 2) * 2, o));
        }
    TULLE_TRY(one_density(comm, arg, H, S, .4, (tulle_density_options){.combine = TULLE_NONE}));
out:
    tulle_mat_free(H);
    tulle_mat_free(S);
    return status;
}

/* ---- memory, mistakes, failures ---- */

static tulle_status attempt(
    tulle_comm *comm, const char *device, const tulle_function *f, enum change change, tulle_matfun_method method)
{
    tulle_status status;
    struct problem p;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    const tulle_matfun_options options = {.combine = TULLE_NONE, .device = device, .method = method};
    problem_init(&p, SPARSE, BLOCKS, 0);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, change, &A));
    TULLE_TRY(tulle_matfun_new(A, &options, &plan));
    TULLE_TRY(tulle_matfun_execute(plan, f, &F, NULL));
out:
    tulle_matfun_free(plan);
    tulle_mat_free(F);
    tulle_mat_free(A);
    return status;
}

/* A device that holds the small submatrices only; one that holds none. */
static tulle_status test_memory(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    struct setting *s = arg;
    struct problem p;
    tulle_mat *A = NULL, *F = NULL, *G = NULL;
    tulle_matfun_report r;
    char device[128];
    double worst = 0;
    const tulle_function f = {.kind = TULLE_FUNCTION_EXP};
    problem_init(&p, SPARSE, BLOCKS, 0);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    if (!s->host) {
        snprintf(device, sizeof device, "limit:mem=600,link=100G+%s", s->device);
        TULLE_TRY(refused(attempt(comm, device, &f, NONE, 0), TULLE_ERR_UNSUPPORTED, "need LAPACK"));
        goto out;
    }
    TULLE_TRY(evaluate(A, &f, &(tulle_matfun_options){.combine = TULLE_NONE}, 0, 1, &G, &r));
    /* from none on, until some are there: libraries differ in the memory that they work in */
    for (double memory = 600; memory < 1 << 30; memory *= 1.1) {
        snprintf(device, sizeof device, "limit:mem=%d,link=100G+%s", (int)memory, s->device);
        TULLE_TRY(evaluate(A, &f, &(tulle_matfun_options){.combine = TULLE_NONE, .device = device}, 3, 1e-11, &F, &r));
        TULLE_TRY(compare(F, G, &worst));
        EXPECT(worst <= 1e-11 && r.on_device + r.off_device == r.submatrices);
        EXPECT(memory > 600 ? r.on_device == 0 || r.off_device > 0 : r.on_device == 0 && r.device.bytes[0] == 0);
        tulle_mat_free(F);
        F = NULL;
        if (r.on_device) break;
    }
    EXPECT(r.on_device > 0);
out:
    tulle_mat_free(A);
    tulle_mat_free(F);
    tulle_mat_free(G);
    return status;
}

/* A device of one PE, while the others have none, is refused. */
static tulle_status test_one_device(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    const struct setting *s = arg;
    const tulle_function f = {.kind = TULLE_FUNCTION_EXP};
    struct problem p;
    tulle_mat *A = NULL, *D = NULL;
    problem_init(&p, SPARSE, BLOCKS, 5);
    for (int with = 0; s->host && tulle_comm_size(comm) > 1 && with < tulle_comm_size(comm); with++) {
        const char *device = tulle_comm_rank(comm) == with ? s->device : NULL;
        const tulle_density_options o = {.method = TULLE_DENSITY_SUBMATRIX, .device = device};
        TULLE_TRY(refused(attempt(comm, device, &f, NONE, 0), TULLE_ERR_ARG, "the same on all PEs"));
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
        TULLE_TRY(refused(tulle_density_of_mu(A, NULL, 5.1, &o, &D, NULL), TULLE_ERR_ARG, "the same on all PEs"));
        tulle_mat_free(A);
        A = NULL;
    }
out:
    tulle_mat_free(A);
    tulle_mat_free(D);
    return status;
}

static tulle_status test_mistakes(tulle_comm *comm, void *arg)
{
    tulle_status status;
    const char *device = ((struct setting *)arg)->device;
    const tulle_function f = {.kind = TULLE_FUNCTION_EXP}, root = {.kind = TULLE_FUNCTION_SQRT};
    TULLE_TRY(refused(attempt(comm, device, &f, UNEQUAL, 0), TULLE_ERR_ARG, "not symmetric"));
    TULLE_TRY(refused(attempt(comm, device, &f, NOT_FINITE, 0), TULLE_ERR_ARG, "not finite"));
    TULLE_TRY(refused(attempt(comm, device, &root, NONE, 0), TULLE_ERR_ARG, "not defined"));
    TULLE_TRY(refused(
        attempt(comm, device, &f, NONE, TULLE_MATFUN_NEWTON_SCHULZ), TULLE_ERR_UNSUPPORTED, "the method is submatrix"));
    TULLE_TRY(refused(attempt(comm, "limits+cpu", &f, NONE, 0), TULLE_ERR_ARG, "limits"));
    TULLE_TRY(refused(attempt(comm, "model+cpu", &f, NONE, 0), TULLE_ERR_UNSUPPORTED, "model"));
    TULLE_TRY(attempt(comm, device, &f, NONE, 0));
out:
    return status;
}

/* The n-th copy or kernel of PE 0, or of the last one, fails or loses the device. */
static tulle_status test_failures(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    const struct setting *s = arg;
    const tulle_function f = {.kind = TULLE_FUNCTION_EXP};
    int failed = 0;
    for (int lost = 0; lost < 2; lost++)
        for (int op = 0; op < 40; op += op < 4 ? 1 : 5) {
            char device[128];
            snprintf(device, sizeof device, "fault:%s=%d,rank=%d+%s", lost ? "lost" : "op", op,
                op % 2 ? tulle_comm_size(comm) - 1 : 0, s->device);
            tulle_status outcome = attempt(comm, device, &f, NONE, 0);
            failed += outcome != TULLE_OK;
            if (outcome != TULLE_OK) TULLE_TRY(refused(outcome, TULLE_ERR_COMM, "fault"));
        }
    EXPECT(failed >= 8);
    TULLE_TRY(attempt(comm, s->device, &f, NONE, 0));
out:
    return status;
}

int main(int argc, char **argv)
{
    static const struct named_test tests[] = {{"functions", test_functions}, {"bytes", test_bytes},
        {"density matrices", test_densities}, {"memory", test_memory}, {"one device", test_one_device},
        {"mistakes", test_mistakes}, {"failures", test_failures}};
    if (argc != 4) return fprintf(stderr, "usage: %s SPEC PES DEVICE\n", argv[0]), 2;
    struct setting s = {.device = argv[3], .host = built_with("LAPACK: yes")};
    tulle_device_facts facts;
    if (strstr(s.device, "cuda") && tulle_device_probe(s.device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    if (!s.host && !strstr(s.device, "cuda")) return printf("1..0 # SKIP threads need LAPACK\n"), 0;
    return run_all(argv, sizeof tests / sizeof *tests, tests, &s, &s.worst);
}
