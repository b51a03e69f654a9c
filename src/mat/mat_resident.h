/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a matrix's own tiles that lie on devices, and not on the host: those of a device-resident sparse C
 * (tulle_product_devices.resident). Structures are on the host. The product that made them owns this.
 */
#ifndef TULLE_MAT_MAT_RESIDENT_H
#define TULLE_MAT_MAT_RESIDENT_H

#include <stdbool.h>

#include "device/device.h"
#include "mat/mat.h"

typedef struct tulle__mat_resident {
    uint64_t structure; /* of the matrix, when they were made: with another they are invalid */
    void *context;
    /* A whole tile that is complete on a device; false: its values are on the host alone. */
    bool (*find)(void *context, int i, int j, tulle__device **device, tulle__device_tile *tile);
    /* The values of a tile come to the host if they have not yet; they stay on the device. */
    tulle_status (*bring)(void *context, int i, int j);
    /* True if that device, of any PE of the process, copies from all devices here. */
    bool (*serves)(void *context, const tulle__device *reader);
} tulle__mat_resident;

static inline const tulle__mat_resident *tulle__mat_resident_of(const tulle_mat *A)
{
    return A->resident && A->resident->structure == A->structure ? A->resident : NULL;
}

/* All values of own tiles come to the host. Local. */
static inline tulle_status tulle__mat_resident_bring(const tulle_mat *A)
{
    tulle_status status = TULLE_OK;
    const tulle__mat_resident *resident = tulle__mat_resident_of(A);
    for (int i = 0; resident && i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt && status == TULLE_OK; j++)
            if (tulle__tile_is_mine(A, i, j)) status = resident->bring(resident->context, i, j);
    return status;
}

#endif
