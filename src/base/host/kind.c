/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/kind.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

enum { LINE = 512 };

static FILE *open_below(const char *root, const char *path)
{
    char full[1024];
    return (size_t)snprintf(full, sizeof full, "%s%s", root, path) < sizeof full ? fopen(full, "r") : NULL;
}

/* Appends what fits, with a blank before all but the first. */
static void append(char text[TULLE__KIND_MAX], const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, TULLE__KIND_MAX - used, "%s%s", used ? " " : "", more);
}

/* The value of a line `key : value`, without blanks around it; NULL for another line. */
static const char *value_of(char *line, const char *key)
{
    char *colon = strchr(line, ':');
    const size_t length = strlen(key);
    if (!colon || strncmp(line, key, length) != 0) return NULL;
    if (line[length + strspn(line + length, " \t")] != ':') return NULL;
    colon += 1 + strspn(colon + 1, " \t");
    for (char *end = colon + strlen(colon); end > colon && isspace((unsigned char)end[-1]);) *--end = '\0';
    return colon;
}

/* The processor, by the lines that the kernels of several architectures have; those of the first one only. */
static void add_processor(const char *root, char text[TULLE__KIND_MAX])
{
    static const char *const keys[] = {
        "model name", "cpu family", "model", "CPU implementer", "CPU part", "cpu", "uarch"};
    char line[LINE];
    FILE *file = open_below(root, "/proc/cpuinfo");
    while (file && fgets(line, sizeof line, file) && *line != '\n')
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const char *value = value_of(line, keys[k]);
            if (value) append(text, value);
        }
    if (file) fclose(file);
    if (!*text) append(text, "unknown");
}

/* A line of a file below a root, without its end; "" if there is none. */
static void first_line(const char *root, const char *path, char line[LINE])
{
    FILE *file = open_below(root, path);
    *line = '\0';
    if (file && !fgets(line, LINE, file)) *line = '\0';
    if (file) fclose(file);
    line[strcspn(line, "\n")] = '\0';
}

static void add_caches(const char *root, char text[TULLE__KIND_MAX])
{
    for (int index = 0; index < 8; index++) {
        static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
        char path[128], level[LINE], size[LINE], word[64];
        snprintf(path, sizeof path, "%s%d/level", folder, index);
        first_line(root, path, level);
        snprintf(path, sizeof path, "%s%d/size", folder, index);
        first_line(root, path, size);
        if (level[0] < '2' || !*size) continue; /* the first level is the processor's */
        snprintf(word, sizeof word, "L%.4s=%.32s", level, size);
        append(text, word);
    }
}

static void add_memory(const char *root, char text[TULLE__KIND_MAX])
{
    char line[LINE], word[64];
    double kib = 0;
    FILE *file = open_below(root, "/proc/meminfo");
    while (file && kib == 0 && fgets(line, sizeof line, file)) {
        const char *value = value_of(line, "MemTotal");
        if (value) kib = (double)strtoll(value, NULL, 10);
    }
    if (file) fclose(file);
    long long gib = 1;
    while ((double)gib * 1048576 < kib) gib *= 2;
    snprintf(word, sizeof word, "memory=%lldG", gib);
    append(text, word);
}

void tulle__machine_kind(const char *root, int cores, char text[TULLE__KIND_MAX])
{
    char word[64];
    *text = '\0';
    add_processor(root, text);
    snprintf(word, sizeof word, "cores=%d", cores);
    append(text, word);
    add_caches(root, text);
    add_memory(root, text);
    snprintf(word, sizeof word, "tulle=%.32s", tulle_version());
    append(text, word);
}

uint32_t tulle__kind_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) hash = (hash ^ *c) * 16777619u;
    return hash;
}
