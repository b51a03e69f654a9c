/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module `libxsmm`: chains of products of blocks by LIBXSMM, which compiles a kernel for each shape and type when
 * it is first asked for (A. Heinecke, G. Henry, M. Hutchinson, H. Pabst, "LIBXSMM: accelerating small matrix
 * multiplications by runtime code generation", SC 2016). It is column-major: C^T = B^T A^T. Its kernels know alpha = 1
 * and beta 0 or 1 only. Code is the process's, some KB a shape, and not charged to any PE.
 */
#include <libxsmm.h>

#include "base/module/module.h"
#include "device/block_library.h"
#include "device/kernels/block_chain/block_chain.h"

#define T float
#define NAME(x) x##_f32
#define DISPATCH libxsmm_smmdispatch
#define FUNCTION libxsmm_smmfunction
#include "device/libxsmm/libxsmm_chain.h"

#define T double
#define NAME(x) x##_f64
#define DISPATCH libxsmm_dmmdispatch
#define FUNCTION libxsmm_dmmfunction
#include "device/libxsmm/libxsmm_chain.h"

static void multiply_chain(const tulle__block_chain *chain)
{
    chain->type == TULLE_F32 ? chain_f32(chain) : chain_f64(chain);
}

static const tulle__block_library library = {.chain = multiply_chain};
static const tulle__module module = {.version = TULLE__MODULE_VERSION, .blocks = &library};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    const double one = 1;
    if (libxsmm_dmmdispatch(32, 32, 32, NULL, NULL, NULL, &one, &one, NULL, NULL)) return &module;
    host->fail(TULLE_ERR_UNSUPPORTED, "LIBXSMM compiles no kernels on this processor");
    return NULL;
}
