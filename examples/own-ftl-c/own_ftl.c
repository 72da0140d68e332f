/* A page-mapped log: each plane writes its pages one after the other into an open block, and collects the block with
 * the fewest valid pages when free blocks run low. The same as examples/own-ftl-rust, in C. */
#include <stdlib.h>
#include <string.h>

#include <pumice_ftl.h>

#define NONE UINT32_MAX

/* Free blocks that a plane keeps beyond its reserve where the power may be cut. */
#define KEPT_FOR_CUTS 3

/* A plane: its free blocks, the block that is open and how far it is written. */
struct plane {
    uint32_t *free_block;
    uint32_t free_blocks, open, written;
};

/* A page is numbered by its block and place: block * pages of a block + page. */
struct log {
    struct plane *plane;
    uint32_t planes, blocks_per_plane, pages_per_block, reserve;
    uint64_t collections;
    uint32_t *page_of; /* of each logical page */
    uint32_t *lpn_of;  /* of each page, while it is valid */
    uint32_t *valid;   /* pages of each block */
    uint8_t *closed;   /* whether a block is written to its end */
    uint8_t *unproven; /* whether it is erased before it is written: after a power cut nothing proves that it is blank */
};

static _Thread_local const char *why;

static uint32_t planes_of(const pumice_ftl_device *device)
{
    return device->channels * device->chips_per_channel * device->dies_per_chip * device->planes_per_die;
}

/* Free blocks below which a plane collects. */
static uint32_t reserve(const pumice_ftl_device *device, const pumice_ftl_value *value)
{
    return (uint32_t)value[0].whole + (device->loses_power ? KEPT_FOR_CUTS : 0);
}

/* Beside its data a plane needs the reserve, the open block, and a page to win in each collection. */
static uint64_t capacity(const pumice_ftl_device *device, const pumice_ftl_value *value)
{
    uint64_t planes = planes_of(device), pages = device->pages_per_block;
    int64_t blocks = (int64_t)device->blocks_per_plane - device->bad_blocks_per_plane - reserve(device, value) - 2;
    uint64_t room = blocks > 0 ? planes * (uint64_t)blocks * pages : 0;
    double all = (double)(planes * device->blocks_per_plane * pages);
    uint64_t wanted = (uint64_t)(all * (1 - device->over_provisioning) + 1e-6);
    why = "the reserve leaves no room";
    return wanted < room ? wanted : room;
}

static void *create(const pumice_ftl_device *device, const pumice_ftl_value *value)
{
    struct log *log = calloc(1, sizeof *log);
    uint32_t blocks = planes_of(device) * device->blocks_per_plane, pages = blocks * device->pages_per_block;
    uint64_t lpns = capacity(device, value);
    log->planes = planes_of(device);
    log->blocks_per_plane = device->blocks_per_plane;
    log->pages_per_block = device->pages_per_block;
    log->reserve = reserve(device, value);
    log->plane = calloc(log->planes, sizeof *log->plane);
    log->page_of = malloc(lpns * sizeof *log->page_of);
    log->lpn_of = malloc(pages * sizeof *log->lpn_of);
    log->valid = calloc(blocks, sizeof *log->valid);
    log->closed = calloc(blocks, 1);
    log->unproven = calloc(blocks, 1);
    memset(log->page_of, 0xFF, lpns * sizeof *log->page_of);
    memset(log->lpn_of, 0xFF, pages * sizeof *log->lpn_of);
    for (uint64_t bad = 0; bad < device->bad_blocks; bad++)
        log->closed[device->bad_block[bad]] = 2;
    for (uint32_t p = 0; p < log->planes; p++) {
        struct plane *plane = &log->plane[p];
        plane->free_block = malloc(log->blocks_per_plane * sizeof *plane->free_block);
        plane->open = NONE;
        plane->written = log->pages_per_block;
        for (uint32_t nth = log->blocks_per_plane; nth-- > 0;)
            if (log->closed[p * log->blocks_per_plane + nth] != 2)
                plane->free_block[plane->free_blocks++] = p * log->blocks_per_plane + nth;
    }
    return log;
}

static void destroy(void *state)
{
    struct log *log = state;
    for (uint32_t p = 0; p < log->planes; p++)
        free(log->plane[p].free_block);
    free(log->plane), free(log->page_of), free(log->lpn_of), free(log->valid), free(log->closed), free(log->unproven);
    free(log);
}

/* The current copy of a logical page is valid no more. */
static int forget(void *state, uint32_t lpn)
{
    struct log *log = state;
    uint32_t page = log->page_of[lpn];
    if (page != NONE) {
        log->lpn_of[page] = log->page_of[lpn] = NONE;
        log->valid[page / log->pages_per_block]--;
    }
    return PUMICE_FTL_OK;
}

/* Opens a free block of a plane. */
static void open_block(struct log *log, struct plane *plane, uint32_t block, pumice_ftl_plan *plan)
{
    if (plane->open != NONE)
        log->closed[plane->open] = 1;
    plane->open = block;
    plane->written = 0;
    if (log->unproven[block])
        pumice_ftl_push(plan, pumice_ftl_erase(block));
    log->unproven[block] = 0;
}

/* Gives a logical page the next page of a plane; NONE if there is none. */
static uint32_t place(struct log *log, uint32_t lpn, uint32_t p, pumice_ftl_plan *plan)
{
    struct plane *plane = &log->plane[p];
    if (plane->written == log->pages_per_block) {
        if (plane->free_blocks == 0)
            return why = "a plane has no free block left", NONE;
        open_block(log, plane, plane->free_block[--plane->free_blocks], plan);
    }
    uint32_t page = plane->open * log->pages_per_block + plane->written++;
    forget(log, lpn);
    log->page_of[lpn] = page;
    log->lpn_of[page] = lpn;
    log->valid[plane->open]++;
    return page;
}

/* Moves what is valid of the emptiest block of a plane, and erases it. */
static int collect(struct log *log, uint32_t p, pumice_ftl_plan *plan)
{
    uint32_t first = p * log->blocks_per_plane, pages = log->pages_per_block, victim = NONE;
    for (uint32_t block = first; block < first + log->blocks_per_plane; block++)
        if (log->closed[block] == 1 && (victim == NONE || log->valid[block] < log->valid[victim]))
            victim = block;
    if (victim == NONE || log->valid[victim] == pages)
        return why = "a plane has no invalid page left", PUMICE_FTL_FAILED;
    for (uint32_t page = victim * pages; page < (victim + 1) * pages; page++) {
        uint32_t lpn = log->lpn_of[page], to;
        if (lpn == NONE)
            continue;
        if ((to = place(log, lpn, p, plan)) == NONE)
            return PUMICE_FTL_FAILED;
        if (!pumice_ftl_push(plan, pumice_ftl_copy(victim, page % pages, to / pages, to % pages, lpn)))
            return why = "a plan is full", PUMICE_FTL_FAILED;
    }
    log->collections++;
    log->closed[victim] = 0;
    log->plane[p].free_block[log->plane[p].free_blocks++] = victim;
    return pumice_ftl_push(plan, pumice_ftl_erase(victim)) ? PUMICE_FTL_OK : PUMICE_FTL_FAILED;
}

static int write(void *state, uint32_t lpn, uint32_t version, pumice_ftl_plan *plan)
{
    struct log *log = state;
    uint32_t p = lpn % log->planes, page = place(log, lpn, p, plan), pages = log->pages_per_block;
    if (page == NONE)
        return PUMICE_FTL_FAILED;
    plan->completes = plan->commands; /* The host does not wait for what follows its program. */
    pumice_ftl_push(plan, pumice_ftl_program(page / pages, page % pages, lpn, version));
    while (log->plane[p].free_blocks < log->reserve)
        if (collect(log, p, plan) != PUMICE_FTL_OK)
            return PUMICE_FTL_FAILED;
    return PUMICE_FTL_OK;
}

static int locate(void *state, uint32_t lpn, pumice_ftl_page *found)
{
    struct log *log = state;
    uint32_t page = log->page_of[lpn];
    found->block = page / log->pages_per_block;
    found->page = page % log->pages_per_block;
    return page == NONE ? PUMICE_FTL_NOT_STORED : PUMICE_FTL_OK;
}

static int read(void *state, uint32_t lpn, uint32_t version, pumice_ftl_plan *plan)
{
    pumice_ftl_page at;
    if (locate(state, lpn, &at) != PUMICE_FTL_OK)
        return PUMICE_FTL_NOT_STORED;
    pumice_ftl_push(plan, pumice_ftl_read(at.block, at.page, lpn, version));
    return PUMICE_FTL_OK;
}

/* Whether of two pages with one logical page the first counts. */
static int counts_before(const pumice_ftl_spare *page, const pumice_ftl_spare *other)
{
    return page->written != other->written ? page->written > other->written : page->programmed > other->programmed;
}

/* Copies the page of a plane that was programmed last: its program may have been cut. It goes to any free block but that
 * with the copy which counts if it fails. recovery.rs of the example in Rust says more. */
static int move_suspect(struct log *log, uint32_t p, const pumice_ftl_spare *area, pumice_ftl_plan *plan)
{
    uint32_t pages = log->pages_per_block, first = p * log->blocks_per_plane * pages;
    uint32_t end = first + log->blocks_per_plane * pages, suspect = NONE, next_best = NONE;
    for (uint32_t page = first; page < end; page++)
        if (area[page].state == PUMICE_FTL_WRITTEN && area[page].programmed > 0 &&
            (suspect == NONE || area[page].programmed > area[suspect].programmed))
            suspect = page;
    if (suspect == NONE)
        return PUMICE_FTL_OK;
    for (uint32_t page = first; page < end; page++)
        if (area[page].state == PUMICE_FTL_WRITTEN && area[page].lpn == area[suspect].lpn && page != suspect &&
            (next_best == NONE || counts_before(&area[page], &area[next_best])))
            next_best = page;
    struct plane *plane = &log->plane[p];
    uint32_t at = plane->free_blocks;
    while (at > 0 && next_best != NONE && plane->free_block[at - 1] == next_best / pages)
        at--;
    if (at == 0)
        return why = "a plane has no free block left", PUMICE_FTL_FAILED;
    uint32_t block = plane->free_block[at - 1];
    memmove(&plane->free_block[at - 1], &plane->free_block[at], (plane->free_blocks-- - at) * sizeof(uint32_t));
    open_block(log, plane, block, plan);
    uint32_t lpn = area[suspect].lpn, to = place(log, lpn, p, plan);
    pumice_ftl_push(plan, pumice_ftl_copy(suspect / pages, suspect % pages, to / pages, to % pages, lpn));
    return PUMICE_FTL_OK;
}

/* Makes the log of a device whose power was cut, from what its spare areas say. */
static void *recover(const pumice_ftl_device *device, const pumice_ftl_value *value, const pumice_ftl_chips *chips,
                     pumice_ftl_plan *plan)
{
    struct log *log = create(device, value);
    uint32_t pages = log->pages_per_block, blocks = log->planes * log->blocks_per_plane;
    int status = PUMICE_FTL_OK;
    pumice_ftl_spare *area = calloc((size_t)blocks * pages, sizeof *area);
    for (uint32_t block = 0; block < blocks; block++) {
        pumice_ftl_spare *first = &area[block * pages];
        if (log->closed[block] != 2 && chips->page(block, 0, first) == PUMICE_FTL_OK && first->state != PUMICE_FTL_BLANK)
            chips->block(block, first);
    }
    for (uint32_t page = 0; page < blocks * pages; page++) {
        uint32_t lpn = area[page].lpn;
        if (area[page].state == PUMICE_FTL_WRITTEN &&
            (log->page_of[lpn] == NONE || counts_before(&area[page], &area[log->page_of[lpn]]))) {
            forget(log, lpn);
            log->page_of[lpn] = page;
            log->lpn_of[page] = lpn;
            log->valid[page / pages]++;
        }
    }
    /* What holds a page that counts is not written further; all others are free, and erased before they are written. */
    for (uint32_t p = 0; p < log->planes; p++) {
        struct plane *plane = &log->plane[p];
        uint32_t all = plane->free_blocks;
        plane->free_blocks = 0;
        for (uint32_t nth = 0; nth < all; nth++) {
            uint32_t block = plane->free_block[nth];
            log->closed[block] = log->valid[block] > 0;
            log->unproven[block] = !log->closed[block];
            if (log->unproven[block])
                plane->free_block[plane->free_blocks++] = block;
        }
        if (status == PUMICE_FTL_OK)
            status = move_suspect(log, p, area, plan);
        while (status == PUMICE_FTL_OK && plane->free_blocks < log->reserve)
            status = collect(log, p, plan);
    }
    free(area);
    if (status == PUMICE_FTL_OK)
        return log;
    destroy(log);
    return NULL;
}

/* What this layer counts for itself: plugin.counts.collections of the result. */
static int counts(void *state, uint64_t *value)
{
    value[0] = ((struct log *)state)->collections;
    return PUMICE_FTL_OK;
}

static const char *failure(void *state)
{
    (void)state;
    return why;
}

const struct pumice_ftl_layer *pumice_ftl(void)
{
    static const pumice_ftl_key keys[] = {
        { .name = "reserve", .default_value = "2", .unit = "blocks a plane", .kind = PUMICE_FTL_WHOLE_NUMBER,
          .text = "Below this many free blocks a plane collects.", .least = 1, .most = 1000 },
    };
    static const pumice_ftl_counter counter[] = { { .name = "collections", .text = "Blocks that were collected." } };
    static const struct pumice_ftl_layer layer = {
        .version = PUMICE_FTL_VERSION, .size = sizeof(struct pumice_ftl_layer), .name = "page-log-c", .key = keys,
        .keys = 1, .capacity = capacity, .create = create, .destroy = destroy, .write = write, .read = read,
        .locate = locate, .trim = forget, .failure = failure, .recover = recover,
        .counter = counter, .counters = 1, .counts = counts,
    };
    return &layer;
}
