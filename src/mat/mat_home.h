/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a matrix's own tiles that lie on devices, and not on the host: those of a sparse C whose home is there
 * (tulle_product_devices.resident). Structures are on the host. The product that made them owns this.
 */
#ifndef TULLE_MAT_MAT_HOME_H
#define TULLE_MAT_MAT_HOME_H

#include <stdbool.h>

#include "device/device.h"
#include "mat/mat.h"

typedef struct tulle__mat_home {
    uint64_t structure; /* of the matrix, when they were made: of another it is no home any more */
    void *context;
    /* A whole tile that is complete on a device; false: its values are on the host alone. */
    bool (*find)(void *context, int i, int j, tulle__device **device, tulle__device_tile *tile);
    /* The values of a tile come to the host if they have not yet; they stay on the device. */
    tulle_status (*bring)(void *context, int i, int j);
} tulle__mat_home;

static inline const tulle__mat_home *tulle__mat_home_of(const tulle_mat *A)
{
    return A->home && A->home->structure == A->structure ? A->home : NULL;
}

/* All values of own tiles come to the host. Local. */
static inline tulle_status tulle__mat_home_bring(const tulle_mat *A)
{
    tulle_status status = TULLE_OK;
    const tulle__mat_home *home = tulle__mat_home_of(A);
    for (int i = 0; home && i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt && status == TULLE_OK; j++)
            if (tulle__tile_is_mine(A, i, j)) status = home->bring(home->context, i, j);
    return status;
}

#endif
