/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON description of a Binsparse file. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/binsparse_file.h"
#include "io/binsparse/hdf5_file.h"
#include "mat/blocks/block_format.h"

static const char *const structures[] = {
    "general", "symmetric_lower", "symmetric_upper", "skew_symmetric_lower", "skew_symmetric_upper"};

static const char *type_name(const tulle__binsparse_array *array)
{
    static const char *const names[3][4] = {
        {"int8", "int16", "int32", "int64"}, {"uint8", "uint16", "uint32", "uint64"}, {"", "", "float32", "float64"}};
    int k = array->kind == 'i' ? 0 : array->kind == 'u' ? 1 : 2;
    int s = array->size == 1 ? 0 : array->size == 2 ? 1 : array->size == 4 ? 2 : 3;
    return names[k][s];
}

enum { TEXT = 2048 };

static const char blocks_format[] =
    "\"custom\",\n    \"custom\": {\"level\": {\"level_desc\": \"dense\", \"rank\": 1,\n"
    "      \"level\": {\"level_desc\": \"sparse\", \"rank\": 1,\n"
    "      \"level\": {\"level_desc\": \"dense\", \"rank\": 2,\n"
    "      \"level\": {\"level_desc\": \"element\"}}}}}";

static const char *format_text(tulle__binsparse_format format)
{
    switch (format) {
    case TULLE__BINSPARSE_BSR:
        return blocks_format;
    case TULLE__BINSPARSE_COOR:
        return "\"COOR\"";
    case TULLE__BINSPARSE_DMATR:
        return "\"DMATR\"";
    case TULLE__BINSPARSE_DMATC:
        return "\"DMATC\"";
    default:
        return "\"CSR\"";
    }
}

static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    tulle__decimal_vformat(text + used, TEXT - used, format, arguments);
    va_end(arguments);
}

/* Writes what Binsparse cannot express. */
static void append_own(char *text, const tulle__binsparse_header *head)
{
    if (head->format != TULLE__BINSPARSE_BSR && (head->nnz < 0 || head->structure == TULLE__BINSPARSE_GENERAL)) return;
    append(text, ",\n  \"tulle\": {");
    if (head->format == TULLE__BINSPARSE_BSR)
        append(text, "\"blocks\": %d, \"half\": %s, ", head->block,
            head->structure == TULLE__BINSPARSE_GENERAL ? "false" : "true");
    if (head->rows % head->block || head->cols % head->block)
        append(text, "\"rows\": %" PRId64 ", \"columns\": %" PRId64 ", ", head->rows, head->cols);
    append(text, "\"nnz\": %" PRId64, head->nnz);
    if (head->structure != TULLE__BINSPARSE_GENERAL) append(text, ", \"span\": %" PRId64, head->span);
    append(text, "}");
}

tulle_status tulle__binsparse_text(const tulle__binsparse_header *head, char **json)
{
    char *text;
    int b = head->block;
    TULLE_CALL(tulle__alloc_zero(TEXT, 1, "a Binsparse description", &text));
    append(
        text, "{\n  \"binsparse\": {\n    \"version\": \"0.1.0\",\n    \"format\": %s,\n", format_text(head->format));
    append(text, "    \"shape\": [%" PRId64 ", %" PRId64, tulle__blocks_over(head->rows, b),
        tulle__blocks_over(head->cols, b));
    if (head->format == TULLE__BINSPARSE_BSR) append(text, ", %d, %d", b, b);
    append(text, "],\n    \"number_of_stored_values\": %" PRId64 ",\n", head->stored);
    if (head->structure != TULLE__BINSPARSE_GENERAL && head->format == TULLE__BINSPARSE_CSR)
        append(text, "    \"structure\": \"%s\",\n", structures[head->structure]);
    append(text, "    \"data_types\": {");
    const char *comma = "";
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++) {
        if (!head->array[w].present) continue;
        append(text, "%s\n      \"%s\": \"%s\"", comma, tulle__binsparse_name(w), type_name(&head->array[w]));
        comma = ",";
    }
    append(text, "\n    }\n  }");
    append_own(text, head);
    append(text, "\n}\n");
    *json = text;
    return TULLE_OK;
}

#ifdef TULLE_HAVE_HDF5

#include <cjson/cJSON.h>

/* The data sets of a format, and whether columns come first in the shape. */
static const struct format {
    const char *name;
    tulle__binsparse_format format;
    int vector, needs[TULLE__BINSPARSE_ARRAYS];
} formats[] = {
    {"CSR", TULLE__BINSPARSE_CSR, 0, {1, 0, 1, 1}},
    {"CSC", TULLE__BINSPARSE_CSC, 0, {1, 0, 1, 1}},
    {"DCSR", TULLE__BINSPARSE_DCSR, 0, {1, 1, 1, 1}},
    {"DCSC", TULLE__BINSPARSE_DCSC, 0, {1, 1, 1, 1}},
    {"COO", TULLE__BINSPARSE_COOR, 0, {0, 1, 1, 1}},
    {"COOR", TULLE__BINSPARSE_COOR, 0, {0, 1, 1, 1}},
    {"COOC", TULLE__BINSPARSE_COOC, 0, {0, 1, 1, 1}},
    {"DMAT", TULLE__BINSPARSE_DMATR, 0, {0, 0, 0, 1}},
    {"DMATR", TULLE__BINSPARSE_DMATR, 0, {0, 0, 0, 1}},
    {"DMATC", TULLE__BINSPARSE_DMATC, 0, {0, 0, 0, 1}},
    {"DVEC", TULLE__BINSPARSE_DMATC, 1, {0, 0, 0, 1}},
};

static const struct format in_blocks = {"custom", TULLE__BINSPARSE_BSR, 0, {1, 0, 1, 1}};

/* An integer up to 2^53, the largest that JSON represents exactly. */
static tulle_status whole(const char *path, const cJSON *item, const char *what, int64_t *value)
{
    double x = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(x >= 0 && x <= 0x1p53) || x != (double)(int64_t)x)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: %s is not a whole number from 0 to 2^53", path, what);
    *value = (int64_t)x;
    return TULLE_OK;
}

/* Reads `shape`, `count` integers. */
static tulle_status read_shape(const char *path, const cJSON *object, int dimensions, int64_t *shape)
{
    static const char *const names[] = {"the first number of 'shape'", "the second number of 'shape'",
        "the third number of 'shape'", "the fourth number of 'shape'"};
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "shape");
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != dimensions)
        return tulle__fail(
            TULLE_ERR_FORMAT, "%s: 'shape' is not a list of %d number%s", path, dimensions, dimensions > 1 ? "s" : "");
    for (int d = 0; d < dimensions; d++) TULLE_CALL(whole(path, cJSON_GetArrayItem(list, d), names[d], &shape[d]));
    return TULLE_OK;
}

/* nnz and span of the object `tulle`, where it has them. */
static tulle_status read_own(const char *path, const cJSON *own, tulle__binsparse_header *head)
{
    const cJSON *nnz = cJSON_GetObjectItemCaseSensitive(own, "nnz");
    const cJSON *span = cJSON_GetObjectItemCaseSensitive(own, "span");
    if (nnz) TULLE_CALL(whole(path, nnz, "'nnz'", &head->nnz));
    if (span) TULLE_CALL(whole(path, span, "'span'", &head->span));
    return TULLE_OK;
}

static tulle_status read_matrix_shape(
    const char *path, const cJSON *object, const struct format *format, tulle__binsparse_header *head)
{
    int64_t shape[2] = {0, 1};
    tulle_status status = read_shape(path, object, format->vector ? 1 : 2, shape);
    head->rows = shape[0];
    head->cols = shape[1];
    return status;
}

/*
 * Levels from the outside in, in the order of dimensions: dense, sparse, dense of rank 2, element.
 */
static int levels_are_blocks(const cJSON *custom)
{
    static const struct {
        const char *kind;
        int rank;
    } wanted[] = {{"dense", 1}, {"sparse", 1}, {"dense", 2}, {"element", 0}};
    const cJSON *transpose = cJSON_GetObjectItemCaseSensitive(custom, "transpose"), *axis;
    int place = 0, right = cJSON_IsObject(custom);
    cJSON_ArrayForEach(axis, transpose) right = right && cJSON_IsNumber(axis) && axis->valuedouble == place++;
    right = right && (!transpose || place == 4);
    for (int l = 0; l < 4 && right; l++) {
        custom = cJSON_GetObjectItemCaseSensitive(custom, "level");
        const cJSON *kind = cJSON_GetObjectItemCaseSensitive(custom, "level_desc");
        const cJSON *rank = cJSON_GetObjectItemCaseSensitive(custom, "rank");
        int stated = cJSON_IsNumber(rank) ? rank->valueint : !rank && l < 3 ? 1 : 0;
        right = cJSON_IsString(kind) && strcmp(kind->valuestring, wanted[l].kind) == 0 && stated == wanted[l].rank;
    }
    return right;
}

/* The rows or columns in so many blocks: all, or as many as the object `tulle` says. */
static tulle_status read_padded(
    const char *path, const cJSON *own, const char *name, int64_t blocks, int64_t b, int64_t *size)
{
    const cJSON *stated = cJSON_GetObjectItemCaseSensitive(own, name);
    *size = blocks * b;
    if (stated) TULLE_CALL(whole(path, stated, name, size));
    if (tulle__blocks_over(*size, b) != blocks)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: %" PRId64 " %s are not those of %" PRId64 " blocks of %" PRId64, path,
            *size, name, blocks, b);
    return TULLE_OK;
}

/* Reads a custom format, which must be blocks of a matrix. */
static tulle_status read_blocks(
    const char *path, const cJSON *object, const cJSON *own, const cJSON *custom, tulle__binsparse_header *head)
{
    const cJSON *blocks = cJSON_GetObjectItemCaseSensitive(own, "blocks");
    const cJSON *half = cJSON_GetObjectItemCaseSensitive(own, "half");
    int64_t shape[4], b = 0;
    if (!blocks || !levels_are_blocks(custom))
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: custom Binsparse formats are not supported but for blocks of a matrix as `tulle convert` writes them",
            path);
    TULLE_CALL(read_shape(path, object, 4, shape));
    TULLE_CALL(whole(path, blocks, "'blocks'", &b));
    if (b < 1 || b > TULLE__BLOCK_LARGEST || shape[2] != b || shape[3] != b)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: blocks of %" PRId64 " rows and columns (1 to %d) are said to be %" PRId64 " x %" PRId64, path, b,
            (int)TULLE__BLOCK_LARGEST, shape[2], shape[3]);
    if (half && !cJSON_IsBool(half)) return tulle__fail(TULLE_ERR_FORMAT, "%s: 'half' is neither true nor false", path);
    head->format = TULLE__BINSPARSE_BSR;
    head->block = (int)b;
    TULLE_CALL(read_padded(path, own, "rows", shape[0], b, &head->rows));
    TULLE_CALL(read_padded(path, own, "columns", shape[1], b, &head->cols));
    if (cJSON_IsTrue(half)) head->structure = TULLE__BINSPARSE_SYMMETRIC_UPPER;
    return TULLE_OK;
}

/* Compares the declared type of a data set with the actual one. */
static tulle_status check_type(const char *path, const cJSON *types, int which, tulle__binsparse_header *head)
{
    const tulle__binsparse_array *array = &head->array[which];
    const char *name = tulle__binsparse_name(which);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(types, name);
    if (!cJSON_IsString(item))
        return tulle__fail(TULLE_ERR_FORMAT, "%s: 'data_types' says nothing about '%s'", path, name);
    char type[32];
    size_t n = strlen(item->valuestring);
    if (n >= sizeof type)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "%s: the type '%.60s' of '%s' is not known", path, item->valuestring, name);
    memcpy(type, item->valuestring, n + 1);
    if (which == TULLE__BINSPARSE_VALUES && n > 5 && strncmp(type, "iso[", 4) == 0 && type[n - 1] == ']') {
        head->iso = 1;
        memmove(type, type + 4, n - 5);
        type[n - 5] = '\0';
    }
    if (strstr(type, "complex"))
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "%s: complex values ('%s') are not supported", path, item->valuestring);
    if (!array->present) return tulle__fail(TULLE_ERR_FORMAT, "%s: has no data set '%s'", path, name);
    if (strcmp(type, "bint8") == 0)
        return array->size == 1 && array->kind != 'f'
                   ? TULLE_OK
                   : tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' should be of type bint8, but is of type %s",
                         path, name, type_name(array));
    if (which != TULLE__BINSPARSE_VALUES && array->kind == 'f')
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' holds floats instead of integers", path, name);
    if (strcmp(type, type_name(array)) != 0)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' should be of type '%s', but is of type %s", path,
            name, type, type_name(array));
    return TULLE_OK;
}

static tulle_status check_count(const char *path, int which, const tulle__binsparse_header *head, int64_t wanted)
{
    const tulle__binsparse_array *array = &head->array[which];
    if (array->count == wanted) return TULLE_OK;
    return tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' has %" PRId64 " numbers, but should have %" PRId64,
        path, tulle__binsparse_name(which), array->count, wanted);
}

static tulle_status read_format(const char *path, const cJSON *object, const cJSON *own, const struct format **format,
    tulle__binsparse_header *head)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "format");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(object, "version");
    *format = NULL;
    if (version &&
        (!cJSON_IsString(version) || !strchr("01", version->valuestring[0]) || version->valuestring[1] != '.'))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: the version of the Binsparse format is not known", path);
    if (cJSON_IsObject(name) || (cJSON_IsString(name) && strcmp(name->valuestring, "custom") == 0)) {
        *format = &in_blocks; /* older descriptions have the object "custom" within "format" */
        return read_blocks(
            path, object, own, cJSON_GetObjectItemCaseSensitive(cJSON_IsObject(name) ? name : object, "custom"), head);
    }
    if (!cJSON_IsString(name)) return tulle__fail(TULLE_ERR_FORMAT, "%s: the description lacks 'format'", path);
    for (size_t f = 0; f < sizeof formats / sizeof *formats && !*format; f++)
        if (strcmp(formats[f].name, name->valuestring) == 0) *format = &formats[f];
    if (!*format)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: the format '%.40s' is not supported", path, name->valuestring);
    head->format = (*format)->format;
    return read_matrix_shape(path, object, *format, head);
}

static tulle_status read_structure(const char *path, const cJSON *object, tulle__binsparse_header *head)
{
    const cJSON *structure = cJSON_GetObjectItemCaseSensitive(object, "structure");
    int s = 0, n = sizeof structures / sizeof *structures;
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "fill")))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: a fill value is not supported", path);
    if (structure) {
        while (s < n && (!cJSON_IsString(structure) || strcmp(structures[s], structure->valuestring) != 0)) s++;
        if (s == n || (s && head->format == TULLE__BINSPARSE_BSR))
            return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: the structure '%.40s' is not supported%s", path,
                cJSON_IsString(structure) ? structure->valuestring : "?", s < n ? " of blocks" : "");
        if (s) head->structure = (tulle__binsparse_structure)s;
    }
    if (head->structure != TULLE__BINSPARSE_GENERAL && head->rows != head->cols)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: a %s matrix must be square, but this is %" PRId64 " x %" PRId64, path,
            structures[head->structure], head->rows, head->cols);
    return TULLE_OK;
}

/* The number of values. */
static tulle_status count_values(const char *path, const cJSON *object, tulle__binsparse_header *head)
{
    const cJSON *stated = cJSON_GetObjectItemCaseSensitive(object, "number_of_stored_values");
    int64_t stored = 0;
    if (head->format >= TULLE__BINSPARSE_DMATR) {
        if (head->structure != TULLE__BINSPARSE_GENERAL)
            return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: a dense matrix with the structure '%s' is not supported",
                path, structures[head->structure]);
        if (__builtin_mul_overflow(head->rows, head->cols, &head->stored))
            return tulle__fail(TULLE_ERR_OVERFLOW, "%s: %" PRId64 " x %" PRId64 " values do not fit 64 bits", path,
                head->rows, head->cols);
        head->count = head->stored;
    } else {
        head->count = head->array[TULLE__BINSPARSE_INDICES1].count;
        if (__builtin_mul_overflow(head->count, (int64_t)head->block * head->block, &head->stored))
            return tulle__fail(TULLE_ERR_OVERFLOW, "%s: the values of %" PRId64 " blocks of %d x %d do not fit 64 bits",
                path, head->count, head->block, head->block);
    }
    if (head->nnz / 2 > head->stored || head->span > tulle__blocks_over(head->cols, head->block))
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: 'nnz' is %" PRId64 " and 'span' %" PRId64 ", but there are %" PRId64 " values and %" PRId64 " columns",
            path, head->nnz, head->span, head->stored, head->cols / head->block);
    if (stated) TULLE_CALL(whole(path, stated, "'number_of_stored_values'", &stored));
    if (stated && stored != head->stored)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: 'number_of_stored_values' is %" PRId64 ", but there are %" PRId64,
            path, stored, head->stored);
    return TULLE_OK;
}

static tulle_status describe(const char *path, const cJSON *object, const cJSON *own, tulle__binsparse_header *head)
{
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(object, "data_types");
    const struct format *format;
    head->block = 1;
    head->nnz = head->span = -1;
    TULLE_CALL(read_format(path, object, own, &format, head));
    TULLE_CALL(read_structure(path, object, head));
    TULLE_CALL(read_own(path, own, head));
    if (!cJSON_IsObject(types)) return tulle__fail(TULLE_ERR_FORMAT, "%s: the description lacks 'data_types'", path);
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        if (format->needs[w]) TULLE_CALL(check_type(path, types, w, head));
    TULLE_CALL(count_values(path, object, head));
    const bool by_pointers = format->needs[TULLE__BINSPARSE_POINTERS],
               by_indices = format->needs[TULLE__BINSPARSE_INDICES0];
    const int64_t lines = by_indices                             ? head->array[TULLE__BINSPARSE_INDICES0].count
                          : head->format == TULLE__BINSPARSE_CSC ? head->cols
                                                                 : tulle__blocks_over(head->rows, head->block);
    if (by_pointers) TULLE_CALL(check_count(path, TULLE__BINSPARSE_POINTERS, head, lines + 1));
    if (by_indices && !by_pointers) TULLE_CALL(check_count(path, TULLE__BINSPARSE_INDICES0, head, head->stored));
    return check_count(path, TULLE__BINSPARSE_VALUES, head, head->iso ? 1 : head->stored);
}

tulle_status tulle__binsparse_describe(const char *path, const char *json, tulle__binsparse_header *header)
{
    cJSON *root = cJSON_Parse(json);
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, "binsparse");
    tulle_status status;
    if (!root)
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: the attribute 'binsparse' is no valid JSON", path);
    else if (!cJSON_IsObject(object))
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: the description lacks the object 'binsparse'", path);
    else
        status = describe(path, object, cJSON_GetObjectItemCaseSensitive(root, "tulle"), header);
    cJSON_Delete(root);
    return status;
}

#else

tulle_status tulle__binsparse_describe(const char *path, const char *json, tulle__binsparse_header *header)
{
    (void)json, (void)header;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: this build has no cJSON, which Binsparse files need", path);
}

#endif
