/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device-resident sparse results: whole tiles, in CSR or of blocks, that one job makes. Their structure comes to
 * the host, which plans by it, and so do norms of blocks; values stay, until the host reads them or the device
 * lacks room for something else. An operand that is such a result of another plan is copied from device to device.
 */
#include "algo/product/run/device_set.h"
#include "algo/product/run/tile_upload.h"

/* Values of a result to the host, unless they are there. */
static tulle_status bring(struct device *d, struct device_cached *cached)
{
    const tulle__device_ops *ops = d->device->ops;
    if (!cached->to) return TULLE_OK;
    tulle__staging_download(
        d->staging, d->work, cached->to, &cached->tile.val, tulle__device_value_bytes(&cached->tile));
    TULLE_CALL(ops->queue_wait(d->work));
    cached->to = NULL;
    return TULLE_OK;
}

tulle_status tulle__device_cached_bring(struct device *d)
{
    for (int n = 0; n < d->ncached; n++) TULLE_CALL(bring(d, &d->cached[n]));
    return TULLE_OK;
}

static struct device_cached *find_tile(const struct device_run *run, int i, int j, struct device **device)
{
    for (int d = 0; d < run->count; d++)
        for (int n = 0; n < run->device[d].ncached; n++) {
            struct device_cached *cached = &run->device[d].cached[n];
            *device = &run->device[d];
            if (cached->resident && cached->i == i && cached->j == j) return cached;
        }
    return NULL;
}

static bool find(void *context, int i, int j, tulle__device **device, tulle__device_tile *tile)
{
    struct device *d;
    const struct device_cached *cached = find_tile(context, i, j, &d);
    if (!cached) return false;
    *device = d->device;
    *tile = cached->tile;
    return true;
}

static tulle_status bring_tile(void *context, int i, int j)
{
    struct device *d;
    struct device_cached *cached = find_tile(context, i, j, &d);
    return cached ? bring(d, cached) : TULLE_OK;
}

static bool serves(void *context, const tulle__device *reader)
{
    const struct device_run *run = context;
    for (int d = 0; d < run->count; d++)
        if (!reader->ops->peer(reader, run->device[d].device)) return false;
    return true;
}

tulle__mat_resident *tulle__device_run_resident(tulle__runner *runner, uint64_t structure)
{
    struct device_run *run = (struct device_run *)runner;
    run->resident = (tulle__mat_resident){
        .structure = structure, .context = run, .find = find, .bring = bring_tile, .serves = serves};
    return &run->resident;
}

bool tulle__device_run_reaches(const tulle__runner *runner, const tulle__mat_resident *resident)
{
    const struct device_run *run = (const struct device_run *)runner;
    for (int d = 0; d < run->count; d++)
        if (!resident->serves(resident->context, run->device[d].device)) return false;
    return true;
}

tulle_status tulle__device_hold(const struct device_run *run, struct device *d, const tulle__tile_key *key,
    const tulle_tile *source, tulle__device_tile *there)
{
    const tulle__mat_resident *resident = key->operand >= 0 ? run->runner.resident_of[key->operand] : NULL;
    tulle__device *device = NULL;
    tulle__device_tile tile, *from = NULL;
    if (resident && resident->find(resident->context, key->i, key->j, &device, &tile)) {
        if (!key->row && key->rows == tile.m && d->device->ops->peer(d->device, device)) {
            from = &tile;
        } else {
            TULLE_CALL(resident->bring(resident->context, key->i, key->j));
        }
    }
    for (;;) {
        bool some = false;
        tulle_status made = TULLE_OK,
                     status = from ? tulle__device_tiles_hold_from(d->tiles, key, source, device, from, there)
                                   : tulle__device_tiles_hold(d->tiles, key, source, there);
        if (status != TULLE_ERR_LIMIT) return status;
        made = tulle__device_cached_drop(d, &some);
        if (made == TULLE_OK && some) continue;
        if (made != TULLE_OK || !tulle__device_make_room(run, d, &made)) return made != TULLE_OK ? made : status;
    }
}
