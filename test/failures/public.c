/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public function without memory: public PES EVERY HEADER... On one PE the first, second, ... allocation fails,
 * beyond the first FIRST only every so many, until the call succeeds. Each time all PEs return TULLE_ERR_MEMORY with a
 * message, and the same call then succeeds; nothing leaks. A function of the headers that stands neither in the table
 * nor in the list of those that do not allocate is a failure of this test.
 */
#include "built_with.h"
#include "declared.h"
#include "public_calls.h"

/* ---- trying ---- */

static tulle_status make_fixture(struct fixture *f)
{
    int size = tulle_comm_size(f->comm);
    tulle_layout_spec square = {.m = M, .n = M, .tile_rows = 3, .tile_cols = 3, .map = TULLE_CYCLIC};
    tulle_layout_spec other = {.m = M, .n = M, .tile_rows = 2, .tile_cols = 4};
    tulle_layout_spec thin = {.m = M, .n = N, .tile_rows = 3, .tile_cols = 2};
    tulle_status status = tulle_layout_new(&square, size, &f->square);
    if (status == TULLE_OK) status = tulle_layout_new(&other, size, &f->other);
    if (status == TULLE_OK) status = tulle_layout_new(&thin, size, &f->thin);
    if (status == TULLE_OK) status = make_sparse(f, &f->A);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_ROW_MAJOR, &f->D);
    return status;
}

static void drop_fixture(struct fixture *f)
{
    tulle_layout_free(f->square);
    tulle_layout_free(f->other);
    tulle_layout_free(f->thin);
}

struct trial {
    const struct subject *subject;
    const char *text;
    int rank; /* whose allocations fail */
    int every;
    int allocations; /* at most one step more than there are */
};

enum { FIRST = 6 };

/* The call once; allocation n (< 0: none) of PE `rank` fails. */
static tulle_status once(const struct trial *t, struct fixture *f, int n)
{
    int mine = tulle_comm_rank(f->comm) == t->rank;
    tulle__error_clear();
    if (mine) tulle__account_fail_after(f->comm->pe->account, n);
    tulle_status status = t->subject->call(f, t->text);
    if (mine) tulle__account_fail_after(f->comm->pe->account, -1);
    return t->subject->alone ? tulle_comm_agree(f->comm, status) : status;
}

/* Every allocation of the call fails in turn; `again`: after each the same call succeeds. The number of them. */
static tulle_status fail_each(const struct trial *t, struct fixture *f, int again, int *allocations)
{
    tulle_status status = TULLE_OK;
    for (int n = 0; n < TRIES; n += n < FIRST ? 1 : t->every) {
        tulle_status outcome = once(t, f, n);
        int told = *tulle_error_message() != 0;
        *allocations = n;
        TULLE_TRY(same_everywhere(f->comm, outcome));
        if (outcome == TULLE_OK) goto out;
        EXPECT(outcome == TULLE_ERR_MEMORY && told);
        if (again) TULLE_TRY(once(t, f, -1));
    }
    status = tulle__fail(TULLE_ERR_CHECK, "the call does not succeed with %d allocations", TRIES);
out:
    return status;
}

static int same_blocks(const struct blocks *a, const struct blocks *b)
{
    return a->data == b->data && a->control == b->control && a->account == b->account;
}

/* Twice: the first time the PE also makes what it keeps (its kernels' threads), whose allocations fail too until the
 * call has succeeded; the second time nothing may be left. */
static tulle_status try_subject(tulle_comm *comm, void *arg)
{
    struct trial *t = arg;
    struct fixture f = {.comm = comm};
    struct blocks before[64], after[64];
    int allocations = 0;
    tulle_status status;
    TULLE_TRY(make_fixture(&f));
    TULLE_TRY(fail_each(t, &f, 0, &allocations));
    TULLE_TRY(count_blocks(comm, before));
    TULLE_TRY(fail_each(t, &f, 1, &allocations));
    TULLE_TRY(count_blocks(comm, after));
    EXPECT(same_blocks(&before[tulle_comm_rank(comm)], &after[tulle_comm_rank(comm)]));
    if (tulle_comm_rank(comm) == t->rank) t->allocations = allocations;
out:
    drop_fixture(&f);
    return status; /* matrices are freed with the team */
}

/* Fact that the build lacks for that; NULL: nothing. */
static const char *lacking(const struct subject *subject, const char *text)
{
    if (subject->needs && !built_with(subject->needs)) return subject->needs;
    for (size_t w = 0; w < sizeof wants / sizeof *wants; w++)
        if (strstr(text, wants[w].part) && !built_with(wants[w].fact)) return wants[w].fact;
    return NULL;
}

/* 0: there is no team. */
static int try_text(const struct subject *subject, const char *text, int npes, int rank, int every)
{
    tulle_team_options options = {.memory = (size_t)npes << 26, .arena = 4096, .panels = 2, .threads = 1};
    struct trial trial = {subject, text, rank, every, 0};
    const char *lacks = lacking(subject, text);
    tulle_team *team;
    if (lacks) {
        skip("%s %s: %s is not so", subject->names, text, lacks);
        return 1;
    }
    if (!ok(tulle_team_new("threads:direct=off", npes, &options, &team) == TULLE_OK, "team")) return 0;
    tulle_status status = tulle_team_run(team, try_subject, &trial);
    ok(status == TULLE_OK, "%s %s: %d allocations of PE %d fail in turn, every %d%s%s", subject->names, text,
        trial.allocations, rank, every, status == TULLE_OK ? "" : ": ",
        status == TULLE_OK ? "" : tulle_error_message());
    tulle_team_free(team);
    return 1;
}

static void try_on_team(int npes, int rank, int every)
{
    for (int s = 0; s < SUBJECTS; s++)
        for (const char *const *text = subjects[s].text; *text; text++)
            if (!try_text(&subjects[s], *text, npes, rank, every)) return;
}

/* ---- outside a body ---- */

static tulle_status meet(tulle_comm *comm, void *arg)
{
    (void)arg;
    return tulle_comm_barrier(comm);
}

static tulle_status open_alone(void)
{
    tulle_comm *comm = NULL;
    tulle_status status = tulle_open(NULL, &comm);
    tulle_close(comm);
    return status;
}

static tulle_status open_and_run(void)
{
    tulle_team *team = NULL;
    char path[PATH_MOST];
    tulle_status status = tulle_team_new("check+trace+threads", 2, NULL, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, meet, NULL);
    if (status == TULLE_OK) status = tulle_team_trace_write(team, in_folder("trace.json", path));
    tulle_team_free(team);
    return status;
}

static tulle_status measure(void)
{
    tulle_machine machine;
    return tulle_machine_measure(1, &machine, NULL);
}

static void try_on_host(const struct host_subject *subject)
{
    tulle__account *account = tulle__account_current();
    int64_t blocks = tulle__account_blocks(account);
    tulle_status status = TULLE_ERR_MEMORY;
    int n = 0, fine = 1, tries = 0;
    for (; n < TRIES && status == TULLE_ERR_MEMORY && fine; n += n < STEPWISE ? 1 : subject->step, tries++) {
        tulle__error_clear();
        tulle__account_fail_after(account, n);
        status = subject->call();
        tulle__account_fail_after(account, -1);
        fine = (status == TULLE_OK || *tulle_error_message()) && tulle__account_blocks(account) == blocks;
    }
    ok(status == TULLE_OK && fine, "%s: %d allocations of the process fail in turn%s%s", subject->names, tries - 1,
        status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
}

/* ---- nothing is forgotten ---- */

static int named(const char *function)
{
    int found = has_word(without, function);
    for (int s = 0; s < SUBJECTS; s++) found |= has_word(subjects[s].names, function);
    for (int s = 0; s < HOST_SUBJECTS; s++) found |= has_word(host_subjects[s].names, function);
    return found;
}

/* Files are the texts with a dot. */
static void remove_files(void)
{
    char path[PATH_MOST];
    for (int s = 0; s < SUBJECTS; s++)
        for (const char *const *text = subjects[s].text; *text; text++)
            if (strchr(*text, '.')) unlink(in_folder(*text, path));
    unlink(in_folder("trace.json", path));
}

int main(int argc, char **argv)
{
    int npes = argc > 3 ? atoi(argv[1]) : 0, every = argc > 3 ? atoi(argv[2]) : 0, functions = 0;
    if (npes < 1 || every < 1 || !temporary_folder(folder))
        return fprintf(stderr, "usage: %s PES EVERY HEADER...\n", argv[0]), 2;
    for (int h = 3; h < argc; h++) functions += check_declared(argv[h], "", named);
    ok(functions > 50, "%d public functions are in the table or known not to allocate", functions);
    try_on_team(npes, npes - 1, every);
    if (npes > 1) try_on_team(npes, 0, every);
    for (int s = 0; s < HOST_SUBJECTS && npes == 1; s++) try_on_host(&host_subjects[s]);
    remove_files();
    ok(rmdir(folder) == 0, "no file is left behind");
    return tap_done();
}
