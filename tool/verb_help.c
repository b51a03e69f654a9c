/* SPDX-License-Identifier: Apache-2.0 */
#include "verb_help.h"

#include <string.h>

#include "readers.h"

enum { TEXT_COLUMN = 27, LAST_COLUMN = 79 };

static const char *const exit_texts = "0 done; 1 a check failed, or an iteration did not converge; 2 bad usage or "
                                      "input; 3 not enough resources; 4 a PE was lost";

/*
 * Prints words between columns `left` and LAST_COLUMN, wrapped, from `column` on; returns the last
 * column.
 */
static size_t print_wrapped(const char *text, size_t left, size_t column, FILE *file)
{
    while (*text) {
        size_t length = strcspn(text, " \n"), gap = column > left;
        if (gap && column + gap + length > LAST_COLUMN) {
            fprintf(file, "\n%*s", (int)left, "");
            column = left;
            gap = 0;
        }
        fprintf(file, "%s%.*s", gap ? " " : "", (int)length, text);
        column += gap + length;
        text += length + strspn(text + length, " \n");
    }
    return column;
}

/* Paragraphs, wrapped; lines that begin with a blank stay as they are. */
static void print_paragraphs(const char *text, FILE *file)
{
    size_t column = 0;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        char words[1024];
        snprintf(words, sizeof words, "%.*s", (int)n, line);
        if (column && (!n || *line == ' ')) {
            fputc('\n', file);
            column = 0;
        }
        if (!n)
            fputc('\n', file);
        else if (*line == ' ')
            fprintf(file, "%s\n", words);
        else
            column = print_wrapped(words, 0, column, file);
        line += n + (line[n] == '\n');
    }
    if (column) fputc('\n', file);
}

static const char *const headings[GROUPS] = {"Options", "Tuning", "Reading files", "Measurements and experiments"};

static int has_group(const struct option *table, enum group group)
{
    for (const struct option *t = table; t->name; t++)
        if (t->group == group) return 1;
    return 0;
}

static void help_option(const struct option *t, FILE *file)
{
    char left[64], letter[8] = "";
    if (t->letter) snprintf(letter, sizeof letter, "-%c, ", t->letter);
    snprintf(left, sizeof left, "%s--%s%s%s", letter, t->name, t->argument ? " " : "", t->argument ? t->argument : "");
    fprintf(file, "  %-24s ", left);
    size_t column =
        print_wrapped(t->text, TEXT_COLUMN, strlen(left) + 3 > TEXT_COLUMN ? LAST_COLUMN : TEXT_COLUMN, file);
    if (t->fallback) {
        char text[128];
        snprintf(text, sizeof text, "(default: %s)", t->fallback);
        print_wrapped(text, TEXT_COLUMN, column, file);
    }
    fputc('\n', file);
}

static void options_help(const struct option *table, FILE *file)
{
    for (int g = 0; g < GROUPS; g++) {
        if (!has_group(table, (enum group)g)) continue;
        fprintf(file, "%s%s:\n", g ? "\n" : "", headings[g]);
        for (const struct option *t = table; t->name; t++)
            if (t->group == (enum group)g) help_option(t, file);
    }
}

static void man_option(const struct option *t, FILE *file)
{
    fprintf(file, ".It ");
    if (t->letter) fprintf(file, "Fl %c , ", t->letter);
    fprintf(file, "Fl -%s%s%s\n%s", t->name, t->argument ? " Ar " : "", t->argument ? t->argument : "", t->text);
    if (t->fallback) fprintf(file, " (default: %s)", t->fallback);
    fprintf(file, ".\n");
}

static void options_man(const struct option *table, FILE *file)
{
    for (int g = 0; g < GROUPS; g++) {
        if (!has_group(table, (enum group)g)) continue;
        if (g) fprintf(file, ".Ss %s\n", headings[g]);
        fprintf(file, ".Bl -tag -width Ds\n");
        for (const struct option *t = table; t->name; t++)
            if (t->group == (enum group)g) man_option(t, file);
        fprintf(file, ".El\n");
    }
}

static void print_exit(FILE *file)
{
    fprintf(file, "\n");
    print_wrapped("Exit status:", 0, 0, file);
    print_wrapped(exit_texts, 0, 12, file);
    fprintf(file, ".\n");
}

void help_all(const struct verb *const *verbs, int nverbs, FILE *file)
{
    enum { COLUMN = 13 };
    fprintf(file, "tulle %s: sparse and dense linear algebra over one-sided communication\n\n", tulle_version());
    fprintf(file, "usage: tulle VERB OPERANDS OPTIONS\n\n");
    for (int v = 0; v < nverbs; v++) {
        fprintf(file, "  %-10s ", verbs[v]->name);
        print_wrapped(verbs[v]->summary, COLUMN, COLUMN, file);
        fputc('\n', file);
    }
    fputc('\n', file);
    print_paragraphs(
        "`tulle VERB --help` explains a verb. An operand is a file (.mtx, also packed or in a tar\n"
        "archive, .npy, .npz, .petsc, .bsp.h5, .h5ad), - for standard input, or a generator's spec, as in\n"
        "rmat:scale=17,edgefactor=8,seed=1:\n\n",
        file);
    const char *name, *sentence;
    for (int i = 0; (name = tulle_operand_generator(i, &sentence)); i++) {
        fprintf(file, "  %-10s ", name);
        print_wrapped(sentence, COLUMN, COLUMN + (strlen(name) > 10 ? strlen(name) - 10 : 0), file);
        fputc('\n', file);
    }
    fprintf(file, "\n`tulle --completion bash|zsh` prints the completion of command lines.\n");
    print_exit(file);
}

/* A command of one line, or of several that a shell joins: a line breaks before an option or a pipe. */
static void print_command(const char *text, size_t n, FILE *file)
{
    size_t column = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && (text[to] != ' ' || (text[to + 1] != '-' && text[to + 1] != '|')); to++) continue;
        if (column && column + (to - from) + 2 > LAST_COLUMN) { /* with room for the backslash */
            fprintf(file, " \\\n   ");
            column = 3;
        }
        if (!column) column = (size_t)fprintf(file, "  ");
        column += (size_t)fprintf(file, "%.*s", (int)(to - from), text + from);
    }
    fputc('\n', file);
}

void help_verb(const struct verb *v, FILE *file)
{
    fprintf(file, "usage: tulle %s %s%s[OPTIONS]\n\n", v->name, v->operands, *v->operands ? " " : "");
    print_wrapped(v->summary, 0, 0, file);
    fprintf(file, ".\n\n");
    print_paragraphs(v->description, file);
    fputc('\n', file);
    options_help(v->options, file);
    readers_print(v->name, 0, file);
    fprintf(file, "\nExamples:\n");
    for (const char *line = v->examples; *line;) {
        size_t n = strcspn(line, "\n");
        print_command(line, n, file);
        line += n + (line[n] == '\n');
    }
    print_exit(file);
}

/* Writes text as mdoc: a leading dot or quote would be a macro, an empty line is a paragraph. */
static void man_text(const char *text, FILE *file)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (!n)
            fprintf(file, ".Pp");
        else if (*line == '.' || *line == '\'')
            fprintf(file, "\\&");
        for (size_t i = 0; i < n; i++) {
            if (line[i] == '\\')
                fputs("\\e", file);
            else
                fputc(line[i], file);
        }
        fputc('\n', file);
        line += n + (line[n] == '\n');
    }
}

static void man_head(const char *title, const char *name, const char *summary, FILE *file)
{
    fprintf(file, ".Dd $Mdocdate$\n.Dt %s 1\n.Os Tulle %s\n.Sh NAME\n.Nm %s\n.Nd %s\n", title, tulle_version(), name,
        summary);
}

void man_verb(const struct verb *v, FILE *file)
{
    char name[64];
    snprintf(name, sizeof name, "tulle-%s", v->name);
    man_head(name, name, v->summary, file);
    fprintf(file, ".Sh SYNOPSIS\n.Nm tulle %s\n%s%s.Op Ar options\n.Sh DESCRIPTION\n", v->name, v->operands,
        *v->operands ? "\n" : "");
    man_text(v->description, file);
    fprintf(file, ".Sh OPTIONS\n");
    options_man(v->options, file);
    readers_print(v->name, 1, file);
    fprintf(file, ".Sh EXIT STATUS\n%s.\n.Sh EXAMPLES\n.Bd -literal\n", exit_texts);
    man_text(v->examples, file);
    fprintf(file, "\n.Ed\n.Sh SEE ALSO\n.Xr tulle 1\n");
}

void man_all(const struct verb *const *verbs, int nverbs, FILE *file)
{
    man_head("TULLE", "tulle", "sparse and dense linear algebra over one-sided communication", file);
    fprintf(file,
        ".Sh SYNOPSIS\n.Nm\n.Ar verb\n.Ar operands\n.Op Ar options\n.Sh DESCRIPTION\n"
        "An operand is a file (.mtx, also packed or in a tar archive, .npy, .npz, .petsc, .bsp.h5, .h5ad), - for\n"
        "standard input, a pipe, or the spec of a generator. Contents decide what reads a file, endings\n"
        "where these do not. ARCHIVE/MEMBER is a member of a tar archive. The verbs:\n"
        ".Bl -tag -width Ds\n");
    for (int v = 0; v < nverbs; v++) fprintf(file, ".It Xr tulle-%s 1\n%s.\n", verbs[v]->name, verbs[v]->summary);
    fprintf(file, ".El\n.Pp\nThe generators:\n.Bl -tag -width Ds\n");
    const char *name, *sentence;
    for (int i = 0; (name = tulle_operand_generator(i, &sentence)); i++) fprintf(file, ".It %s\n%s.\n", name, sentence);
    fprintf(file,
        ".El\n.Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
        ".It Ev TULLE_ALONE\nIf 1, processes that a launcher started as one of several are meant to work alone.\n"
        ".It Ev TULLE_MODULE_PATH\nFolders with engines and wrappers, absolute, separated by colons.\n"
        ".It Ev TMPDIR\nThe folder for a copy of standard input while it is read; without it /tmp.\n"
        ".It Ev TULLE_MACHINE\nThe file that\n.Xr tulle-calibrate 1\nwrites and the bounds are taken from.\n"
        ".El\n.Sh EXIT STATUS\n%s.\n",
        exit_texts);
}
