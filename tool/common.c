/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by verbs that open a team or read a matrix. */
#include <stdio.h>
#include <string.h>

#include <tulle/launch.h>

#include "launch.h"
#include "needs.h"
#include "standard_input.h"
#include "verb.h"

tulle_status reading_options(const struct options *options, tulle_read_options *reading)
{
    const char *duplicates = options_word(options, "duplicates", "sum");
    *reading = (tulle_read_options){0};
    reading->lenient = options_flag(options, "lenient");
    reading->zero_based = options_flag(options, "zero-based");
    reading->finite_only = options_flag(options, "finite");
    reading->drop_zeros = options_flag(options, "drop-zeros");
    reading->assume = options_word(options, "assume", NULL);
    reading->duplicates = strcmp(duplicates, "error") == 0  ? TULLE_DUPLICATES_ERROR
                          : strcmp(duplicates, "last") == 0 ? TULLE_DUPLICATES_LAST
                                                            : TULLE_DUPLICATES_SUM;
    tulle_status status = tulle_parse_type(options_word(options, "type", "f64"), &reading->type);
    return status == TULLE_OK ? allow_standard_input(options, tulle_launched_size()) : status;
}

tulle_status load_operand(tulle_comm *comm, const char *operand, const tulle_layout *layout, tulle_kind kind,
    const tulle_read_options *reading, char *warnings, tulle_mat **A)
{
    char more[TULLE_WARNINGS_MAX];
    const size_t used = strlen(warnings);
    tulle_status status = tulle_mat_load(comm, operand, layout, kind, reading, more, A);
    if (status == TULLE_OK) snprintf(warnings + used, TULLE_WARNINGS_MAX - used, "%s", more);
    return status;
}

/* A status found by one process before there was a team; all processes must act alike. */
struct finding {
    tulle_status status;
    const char *message;
};

static tulle_status report_finding(tulle_comm *comm, void *arg)
{
    (void)comm;
    const struct finding *found = arg;
    return found->status == TULLE_OK ? TULLE_OK : tulle_fail(found->status, "%s", found->message);
}

tulle_status open_team(const struct options *options, const char *prefix, tulle_status before, tulle_team **team)
{
    char spec[1024], message[1024];
    double memory = options_size(options, "memory", 0), program = needs_program(options);
    if (before == TULLE_OK && options_flag(options, "memory") && memory <= program)
        before = tulle_fail(
            TULLE_ERR_LIMIT, "--memory %.4gM is too low: the program alone needs %.0fM", memory / 1e6, program / 1e6);
    if (before != TULLE_OK && tulle_launched_size() == 1) return before;
    snprintf(message, sizeof message, "%s", tulle_error_message());
    tulle_team_options chosen = {
        .memory = memory > program ? (size_t)(memory - program) : 0,
        .threads = (int)options_int(options, "threads", 0),
    };
    snprintf(spec, sizeof spec, "%s%s", prefix, chosen_comm(options));
    tulle_status status = tulle_team_new(spec, (int)options_int(options, "pes", 0), &chosen, team);
    if (status == TULLE_OK && tulle_launched_size() != 1)
        status = tulle_team_run(*team, report_finding, &(struct finding){before, message});
    return status;
}

void show_warnings(const struct options *options, const char *warnings)
{
    if (options_flag(options, "quiet")) return;
    for (const char *line = warnings; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(stderr, "tulle: warning: %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
}
