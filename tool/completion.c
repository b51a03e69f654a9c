/* SPDX-License-Identifier: Apache-2.0 */
#include "completion.h"

#include <string.h>

/* The words of a choice, separated by blanks. */
static void words(const struct option *t, FILE *file)
{
    for (const char *c = t->argument; *c; c++) fputc(*c == '|' ? ' ' : *c, file);
}

static void bash_verb(const struct verb *v, FILE *file)
{
    fprintf(file, "    %s)\n        options=\"", v->name);
    for (const struct option *t = v->options; t->name; t++)
        fprintf(file, "%s--%s", t == v->options ? "" : " ", t->name);
    fprintf(file, "\"\n        case $before in\n");
    for (const struct option *t = v->options; t->name; t++) {
        if (t->kind != KIND_CHOICE) continue;
        fprintf(file, "        --%s) choices=\"", t->name);
        words(t, file);
        fprintf(file, "\" ;;\n");
    }
    fprintf(file, "        esac\n        ;;\n");
}

static void bash(const struct verb *const *verbs, int nverbs, FILE *file)
{
    fprintf(file, "# bash completion for tulle, made by `tulle --completion bash`\n"
                  "_tulle() {\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options= choices=\n"
                  "    COMPREPLY=()\n"
                  "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                  "        COMPREPLY=($(compgen -W \"");
    for (int v = 0; v < nverbs; v++) fprintf(file, "%s ", verbs[v]->name);
    fprintf(file, "--help --version\" -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (int v = 0; v < nverbs; v++) bash_verb(verbs[v], file);
    fprintf(file, "    esac\n"
                  "    if [ -n \"$choices\" ]; then\n"
                  "        COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
                  "    elif [[ $word == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                  "    else\n"
                  "        compopt -o filenames 2>/dev/null\n"
                  "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
                  "    fi\n"
                  "}\n"
                  "complete -F _tulle tulle\n");
}

/* Text within a description of zsh's, which is in apostrophes and ends at a bracket. */
static void zsh_text(const char *text, FILE *file)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            fputs("'\\''", file);
        else if (strchr("[]:\\", *c))
            fprintf(file, "\\%c", *c);
        else
            fputc(*c, file);
    }
}

static void zsh_verb(const struct verb *v, FILE *file)
{
    fprintf(file, "    %s)\n        _arguments", v->name);
    for (const struct option *t = v->options; t->name; t++) {
        fprintf(file, " \\\n            '--%s[", t->name);
        zsh_text(t->text, file);
        fputc(']', file);
        if (t->argument) {
            fputc(':', file);
            zsh_text(t->argument, file);
            fputc(':', file);
        }
        if (t->kind == KIND_CHOICE) {
            fputc('(', file);
            words(t, file);
            fputc(')', file);
        } else if (t->argument && strstr(t->argument, "FILE")) {
            fputs("_files", file);
        }
        fputc('\'', file);
    }
    fprintf(file, " \\\n            '*:operand:_files'\n        ;;\n");
}

static void zsh(const struct verb *const *verbs, int nverbs, FILE *file)
{
    fprintf(file, "#compdef tulle\n"
                  "# zsh completion for tulle, made by `tulle --completion zsh`\n"
                  "_tulle() {\n"
                  "    local -a verbs\n"
                  "    verbs=(\n");
    for (int v = 0; v < nverbs; v++) {
        fprintf(file, "        '%s:", verbs[v]->name);
        zsh_text(verbs[v]->summary, file);
        fprintf(file, "'\n");
    }
    fprintf(file, "    )\n"
                  "    if ((CURRENT == 2)); then\n"
                  "        _describe verb verbs\n"
                  "        return\n"
                  "    fi\n"
                  "    local verb=$words[2]\n"
                  "    shift words\n"
                  "    ((CURRENT--))\n"
                  "    case $verb in\n");
    for (int v = 0; v < nverbs; v++) zsh_verb(verbs[v], file);
    fprintf(file, "    esac\n}\n_tulle \"$@\"\n");
}

tulle_status completion(const char *shell, const struct verb *const *verbs, int nverbs, FILE *file)
{
    static const char *const shells[] = {"bash", "zsh"};
    int found;
    tulle_status status = tulle_parse_word(shell, "--completion", shells, 2, &found);
    if (status == TULLE_OK) (found ? zsh : bash)(verbs, nverbs, file);
    return status;
}
