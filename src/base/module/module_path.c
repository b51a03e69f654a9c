/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of modules and of programs that the command starts. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/module/module.h"

#ifndef TULLE_MODULE_DIR /* empty: none, nor of programs */
#define TULLE_MODULE_DIR "/usr/local/lib/tulle"
#endif
#ifndef TULLE_MODULE_DIR_OF_PROGRAMS /* from the folder of installed programs */
#define TULLE_MODULE_DIR_OF_PROGRAMS "../lib/tulle"
#endif
#ifndef TULLE_PROGRAM_DIR /* of programs that the command starts */
#define TULLE_PROGRAM_DIR "/usr/local/libexec/tulle"
#endif
#ifndef TULLE_PROGRAM_DIR_OF_PROGRAMS
#define TULLE_PROGRAM_DIR_OF_PROGRAMS "../libexec/tulle"
#endif
#ifndef TULLE_BUILD_DIR /* the build tree; empty: none */
#define TULLE_BUILD_DIR ""
#endif

enum { PATHS = 8192 };

/* Folders, separated by colons. */
struct search {
    char folders[PATHS];
    size_t used;
};

static void add(struct search *s, const char *folder, int length, const char *below)
{
    const size_t capacity = sizeof s->folders - s->used;
    const int n = snprintf(
        s->folders + s->used, capacity, "%s%.*s%s%s", s->used ? ":" : "", length, folder, *below ? "/" : "", below);
    if (n > 0 && (size_t)n < capacity) s->used += (size_t)n;
    s->folders[s->used] = '\0';
}

/* The length of the folder of a file, without its slash. */
static int folder_length(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? (int)(slash - file) : 0;
}

/*
 * True if only the superuser and the owner of the program can have put something there: a
 * program in a folder of all, as /tmp, takes no module from what others may have laid beside it.
 */
static int of_same_owner(const char *folder, const struct stat *program)
{
    struct stat s;
    return stat(folder, &s) == 0 && S_ISDIR(s.st_mode) && (s.st_uid == program->st_uid || s.st_uid == 0) &&
           !(s.st_mode & S_IWOTH) && (!(s.st_mode & S_IWGRP) || s.st_gid == program->st_gid);
}

/* Adds a folder as seen from a program's own. */
static void add_of_program(struct search *s, const char *program, const char *below)
{
    char folder[PATH_MAX], real[PATH_MAX];
    struct stat own;
    if ((size_t)snprintf(folder, sizeof folder, "%.*s/%s", folder_length(program), program, below) < sizeof folder &&
        realpath(folder, real) && stat(program, &own) == 0 && of_same_owner(real, &own))
        add(s, real, (int)strlen(real), "");
}

/* Adds the build tree's modules if an object, by its absolute path, lies in that tree. */
static void add_of_build(struct search *s, const char *object)
{
    const size_t length = strlen(TULLE_BUILD_DIR);
    if (length && strncmp(object, TULLE_BUILD_DIR, length) == 0 && object[length] == '/')
        add(s, TULLE_BUILD_DIR, (int)length, "modules");
}

/* Adds what the object that holds this code has beside it: a library by its own folder, or a program. */
static void add_of_object(struct search *s, const char *program)
{
    char path[PATH_MAX];
    Dl_info object = {.dli_fname = NULL};
    static const char here = 0;
    const int known = dladdr(&here, &object) && object.dli_fname && realpath(object.dli_fname, path);
    if (known && strcmp(path, program) != 0) {
        /* a relative name may be one of a folder that was current once */
        if (*object.dli_fname != '/') return;
        add_of_build(s, path);
        add(s, path, folder_length(path), "tulle");
    } else {
        add_of_build(s, program);
    }
}

static tulle_status add_wanted(struct search *s)
{
    const char *wanted = secure_getenv("TULLE_MODULE_PATH");
    for (const char *folder = wanted ? wanted : ""; *folder; folder += *folder == ':') {
        const int length = (int)strcspn(folder, ":");
        if (length && *folder != '/')
            return tulle__fail(
                TULLE_ERR_ARG, "TULLE_MODULE_PATH: '%.*s' does not begin with /", length < 200 ? length : 200, folder);
        if (length) add(s, folder, length, "");
        folder += length;
    }
    return TULLE_OK;
}

static tulle_status search_path(struct search *s)
{
    char program[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    *s = (struct search){.used = 0};
    TULLE_CALL(add_wanted(s));
    const int plain = !getauxval(AT_SECURE); /* neither setuid nor with capabilities */
    if (plain) add_of_object(s, program);
    if (*TULLE_MODULE_DIR) add(s, TULLE_MODULE_DIR, sizeof TULLE_MODULE_DIR - 1, "");
    if (plain) add_of_program(s, program, TULLE_MODULE_DIR_OF_PROGRAMS);
    if (*TULLE_PROGRAM_DIR) add(s, TULLE_PROGRAM_DIR, sizeof TULLE_PROGRAM_DIR - 1, "");
    if (plain) add_of_program(s, program, TULLE_PROGRAM_DIR_OF_PROGRAMS);
    return TULLE_OK;
}

tulle_status tulle__module_find_file(const char *file, char *path, size_t size)
{
    struct search s;
    TULLE_CALL(search_path(&s));
    for (const char *folder = s.folders; *folder;) {
        const size_t length = strcspn(folder, ":");
        if ((size_t)snprintf(path, size, "%.*s/%s", (int)length, folder, file) < size && access(path, F_OK) == 0)
            return TULLE_OK;
        folder += length + (folder[length] == ':');
    }
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "there is no %s in %.400s", file, s.folders);
}
