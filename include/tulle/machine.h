/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do, measured once and kept, and the time that a product takes at least on it. */
#ifndef TULLE_MACHINE_H
#define TULLE_MACHINE_H

#include <tulle/mat.h>
#include <tulle/product.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_machine {
    char host[64];
    int threads;                  /* that worked at the same time */
    double stream;                /* bytes a second, triad a = b + s c out of memory */
    double cache;                 /* bytes a second, reading what lies in the second-level cache */
    double fma[TULLE_TYPE_COUNT]; /* flops a second of multiply-adds in registers (2 each) */
} tulle_machine;

/* Measures with `threads` threads; takes about a second. Not collective. */
TULLE_API tulle_status tulle_machine_measure(int threads, tulle_machine *machine);

/* The file of this host and number of threads: $TULLE_MACHINE, or below $XDG_CACHE_HOME or ~/.cache. */
TULLE_API tulle_status tulle_machine_path(int threads, char *path, size_t size);
/* TULLE_ERR_IO if there is none. path NULL: that file. */
TULLE_API tulle_status tulle_machine_load(const char *path, int threads, tulle_machine *machine);
TULLE_API tulle_status tulle_machine_save(const char *path, const tulle_machine *machine);

/* The three times whose largest is the bound. */
typedef struct tulle_bound {
    double flops;  /* arithmetic at the rate of multiply-adds */
    double memory; /* each operand once from memory, the result once to it */
    double cache;  /* rows of B, once for each entry of A that asks for them */
    double seconds;
} tulle_bound;

/*
 * Not collective. multiplications: of the whole product. B's rows are read once for each entry of A; SpMM: n values
 * each, SpGEMM: an index and a value for each multiplication.
 */
TULLE_API tulle_bound tulle_product_bound(
    const tulle_machine *machine, const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, double multiplications);

#ifdef __cplusplus
}
#endif
#endif
