/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVSHMEM that the project calls, for processes of one host (nvshmem.cpp). */
#ifndef EMUL_NVSHMEM_H
#define EMUL_NVSHMEM_H

#include <stddef.h>
#include <stdint.h>

extern "C" {
typedef struct nvshmemx_uniqueid_t {
    int version;
    char name[124];
} nvshmemx_uniqueid_t;

typedef struct nvshmemx_init_attr_t {
    int rank, size;
    nvshmemx_uniqueid_t id;
} nvshmemx_init_attr_t;

#define NVSHMEMX_UNIQUEID_INITIALIZER                                                                                  \
    {                                                                                                                  \
        1,                                                                                                             \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define NVSHMEMX_INIT_ATTR_INITIALIZER                                                                                 \
    {                                                                                                                  \
        0, 0,                                                                                                          \
        {                                                                                                              \
            0,                                                                                                         \
            {                                                                                                          \
                0                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
#define NVSHMEMX_INIT_WITH_UNIQUEID 8u

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *id);
int nvshmemx_set_attr_uniqueid_args(
    int rank, int size, const nvshmemx_uniqueid_t *id, nvshmemx_init_attr_t *attributes);
int nvshmemx_init_attr(unsigned flags, nvshmemx_init_attr_t *attributes);
void nvshmem_finalize(void);
void *nvshmem_calloc(size_t count, size_t bytes);
void nvshmem_free(void *memory);
void nvshmem_barrier_all(void);
/* Address of symmetric memory: where it lies on that PE. */
void *nvshmem_ptr(const void *memory, int pe);
}

/* By a kernel. */
static inline void nvshmem_int64_p(int64_t *to, int64_t value, int pe)
{
    __atomic_store_n(static_cast<int64_t *>(nvshmem_ptr(to, pe)), value, __ATOMIC_RELAXED);
}

#endif
