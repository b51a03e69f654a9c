/* SPDX-License-Identifier: Apache-2.0 */
/* Machine files, known machines, and the bound that follows from them. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/machine.h>

#include "algo/model/rates.h"
#include "base/arg.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/host/kind.h"
#include "base/host/limits.h"
#include "base/new_file.h"
#include "base/spec.h"
#include "mat/mat.h"

#ifndef TULLE_MACHINE_DIR /* figures for all users */
#define TULLE_MACHINE_DIR "/usr/local/etc/tulle"
#endif

/* FOLDER/BELOW/machine-KIND-THREADS */
static tulle_status name_file(const char *folder, const char *below, int threads, char *path, size_t size)
{
    char kind[TULLE__KIND_MAX];
    tulle__machine_kind("", tulle__cores_available(""), kind);
    const int n = snprintf(path, size, "%s%s/machine-%08" PRIx32 "-%d", folder, below, tulle__kind_hash(kind), threads);
    if (n < 0 || (size_t)n >= size) return tulle__fail(TULLE_ERR_IO, "the name of the machine file is too long");
    return TULLE_OK;
}

tulle_status tulle_machine_path(int threads, char *path, size_t size)
{
    if (TULLE__NULL(path) || TULLE__NEGATIVE(threads)) return TULLE_ERR_ARG;
    const char *given = secure_getenv("TULLE_MACHINE"), *cache = secure_getenv("XDG_CACHE_HOME"),
               *home = secure_getenv("HOME");
    if (given && *given) {
        if ((size_t)snprintf(path, size, "%s", given) < size) return TULLE_OK;
        return tulle__fail(TULLE_ERR_IO, "the name of the machine file is too long");
    }
    if (cache && *cache) return name_file(cache, "/tulle", threads, path, size);
    if (home && *home) return name_file(home, "/.cache/tulle", threads, path, size);
    return tulle__fail(TULLE_ERR_IO, "there is no folder for measurements: set HOME, XDG_CACHE_HOME or TULLE_MACHINE");
}

tulle_status tulle_machine_system_path(int threads, char *path, size_t size)
{
    if (TULLE__NULL(path) || TULLE__NEGATIVE(threads)) return TULLE_ERR_ARG;
    return name_file(TULLE_MACHINE_DIR, "", threads, path, size);
}

/* A file of the default's name has figures of this kind of machine: others, as of a published one, want a path. */
static tulle_status is_of_this_kind(const tulle_machine *m, const char *path)
{
    char kind[TULLE__KIND_MAX];
    const char *given = secure_getenv("TULLE_MACHINE");
    tulle__machine_kind("", tulle__cores_available(""), kind);
    if ((given && *given) || strcmp(kind, m->kind) == 0) return TULLE_OK;
    return tulle__fail(TULLE_ERR_STATE, "%s: the figures are of '%s', not of this machine, '%s'", path, m->kind, kind);
}

static tulle_status resolve(const char **path, int threads, char *workspace, size_t size)
{
    if (*path) return TULLE_OK;
    tulle_status status = tulle_machine_path(threads, workspace, size);
    *path = workspace;
    return status;
}

/* The file to read: that of all users before the user's own, but after TULLE_MACHINE. */
static tulle_status resolve_kept(const char **path, int threads, char *workspace, size_t size)
{
    const char *given = secure_getenv("TULLE_MACHINE");
    if (*path) return TULLE_OK;
    if (!(given && *given) && tulle_machine_system_path(threads, workspace, size) == TULLE_OK &&
        access(workspace, R_OK) == 0) {
        *path = workspace;
        return TULLE_OK;
    }
    return resolve(path, threads, workspace, size);
}

/*
 * The lines of a machine file: a name, then numbers. Older files lack those that are not required.
 */
static const struct field {
    const char *name;
    int count, required;
    size_t at;   /* of the first number */
    int integer; /* an int */
} fields[] = {
    {"threads", 1, 1, offsetof(tulle_machine, threads), 1},
    {"stream", 1, 1, offsetof(tulle_machine, stream), 0},
    {"cache", 1, 1, offsetof(tulle_machine, cache), 0},
    {"fma_f32", 1, 1, offsetof(tulle_machine, fma) + TULLE_F32 * sizeof(double), 0},
    {"fma_f64", 1, 1, offsetof(tulle_machine, fma) + TULLE_F64 * sizeof(double), 0},
    {"spmm", TULLE_RATE_DEGREES *TULLE_RATE_WIDTHS, 0, offsetof(tulle_machine, spmm), 0},
    {"spgemm", TULLE_RATE_FACTORS, 0, offsetof(tulle_machine, spgemm), 0},
    {"blocks", TULLE_RATE_BLOCKS, 0, offsetof(tulle_machine, blocks), 0},
    {"block_kernels", TULLE_BLOCK_KERNELS *TULLE_RATE_CROSSINGS, 0, offsetof(tulle_machine, block_kernels), 0},
    {"block_from", TULLE_BLOCK_KERNELS, 0, offsetof(tulle_machine, block_from), 0},
    {"same_node", 2, 0, offsetof(tulle_machine, tier[TULLE_SAME_NODE].latency), 0},
    {"same_node_range", 1, 0, offsetof(tulle_machine, tier[TULLE_SAME_NODE].range), 0},
    {"other_node", 2, 0, offsetof(tulle_machine, tier[TULLE_OTHER_NODE].latency), 0},
    {"other_node_range", 1, 0, offsetof(tulle_machine, tier[TULLE_OTHER_NODE].range), 0},
    {"node_pes", 1, 0, offsetof(tulle_machine, node_pes), 1},
    {"in_place", 1, 0, offsetof(tulle_machine, in_place), 1},
};
enum { FIELDS = sizeof fields / sizeof *fields };
_Static_assert(offsetof(tulle_tier, bandwidth) == sizeof(double), "latency and bandwidth are one line's numbers");

/* Parses the numbers of a line into m; 0: the line is of another field. */
static int read_field(const struct field *field, const char *text, tulle_machine *m)
{
    for (int n = 0; n < field->count; n++) {
        char *end;
        double x = tulle__decimal_read(text, &end);
        if (end == text || !(x >= 0) || x > 1e18 || (field->required && x <= 0)) return 0;
        if (field->integer && x > 1e6) return 0;
        if (field->integer)
            *(int *)(void *)((char *)m + field->at) = (int)x;
        else
            ((double *)(void *)((char *)m + field->at))[n] = x;
        text = end;
    }
    return text[strspn(text, " \n")] == '\0';
}

static tulle_status read_lines(FILE *f, const char *path, tulle_machine *m)
{
    char line[1024], name[32];
    unsigned seen = 0;
    for (int number = 1; fgets(line, sizeof line, f); number++) {
        int at = 0, i = 0;
        if (strncmp(line, "kind ", 5) == 0) {
            snprintf(m->kind, sizeof m->kind, "%.*s", (int)strcspn(line + 5, "\n"), line + 5);
            continue;
        }
        if (sscanf(line, "%31s%n", name, &at) != 1) at = 0;
        if (strncmp(line, "comm ", 5) == 0 && sscanf(line + 5, "%127s", m->comm) == 1) continue;
        while (i < FIELDS && strcmp(fields[i].name, name) != 0) i++;
        if (i == FIELDS || !read_field(&fields[i], line + at, m))
            return tulle__fail(TULLE_ERR_FORMAT, "%s:%d: this is not a line of `tulle calibrate`", path, number);
        seen |= 1u << i;
    }
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].required && !(seen >> i & 1))
            return tulle__fail(
                TULLE_ERR_FORMAT, "%s: the line '%s' is missing; `tulle calibrate` writes it", path, fields[i].name);
    return TULLE_OK;
}

tulle_status tulle_machine_load(const char *path, int threads, tulle_machine *machine)
{
    if (TULLE__NULL(machine) || TULLE__NEGATIVE(threads)) return TULLE_ERR_ARG;
    char workspace[4096];
    tulle_machine m = {.threads = 0};
    TULLE_CALL(resolve_kept(&path, threads, workspace, sizeof workspace));
    FILE *f = fopen(path, "r");
    if (!f)
        return tulle__fail(
            TULLE_ERR_IO, "%s: %s%s", path, strerror(errno), path == workspace ? "; run `tulle calibrate`" : "");
    tulle_status status = read_lines(f, path, &m);
    fclose(f);
    if (status == TULLE_OK && threads && m.threads != threads)
        status = tulle__fail(TULLE_ERR_STATE, "%s: the figures are for %d threads, not %d", path, m.threads, threads);
    if (status == TULLE_OK && path == workspace) status = is_of_this_kind(&m, path);
    if (status == TULLE_OK) *machine = m;
    return status;
}

static void make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0777); /* a failure shows when the file is opened */
        *slash = '/';
    }
}

static void put_fields(const tulle_machine *m, FILE *f)
{
    fprintf(f, "kind %s\n", m->kind);
    if (*m->comm) fprintf(f, "comm %s\n", m->comm);
    for (int i = 0; i < FIELDS; i++) {
        const char *from = (const char *)m + fields[i].at;
        fprintf(f, "%s", fields[i].name);
        for (int n = 0; n < fields[i].count; n++)
            tulle__decimal_print(f, " %.6g",
                fields[i].integer ? *(const int *)(const void *)from : ((const double *)(const void *)from)[n]);
        fputc('\n', f);
    }
}

tulle_status tulle_machine_try(const char *path, int threads)
{
    if (TULLE__NEGATIVE(threads)) return TULLE_ERR_ARG;
    char workspace[4096];
    TULLE_CALL(resolve(&path, threads, workspace, sizeof workspace));
    make_folders(path);
    return tulle__new_file_try(path);
}

tulle_status tulle_machine_save(const char *path, const tulle_machine *m)
{
    if (TULLE__NULL_AS(m, "machine")) return TULLE_ERR_ARG;
    char workspace[4096], text[4096];
    tulle__new_file file;
    TULLE_CALL(resolve(&path, m->threads, workspace, sizeof workspace));
    if (path == workspace) TULLE_CALL(is_of_this_kind(m, path));
    FILE *f = fmemopen(text, sizeof text, "w");
    if (!f) return tulle__fail(TULLE_ERR_MEMORY, "out of memory for a machine's figures");
    put_fields(m, f);
    long bytes = ftell(f);
    if (fclose(f) || bytes < 0) return tulle__fail(TULLE_ERR_OVERFLOW, "%s: a machine has too many figures", path);
    make_folders(path);
    TULLE_CALL(tulle__new_file_open(path, &file));
    tulle_status status = tulle__new_file_write(&file, text, (size_t)bytes);
    if (status == TULLE_OK) return tulle__new_file_close(&file);
    tulle__new_file_abort(&file);
    return status;
}

/* Sets *now to the better of both numbers. Returns 1 if that is the old one. */
static int take_better(double old, double *now, int less_is_better)
{
    if (!(old > 0) || (*now > 0 && (less_is_better ? old >= *now : old <= *now))) return 0;
    *now = old;
    return 1;
}

static int merge_tiers(const tulle_machine *old, tulle_machine *m)
{
    int measured = 0, better = 0;
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) measured |= m->tier[d].bandwidth > 0;
    if (!measured) {
        memcpy(m->tier, old->tier, sizeof m->tier);
        memcpy(m->comm, old->comm, sizeof m->comm);
        m->node_pes = old->node_pes;
        m->in_place = old->in_place;
        return 0;
    }
    if (strcmp(old->comm, m->comm) != 0 || old->node_pes != m->node_pes || old->in_place != m->in_place) return 0;
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) {
        if (!(m->tier[d].bandwidth > 0) || !(old->tier[d].bandwidth > 0)) continue; /* the number of PEs differed */
        better += take_better(old->tier[d].latency, &m->tier[d].latency, 1);
        better += take_better(old->tier[d].bandwidth, &m->tier[d].bandwidth, 0);
        better += take_better(old->tier[d].range, &m->tier[d].range, 1);
    }
    return better;
}

int tulle_machine_merge(const tulle_machine *old, tulle_machine *m)
{
    if (TULLE__NULL(old) || TULLE__NULL_AS(m, "machine")) return 0;
    int better = 0;
    if (strcmp(old->kind, m->kind) != 0 || old->threads != m->threads) return 0;
    better += take_better(old->stream, &m->stream, 0) + take_better(old->cache, &m->cache, 0);
    for (int t = 0; t < TULLE_TYPE_COUNT; t++) better += take_better(old->fma[t], &m->fma[t], 0);
    for (int i = 0; i < TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS; i++)
        better += take_better(old->spmm[i], &m->spmm[i], 0);
    for (int i = 0; i < TULLE_RATE_FACTORS; i++) better += take_better(old->spgemm[i], &m->spgemm[i], 0);
    for (int i = 0; i < TULLE_RATE_BLOCKS; i++) better += take_better(old->blocks[i], &m->blocks[i], 0);
    for (int i = 0; i < TULLE_BLOCK_KERNELS * TULLE_RATE_CROSSINGS; i++)
        better += take_better(old->block_kernels[i], &m->block_kernels[i], 0);
    tulle__block_sizes(m);
    return better + merge_tiers(old, m);
}

/*
 * The paper's machines (its sections 4 and 6), one V100 a PE: 16 TFlop/s of f32, NVLink of 50 GB/s
 * within a node, and on Summit 3.83 GB/s of the network for each of a node's 6 PEs. Other sources:
 * 7.2 TFlop/s of f64 (the DGEMM rate seen on Summit), 900 GB/s of memory (NVIDIA's data sheet),
 * 2155 GB/s of the second-level cache (Jia, Maggioni, Staiger, Scarpazza, "Dissecting the NVIDIA
 * Volta GPU architecture via microbenchmarking", 2018). Latencies are unpublished: 2 and 5 us are
 * typical of NVSHMEM's gets. Kernel rates are unknown: the roofline replaces them, which is too
 * high for cuSPARSE's SpGEMM, as the paper says in section 6.2.
 */
static const tulle_machine known[] = {
    {.kind = "summit",
        .threads = 1,
        .stream = 900e9,
        .cache = 2155e9,
        .fma = {[TULLE_F32] = 16e12, [TULLE_F64] = 7.2e12},
        .tier = {[TULLE_SAME_NODE] = {2e-6, 50e9, 0}, [TULLE_OTHER_NODE] = {5e-6, 3.83e9, 0}},
        .node_pes = 6},
    {.kind = "dgx2",
        .threads = 1,
        .stream = 900e9,
        .cache = 2155e9,
        .fma = {[TULLE_F32] = 16e12, [TULLE_F64] = 7.2e12},
        .tier = {[TULLE_SAME_NODE] = {2e-6, 50e9, 0}},
        .node_pes = 16},
};

enum { KNOWN = sizeof known / sizeof *known };

tulle_status tulle_machine_find(const char *name, int threads, tulle_machine *machine)
{
    if (TULLE__NULL(name) || TULLE__NULL(machine) || TULLE__NEGATIVE(threads)) return TULLE_ERR_ARG;
    const char *names[KNOWN + 2];
    for (int i = 0; i < KNOWN; i++) {
        names[i] = known[i].kind;
        if (!tulle__word_same(names[i], name)) continue;
        *machine = known[i];
        return TULLE_OK;
    }
    names[KNOWN] = "here";
    if (tulle__word_same(name, "here")) return tulle_machine_load(NULL, threads, machine);
    tulle_status status = tulle_machine_load(name, 0, machine);
    if (status == TULLE_OK) return status;
    names[KNOWN + 1] = "files that `tulle calibrate` wrote";
    tulle__name_unknown(status, name, names, KNOWN + 2);
    return status;
}

tulle_bound tulle_product_bound(
    const tulle_machine *machine, const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, double multiplications)
{
    if (TULLE__NULL(machine) || TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(C)) return (tulle_bound){.seconds = 0};
    tulle_bound b;
    double value = (double)tulle_type_size(C->type), entry = value + sizeof(tulle_lidx);
    b.flops = 2 * multiplications / machine->fma[C->type];
    b.memory = (double)(tulle_mat_bytes(A) + tulle_mat_bytes(B) + tulle_mat_bytes(C)) / machine->stream;
    double read = B->kind == TULLE_CSR ? multiplications * entry : multiplications * value;
    if (A->format->in_blocks) read /= tulle__mat_block_height(A); /* rows of a block share what they read */
    b.cache = ((double)A->nnz * entry + read) / machine->cache;
    if (A->kind == TULLE_DENSE)
        b.cache = (double)(tulle_mat_bytes(A) + tulle_mat_bytes(B)) / machine->cache; /* blocks stay */
    b.seconds = b.flops > b.memory ? b.flops : b.memory;
    return b;
}
