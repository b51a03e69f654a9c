/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels=measured for chains: cuSPARSE's kernel or ours, whichever is faster. The first chains of a kind are done by
 * both in turn, with events around them; nothing is done twice, and the host does not wait: a chain that comes before
 * the times are known is cuSPARSE's. A kind is a type, a number of columns and a mean number of entries of rows, both
 * of these up to a factor of 2.
 */
#include <string.h>

#include "device/cuda/cuda_device.h"

enum { TRIES = TULLE__CUDA_TRIES }; /* of each; the faster one counts */

static int log_of(int64_t x)
{
    int log = 0;
    while (x > 1) x /= 2, log++;
    return log;
}

static struct tulle__cuda_choice *find_choice(tulle__cuda *cuda, int key)
{
    for (int c = 0; c < cuda->nchoices; c++)
        if (cuda->choice[c].key == key) return &cuda->choice[c];
    if (cuda->nchoices == TULLE__CUDA_CHOICES) return NULL;
    struct tulle__cuda_choice *made = &cuda->choice[cuda->nchoices++];
    memset(made, 0, sizeof *made);
    made->key = key;
    made->chosen = -1;
    return made;
}

/* Nanoseconds of a multiplication, the least of all tries; 0: not all of them are done. */
static double time_of(const struct tulle__cuda_choice *c, int own)
{
    double best = 0;
    for (int t = 0; t < TRIES; t++) {
        const struct tulle__cuda_trial *trial = &c->trial[own][t];
        float ms = 0;
        if (!trial->begun || !tulle__cuda_quietly(cudaEventQuery(trial->end)) ||
            !tulle__cuda_quietly(cudaEventElapsedTime(&ms, trial->begin, trial->end)))
            return 0;
        double each = ((double)ms + 1e-6) * 1e6 / (trial->multiplications + 1);
        if (!t || each < best) best = each;
    }
    return best;
}

int tulle__cuda_choose(tulle__device_queue *queue, const tulle__device_chain *task, struct tulle__cuda_trial **trial)
{
    double multiplications = 0;
    int64_t rows = 0, entries = 0;
    *trial = NULL;
    for (int p = 0; p < task->npairs; p++) {
        rows += task->A[p].m;
        entries += task->A[p].nnz;
        multiplications += (double)task->A[p].nnz * (double)task->n;
    }
    int key = (task->type == TULLE_F64) | log_of(task->n) << 1 | log_of(rows ? entries / rows : 0) << 8;
    struct tulle__cuda_choice *c = find_choice(queue->cuda, key);
    if (!c) return 0;
    if (c->chosen >= 0) return c->chosen;
    for (int t = 0; t < TRIES; t++)
        for (int own = 0; own < 2; own++) {
            struct tulle__cuda_trial *next = &c->trial[own][t];
            if (next->begun) continue;
            if (!tulle__cuda_quietly(cudaEventCreate(&next->begin))) return 0;
            if (!tulle__cuda_quietly(cudaEventCreate(&next->end))) {
                (void)tulle__cuda_quietly(cudaEventDestroy(next->begin));
                return 0;
            }
            next->begun = 1;
            next->multiplications = multiplications;
            *trial = next;
            return own;
        }
    double library = time_of(c, 0), own = time_of(c, 1);
    if (library > 0 && own > 0) c->chosen = own < library;
    return c->chosen == 1;
}

void tulle__cuda_choices_free(tulle__cuda *cuda)
{
    for (int c = 0; c < cuda->nchoices; c++)
        for (int own = 0; own < 2; own++)
            for (int t = 0; t < TRIES; t++) {
                const struct tulle__cuda_trial *trial = &cuda->choice[c].trial[own][t];
                if (!trial->begun) continue;
                (void)tulle__cuda_quietly(cudaEventDestroy(trial->begin));
                (void)tulle__cuda_quietly(cudaEventDestroy(trial->end));
            }
}
