/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads, and needed blocks, of the tiles of a half (mat/half/joined.h), for norm_source.h. The heads of the two
 * stored tiles come, and that of the tile is made of them; of needed blocks those are got that are stored in either,
 * in the order in which they lie there.
 */
#ifndef TULLE_PRODUCT_JOINED_BLOCKS_H
#define TULLE_PRODUCT_JOINED_BLOCKS_H

#include "mat/half/joined.h"

struct tulle__joined_head;

/* Heads on their way. */
typedef struct tulle__joined_heads {
    int64_t count, room;
    struct tulle__joined_head *head;
} tulle__joined_heads;

/* Of tile (i, j) of X: index, norms, and where blocks begin in the stored tiles. */
size_t tulle__joined_head_bytes(const tulle_mat *X, int i, int j);
/* Starts gets for the head that is to be made at `to`. */
tulle_status tulle__joined_heads_get(tulle__joined_heads *heads, const tulle_mat *X, int i, int j, int group, char *to);
/* Makes all of them, once they have arrived and nothing has failed; then there are none. Returns the status. */
tulle_status tulle__joined_heads_make(tulle__joined_heads *heads, tulle_status status);
void tulle__joined_heads_fini(tulle__joined_heads *heads);

/* Blocks e of a tile with needed[e]. */
typedef struct tulle__joined_wish {
    const tulle_mat *X;
    int i, j;
    char *head;
    const char *needed;
    double gap[2]; /* bytes that cost less than another range, of tile (i, j) and of (j, i) of the half */
    double (*cost)(const void *context, int owner, double bytes, double ranges);
    const void *context;
} tulle__joined_wish;

/*
 * Starts a fetch of the needed blocks, into a tile with the whole index. *whole: all of the tile costs less, and
 * nothing has been started. blocks, bytes: that do not come.
 */
tulle_status tulle__joined_start(
    const tulle__joined_wish *wish, bool *whole, int64_t *blocks, int64_t *bytes, tulle__fetch *fetch);

#endif
