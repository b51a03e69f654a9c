/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of dense products C = A B on devices that do not hold the operands.
 *
 * A PE has rows x cols tiles of C and G devices; its tile columns go through them in turn, so a tile
 * of B or C is on one device. C is made in blocks of b x c tiles, in a serpentine: the next block
 * shares its tile rows or its tile columns with the last one. In a block, the inner indices come in
 * chunks of d tiles, forwards and backwards in turn, so that a block begins with the chunk with
 * which the last one ended, whose tiles of A or of B are there. T. Herault et al., "Generic matrix
 * multiplication for multi-GPU accelerated distributed-memory platforms over PaRSEC", ScalA 2019.
 *
 * A device holds b c / G tiles of C, and (b + c / G) (d + l) tiles of A and B, l of them being the
 * lookahead: what comes while the chunk is multiplied. Beyond the paper, A's tiles of a row of
 * blocks (or B's of a column) may stay until the last of these blocks:
 *
 *     resident   memory, in tiles                           loads of A       loads of B
 *     none       b c / G + (b + c / G) (d + l)              cols / c         rows / b
 *     A          b c / G + b K + c / G (d + l)              1                rows / b
 *     B          b c / G + K c / G + b (d + l)              cols / c         1
 *
 * Loads of A are for each device. From a sister device that is a peer, all but one come from there.
 *
 * Tiles of other PEs come to the host once, if it has room for all of them. Else C is made in larger
 * blocks of the host, the paper's upper level: of B x C tiles, so that the tiles of other PEs in
 * their B rows of A and C columns of B fit. A row of A then comes cols / C times over the network,
 * a column of B rows / B times, less what two blocks of the host that follow one another share.
 */
#ifndef TULLE_GEMM_BLOCKS_H
#define TULLE_GEMM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word, text): the paper's cases, of what a device holds. */
#define TULLE_GEMM_CASE_LIST(X)                                                                                        \
    X(A, "a", "all tiles of A, B and C")                                                                               \
    X(B, "b", "all tiles of A or of B for a block of C")                                                               \
    X(C1, "c1", "all tiles of C")                                                                                      \
    X(C2, "c2", "a block of C")

typedef enum tulle_gemm_case {
#define TULLE_GEMM_CASE_ENUM(name, word, text) TULLE_GEMM_CASE_##name,
    TULLE_GEMM_CASE_LIST(TULLE_GEMM_CASE_ENUM)
#undef TULLE_GEMM_CASE_ENUM
        TULLE_GEMM_CASE_COUNT
} tulle_gemm_case;

TULLE_API const char *tulle_gemm_case_name(tulle_gemm_case x);

typedef enum tulle_gemm_resident {
    TULLE_GEMM_RESIDENT_NONE,
    TULLE_GEMM_RESIDENT_A,
    TULLE_GEMM_RESIDENT_B,
} tulle_gemm_resident;

/* The tiles of a PE. */
typedef struct tulle_gemm_tiles {
    int rows, cols, inner;             /* tiles of C down and across, tiles along the inner indices */
    int64_t bytes_a, bytes_b, bytes_c; /* of the largest tile of each */
    int devices;                       /* at least 1 */
    int64_t capacity;                  /* bytes of each device */
    bool peers;                        /* devices copy from each other */
    bool ascending;                    /* chunks always go forwards, for bits that do not depend on blocks */
    int block_rows, block_cols;        /* given; 0: chosen */
    int chunk, lookahead;              /* given; 0: chosen; lookahead TULLE_NONE: none */
    int host_rows, host_cols;          /* of a block of the host, given; 0: chosen */
    int64_t remote_a, remote_b;        /* bytes from other PEs, at most: a tile row of A, a tile column of B */
    int64_t host;                      /* bytes that the host has for these; 0: enough */
} tulle_gemm_tiles;

typedef struct tulle_gemm_blocks {
    int rows, cols, chunk, lookahead; /* b, c, d, l; all 0: C is not made in blocks */
    int host_rows, host_cols;         /* of a block of the host, in multiples of rows and cols, or all */
    tulle_gemm_resident resident;
    tulle_gemm_case fits;
    /* tiles of C on a device, at most: of a block, and one that leaves while the next block begins, with room */
    int64_t results;
    int64_t memory;    /* bytes of a device, at most */
    int64_t copies[3]; /* tiles that go to devices from the host [0], back [1], and from sister devices [2] */
    int64_t bytes[3];  /* of these, if all tiles are as large as the largest */
    int64_t network;   /* bytes of tiles from other PEs; in reports those of all PEs, by their sizes */
} tulle_gemm_blocks;

/*
 * The blocks that load the fewest bytes from the host of all that fit the capacity, with a lookahead
 * if any has room for one. Of equals those with fewer bytes between devices, then with fewer kernels,
 * one for each chunk of a tile of C, then the larger ones. A chunk has at most 16 tiles. block_cols is rounded up to a
 * multiple of the devices, host_rows and host_cols to multiples of the block's. Blocks of the host are those that bring
 * the fewest bytes over the network of all that fit, or one block of the devices where none does. Local.
 * TULLE_ERR_LIMIT, with the least capacity that will do, if none fits.
 */
TULLE_API tulle_status tulle_gemm_blocks_best(const tulle_gemm_tiles *tiles, tulle_gemm_blocks *blocks);

#ifdef __cplusplus
}
#endif
#endif
