/* SPDX-License-Identifier: Apache-2.0 */
#include "plot/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tulle/tulle.h>

extern char **environ;

/* gnuplot's name for a file type, NULL: the script itself; units of its size per pixel. */
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
        if (n > e && strcasecmp(path + n - e, formats[f].ending) == 0) return &formats[f];
    }
    return NULL;
}

tulle_status picture_name(const char *path)
{
    if (format_of(path)) return TULLE_OK;
    return tulle_fail(
        TULLE_ERR_ARG, "a picture is a .svg, .png or .pdf file, a script for gnuplot a .gp file, not '%s'", path);
}

tulle_status picture_open(const char *path, int width, int height, struct picture *p)
{
    const struct format *format = format_of(path);
    *p = (struct picture){.path = path};
    tulle_status status = picture_name(path);
    if (status != TULLE_OK) return status;
    p->script = open_memstream(&p->text, &p->length);
    if (!p->script) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    if (format->terminal) {
        fprintf(p->script, "if (strstrt(GPVAL_TERMINALS, ' %s ') == 0) { exit status %d }\n", format->terminal,
            NO_TERMINAL);
        fprintf(p->script, "set terminal %s %s size %g,%g\n", format->terminal, format->options, width * format->unit,
            height * format->unit);
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

/* The script as an unnamed file that gnuplot opens by number. */
static int open_script(const struct picture *p)
{
    int fd = memfd_create("script", 0);
    for (size_t done = 0; fd >= 0 && done < p->length;) {
        ssize_t n = write(fd, p->text + done, p->length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
}

/* Copies all output of gnuplot; 0 if it cannot be read or stored. */
static int collect(int from, FILE *to)
{
    char piece[1 << 14];
    for (;;) {
        ssize_t n = read(from, piece, sizeof piece);
        if (n == 0) return 1;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 || fwrite(piece, 1, (size_t)n, to) != (size_t)n) return 0;
    }
}

static tulle_status judge(int how, const struct format *format)
{
    if (WIFEXITED(how) && WEXITSTATUS(how) == 127)
        return tulle_fail(TULLE_ERR_UNSUPPORTED, "gnuplot, which draws, is not installed (Debian: gnuplot-nox)");
    if (WIFEXITED(how) && WEXITSTATUS(how) == NO_TERMINAL)
        return tulle_fail(TULLE_ERR_UNSUPPORTED,
            "this gnuplot draws no %s file, as it was built without the terminal %s (Debian's gnuplot-nox has it); "
            "choose .svg or .png, or .gp for the script",
            format->ending, format->terminal);
    if (!WIFEXITED(how) || WEXITSTATUS(how)) return tulle_fail(TULLE_ERR_IO, "gnuplot failed; its messages are above");
    return TULLE_OK;
}

/* Runs gnuplot on the script and reads the picture from its output. */
static tulle_status run_gnuplot(int script, const struct format *format, FILE *drawn)
{
    char name[32], *argv[] = {"gnuplot", name, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int out[2], how;
    snprintf(name, sizeof name, "/dev/fd/%d", script);
    if (pipe2(out, O_CLOEXEC)) return tulle_fail(TULLE_ERR_IO, "no pipe for gnuplot: %s", strerror(errno));
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        if (!error) error = posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(out[1]);
    int whole = !error && collect(out[0], drawn);
    close(out[0]);
    if (error == ENOENT)
        return tulle_fail(TULLE_ERR_UNSUPPORTED,
            "gnuplot, which draws, is not installed (Debian: gnuplot-nox); a name that ends in .gp keeps its script");
    if (error) return tulle_fail(TULLE_ERR_IO, "gnuplot could not be started: %s", strerror(error));
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR) return tulle_fail(TULLE_ERR_IO, "gnuplot was lost: %s", strerror(errno));
    tulle_status status = judge(how, format);
    if (status == TULLE_OK && !whole) status = tulle_fail(TULLE_ERR_IO, "the picture that gnuplot drew cannot be read");
    return status;
}

static tulle_status draw(const struct picture *p)
{
    char *image = NULL;
    size_t bytes = 0;
    int script = open_script(p);
    if (script < 0) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    FILE *drawn = open_memstream(&image, &bytes);
    tulle_status status = drawn ? run_gnuplot(script, format_of(p->path), drawn)
                                : tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    close(script);
    if (drawn && fclose(drawn) && status == TULLE_OK)
        status = tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    if (status == TULLE_OK) status = tulle_file_write(p->path, image, bytes);
    free(image);
    return status;
}

tulle_status picture_close(struct picture *p, tulle_status status)
{
    if (!p->script) return status;
    if (fclose(p->script) && status == TULLE_OK) status = tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    if (status == TULLE_OK)
        status = format_of(p->path)->terminal ? draw(p) : tulle_file_write(p->path, p->text, p->length);
    free(p->text);
    return status;
}
