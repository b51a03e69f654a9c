/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that a matrix is streamed through (tulle/stream.h), by spec: `name:key=value,...` joined
 * by `+`, outermost first. Devices:
 *   cpu[:mem=SIZE,threads=N]    host memory and the kernels of this processor
 *   ref[:mem=SIZE]              host memory and plain loops, for comparison
 *   cuda[:N]                    an NVIDIA GPU, if Tulle was built with CUDA
 *   openacc[:host,mem=SIZE]     OpenACC's loops and queues, if Tulle was built by GCC: on an NVIDIA GPU
 *                               if GCC has its compiler for them, else (or with host) on one thread of
 *                               the host
 *
 * Wrappers, before it:
 *   limit:mem=SIZE,link=12G,latency=2us   a small memory, a slow link, and real copy engines
 *   model:mem=SIZE,link=50G,peer=SIZE,flops=7.8T,memory=790G   in the virtual time of a simulation; without a
 *                                         device below it has shapes only (data=none)
 *   fault:op=N[,rank=R]                   the N-th copy or kernel of PE R (default 0) fails
 */
#ifndef TULLE_DEVICE_H
#define TULLE_DEVICE_H

#include <stdbool.h>

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Name, one sentence and whether it is a wrapper (each may be NULL) of i = 0, 1, ..., modules
 * included whether installed or not; NULL past the last. Not collective.
 */
TULLE_API const char *tulle_device_list(int i, const char **summary, int *wrapper);

typedef struct tulle_device_facts {
    char text[128]; /* description */
    size_t memory;  /* bytes */
    bool on_host;   /* they are of the PE's own memory */
} tulle_device_facts;

/*
 * Opens the device and closes it again. Not collective; the message says why a device is unusable.
 */
TULLE_API tulle_status tulle_device_probe(const char *spec, tulle_device_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
