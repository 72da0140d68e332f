/*
 * The log is one block. It begins with a record of every key and a commit record; then comes one record for each put.
 * A full log is written anew, as its next generation, into another block. What makes this safe:
 *
 * 1. The logs go round at least three blocks. The newest commit that reads well may be one that a cut has left half
 *    programmed, and such a page fails later. Then the log before it counts, so the next log may not take its place.
 * 2. A mount goes on in a new log. The last record of the old one may be half programmed too, and so may pages behind
 *    it that look erased: one for each cut.
 * 3. A block is erased just before it is written, even if it looks erased: a cut erase may have left it so.
 *
 * STORE_FAULT leaves one of them out (1, 2 or 3), to show that the test notices.
 */
#include "store.h"

#include <string.h>

#include "flash.h"

#ifndef STORE_FAULT
#define STORE_FAULT 0
#endif

enum kind { KIND_RECORD = 0x52, KIND_COMMIT = 0x43, KIND_BLANK = 0xff };

/* What the spare area of a page says. */
struct tag {
    uint8_t kind;
    uint8_t key;
    uint8_t unused[2];
    uint32_t generation;
};

/* What a mount finds in one block. */
struct log {
    uint8_t values[STORE_KEYS][STORE_VALUE_BYTES];
    uint32_t generation; /* of its commit; 0: it has none */
    uint32_t next;       /* one past the last page that is not blank */
};

static int append(struct store *store, uint8_t kind, uint32_t key, const void *value)
{
    struct tag tag = {kind, (uint8_t)key, {0, 0}, store->generation};
    return flash_program(store->block, store->next++, value, value ? STORE_VALUE_BYTES : 0, &tag, sizeof tag);
}

/* Writes a whole log into the block of the store. */
static int write_log(struct store *store)
{
    struct tag first;
    int result = STORE_FAULT == 3 ? flash_read(store->block, 0, NULL, 0, &first, sizeof first) : FLASH_CORRUPT;
    if (result != FLASH_OK || first.kind != KIND_BLANK)
        result = flash_erase(store->block);
    store->next = 0;
    for (uint32_t key = 0; result == FLASH_OK && key < STORE_KEYS; key++)
        result = append(store, KIND_RECORD, key, store->values[key]);
    return result == FLASH_OK ? append(store, KIND_COMMIT, 0, NULL) : result;
}

/* Writes the log anew into the next block that works. */
static int start_log(struct store *store)
{
    uint32_t step = STORE_FAULT == 1 && store->generation % 2 ? FLASH_BLOCKS - 1 : 1;
    store->generation++;
    for (int tries = 1; tries < FLASH_BLOCKS; tries++) {
        store->block = (store->block + step) % FLASH_BLOCKS;
        if (flash_is_bad(store->block))
            continue;
        int result = write_log(store);
        if (result != FLASH_FAILED)
            return result;
        flash_mark_bad(store->block);
    }
    return FLASH_FAILED;
}

/* Reads what a block holds. */
static int read_log(uint32_t block, struct log *log)
{
    memset(log, 0, sizeof *log);
    for (uint32_t page = 0; page < FLASH_PAGES; page++) {
        struct tag tag;
        uint8_t value[STORE_VALUE_BYTES];
        int result = flash_read(block, page, value, sizeof value, &tag, sizeof tag);
        if (result == FLASH_DEAD)
            return result;
        if (result == FLASH_OK && tag.kind == KIND_BLANK)
            continue;
        log->next = page + 1;
        if (result != FLASH_OK)
            continue;
        if (tag.kind == KIND_COMMIT)
            log->generation = tag.generation;
        else if (tag.kind == KIND_RECORD && tag.key < STORE_KEYS)
            memcpy(log->values[tag.key], value, sizeof value);
    }
    return FLASH_OK;
}

int store_mount(struct store *store)
{
    memset(store, 0, sizeof *store);
    for (uint32_t block = 0; block < FLASH_BLOCKS; block++) {
        struct log log;
        if (flash_is_bad(block))
            continue;
        if (read_log(block, &log) == FLASH_DEAD)
            return FLASH_DEAD;
        if (log.generation <= store->generation)
            continue;
        memcpy(store->values, log.values, sizeof log.values);
        store->generation = log.generation;
        store->block = block;
        store->next = log.next + 1;
    }
    return store->generation > 0 && STORE_FAULT == 2 ? FLASH_OK : start_log(store);
}

int store_put(struct store *store, uint32_t key, const uint8_t value[STORE_VALUE_BYTES])
{
    memmove(store->values[key], value, STORE_VALUE_BYTES);
    if (store->next >= FLASH_PAGES)
        return start_log(store);
    int result = append(store, KIND_RECORD, key, value);
    if (result != FLASH_FAILED)
        return result;
    uint32_t failed = store->block;
    result = start_log(store);
    if (result == FLASH_OK)
        flash_mark_bad(failed);
    return result;
}
