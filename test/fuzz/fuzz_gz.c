/* SPDX-License-Identifier: Apache-2.0 */
/* A packed file by every engine, with and without a helper thread, in one part and in two: all must agree. */
#include "fuzz_mtx.h"
#include "io/file/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || data[0] != 0x1f || data[1] != 0x8b) return 0;
    const char *path = fuzz_file(data, size);
    struct outcome first = {0};
    for (int e = 0; tulle__inflate_engines()[e]; e++)
        for (int way = 0; way < 2; way++) {
            struct outcome o;
            tulle__mtx_options options = {
                .engine = tulle__inflate_engines()[e], .no_thread = size % 16 != 0 || !way, .block = way ? 512 : 65536};
            read_matrix(path, &options, 1 + way, TULLE_F64, &o);
            if (e == 0 && way == 0) first = o;
            REQUIRE(o.status == TULLE_OK || o.message[0]);
            /* damaged data are refused by all, but whether the text or the packing is blamed may differ */
            REQUIRE(
                (o.status == TULLE_OK) == (first.status == TULLE_OK) && (o.status != TULLE_OK || o.hash == first.hash));
        }
    return 0;
}
