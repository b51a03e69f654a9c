/* SPDX-License-Identifier: Apache-2.0 */
/* tulle plot: pictures of the output of --json and --trace. A table lists the kinds. */
#include <stdlib.h>
#include <string.h>

#include "outputs.h"
#include "plot/chart.h"
#include "plot/picture.h"
#include "report/json.h"
#include "verb.h"

static const struct drawing {
    const char *name, *text;
    int width, height;
    tulle_status (*add)(void *chart, const struct json_line *line);
    tulle_status (*draw)(const struct chart *chart, const struct picture *picture);
    void (*fit)(const struct chart *chart, int *width, int *height); /* NULL: a fixed size */
} kinds[] = {
    {"scaling", "seconds over PEs, a curve an algorithm", 760, 480, chart_add_run, chart_draw_scaling, NULL},
    {"tasks", "seconds over tasks a PE, a curve a triangle", 760, 480, chart_add_tasks, chart_draw_tasks, NULL},
    {"roofline", "flops a second over flops a byte moved, under the roofs", 760, 520, chart_add_roof,
        chart_draw_roofline, NULL},
    {"breakdown", "where the time goes, the mean of the PEs", 860, 460, chart_add_run, chart_draw_breakdown,
        chart_fit_bars},
    {"imbalance", "the work of each PE of the grid, end to end and stage by stage", 900, 440, chart_add_map,
        chart_draw_imbalance, NULL},
    {"convergence", "residuals over iterations, a curve a column, from --history", 860, 520, chart_add_step,
        chart_draw_convergence, NULL},
    {"slabs", "flops a second over slabs of a stream, hidden and not", 860, 480, chart_add_slabs, chart_draw_slabs,
        NULL},
    {"timeline", "what each PE does when, from --trace", 1100, 420, chart_add_span, chart_draw_timeline,
        chart_fit_rows},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static tulle_status find_kind(const char *name, const struct drawing **kind)
{
    const char *names[KINDS];
    int found = 0;
    for (int k = 0; k < KINDS; k++) names[k] = kinds[k].name;
    tulle_status status = tulle_parse_word(name, "kind of picture", names, KINDS, &found);
    *kind = &kinds[found];
    return status;
}

/* The file does not suit this kind of picture: says which one does. */
static tulle_status wrong_file(const char *kind, tulle_status status)
{
    static const struct {
        const char *kind, *from;
    } sources[] = {{"imbalance", "lines that stat --grid, or predict, prints with --json"},
        {"convergence", "a file FILE.json that solve --history wrote"},
        {"slabs", "lines that stream --sweep prints with --json"}, {"timeline", "a file that --trace wrote"},
        {"tasks", "lines that trisolve prints with --json"}};
    const char *from = "lines that spmm, spgemm, trisolve or predict prints with --json";
    char fault[512];
    snprintf(fault, sizeof fault, "%s", tulle_error_message());
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++)
        if (strcmp(sources[s].kind, kind) == 0) from = sources[s].from;
    return tulle_fail(status, "%.380s; a picture of kind %s is drawn from %s", fault, kind, from);
}

static tulle_status run(const struct options *options)
{
    struct chart chart = {.title = options_word(options, "title", NULL)};
    struct picture picture = {.script = NULL};
    const struct drawing *kind;
    const char *output = options_word(options, "output", NULL);
    tulle_status status = find_kind(options->operand[0], &kind);
    if (status == TULLE_OK && !output)
        status = tulle_fail(TULLE_ERR_ARG, "no output is named: -o FILE.svg, FILE.png or FILE.pdf");
    if (status == TULLE_OK) status = picture_name(output);
    if (status == TULLE_OK) status = try_output(output, options->operand + 1, options->noperands - 1);
    for (int i = 1; i < options->noperands && status == TULLE_OK; i++)
        status = json_each_line(options->operand[i], kind->add, &chart);
    if (status == TULLE_OK && !chart.count)
        status = tulle_fail(TULLE_ERR_FORMAT, "%s: nothing to draw", options->operand[1]);
    if (status == TULLE_ERR_FORMAT) status = wrong_file(kind->name, status);
    int width = 0, height = 0;
    if (status == TULLE_OK) {
        width = kind->width;
        height = kind->height;
        if (kind->add == chart_add_span) /* traces do not name their operand */
            snprintf(chart.about.operand, sizeof chart.about.operand, "%s", options->operand[1]);
        if (kind->fit) kind->fit(&chart, &width, &height);
        status = picture_open(output, width, height, &picture);
    }
    if (status == TULLE_OK) status = kind->draw(&chart, &picture);
    status = picture_close(&picture, status);
    chart_fini(&chart);
    return status;
}

static const struct option options[] = {OPTION_OUTPUT("the picture, .svg, .png or .pdf; .gp: the gnuplot script"),
    {.name = "title", .kind = KIND_WORD, .argument = "TEXT", .text = "its title"}, OPTION_HELP, {.name = NULL}};

const struct verb verb_plot = {
    .name = "plot",
    .operands = "KIND FILE...",
    .summary = "Draw the output of --json, --trace and --history, with gnuplot",
    .description =
        "Colours are distinct also for people who do not distinguish red and green; curves differ by marker and "
        "dashes\n"
        "too. The files hold one JSON object a line, as spmm, spgemm, trisolve, predict and stat print them with "
        "--json;\n"
        "- is standard input. KIND is one of\n"
        "\n"
        "scaling: seconds over PEs, a curve an algorithm, from spmm, spgemm, predict or trisolve; bars are the fastest "
        "and\n"
        "slowest of --reps runs, and `ideal` is the time of the fastest at the fewest PEs, divided by the relative "
        "number\n"
        "of PEs.\n"
        "\n"
        "tasks: the same over the tasks of a PE, from trisolve.\n"
        "\n"
        "roofline: flops a second of a PE over flops a byte moved, under the network's slope, the peak and the local\n"
        "roofs, from the same. Runs without transfers are skipped.\n"
        "\n"
        "breakdown: the mean seconds of computing, communication, accumulation and waiting, stacked, from the same.\n"
        "\n"
        "imbalance: a map of the PEs' work on the grid, end to end and in the worst stage, from stat with --grid or "
        "from\n"
        "predict.\n"
        "\n"
        "convergence: residuals relative to ||b|| over iterations, a curve a column, and the width of a block, from a\n"
        "file FILE.json that solve wrote with --history.\n"
        "\n"
        "slabs: flops a second, from the first slab to the last, over the number of slabs, a curve for each way of\n"
        "streaming, from stream --sweep.\n"
        "\n"
        "timeline: what each PE and each of its threads does when, from a file of --trace; nested spans are drawn in\n"
        "narrower boxes.\n"
        "\n"
        "The line below the title has the type and the machine, if known, and the meaning of error bars.",
    .examples = "tulle spgemm rmat:scale=16 --pes 2 --alg all --json | tulle plot breakdown - -o phases.svg\n"
                "tulle stat rmat:scale=14 --grid 16x16 --json | tulle plot imbalance - -o map.png\n"
                "tulle trisolve fem:nodes=20 --from tril --pes 2 --trace t.json && tulle plot timeline t.json -o t.pdf",
    .options = options,
    .least = 2,
    .most = OPERANDS_MAX,
    .run = run,
};
