/* SPDX-License-Identifier: Apache-2.0 */
/* Contents, packings and archives: what a file holds, then the same matrix in one part and in three. */
#include "fuzz_mtx.h"
#include "io/content.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    tulle__format format = TULLE__FORMAT_GENERATOR;
    const tulle_status status = tulle__input_format(path, NULL, &format);
    REQUIRE(status != TULLE_OK || format != TULLE__FORMAT_GENERATOR);
    REQUIRE(status == TULLE_OK || tulle_error_message()[0]);
    if (status != TULLE_OK || format != TULLE__FORMAT_MTX) return 0;
    struct outcome one, three;
    read_matrix(path, &(tulle__mtx_options){.no_thread = 1}, 1, TULLE_F64, &one);
    read_matrix(path, &(tulle__mtx_options){.no_thread = 1, .block = 512}, 3, TULLE_F64, &three);
    REQUIRE((one.status == TULLE_OK) == (three.status == TULLE_OK));
    REQUIRE(one.status != TULLE_OK || one.hash == three.hash);
    return 0;
}
