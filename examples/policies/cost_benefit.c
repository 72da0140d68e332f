/* The cost-benefit victim policy (Rosenblum and Ousterhout, 1992) for pumice: the block with the largest
 * age * (1 - u) / 2u, u being the share of its valid pages. The same result as ftl.gc_policy = "cost-benefit":
 *
 *     cc -O2 -shared -fPIC -I ../../crates/capi/include -o cost_benefit.so cost_benefit.c
 *     pumice run --preset small --set ftl.kind=page --policy ./cost_benefit.so
 */
#include "pumice_policy.h"

static uint32_t cost_benefit(void *context, const pumice_plane *plane)
{
    (void)context;
    double best = -1.0;
    uint32_t block = PUMICE_NO_BLOCK;
    double pages = plane->counts - 1;
    for (uint32_t valid = 0; valid < plane->counts; valid++) {
        if (plane->oldest[valid] == PUMICE_NO_BLOCK)
            continue;
        double used = valid / pages;
        double score = plane->age[valid] * (1.0 - used) / (2.0 * used);
        if (score >= best) {
            best = score;
            block = plane->oldest[valid];
        }
    }
    return block;
}

const struct pumice_policy *pumice_policy(void)
{
    static const struct pumice_policy policy = {
        .version = PUMICE_POLICY_VERSION,
        .size = sizeof(struct pumice_policy),
        .name = "cost-benefit in C",
        .victim = cost_benefit,
    };
    return &policy;
}
