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
    uint64_t count[5]; /* requests, moved, of_map, looks, streamed */
    uint32_t map_page, map_version, map_at, before;
    unsigned char *version_of;
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
    s->version_of = calloc(s->pages, 1);
    for (uint64_t nth = 0; nth < device->bad_blocks; nth++)
        s->bad[device->bad_block[nth]] = 1;
    return s;
#endif
}

static void destroy(void *state)
{
    struct state *s = state;
    free(s->page_of);
    free(s->version_of);
    free(s->bad);
    free(s);
}

static const char *last = "out of patience";
#ifdef RECOVER
static const pumice_ftl_chips *kept;
#endif

static int is_empty(const pumice_ftl_plan *plan)
{
    if (plan->command && plan->room == 131072 && !plan->commands && plan->completes == PUMICE_FTL_LAST && !plan->look_up_ns)
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
    s->version_of[lpn] = (unsigned char)version;
    pumice_ftl_command program = { .op = PUMICE_FTL_PROGRAM, .lpn = lpn, .version = (uint8_t)version };
    program.block = page / s->pages_per_block;
    program.page = (uint16_t)(page % s->pages_per_block);
#ifdef OLD_VERSION
    program.version -= s->writes > 100;
#endif
#ifdef OWN_PAGE
    program.lpn = OWN_PAGE;
    pumice_ftl_push(plan, pumice_ftl_of_map(program));
    program.lpn = lpn;
#endif
#ifdef LOOK
    pumice_ftl_command look = pumice_ftl_look(program.block, program.page, lpn);
    look.cause = LOOK == 2 ? 2 : 0;
#ifdef LOOK_PAGES
    look.operand = LOOK_PAGES;
#endif
    pumice_ftl_push(plan, look);
#endif
#ifdef MOVE
    pumice_ftl_push(plan, pumice_ftl_move(0, 0, program.block, program.page, lpn, version));
#endif
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
#ifdef TAKES_TIME
    plan->look_up_ns = 1;
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
#ifdef READ_NOTHING
    return PUMICE_FTL_OK;
#endif
#ifdef READ_ANOTHER
    for (uint32_t other = 0; other < s->pages; other++)
        if (other != lpn && s->page_of[other] != 0xFFFFFFFFu)
            command = pumice_ftl_read(s->page_of[other] / s->pages_per_block, s->page_of[other] % s->pages_per_block,
                                      other, s->version_of[other]);
#endif
    pumice_ftl_push(plan, command);
    return PUMICE_FTL_OK;
}

#ifdef CHATTY
static uint32_t next_page(struct state *s)
{
    while (s->bad[s->next / s->pages_per_block])
        s->next += s->pages_per_block;
    return s->next++;
}

static uint64_t own_pages(const pumice_ftl_value *value, uint64_t user_pages)
{
    (void)value, (void)user_pages;
    return 3;
}

/* Reads the newest page of its map, and looks at the page of a logical page of which nothing is known. */
static int look_up(void *state, uint32_t lpn, uint32_t kind, pumice_ftl_plan *plan)
{
    struct state *s = state;
    if (s->map_version) {
        pumice_ftl_command read = pumice_ftl_read(s->map_at / s->pages_per_block, s->map_at % s->pages_per_block,
                                                  s->pages + s->map_page, s->map_version);
        pumice_ftl_push(plan, pumice_ftl_of_map(read));
        s->count[3]++;
    }
    if (kind == PUMICE_FTL_OF_READ) {
        pumice_ftl_push(plan, pumice_ftl_look(s->blocks - 1, 1, lpn));
        s->count[3]++;
    }
    return PUMICE_FTL_OK;
}

static int write_to_stream(void *state, uint32_t lpn, uint32_t version, uint32_t stream, pumice_ftl_plan *plan)
{
    struct state *s = state;
#ifdef FAIL_STREAM
    if (stream == FAIL_STREAM)
        return PUMICE_FTL_FAILED;
#endif
    s->count[4] += stream;
    uint32_t nth = s->before, from = s->page_of[nth]; /* of the write before */
    s->before = lpn;
    int status = write(state, lpn, version, plan);
    if (s->writes % 20 == 0 && nth != lpn && from != 0xFFFFFFFFu) { /* to wherever the next page is */
        uint32_t to = next_page(s), pages = s->pages_per_block;
        pumice_ftl_push(plan, pumice_ftl_read_to_move(from / pages, from % pages, nth, s->version_of[nth]));
        pumice_ftl_push(plan, pumice_ftl_move(from / pages, from % pages, to / pages, to % pages, nth, s->version_of[nth]));
        s->page_of[nth] = to;
        s->count[1]++;
    }
    if (s->writes % 16 == 0) {
        s->map_at = next_page(s);
        s->map_page = s->writes / 16 % 3;
        s->map_version = 1 + s->writes / 16 % 200;
        pumice_ftl_command program = pumice_ftl_program(s->map_at / s->pages_per_block, s->map_at % s->pages_per_block,
                                                        s->pages + s->map_page, s->map_version);
        pumice_ftl_push(plan, pumice_ftl_of_map(program));
        s->count[2]++;
    }
    return status;
}

static int begin_request(void *state, const pumice_ftl_request *request)
{
    struct state *s = state;
    s->count[0] += request->pages > 0 && request->kind <= PUMICE_FTL_OF_WRITE;
    return PUMICE_FTL_OK;
}

static int counts(void *state, uint64_t *value)
{
    memcpy(value, ((struct state *)state)->count, sizeof ((struct state *)state)->count);
    return PUMICE_FTL_OK;
}

static const pumice_ftl_counter counter[] = {{"requests", ""}, {"moved", ""}, {"of_map", ""}, {"looks", ""}, {"streamed", ""}};
#endif

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
#ifdef CHATTY
        .own_pages = own_pages,
        .look_up = look_up,
        .write_to_stream = write_to_stream,
        .begin_request = begin_request,
        .counter = counter,
        .counters = 5,
        .counts = counts,
        .moves_between_dies = 1,
#endif
#if defined MOVE && MOVE
        .moves_between_dies = 1,
#endif
    };
    return &layer;
}
