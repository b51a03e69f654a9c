/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --memory holds, or is refused with the figure that suffices. For each verb and several inputs a
 * run with --memory 1 is refused with the least figure. Then limits from a quarter of it to four
 * times it are tried, itself among them. Below the figure a run must be refused with it, at once;
 * from it on the run must complete, with resident memory (beyond that of an idle program) of at
 * most 1.05 times the limit.
 *
 *    test_sweep TULLE DATA brief|all [PART OF A NAME]
 */
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "temporary.h"

extern char **environ;

enum { WORDS = 64, TEXT = 4096, STEPS = 12, BRIEF_STEPS = 4 };
static const double SLACK = 1.05, AT_ONCE = 2; /* seconds of processor time */

/*
 * BRIEF: also in the short run; LATE: an analysis finds the least, so a run may also be refused
 * from the figure on.
 */
enum { BRIEF = 1, LATE = 2 };

/* @ is the folder, & that of the data, ^ that of the collection. */
struct sweep {
    const char *name, *made, *command; /* made: a command before, or NULL */
    int kind;                          /* BRIEF, LATE */
    double most;                       /* bytes that the least figure must not pass; 0: whatever it is */
};

/*
 * Requirements on the figures: four times the operands and 64 MB (R-MAT 15: 3.4 MB, 17: 13.6); a
 * file's B and X, five vectors a column, and 64 MB.
 */
static const struct sweep sweeps[] = {
    {"spgemm rmat, 2 PEs", NULL, "spgemm rmat:scale=15 -p 2", BRIEF, 78e6},
    {"spgemm rmat, 1 PE of 2 threads", NULL, "spgemm rmat:scale=15 -p 1", 0, 78e6},
    {"spgemm rmat, 7 PEs, all algorithms", NULL, "spgemm rmat:scale=13 -p 7 --alg all", 0, 0},
    {"spgemm rmat, 4 PEs in 2 x 2, all algorithms", NULL, "spgemm rmat:scale=14 -p 4 --grid 2x2 --alg all --check", 0,
        0},
    {"spgemm rmat 17", NULL, "spgemm rmat:scale=17 -p 2", 0, 119e6},
    {"spgemm fem", NULL, "spgemm fem:nodes=30,dof=3 -p 2", 0, 0},
    {"spgemm few entries", NULL, "spgemm er:n=2000000,degree=1.5 -p 3", 0, 0},
    {"spgemm into a file", NULL, "spgemm rmat:scale=14 -p 2 -o @/c.mtx.gz", 0, 0},
    {"spgemm of blocks into a file", NULL, "spgemm cantilever:nodes=16,dof=3 --blocks 3 -p 2 -o @/blocks.mtx", BRIEF,
        0},
    {"spgemm of blocks into a file of blocks, checked", NULL,
        "spgemm cantilever:nodes=16,dof=3 --blocks 3 --check -p 3 -o @/blocks.bsp.h5", 0, 0},
    {"spgemm of blocks into the other formats", NULL,
        "spgemm cantilever:nodes=14,dof=3 --blocks 3 -p 1 -o @/blocks.npz", 0, 0},
    {"spgemm of blocks of different sizes into a file", NULL,
        "spgemm cantilever:nodes=14,dof=3 --blocks 5 -p 2 -o @/blocks.petsc", 0, 0},
    {"spgemm of blocks, a symmetric C", NULL, "spgemm cantilever:nodes=16,dof=3 --blocks 3 --symmetric-c --check -p 2",
        0, 0},
    {"spgemm f32 checked", NULL, "spgemm rmat:scale=14 -p 3 --type f32 --check", 0, 0},
    {"spgemm transposed factor", "gen er:m=40000,n=3000,degree=12 -o @/tall.mtx", "spgemm @/tall.mtx -p 2", 0, 0},
    {"spgemm copied tiles", NULL, "spgemm rmat:scale=14 -p 3 --comm threads:direct=off", 0, 0},
    {"spmm", NULL, "spmm rmat:scale=15 --cols 64 -p 2", BRIEF, 0},
    {"spmm all algorithms", NULL, "spmm rmat:scale=14 --cols 32 -p 4 --alg all --check", 0, 0},
    {"spmm deterministic", NULL, "spmm rmat:scale=14 --cols 64 -p 3 --alg stationary-a --deterministic", 0, 0},
    {"spmm copied tiles", NULL, "spmm rmat:scale=14 --cols 32 -p 3 --comm threads:direct=off", 0, 0},
    {"gemm", NULL, "gemm --m 1500 --k 900 --n 700 -p 2", BRIEF, 0},
    {"gemm all algorithms", NULL, "gemm --size 1200 -p 4 --alg all --check", 0, 0},
    {"gemm copied tiles", NULL, "gemm --size 1200 -p 3 --deterministic --alg stationary-a --comm threads:direct=off", 0,
        0},
    {"gemm from a file", "gen dense:m=1500,n=800 -o @/dense.npy", "gemm @/dense.npy -p 2", 0, 0},
    {"block CG from a file", "gen fem:nodes=24,dof=3 -o @/fem.bsp.h5",
        "solve @/fem.bsp.h5 --source file --rhs random:16 --method block-cg -p 2", BRIEF, 76e6},
    {"block CG from a file, block Jacobi", "gen fem:nodes=24,dof=3 -o @/fem.bsp.h5",
        "solve @/fem.bsp.h5 --source file --rhs random:16 --method block-cg --precond block-jacobi:n=3 -p 1", 0, 0},
    {"block CG from a file, 5 PEs", "gen fem:nodes=24,dof=3 -o @/fem.bsp.h5",
        "solve @/fem.bsp.h5 --source file --rhs random:16 --method block-cg -p 5", 0, 0},
    {"CG from a file, Jacobi, 5 PEs", "gen cantilever:nodes=32,dof=3 -o @/cantilever32.bsp.h5",
        "solve @/cantilever32.bsp.h5 --source file --method cg --precond jacobi --max-iterations 5 -p 5", 0, 0},
    {"CG from a file, Jacobi", "gen cantilever:nodes=24,dof=3 -o @/cantilever.bsp.h5",
        "solve @/cantilever.bsp.h5 --source file --method cg --precond jacobi --tol 1e-3 -p 2", 0, 0},
    {"GMRES from a file", "gen fem:nodes=24,dof=3 -o @/fem.bsp.h5",
        "solve @/fem.bsp.h5 --source file --method gmres -p 3 --check", 0, 0},
    {"CG, IC(0)", NULL, "solve fem:nodes=24,dof=3 --method cg --precond ic0 -p 2", BRIEF, 0},
    {"GMRES, ILU(0)", NULL, "solve stencil2d:n=300 --method gmres --precond ilu0 -p 3 --tol 1e-2", 0, 0},
    {"CG, IC(0), 5 PEs", NULL, "solve fem:nodes=24,dof=3 --method cg --precond ic0 -p 5", 0, 0},
    {"block CG in memory", NULL, "solve fem:nodes=24,dof=3 --method block-cg --rhs random:32 -p 2", 0, 0},
    {"block CG through a device", NULL,
        "solve fem:nodes=24,dof=3 --method block-cg --rhs random:8 -p 2 --device limit:mem=64M+cpu", 0, 0},
    {"spmm through a device", NULL, "spmm rmat:scale=15 --cols 64 -p 2 --device cpu", 0, 0},
    {"spmm through a small device", NULL, "spmm rmat:scale=15 --cols 64 -p 2 --tiles 4 --device limit:mem=6M+cpu", 0,
        0},
    {"spgemm through a device", NULL, "spgemm rmat:scale=15 -p 2 --device cpu", 0, 0},
    {"spgemm of blocks through devices", NULL,
        "spgemm fem:nodes=24,dof=3 --blocks 3 -p 2 --tiles 3 --devices 2 --device limit:mem=64M+cpu", 0, 0},
    {"gemm through a device", NULL, "gemm --size 1200 -p 2 --tiles 3 --device limit:mem=16M+cpu", 0, 0},
    {"stream through a device", NULL, "stream fem:nodes=30,dof=3 --cols 8 -p 2 --device limit:link=8G+cpu", 0, 0},
    {"trisolve through a device", NULL, "trisolve fem:nodes=30,dof=3 --from tril -p 2 --device cpu --rhs random:8", 0,
        0},
    {"stream in memory", NULL, "stream fem:nodes=30,dof=3 --cols 8 -p 2", 0, 0},
    {"stream from a file", "gen fem:nodes=30,dof=3 -o @/fem30.bsp.h5",
        "stream @/fem30.bsp.h5 --source file --cols 4 -p 2", 0, 0},
    {"trisolve", NULL, "trisolve fem:nodes=30,dof=3 --from tril -p 2", BRIEF, 0},
    {"trisolve a given triangle", NULL, "trisolve ^/ani4_amd_chol.mtx.gz -p 2 --method all", 0, 0},
    {"trisolve ilu0, 7 PEs", NULL, "trisolve stencil3d:n=40 --from ilu0 -p 7 --method push,chunked", 0, 0},
    {"trisolve all methods", NULL, "trisolve stencil3d:n=40 --from ic0 -p 3 --method all", 0, 0},
    {"trisolve lu", NULL, "trisolve stencil2d:n=200 --from lu -p 2 --rhs random:4", LATE, 0},
    {"trisolve cholesky", NULL, "trisolve stencil2d:n=200 --from cholesky -p 2", LATE, 0},
    {"convert", "gen rmat:scale=15 -o @/rmat.mtx.gz", "convert @/rmat.mtx.gz @/rmat.bsp.h5 -p 2", BRIEF, 0},
    {"convert into blocks", "gen fem:nodes=24,dof=3 -o @/fem.mtx",
        "convert @/fem.mtx @/blocks.bsp.h5 --format auto -p 2", 0, 0},
    {"convert into text", "gen fem:nodes=24,dof=3 -o @/fem.bsp.h5", "convert @/fem.bsp.h5 @/out.mtx.gz -p 3", 0, 0},
    {"gen", NULL, "gen rmat:scale=17 -o @/gen.mtx -p 2", 0, 0},
    {"gen er", NULL, "gen er:n=200000,degree=10 -o @/gen.bsp.h5 -p 3", 0, 0},
    {"gen by slabs", NULL, "gen cantilever:nodes=40,dof=3 -o @/gen.bsp.h5 -p 2 --format bsr:b=3,half", 0, 0},
    {"spgemm cnr-2000", NULL, "spgemm ^/cnr-2000.mtx.gz -p 2", 0, 0},
    {"spgemm ego-twitter", NULL, "spgemm ^/ego-twitter.mtx.gz -p 2", 0, 0},
    {"spgemm pbmc4k_counts", NULL, "spgemm ^/pbmc4k_counts.mtx.gz -p 2", 0, 0},
};

static const char *tulle, *data, *collection;
static char folder[TEMPORARY_MOST];
static double idle; /* bytes of an idle program */

struct outcome {
    int status;                       /* 128 and more: a signal */
    double bytes, seconds, processor; /* processor: seconds of processor time, which other programs do not lengthen */
    char text[TEXT];                  /* the end of its standard error */
};

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static void expand(const char *from, char *to, size_t size)
{
    size_t n = 0;
    for (; *from && n + 1 < size; from++) {
        const char *part = *from == '@' ? folder : *from == '&' ? data : *from == '^' ? collection : NULL;
        if (part)
            n += (size_t)snprintf(to + n, size - n, "%s", part);
        else
            to[n++] = *from;
    }
    to[n < size ? n : size - 1] = 0;
}

/* The command's words, and --memory if limit > 0. */
static struct outcome run(const char *command, double limit)
{
    struct outcome o = {.status = 128};
    char text[TEXT], figure[32], path[TEMPORARY_MOST + 8], *word[WORDS];
    int words = 0;
    expand(command, text, sizeof text);
    word[words++] = (char *)(size_t)tulle;
    for (char *w = strtok(text, " "); w && words < WORDS - 4; w = strtok(NULL, " ")) word[words++] = w;
    word[words++] = (char *)(size_t) "--quiet";
    if (limit > 0) {
        snprintf(figure, sizeof figure, "%.0f", limit);
        word[words++] = (char *)(size_t) "--memory";
        word[words++] = figure;
    }
    if (strcmp(command, "--version") == 0) words = 2;
    word[words] = NULL;
    snprintf(path, sizeof path, "%s/said", folder);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t child;
    int started = posix_spawn(&child, tulle, &actions, NULL, word, environ) == 0, status = 0;
    posix_spawn_file_actions_destroy(&actions);
    struct rusage usage;
    if (!started || wait4(child, &status, 0, &usage) < 0) return o;
    clock_gettime(CLOCK_MONOTONIC, &end);
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    o.bytes = (double)usage.ru_maxrss * 1024;
    o.seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    o.processor = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
    FILE *said = fopen(path, "r");
    if (said) {
        size_t n = fread(o.text, 1, sizeof o.text - 1, said);
        o.text[n] = 0;
        if (n && o.text[n - 1] == '\n') o.text[n - 1] = 0;
        fclose(said);
    }
    return o;
}

/* The figure of a refusal, in bytes; 0: there is none. */
static double figure_of(const struct outcome *o)
{
    static const char words[] = " needs at least ";
    const char *at = strstr(o->text, words);
    return o->status == 3 && at ? strtod(at + sizeof words - 1, NULL) * 1e6 : 0;
}

static void try_limit(const struct sweep *s, double least, double limit)
{
    struct outcome o = run(s->command, limit);
    if (limit < least) {
        ok(figure_of(&o) == least && o.processor < AT_ONCE, "%s: %.0fM is refused in %.2f s", s->name, limit / 1e6,
            o.processor);
        if (figure_of(&o) != least) printf("# status %d, %s\n", o.status, o.text);
        return;
    }
    double used = o.bytes - idle;
    /*
     * 1: it did not converge, or a check failed, which is not a matter of memory: only a check says
     * so
     */
    int done =
        o.status == 0 || ((s->kind & LATE) && o.status == 3) || (o.status == 1 && !strstr(s->command, "--check"));
    ok(done && used <= SLACK * limit, "%s: %.0fM of %.0fM at least are held: %.0fM, %.2f of it, in %.2f s", s->name,
        limit / 1e6, least / 1e6, used / 1e6, used / limit, o.seconds);
    if (!done) printf("# status %d, %s\n", o.status, o.text);
}

static void sweep(const struct sweep *s, int steps)
{
    if (strchr(s->command, '^')) {
        char path[TEXT];
        expand(strchr(s->command, '^'), path, sizeof path);
        *strchr(path, ' ') = 0;
        if (access(path, R_OK) != 0) {
            skip("%s: %s is not here", s->name, path);
            return;
        }
    }
    if (s->made) {
        struct outcome made = run(s->made, 0);
        if (!ok(made.status == 0, "%s: %s", s->name, s->made)) return;
    }
    struct outcome refused = run(s->command, 1);
    double least = figure_of(&refused);
    ok(least > 0 && refused.processor < AT_ONCE, "%s: refused in %.2f s, needs %.0fM", s->name, refused.processor,
        least / 1e6);
    if (least <= 0) {
        printf("# status %d, %s\n", refused.status, refused.text);
        return;
    }
    if (s->most > 0) ok(least <= s->most, "%s: %.0fM are no more than %.0fM", s->name, least / 1e6, s->most / 1e6);
    try_limit(s, least, least);
    for (int i = 0; i < steps; i++) try_limit(s, least, floor(least * pow(4, 2. * (i + 0.5) / steps - 1)));
}

int main(int argc, char **argv)
{
    if (argc < 4) return fprintf(stderr, "test_sweep TULLE DATA brief|all [PART OF A NAME]\n"), 2;
    int all = strcmp(argv[3], "all") == 0;
    tulle = argv[1];
    data = argv[2];
    collection = getenv("TULLE_MATRICES");
    if (!collection || !*collection) collection = "../shared/matrices";
    if (!ok(temporary_folder(folder), "a folder")) return tap_done();
    idle = run("--version", 0).bytes;
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        if ((all || (sweeps[i].kind & BRIEF)) && (argc < 5 || strstr(sweeps[i].name, argv[4])))
            sweep(&sweeps[i], all ? STEPS : BRIEF_STEPS);
    char command[TEXT];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ok(system(command) == 0, "the folder goes");
    return tap_done();
}
