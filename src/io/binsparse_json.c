/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON description of a Binsparse file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse_file.h"
#include "io/hdf5_file.h"

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

tulle_status tulle__binsparse_text(const tulle__binsparse_header *head, char **json)
{
    enum { MOST = 1024 };
    char *text;
    const char *format = head->format == TULLE__BINSPARSE_DMATR   ? "DMATR"
                         : head->format == TULLE__BINSPARSE_DMATC ? "DMATC"
                                                                  : "CSR";
    tulle_status status = tulle__alloc(MOST, 1, "a Binsparse description", &text);
    if (status != TULLE_OK) return status;
    int n = snprintf(text, MOST,
        "{\n  \"binsparse\": {\n    \"version\": \"0.1\",\n    \"format\": \"%s\",\n    \"shape\": [%" PRId64
        ", %" PRId64 "],\n    \"number_of_stored_values\": %" PRId64 ",\n",
        format, head->rows, head->cols, head->stored);
    if (head->structure != TULLE__BINSPARSE_GENERAL)
        n += snprintf(text + n, (size_t)(MOST - n), "    \"structure\": \"%s\",\n", structures[head->structure]);
    n += snprintf(text + n, (size_t)(MOST - n), "    \"data_types\": {");
    const char *comma = "";
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++) {
        if (!head->array[w].present) continue;
        n += snprintf(text + n, (size_t)(MOST - n), "%s\n      \"%s\": \"%s\"", comma, tulle__binsparse_name(w),
            type_name(&head->array[w]));
        comma = ",";
    }
    snprintf(text + n, (size_t)(MOST - n), "\n    }\n  }\n}\n");
    *json = text;
    return TULLE_OK;
}

#ifdef TULLE_HAVE_HDF5

#include <cjson/cJSON.h>

/* What a format needs: which data sets, and whether columns come first in shape. */
static const struct format {
    const char *name;
    tulle__binsparse_format format;
    int vector, needs[TULLE__BINSPARSE_ARRAYS];
} formats[] = {
    {"CSR", TULLE__BINSPARSE_CSR, 0, {1, 0, 1, 1}},
    {"CSC", TULLE__BINSPARSE_CSC, 0, {1, 0, 1, 1}},
    {"COO", TULLE__BINSPARSE_COOR, 0, {0, 1, 1, 1}},
    {"COOR", TULLE__BINSPARSE_COOR, 0, {0, 1, 1, 1}},
    {"COOC", TULLE__BINSPARSE_COOC, 0, {0, 1, 1, 1}},
    {"DMAT", TULLE__BINSPARSE_DMATR, 0, {0, 0, 0, 1}},
    {"DMATR", TULLE__BINSPARSE_DMATR, 0, {0, 0, 0, 1}},
    {"DMATC", TULLE__BINSPARSE_DMATC, 0, {0, 0, 0, 1}},
    {"DVEC", TULLE__BINSPARSE_DMATC, 1, {0, 0, 0, 1}},
};

/* A whole number of at most 2^53, which is what JSON holds for certain. */
static tulle_status whole(const char *path, const cJSON *item, const char *what, int64_t *value)
{
    double x = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(x >= 0 && x <= 0x1p53) || x != (double)(int64_t)x)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: %s is not a whole number from 0 to 2^53", path, what);
    *value = (int64_t)x;
    return TULLE_OK;
}

static tulle_status read_shape(
    const char *path, const cJSON *object, const struct format *format, tulle__binsparse_header *head)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(object, "shape");
    int dimensions = format->vector ? 1 : 2;
    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) != dimensions)
        return tulle__fail(
            TULLE_ERR_FORMAT, "%s: 'shape' is not a list of %d number%s", path, dimensions, dimensions > 1 ? "s" : "");
    tulle_status status = whole(path, cJSON_GetArrayItem(shape, 0), "the first number of 'shape'", &head->rows);
    head->cols = 1;
    if (status == TULLE_OK && !format->vector)
        status = whole(path, cJSON_GetArrayItem(shape, 1), "the second number of 'shape'", &head->cols);
    return status;
}

/* The declared type of a data set against its real one. */
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

static tulle_status describe(const char *path, const cJSON *object, tulle__binsparse_header *head)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "format");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(object, "version");
    const cJSON *structure = cJSON_GetObjectItemCaseSensitive(object, "structure");
    const cJSON *stored = cJSON_GetObjectItemCaseSensitive(object, "number_of_stored_values");
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(object, "data_types");
    const struct format *format = NULL;
    tulle_status status = TULLE_OK;
    if (version &&
        (!cJSON_IsString(version) || !strchr("01", version->valuestring[0]) || version->valuestring[1] != '.'))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: the version of the Binsparse format is not known", path);
    if (cJSON_IsObject(name))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: custom Binsparse formats are not supported", path);
    if (!cJSON_IsString(name)) return tulle__fail(TULLE_ERR_FORMAT, "%s: the description lacks 'format'", path);
    for (size_t f = 0; f < sizeof formats / sizeof *formats && !format; f++)
        if (strcmp(formats[f].name, name->valuestring) == 0) format = &formats[f];
    if (!format)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: the format '%.40s' is not supported", path, name->valuestring);
    head->format = format->format;
    TULLE_TRY(read_shape(path, object, format, head));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "fill")))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: a fill value is not supported", path);
    if (structure) {
        int s = 0, n = sizeof structures / sizeof *structures;
        while (s < n && (!cJSON_IsString(structure) || strcmp(structures[s], structure->valuestring) != 0)) s++;
        if (s == n)
            return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: the structure '%.40s' is not supported", path,
                cJSON_IsString(structure) ? structure->valuestring : "?");
        head->structure = (tulle__binsparse_structure)s;
        if (s && head->rows != head->cols)
            return tulle__fail(TULLE_ERR_FORMAT, "%s: a %s matrix must be square, but this is %" PRId64 " x %" PRId64,
                path, structures[s], head->rows, head->cols);
    }
    if (!cJSON_IsObject(types)) return tulle__fail(TULLE_ERR_FORMAT, "%s: the description lacks 'data_types'", path);
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        if (format->needs[w]) TULLE_TRY(check_type(path, types, w, head));
    if (head->format >= TULLE__BINSPARSE_DMATR) {
        if (head->structure != TULLE__BINSPARSE_GENERAL)
            return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: a dense matrix with the structure '%s' is not supported",
                path, structures[head->structure]);
        if (__builtin_mul_overflow(head->rows, head->cols, &head->stored))
            return tulle__fail(TULLE_ERR_OVERFLOW, "%s: %" PRId64 " x %" PRId64 " values do not fit 64 bits", path,
                head->rows, head->cols);
    } else {
        head->stored = head->array[TULLE__BINSPARSE_INDICES1].count;
    }
    if (stored) {
        int64_t stated = 0;
        TULLE_TRY(whole(path, stored, "'number_of_stored_values'", &stated));
        if (stated != head->stored)
            return tulle__fail(TULLE_ERR_FORMAT, "%s: 'number_of_stored_values' is %" PRId64 ", but there are %" PRId64,
                path, stated, head->stored);
    }
    if (format->needs[TULLE__BINSPARSE_POINTERS])
        TULLE_TRY(check_count(path, TULLE__BINSPARSE_POINTERS, head,
            (head->format == TULLE__BINSPARSE_CSR ? head->rows : head->cols) + 1));
    if (format->needs[TULLE__BINSPARSE_INDICES0])
        TULLE_TRY(check_count(path, TULLE__BINSPARSE_INDICES0, head, head->stored));
    TULLE_TRY(check_count(path, TULLE__BINSPARSE_VALUES, head, head->iso ? 1 : head->stored));
out:
    return status;
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
        status = describe(path, object, header);
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
