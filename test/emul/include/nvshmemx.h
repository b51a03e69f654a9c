/* SPDX-License-Identifier: Apache-2.0 */
/* NVSHMEM's extensions stand beside the rest here. */
#include <nvshmem.h>
