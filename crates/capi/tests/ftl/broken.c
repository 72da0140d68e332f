/* A log that never collects, with faults to order. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pumice_ftl.h"

#ifndef NAME
#define NAME "broken"
#endif

struct state {
    uint32_t pages_per_block, blocks, next, pages, writes;
    uint32_t *page_of;
    unsigned char *bad;
};

static uint64_t good_pages(const pumice_ftl_device *device)
{
    uint64_t planes = (uint64_t)device->channels * device->chips_per_channel * device->dies_per_chip * device->planes_per_die;
    return planes * (device->blocks_per_plane - device->bad_blocks_per_plane) * device->pages_per_block;
}

static uint64_t capacity(const pumice_ftl_device *device, const pumice_ftl_value *value)
{
    (void)value;
#ifdef CAPACITY
    return CAPACITY;
#endif
    return good_pages(device) / 2;
}

static void *create(const pumice_ftl_device *device, const pumice_ftl_value *value)
{
#ifdef FAIL_CREATE
    (void)device, (void)value;
    return 0;
#else
    struct state *s = calloc(1, sizeof *s);
    s->pages_per_block = device->pages_per_block;
    s->blocks = device->channels * device->chips_per_channel * device->dies_per_chip * device->planes_per_die *
                device->blocks_per_plane;
    s->pages = (uint32_t)capacity(device, value);
    s->page_of = malloc(s->pages * sizeof *s->page_of);
    memset(s->page_of, 0xFF, s->pages * sizeof *s->page_of);
    s->bad = calloc(s->blocks, 1);
    for (uint64_t nth = 0; nth < device->bad_blocks; nth++)
        s->bad[device->bad_block[nth]] = 1;
    return s;
#endif
}

static void destroy(void *state)
{
    struct state *s = state;
    free(s->page_of);
    free(s->bad);
    free(s);
}

static const char *last = "out of patience";
#ifdef RECOVER
static const pumice_ftl_chips *kept;
#endif

static int is_empty(const pumice_ftl_plan *plan)
{
    if (plan->command && plan->room == 131072 && !plan->commands && plan->completes == PUMICE_FTL_LAST && !plan->reserved)
        return 1;
    last = "a plan to fill is not empty";
    return 0;
}

static int write(void *state, uint32_t lpn, uint32_t version, pumice_ftl_plan *plan)
{
    struct state *s = state;
    if (!is_empty(plan))
        return PUMICE_FTL_FAILED;
    s->writes++;
#ifdef AT_WRITE
    if (s->writes == 100) {
        AT_WRITE;
    }
#endif
#ifdef RECOVER
    pumice_ftl_spare late;
    if (kept && (kept->page(0, 0, &late) != PUMICE_FTL_FAILED || late.state != PUMICE_FTL_UNREADABLE ||
                 kept->block(0, &late) != PUMICE_FTL_FAILED)) {
        last = "reads chips out of turn";
        return PUMICE_FTL_FAILED;
    }
#endif
#ifdef FAIL_WRITE
    if (s->writes > 100)
        return PUMICE_FTL_FAILED;
#endif
#ifndef USE_BAD_BLOCK
    while (s->next / s->pages_per_block < s->blocks && s->bad[s->next / s->pages_per_block])
        s->next += s->pages_per_block;
#endif
    if (s->next / s->pages_per_block >= s->blocks) {
        last = "no block left";
        return PUMICE_FTL_FAILED;
    }
    uint32_t page = s->next++;
#ifdef OVERWRITE
    if (s->writes == 100)
        page = s->next - 2;
#endif
    s->page_of[lpn] = page;
    pumice_ftl_command program = { .op = PUMICE_FTL_PROGRAM, .lpn = lpn, .version = (uint8_t)version };
    program.block = page / s->pages_per_block;
    program.page = (uint16_t)(page % s->pages_per_block);
#ifdef WRONG_LPN
    program.lpn = 0xFFFFFFFFu;
    pumice_ftl_push(plan, program);
    program.lpn = lpn;
#endif
#ifdef PLAN_NOTHING
    if (s->writes > 100)
        return PUMICE_FTL_OK;
#endif
#ifdef PLAN_ANOTHER
    program.lpn = lpn ^ (s->writes > 100);
#endif
#ifdef WRONG_OP
    program.op = 77;
#endif
#ifdef WRONG_PAGE
    program.block = 0;
    program.page = 65535;
#endif
#ifdef WRONG_COMPLETION
    plan->completes = WRONG_COMPLETION;
#endif
#ifdef OVERFLOW
    plan->commands = plan->room + 1;
    return PUMICE_FTL_OK;
#endif
#ifdef LOOP
    while (pumice_ftl_push(plan, program))
        ;
    last = "looped";
    return PUMICE_FTL_FAILED;
#endif
    pumice_ftl_push(plan, program);
    return PUMICE_FTL_OK;
}

static int locate(void *state, uint32_t lpn, pumice_ftl_page *page)
{
    struct state *s = state;
    uint32_t at = s->page_of[lpn];
    if (at == 0xFFFFFFFFu)
        return PUMICE_FTL_NOT_STORED;
    page->block = at / s->pages_per_block;
    page->page = at % s->pages_per_block;
#ifdef WRONG_LOCATE
    page->block = 4096;
    page->page = 0;
#endif
    return PUMICE_FTL_OK;
}

static int read(void *state, uint32_t lpn, uint32_t version, pumice_ftl_plan *plan)
{
    struct state *s = state;
    uint32_t at = s->page_of[lpn];
    if (!is_empty(plan))
        return PUMICE_FTL_FAILED;
#ifdef FAIL_READ
    return PUMICE_FTL_FAILED;
#endif
#ifdef FORGET
    return PUMICE_FTL_NOT_STORED;
#endif
    if (at == 0xFFFFFFFFu)
        return PUMICE_FTL_NOT_STORED;
#ifdef OTHER_PAGE
    at ^= 1;
#endif
    pumice_ftl_command command = { .op = PUMICE_FTL_READ, .lpn = lpn, .version = (uint8_t)version };
    command.block = at / s->pages_per_block;
    command.page = (uint16_t)(at % s->pages_per_block);
#ifdef WRONG_BLOCK
    command.block = 4096;
    command.page = 0;
#endif
    pumice_ftl_push(plan, command);
    return PUMICE_FTL_OK;
}

static int trim(void *state, uint32_t lpn)
{
    struct state *s = state;
#ifdef FAIL_TRIM
    return PUMICE_FTL_FAILED;
#endif
    s->page_of[lpn] = 0xFFFFFFFFu;
    return PUMICE_FTL_OK;
}

static const char *failure(void *state)
{
    (void)state;
#ifdef SILENT
    return 0;
#endif
    return last;
}

#ifdef RECOVER
static void *recover(const pumice_ftl_device *device, const pumice_ftl_value *value, const pumice_ftl_chips *chips,
                     pumice_ftl_plan *plan)
{
    pumice_ftl_spare area = {0};
    kept = chips;
#ifdef RECOVER_FAILS
    return 0;
#endif
#ifdef RECOVER_READS_NOWHERE
    chips->page(4096, 0, &area);
    if (area.state != PUMICE_FTL_UNREADABLE)
        return 0;
#endif
#ifdef RECOVER_READS_NO_PAGE
    chips->page(0, 65536, &area);
#endif
#ifdef RECOVER_READS_NO_BLOCK
    chips->block(4096, malloc(device->pages_per_block * sizeof area));
#endif
#ifdef RECOVER_READS_ON
    while (chips->page(0, 0, &area) == PUMICE_FTL_OK && area.state != PUMICE_FTL_UNREADABLE)
        ;
#endif
#ifdef RECOVER_PROGRAMS
    pumice_ftl_push(plan, pumice_ftl_program(0, 0, 0, 0));
#endif
#ifdef RECOVER_READS
    pumice_ftl_push(plan, pumice_ftl_read(0, 0, 0, 0));
#endif
#ifdef RECOVER_ERASES_NOWHERE
    pumice_ftl_push(plan, pumice_ftl_erase(4096));
#endif
#ifdef RECOVER_OVERFLOWS
    plan->commands = plan->room + 1;
#endif
    (void)plan, (void)area;
    /* It forgets what is stored. */
    return create(device, value);
}
#endif

const struct pumice_ftl_layer *pumice_ftl(void)
{
    static const struct pumice_ftl_layer layer = {
#ifdef BUILT_FOR_1_0
        .version = 0x00010000u,
        .size = offsetof(struct pumice_ftl_layer, recover),
#else
        .version = PUMICE_FTL_VERSION,
        .size = sizeof(struct pumice_ftl_layer),
#endif
        .name = NAME,
        .capacity = capacity,
        .create = create,
        .destroy = destroy,
        .write = write,
        .read = read,
        .locate = locate,
        .trim = trim,
        .failure = failure,
#ifdef RECOVER
        .recover = recover,
#endif
    };
    return &layer;
}
