/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web: pages that link to pages. Hosts are ranges of consecutive pages, of 1 to `host` pages by
 * random repeated halving. Each page links to the previous one of its host (archives), which makes
 * chains as long as the largest host, and to some others. Such a link either copies the target of a
 * link of an earlier page of the host (Kleinberg and others, COCOON 1999: this makes a few pages
 * popular), or points to any page of the host, or to the first page of another host. The pattern is
 * not symmetric; the diagonal is full.
 */
#include <inttypes.h>

#include "base/error.h"
#include "io/generate/generator.h"
#include "io/generate/shuffle.h"

enum { HOST_MOST = 1 << 20, LINKS_MOST = 1 << 10, COPIES_MOST = 64 };

struct host {
    int64_t first, end;
};

static struct host host_of(const tulle__generator *g, int64_t page)
{
    int64_t size = g->as.web.host, first = page / size * size;
    while (size > 1 && tulle__random_at(g->pattern_seed, (uint64_t)first, (uint64_t)size) >> 32 < g->as.web.split) {
        size /= 2;
        if (page - first >= size) first += size;
    }
    return (struct host){first, first + size < g->n ? first + size : g->n};
}

static int64_t within(uint64_t draw, int64_t first, int64_t end)
{
    return first + (int64_t)tulle__random_below(tulle__random_mix(draw), (uint64_t)(end - first));
}

static int64_t links_of(const tulle__generator *g, int64_t page)
{
    uint64_t draw = tulle__random_at(~g->pattern_seed, (uint64_t)page, UINT64_MAX);
    return (int64_t)tulle__random_below(draw, (uint64_t)(2 * g->as.web.links + 1));
}

/* The target of link `link` of the page; a copied one is that of the page it is copied from. */
static int64_t target(const tulle__generator *g, const struct host *host, int64_t page, int64_t link)
{
    for (int i = 0;; i++) {
        uint64_t draw = tulle__random_at(~g->pattern_seed, (uint64_t)page, (uint64_t)link);
        int64_t earlier = page > host->first ? within(draw, host->first, page) : page, links = links_of(g, earlier);
        if (i < COPIES_MOST && earlier < page && links > 0 && (draw >> 32) < g->as.web.copy) {
            page = earlier;
            link = within(draw + 1, 0, links);
            continue;
        }
        if ((draw & UINT32_MAX) < g->as.web.local) return within(draw + 2, host->first, host->end);
        return host_of(g, within(draw + 2, 0, g->n)).first;
    }
}

static tulle_status open_web(tulle__spec_part *part, tulle__generator *g)
{
    int64_t n = -1, host = 512, links = 1;
    double copy = .5, local = .8, split = .73;
    TULLE_CALL(tulle__spec_int(part, "n", 1, TULLE__GENERATOR_MAX, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'web' needs n");
    TULLE_CALL(tulle__spec_int(part, "host", 1, HOST_MOST, &host));
    TULLE_CALL(tulle__spec_int(part, "links", 0, LINKS_MOST, &links));
    TULLE_CALL(tulle__spec_real(part, "copy", 0, 1, &copy));
    TULLE_CALL(tulle__spec_real(part, "local", 0, 1, &local));
    TULLE_CALL(tulle__spec_real(part, "split", 0, 1, &split));
    g->m = g->n = n;
    g->as.web.host = host;
    g->as.web.links = links;
    g->as.web.copy = (uint64_t)(copy * 0x1p32);
    g->as.web.local = (uint64_t)(local * 0x1p32);
    g->as.web.split = (uint64_t)(split * 0x1p32);
    return TULLE_OK;
}

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)row, (void)c0, (void)c1; /* a row is generated whole and then cut */
    return 2 + 2 * g->as.web.links;
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    int64_t span = g->as.web.host, low = c0 - span > r0 ? c0 - span : r0, high = c1 + span < r1 ? c1 + span : r1;
    double links = (double)g->as.web.links, far = (double)(r1 - r0) * links * ((double)(c1 - c0) / (double)g->n);
    return far + (high > low ? (double)(high - low) * (2 + links) : 0) + 16;
}

static int64_t row_columns(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    struct host host = host_of(g, row);
    int64_t links = links_of(g, row), count = 0;
    col[count++] = row;
    if (row > host.first) col[count++] = row - 1;
    for (int64_t k = 0; k < links; k++) col[count++] = target(g, &host, row, k);
    return tulle__generator_clip(col, tulle__sort_columns(col, count), c0, c1);
}

static const char *const keys[] = {"n", "host", "links", "copy", "local", "split", NULL};

const tulle__generator_kind tulle__generator_web = {
    .name = "web",
    .sentence = "pages in hosts of up to host=512, each naming the one before and about links=1 more, many copied",
    .keys = keys,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_web,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
};
