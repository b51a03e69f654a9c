/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What gnuplot calls a kind of file, NULL: the script itself; units of its size in a pixel. */
static const struct format {
    const char *ending, *terminal, *options;
    double unit;
} formats[] = {{".svg", "svg", "font 'sans,12' background 'white'", 1}, {".png", "pngcairo", "font 'sans,10'", 1},
    {".pdf", "pdfcairo", "font 'sans,10'", 1. / 96}, {".gp", NULL, NULL, 0}};
enum { FORMATS = sizeof formats / sizeof *formats, NO_TERMINAL = 42 };

static const struct format *format_of(const char *path)
{
    size_t n = strlen(path);
    for (int f = 0; f < FORMATS; f++) {
        size_t e = strlen(formats[f].ending);
        if (n > e && strcmp(path + n - e, formats[f].ending) == 0) return &formats[f];
    }
    return NULL;
}

tulle_status picture_open(const char *path, int width, int height, struct picture *p)
{
    const struct format *format = format_of(path);
    *p = (struct picture){.path = path};
    if (!format)
        return tulle_fail(
            TULLE_ERR_ARG, "a picture is a .svg, .png or .pdf file, a script for gnuplot a .gp file, not '%s'", path);
    if (snprintf(p->temporary, sizeof p->temporary, "%s.tmp.%ld", path, (long)getpid()) >= (int)sizeof p->temporary)
        return tulle_fail(TULLE_ERR_ARG, "the name of the picture is too long");
    p->script = open_memstream(&p->text, &p->length);
    if (!p->script) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    if (format->terminal) {
        fprintf(p->script, "if (strstrt(GPVAL_TERMINALS, ' %s ') == 0) { exit status %d }\n", format->terminal,
            NO_TERMINAL);
        fprintf(p->script, "set terminal %s %s size %g,%g\nset output ", format->terminal, format->options,
            width * format->unit, height * format->unit);
        picture_text(p, p->temporary);
        fputc('\n', p->script);
    }
    fprintf(p->script, "set encoding utf8\nset style fill solid 0.85 border -1\nset grid\n");
    return TULLE_OK;
}

void picture_text(const struct picture *p, const char *text)
{
    fputc('\'', p->script);
    for (const char *c = text; *c; c++) {
        if (*c == '\'') fputc('\'', p->script);
        fputc((unsigned char)*c < ' ' ? ' ' : *c, p->script);
    }
    fputc('\'', p->script);
}

static tulle_status write_script(const struct picture *p, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) return tulle_fail(TULLE_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    int bad = fwrite(p->text, 1, p->length, f) != p->length;
    bad |= fclose(f) != 0;
    return bad ? tulle_fail(TULLE_ERR_IO, "%s: writing failed", path) : TULLE_OK;
}

static tulle_status run_gnuplot(char *script, const struct format *format)
{
    char *argv[] = {"gnuplot", script, NULL};
    pid_t child;
    int how, error = posix_spawnp(&child, "gnuplot", NULL, NULL, argv, environ);
    if (error == ENOENT)
        return tulle_fail(TULLE_ERR_UNSUPPORTED,
            "gnuplot, which draws, is not installed (Debian: gnuplot-nox); a name that ends in .gp keeps its script");
    if (error) return tulle_fail(TULLE_ERR_IO, "gnuplot cannot be started: %s", strerror(error));
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR) return tulle_fail(TULLE_ERR_IO, "gnuplot was lost: %s", strerror(errno));
    if (WIFEXITED(how) && WEXITSTATUS(how) == 127)
        return tulle_fail(TULLE_ERR_UNSUPPORTED, "gnuplot, which draws, is not installed (Debian: gnuplot-nox)");
    if (WIFEXITED(how) && WEXITSTATUS(how) == NO_TERMINAL)
        return tulle_fail(TULLE_ERR_UNSUPPORTED,
            "this gnuplot draws no %s file, as it was built without the terminal %s (Debian's gnuplot-nox has it); "
            "choose .svg or .png, or .gp for the script",
            format->ending, format->terminal);
    if (!WIFEXITED(how) || WEXITSTATUS(how))
        return tulle_fail(TULLE_ERR_IO, "gnuplot failed; what it said stands above");
    return TULLE_OK;
}

tulle_status picture_close(struct picture *p, tulle_status status)
{
    char script[sizeof p->temporary + 8];
    if (!p->script) return status;
    if (fclose(p->script) && status == TULLE_OK) status = tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    int draws = format_of(p->path)->terminal != NULL;
    snprintf(script, sizeof script, "%s.gp", p->temporary);
    if (status == TULLE_OK) status = write_script(p, draws ? script : p->temporary);
    if (status == TULLE_OK && draws) status = run_gnuplot(script, format_of(p->path));
    if (draws) remove(script);
    if (status == TULLE_OK && rename(p->temporary, p->path))
        status = tulle_fail(TULLE_ERR_IO, "%s: cannot be written: %s", p->path, strerror(errno));
    if (status != TULLE_OK) remove(p->temporary);
    free(p->text);
    return status;
}
