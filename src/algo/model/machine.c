/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping what was measured, and the bound that follows from it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/machine.h>

#include "base/error.h"
#include "mat/mat.h"

tulle_status tulle_machine_path(int threads, char *path, size_t size)
{
    char host[64] = "here";
    const char *given = getenv("TULLE_MACHINE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    (void)gethostname(host, sizeof host - 1);
    if (given && *given)
        n = snprintf(path, size, "%s", given);
    else if (cache && *cache)
        n = snprintf(path, size, "%s/tulle/machine-%s-%d", cache, host, threads);
    else if (home && *home)
        n = snprintf(path, size, "%s/.cache/tulle/machine-%s-%d", home, host, threads);
    else
        return tulle__fail(TULLE_ERR_IO, "no place to keep measurements: set HOME, XDG_CACHE_HOME or TULLE_MACHINE");
    if (n < 0 || (size_t)n >= size) return tulle__fail(TULLE_ERR_IO, "the name of the machine file is too long");
    return TULLE_OK;
}

static tulle_status resolve(const char **path, int threads, char *room, size_t size)
{
    if (*path) return TULLE_OK;
    tulle_status status = tulle_machine_path(threads, room, size);
    *path = room;
    return status;
}

tulle_status tulle_machine_load(const char *path, int threads, tulle_machine *machine)
{
    char room[4096];
    tulle_machine m = {.threads = 0};
    tulle_status status = resolve(&path, threads, room, sizeof room);
    if (status != TULLE_OK) return status;
    FILE *f = fopen(path, "r");
    if (!f) return tulle__fail(TULLE_ERR_IO, "%s: %s; run `tulle calibrate`", path, strerror(errno));
    int got = fscanf(f, " host %63s threads %d stream %lf cache %lf fma_f32 %lf fma_f64 %lf", m.host, &m.threads,
        &m.stream, &m.cache, &m.fma[TULLE_F32], &m.fma[TULLE_F64]);
    fclose(f);
    if (got != 6 || !(m.stream > 0) || !(m.cache > 0) || !(m.fma[0] > 0) || !(m.fma[1] > 0))
        return tulle__fail(TULLE_ERR_FORMAT, "%s: not what `tulle calibrate` writes", path);
    if (m.threads != threads)
        return tulle__fail(TULLE_ERR_STATE, "%s: measured with %d threads, not %d", path, m.threads, threads);
    *machine = m;
    return TULLE_OK;
}

static void make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0777); /* what cannot be made shows when the file is opened */
        *slash = '/';
    }
}

tulle_status tulle_machine_save(const char *path, const tulle_machine *m)
{
    char room[4096], temporary[4200];
    tulle_status status = resolve(&path, m->threads, room, sizeof room);
    if (status != TULLE_OK) return status;
    make_folders(path);
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(temporary, "w");
    if (!f) return tulle__fail(TULLE_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    fprintf(f, "host %s\nthreads %d\nstream %.6g\ncache %.6g\nfma_f32 %.6g\nfma_f64 %.6g\n", m->host, m->threads,
        m->stream, m->cache, m->fma[TULLE_F32], m->fma[TULLE_F64]);
    int bad = ferror(f);
    if (fclose(f) || bad || rename(temporary, path)) {
        int error = errno;
        remove(temporary);
        return tulle__fail(TULLE_ERR_IO, "%s: writing failed: %s", path, strerror(error));
    }
    return TULLE_OK;
}

tulle_bound tulle_product_bound(
    const tulle_machine *machine, const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, double multiplications)
{
    tulle_bound b;
    double value = (double)tulle_type_size(C->type), entry = value + sizeof(tulle_lidx);
    b.flops = 2 * multiplications / machine->fma[C->type];
    b.memory = (double)(tulle_mat_bytes(A) + tulle_mat_bytes(B) + tulle_mat_bytes(C)) / machine->stream;
    double read = B->kind == TULLE_CSR ? multiplications * entry : multiplications * value;
    b.cache = ((double)A->nnz * entry + read) / machine->cache;
    b.seconds = b.flops > b.memory ? b.flops : b.memory;
    if (b.cache > b.seconds) b.seconds = b.cache;
    return b;
}
