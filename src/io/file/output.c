/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

struct tulle__output {
    tulle__new_file file;
    tulle__pack *pack; /* NULL: plain */
    int64_t bytes;     /* uncompressed bytes written */
    struct {           /* the stored member that may be overwritten */
        int64_t begin; /* among the bytes given */
        int64_t at;    /* in the file */
        size_t bytes;  /* 0: there is none */
        unsigned char text[TULLE__PACK_OPEN];
    } open;
};

tulle_status tulle__output_open(const char *path, int packers, tulle__output **output)
{
    tulle__output *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "an output file", &made));
    made->file.fd = -1;
    TULLE_TRY(strcmp(path, "-") == 0 ? tulle__new_file_standard(&made->file) : tulle__new_file_open(path, &made->file));
    if (packers > 0) TULLE_TRY(tulle__pack_open(&made->file, packers, &made->pack));
    *output = made;
    return TULLE_OK;
out:
    tulle__output_abort(made);
    return status;
}

void tulle__output_abort(tulle__output *f)
{
    if (!f) return;
    tulle__pack_close(f->pack);
    tulle__new_file_abort(&f->file);
    tulle__free(f);
}

const char *tulle__output_temporary(tulle__output *f)
{
    return tulle__new_file_name(&f->file);
}

tulle_status tulle__output_fail(const tulle__output *f, const char *what)
{
    return tulle__new_file_fail(&f->file, what);
}

tulle_status tulle__output_write(tulle__output *f, const void *data, size_t bytes)
{
    f->bytes += (int64_t)bytes;
    return f->pack ? tulle__pack_write(f->pack, data, bytes) : tulle__new_file_write(&f->file, data, bytes);
}

static tulle_status write_open_member(tulle__output *f, const void *data, size_t bytes)
{
    if (f->open.bytes || bytes > TULLE__PACK_OPEN)
        return tulle__fail(TULLE_ERR_ARG, "%s: no more of a packed file can be left open", f->file.path);
    TULLE_CALL(tulle__pack_flush(f->pack));
    f->open.begin = f->bytes;
    f->open.bytes = bytes;
    memcpy(f->open.text, data, bytes);
    f->open.at = (int64_t)lseek(f->file.fd, 0, SEEK_CUR);
    if (f->open.at < 0) TULLE_CALL(tulle__output_fail(f, "finding its end"));
    TULLE_CALL(tulle__pack_stored(f->pack, f->open.at, data, bytes));
    if (lseek(f->file.fd, 0, SEEK_END) < 0) TULLE_CALL(tulle__output_fail(f, "finding its end"));
    f->bytes += (int64_t)bytes;
    return TULLE_OK;
}

int tulle__output_can_overwrite(const tulle__output *f)
{
    return f->file.temporary != NULL;
}

tulle_status tulle__output_write_open(tulle__output *f, const void *data, size_t bytes)
{
    return f->pack ? write_open_member(f, data, bytes) : tulle__output_write(f, data, bytes);
}

int64_t tulle__output_bytes(const tulle__output *f)
{
    return f->bytes;
}

tulle_status tulle__output_overwrite(tulle__output *f, int64_t offset, const void *data, size_t bytes)
{
    if (!f->pack) return tulle__new_file_overwrite(&f->file, offset, data, bytes);
    int64_t from = offset - f->open.begin;
    if (from < 0 || from > (int64_t)f->open.bytes || bytes > f->open.bytes - (size_t)from)
        return tulle__fail(TULLE_ERR_ARG, "%s: what has been packed cannot be written again", f->file.path);
    memcpy(f->open.text + from, data, bytes);
    return tulle__pack_stored(f->pack, f->open.at, f->open.text, f->open.bytes);
}

tulle_status tulle__output_read(const tulle__output *f, int64_t offset, void *to, size_t bytes)
{
    char *p = to;
    while (bytes) {
        ssize_t n = pread(f->file.fd, p, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__output_fail(f, "reading back what was written");
        if (n == 0) return tulle__fail(TULLE_ERR_IO, "%s: what was written is not there", f->file.path);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

tulle_status tulle__output_close(tulle__output *f)
{
    tulle_status status = f->pack ? tulle__pack_flush(f->pack) : TULLE_OK;
    if (status != TULLE_OK) {
        tulle__output_abort(f);
        return status;
    }
    tulle__pack_close(f->pack);
    status = tulle__new_file_close(&f->file);
    tulle__free(f);
    return status;
}
