/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of electrons are those asked for: drawn_electrons SPEC PES SEED CASES [FOLDER]. Drawn systems, with and
 * without S, temperatures and fractional numbers, by all methods. A failure is a wrong number, energy or level with
 * status 0, and a refusal, but for what a method cannot do: purification has no temperatures, no fractional number of
 * states and no levels that are equal at the gap; submatrices of a pattern with neighbours of neighbours do not hold
 * all of D. A failing case is shrunk, and written to FOLDER, or $TULLE_TEST_KEEP, as Matrix Market files with the
 * command. SEED new: another one in each run, which is printed; planted: cases of 5 rows and more "fail", and the one
 * written must have 5 rows, on one PE.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tulle/density.h>
#include <tulle/io.h>

#include "base/error.h"
#include "blocks.h"
#include "body.h"
#include "drawn_electrons.h"
#include "tap.h"
#include "temporary.h"

static const struct way {
    tulle_density_method method;
    bool nonorthogonal, mu;
} ways[] = {{TULLE_DENSITY_SUBMATRIX, false, false}, {TULLE_DENSITY_SUBMATRIX, true, false},
    {TULLE_DENSITY_AUTO, false, false}, {TULLE_DENSITY_TC2, false, false}, {TULLE_DENSITY_TRS4, false, false},
    {TULLE_DENSITY_SUBMATRIX, false, true}, {TULLE_DENSITY_NEWTON_SCHULZ, false, true},
    {TULLE_DENSITY_MCWEENY, false, true}};
enum { WAYS = sizeof ways / sizeof *ways };

struct run {
    const char *spec, *folder;
    uint64_t seed;
    int pes;
    int64_t cases;
    bool planted;
    /* a case: */
    struct drawn drawn;
    int way; /* of the failure, or of the only one that is tried */
    bool only, save, failed;
    char text[400], path[2][300];
};

static tulle_status build(tulle_comm *comm, const struct drawn *d, double a[MOST][MOST], tulle_mat **A)
{
    tulle_gidx cut[MOST + 1], row[MOST * MOST], col[MOST * MOST];
    double val[MOST * MOST];
    int64_t count = 0;
    for (int i = 0; i <= d->n / d->b; i++) cut[i] = (int64_t)i * d->b;
    for (int i = tulle_comm_rank(comm); i < d->n; i += tulle_comm_size(comm))
        for (int j = 0; j < d->n; j++) {
            if (!linked(d, i, j) || (i != j && !(fabs(a[i][j]) > 0))) continue;
            row[count] = i;
            col[count] = j;
            val[count++] = a[i][j];
        }
    return blocks_of_entries(comm, d->n, d->n / d->b, cut, count, row, col, val, A);
}

static bool iterates(const struct way *w)
{
    return w->method != TULLE_DENSITY_SUBMATRIX && w->method != TULLE_DENSITY_AUTO;
}

static bool is_whole(const struct drawn *d)
{
    return fabs(d->electrons / 2 - round(d->electrons / 2)) < 1e-12;
}

static bool has_gap(const struct system *s, double least)
{
    return !(s->LUMO - s->HOMO <= least * s->scale);
}

/* True if the way is tried: a given mu must lie in a gap that leaves no doubt about N. */
static bool applies(const struct drawn *d, const struct system *s, const struct way *w)
{
    if (w->nonorthogonal && d->overlap == NO_OVERLAP) return false;
    if (!w->mu) return true;
    /* levels are known to 1e-16 of the condition and the scale: N(mu) of a lower temperature is not known */
    if (d->kT > 0 && d->overlap == ILL_CONDITIONED && d->kT < 1e-4 * s->scale) return false;
    if (d->kT > 0) return isfinite(s->mu) && fabs(s->mu) < 100 * s->scale;
    return isfinite(s->mu) && is_whole(d) && has_gap(s, 1e-6) && (closed(d->kind) || iterates(w));
}

/* Limits of a method. */
static bool may_refuse(const struct drawn *d, const struct system *s, const struct way *w, tulle_status status)
{
    if (!iterates(w)) return status == TULLE_ERR_CONVERGENCE && !closed(d->kind);
    if (d->kT > 0 || (!w->mu && !is_whole(d))) return status == TULLE_ERR_ARG;
    return (status == TULLE_ERR_CONVERGENCE || status == TULLE_ERR_CHECK) && !has_gap(s, 1e-9);
}

/* Also a level that is filled in part: an iteration would end where rounding has split it. */
static bool must_refuse(const struct drawn *d, const struct system *s, const struct way *w)
{
    if (!iterates(w)) return false;
    return d->kT > 0 || (!w->mu && (!is_whole(d) || (d->overlap <= IDENTITY && !has_gap(s, 1e-15))));
}

/* NULL, or what is wrong with the result. */
static const char *compare(const struct drawn *d, const struct system *s, const struct way *w,
    const tulle_density_report *r, const double *dense)
{
    const bool exact = closed(d->kind) || (iterates(w) && r->method != TULLE_DENSITY_SUBMATRIX);
    /* n rows: levels of a pair, and of their reference, are known to 2 n 2e-16 of the condition 1e6 */
    const double level = d->overlap == ILL_CONDITIONED ? 1e-8 : 1e-9;
    /* levels are known to 1e-14 of the scale, and N to that over kT */
    const double temperature = d->kT > 0 ? 1e-13 * s->scale * s->scale / d->kT : 0;
    const double loose = exact ? 1e-5 : 1e-3 * fmax(1, d->electrons), near = level * s->scale + 1e-7 + temperature;
    const bool mine = exact || !w->mu;
    double stored = 0;
    for (int i = 0; i < d->n * d->n; i++) stored += 2 * dense[i] * s->S[i / d->n][i % d->n];
    if (mine && !(fabs(r->electrons - d->electrons) < 1e-5)) return "electrons";
    if (mine && !(fabs(stored - d->electrons) < loose)) return "stored electrons";
    if (!mine && !(fabs(stored - r->electrons) < loose)) return "stored electrons, of those found";
    if (!(fabs(r->stored - stored) < 1e-6)) return "stored electrons, as reported";
    if (exact && !(fabs(r->energy - s->energy) < near)) return "the energy";
    if (exact && !(fabs(r->stored_energy - s->energy) < 10 * near)) return "the stored energy";
    if (!closed(d->kind) || r->method != TULLE_DENSITY_SUBMATRIX || d->kT > 0) return NULL;
    if (!(r->below <= s->HOMO) && !(fabs(r->below - s->HOMO) < near)) return "HOMO";
    if (!(r->below >= s->HOMO) && !(fabs(r->below - s->HOMO) < near)) return "HOMO";
    if (!(r->above <= s->LUMO) && !(fabs(r->above - s->LUMO) < near)) return "LUMO";
    if (!(r->above >= s->LUMO) && !(fabs(r->above - s->LUMO) < near)) return "LUMO";
    if (!w->mu && is_whole(d) && isfinite(s->mu) && !(fabs(r->mu - s->mu) < near)) return "mu";
    return NULL;
}

/* One way of a case; run->failed and run->text, on PE 0. */
static tulle_status try_way(
    tulle_comm *comm, struct run *run, const struct system *s, int way, const tulle_mat *H, const tulle_mat *S)
{
    const struct way *w = &ways[way];
    const struct drawn *d = &run->drawn;
    const tulle_density_options options = {
        .method = w->method, .kT = d->kT, .nonorthogonal = w->nonorthogonal, .check = 2};
    tulle_density_report r = {.mu = 0};
    tulle_mat *D = NULL;
    double dense[MOST * MOST] = {0};
    const char *wrong = NULL;
    if (!applies(d, s, w)) return TULLE_OK;
    const tulle_status found = w->mu ? tulle_density_of_mu(H, S, s->mu, &options, &D, &r)
                                     : tulle_density_of_electrons(H, S, d->electrons, &options, &D, &r);
    tulle_status status = found == TULLE_OK ? blocks_to_dense(D, dense) : TULLE_OK;
    if (found == TULLE_OK && must_refuse(d, s, w))
        wrong = "no refusal";
    else if (found == TULLE_OK)
        wrong = compare(d, s, w, &r, dense);
    else if (!may_refuse(d, s, w, found))
        wrong = "a refusal";
    if (run->planted) wrong = d->n >= 5 ? "planted" : NULL;
    if (found == TULLE_OK) tulle_mat_free(D);
    if (!wrong || tulle_comm_rank(comm) || run->failed) return status;
    run->failed = true;
    run->way = way;
    snprintf(run->text, sizeof run->text,
        "%s: %s, %s, n %d, blocks %d, kT %g, %s%s%s, gap %.3g: %.12g electrons of "
        "%.12g, energy %.9g of %.9g%s%.120s",
        wrong, kind_text[d->kind], overlap_text[d->overlap], d->n, d->b, d->kT, tulle_density_method_name(w->method),
        w->nonorthogonal ? ", nonorthogonal" : "", w->mu ? ", mu" : "", s->LUMO - s->HOMO, r.electrons, d->electrons,
        r.energy, s->energy, found == TULLE_OK ? "" : ": ", found == TULLE_OK ? "" : tulle_error_message());
    return status;
}

static tulle_status one_case(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    struct system *s = malloc(sizeof *s);
    tulle_mat *A[2] = {NULL, NULL};
    make_system(&run->drawn, s);
    tulle_status status = build(comm, &run->drawn, s->H, &A[0]);
    if (status == TULLE_OK && run->drawn.overlap != NO_OVERLAP) status = build(comm, &run->drawn, s->S, &A[1]);
    for (int w = 0; w < WAYS && status == TULLE_OK; w++)
        if (!run->only || w == run->way) status = try_way(comm, run, s, w, A[0], A[1]);
    for (int i = 0; i < 2 && status == TULLE_OK && run->save; i++)
        if (A[i]) status = tulle_mat_save(A[i], run->path[i]);
    tulle_mat_free(A[1]);
    tulle_mat_free(A[0]);
    free(s);
    return status;
}

/* ---- all cases, and the smallest that fails ---- */

static tulle_status all_cases(tulle_comm *comm, void *arg)
{
    struct run *run = arg, mine = *run;
    tulle_status status = TULLE_OK;
    int64_t failed = 0;
    for (int64_t k = 0; k < run->cases && status == TULLE_OK && !failed; k++) {
        mine.drawn = draw_case(run->seed, k);
        status = one_case(comm, &mine);
        failed = mine.failed;
        if (status == TULLE_OK) status = tulle_comm_reduce_int(comm, TULLE_MAX, 1, &failed);
    }
    if (!tulle_comm_rank(comm)) *run = mine;
    return status;
}

/* True if the case fails, by the same way; false too where the team does. */
static bool fails(const struct run *run, struct run *tried)
{
    tulle_team *team;
    const tulle_team_options options = {.threads = 1};
    *tried = *run;
    tried->only = true;
    tried->failed = false;
    if (tulle_team_new(run->spec, run->pes, &options, &team) != TULLE_OK) return false;
    struct run *shared = tried;
    const tulle_status status = tulle_team_run(team, one_case, shared);
    tulle_team_free(team);
    return status == TULLE_OK && tried->failed;
}

static bool take_if_fails(struct run *run, const struct run *smaller)
{
    struct run tried;
    if (!fails(smaller, &tried)) return false;
    *run = tried;
    return true;
}

/* Fewer PEs, no S, blocks of one row, no temperature, then fewer rows, with any number of electrons. */
static void shrink(struct run *run)
{
    struct run smaller;
    for (int pes = 1; pes < run->pes; pes++) {
        smaller = *run;
        smaller.pes = pes;
        if (take_if_fails(run, &smaller)) break;
    }
    for (int overlap = 0; overlap < (int)run->drawn.overlap && !ways[run->way].nonorthogonal; overlap++) {
        smaller = *run;
        smaller.drawn.overlap = (enum overlap)overlap;
        if (take_if_fails(run, &smaller)) break;
    }
    smaller = *run;
    smaller.drawn.b = 1;
    (void)take_if_fails(run, &smaller);
    smaller = *run;
    smaller.drawn.kT = 0;
    (void)take_if_fails(run, &smaller);
    for (int n = run->drawn.b; n < run->drawn.n; n += run->drawn.b)
        for (int electrons = 0; electrons <= 2 * n; electrons++) {
            smaller = *run;
            smaller.drawn.n = n;
            smaller.drawn.electrons = electrons;
            if (take_if_fails(run, &smaller)) return;
        }
}

/* The files and the command, for test/data and the regression tests. */
static void keep(struct run *run)
{
    struct run last = *run, tried;
    const struct drawn *d = &run->drawn;
    const struct way *w = &ways[run->way];
    struct system *s = malloc(sizeof *s);
    char path[320];
    for (int i = 0; i < 2; i++)
        snprintf(last.path[i], sizeof last.path[i], "%.250s/electrons-%llu-%c.mtx", run->folder,
            (unsigned long long)run->seed, i ? 'S' : 'H');
    last.save = true;
    (void)fails(&last, &tried);
    make_system(d, s);
    snprintf(path, sizeof path, "%.250s/electrons-%llu.txt", run->folder, (unsigned long long)run->seed);
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "tulle density %s %s --blocks %d %s %.17g --kT %g --method %s%s --pes %d --check\n# %s\n",
            last.path[0], d->overlap == NO_OVERLAP ? "" : last.path[1], d->b, w->mu ? "--mu" : "--electrons",
            w->mu ? s->mu : d->electrons, d->kT, tulle_density_method_name(w->method),
            w->nonorthogonal ? " --nonorthogonal" : "", run->pes, run->text);
        fclose(file);
        printf("# written: %s\n", path);
    }
    free(s);
}

static void report(struct run *run)
{
    const bool written = run->failed && run->folder;
    const int rows = run->drawn.n;
    if (run->failed) printf("# %d rows, %d PEs: %s\n", rows, run->pes, run->text);
    if (run->failed) shrink(run);
    if (written) keep(run);
    if (run->planted) {
        char path[320];
        snprintf(path, sizeof path, "%.250s/electrons-%llu-H.mtx", run->folder ? run->folder : ".",
            (unsigned long long)run->seed);
        ok(run->failed && run->drawn.n == 5 && run->pes == 1 && run->drawn.overlap == NO_OVERLAP,
            "planted: shrunk to %d rows, %d PEs", run->drawn.n, run->pes);
        ok(!access(path, R_OK), "planted: %s is written", path);
    } else {
        ok(!run->failed, "seed %llu, %lld cases: electrons are those asked for%s%s", (unsigned long long)run->seed,
            (long long)run->cases, run->failed ? ": " : "", run->text);
    }
}

/* Removes the folder of a planted case, and what keep has written there. */
static void remove_kept(const struct run *run)
{
    static const char *const end[] = {"-H.mtx", "-S.mtx", ".txt"};
    char path[320];
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%.250s/electrons-%llu%s", run->folder, (unsigned long long)run->seed, end[k]);
        unlink(path);
    }
    rmdir(run->folder);
}

int main(int argc, char **argv)
{
    if (argc < 5) return fprintf(stderr, "usage: %s SPEC PES SEED CASES [FOLDER]\n", argv[0]), 2;
    struct run run = {.spec = argv[1],
        .pes = atoi(argv[2]),
        .seed = strtoull(argv[3], NULL, 10),
        .cases = atoll(argv[4]),
        .folder = argc > 5 ? argv[5] : getenv("TULLE_TEST_KEEP"),
        .planted = !strcmp(argv[3], "planted")};
    char folder[TEMPORARY_MOST];
    if (run.planted && argc < 6 && temporary_folder(folder)) run.folder = folder;
    if (!strcmp(argv[3], "new")) run.seed = (uint64_t)time(NULL);
    tulle_team *team;
    const tulle_team_options options = {.threads = 1};
    if (!ok(tulle_team_new(argv[1], run.pes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    const tulle_status status = tulle_team_run(team, all_cases, &run);
    tulle_team_free(team);
    ok(status == TULLE_OK, "seed %llu: %s", (unsigned long long)run.seed,
        status == TULLE_OK ? "all cases ran" : tulle_error_message());
    report(&run);
    if (run.folder == folder) remove_kept(&run);
    return tap_done();
}
