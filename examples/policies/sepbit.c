/* SepBIT (Wang et al., FAST'22) for pumice: pages that will be overwritten at about the same time are written together.
 * Of six classes the host writes two, and collection copies into four:
 *
 *     cc -O2 -shared -fPIC -I ../../crates/capi/include -o sepbit.so sepbit.c
 *     pumice run --preset small --set ftl.kind=page --policy ./sepbit.so
 *
 * Deviations: time is the clock of the page's plane, which counts copies too, where the paper counts what the host
 * writes; the time of a page's last write is kept for all pages in RAM. Victims are chosen by cost and benefit, as in
 * the paper's experiments.
 */
#include <math.h>
#include <stdlib.h>

#include "pumice_policy.h"

/* Classes 1 to 6 of the paper are streams 0 to 5. */
enum { SHORT_LIVED, LONG_LIVED, FROM_SHORT_LIVED, YOUNG, MIDDLE, OLD, CLASSES };

struct sepbit {
    double lifespan;   /* mean lifespan of the last blocks of short-lived pages: the paper's l */
    double spans;      /* sum of those that are counted for the next mean, */
    int64_t counted;   /* how many that are, */
    int64_t window;    /* and how many it takes */
    uint64_t *written; /* when the host wrote each page, plus 1; 0: never */
};

static void *create(const pumice_device *device)
{
    struct sepbit *own = calloc(1, sizeof *own);
    if (!own)
        return NULL;
    own->lifespan = INFINITY;
    own->window = device->value[0].whole;
    own->written = calloc(device->user_pages, sizeof *own->written);
    return own->written ? own : NULL;
}

static void destroy(void *context)
{
    struct sepbit *own = context;
    free(own->written);
    free(own);
}

/* How long ago the host wrote a page. */
static double age_of(const struct sepbit *own, const pumice_page *page)
{
    uint64_t written = own->written[page->lpn];
    if (written == 0)
        return INFINITY;
    return page->now + 1 > written ? (double)(page->now + 1 - written) : 0.0; /* the clock of another plane */
}

static uint32_t placement(void *context, const pumice_page *page)
{
    struct sepbit *own = context;
    double age = age_of(own, page);
    if (page->copied_from == PUMICE_FROM_HOST) {
        own->written[page->lpn] = page->now + 1;
        return age < own->lifespan ? SHORT_LIVED : LONG_LIVED;
    }
    if (page->copied_from == SHORT_LIVED)
        return FROM_SHORT_LIVED;
    return age < 4.0 * own->lifespan ? YOUNG : age < 16.0 * own->lifespan ? MIDDLE : OLD;
}

static uint32_t victim(void *context, const pumice_plane *plane)
{
    struct sepbit *own = context;
    double best = -1.0;
    uint32_t block = PUMICE_NO_BLOCK;
    for (uint32_t valid = 0; valid + 1 < plane->counts; valid++) {
        double score = plane->age[valid] * (plane->counts - 1 - valid) / (2.0 * valid);
        if (plane->oldest[valid] != PUMICE_NO_BLOCK && score > best) {
            best = score;
            block = plane->oldest[valid];
        }
    }
    if (block != PUMICE_NO_BLOCK && plane->block[block].stream == SHORT_LIVED) {
        own->spans += (double)(plane->now - plane->life[block].opened);
        if (++own->counted >= own->window) {
            own->lifespan = own->spans / (double)own->counted;
            own->spans = 0.0;
            own->counted = 0;
        }
    }
    return block;
}

const struct pumice_policy *pumice_policy(void)
{
    static const struct pumice_ftl_key keys[] = {
        {.name = "window", .default_value = "16", .unit = "blocks", .least = 1, .most = 1000000,
         .text = "Reclaimed blocks of short-lived pages whose mean lifespan is taken."},
    };
    static const struct pumice_policy policy = {
        .version = PUMICE_POLICY_VERSION,
        .size = sizeof(struct pumice_policy),
        .name = "SepBIT",
        .create = create,
        .destroy = destroy,
        .victim = victim,
        .placement = placement,
        .streams = CLASSES,
        .key = keys,
        .keys = sizeof keys / sizeof *keys,
    };
    return &policy;
}
