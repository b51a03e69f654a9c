/* SPDX-License-Identifier: Apache-2.0 */
#include "device/block_library.h"

#include <stdio.h>

#include "base/error.h"
#include "base/module/module.h"

tulle__block_chain_kernel tulle__libxsmm_chain(void)
{
    const tulle__module *module = NULL;
    char message[TULLE_MESSAGE_MAX];
    snprintf(message, sizeof message, "%s", tulle__error_marked());
    const tulle_status status = tulle__module_load("libxsmm", &module);
    tulle__error_set(message);
    return status == TULLE_OK && module->blocks ? module->blocks->chain : NULL;
}
