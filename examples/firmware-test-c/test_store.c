/*
 * Cuts the power at every operation of a run of puts, once for each thing that a cut can leave, and again at every
 * operation of the mount that follows. After each, every key must hold the value of the last put that returned, or
 * that of the put that was under way. Then blocks go bad instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flash.h"
#include "flash_pumice.h"
#include "store.h"

enum { PUTS = 120, PUTS_AFTERWARDS = 40 };

static const char *const NAMES[] = {"before", "old", "new", "mixed"};

/* What the store has promised. */
struct model {
    uint8_t values[STORE_KEYS][STORE_VALUE_BYTES];
    uint32_t key_under_way; /* or STORE_KEYS */
    uint8_t value_under_way[STORE_VALUE_BYTES];
};

static unsigned long checked;
static const char *where = "";
static unsigned long first_cut, second_cut;

static void fail(const char *what, uint32_t key)
{
    fprintf(stderr, "cut '%s' after operation %lu, then after %lu of the mount: %s (key %u)\n", where, first_cut,
            second_cut, what, (unsigned)key);
    exit(1);
}

static void value_of(unsigned nth, uint8_t value[STORE_VALUE_BYTES])
{
    for (unsigned i = 0; i < STORE_VALUE_BYTES; i++)
        value[i] = (uint8_t)(nth * 31 + i * 7 + 1);
}

/* Puts `count` values; ends early if the power is cut. Returns whether it was. */
static int puts_until_cut(struct store *store, struct model *model, unsigned first, unsigned count)
{
    for (unsigned nth = first; nth < first + count; nth++) {
        uint32_t key = nth * nth % 11 % STORE_KEYS;
        value_of(nth, model->value_under_way);
        model->key_under_way = key;
        int result = store_put(store, key, model->value_under_way);
        if (result == FLASH_DEAD)
            return 1;
        if (result != FLASH_OK)
            fail("a put failed", key);
        memcpy(model->values[key], model->value_under_way, STORE_VALUE_BYTES);
        model->key_under_way = STORE_KEYS;
    }
    return 0;
}

/* Compares the store with its promises, and takes what it holds as promised from now on. */
static void check(const struct store *store, struct model *model)
{
    for (uint32_t key = 0; key < STORE_KEYS; key++) {
        const uint8_t *found = store->values[key];
        int is_old = memcmp(found, model->values[key], STORE_VALUE_BYTES) == 0;
        int is_new = key == model->key_under_way && memcmp(found, model->value_under_way, STORE_VALUE_BYTES) == 0;
        if (!is_old && !is_new)
            fail("a value is lost", key);
        memcpy(model->values[key], found, STORE_VALUE_BYTES);
    }
    model->key_under_way = STORE_KEYS;
    checked++;
}

/* Mounts after a cut, looks, goes on for a while, and mounts once more. */
static void recover_and_go_on(struct model model)
{
    struct store store;
    if (store_mount(&store) != FLASH_OK)
        fail("the store cannot be mounted", STORE_KEYS);
    pumice_chip_settle(the_chip);
    check(&store, &model);
    if (store_mount(&store) != FLASH_OK)
        fail("what was mounted cannot be mounted again", STORE_KEYS);
    check(&store, &model);
    puts_until_cut(&store, &model, 1000, PUTS_AFTERWARDS);
    if (store_mount(&store) != FLASH_OK)
        fail("the store cannot be mounted later", STORE_KEYS);
    check(&store, &model);
}

/* Lets the block of the log go bad before each put in turn: no put may fail, and no value be lost. */
static void let_blocks_go_bad(void)
{
    where = "none: a block goes bad";
    for (first_cut = 0; first_cut < PUTS; first_cut++) {
        struct store store;
        struct model model;
        open_the_chip();
        memset(&model, 0, sizeof model);
        model.key_under_way = STORE_KEYS;
        if (store_mount(&store) != FLASH_OK)
            fail("no mount", STORE_KEYS);
        puts_until_cut(&store, &model, 0, (unsigned)first_cut);
        pumice_chip_grow_bad(the_chip, store.block);
        puts_until_cut(&store, &model, (unsigned)first_cut, PUTS - (unsigned)first_cut);
        if (store_mount(&store) != FLASH_OK)
            fail("no second mount", STORE_KEYS);
        check(&store, &model);
        pumice_chip_close(&the_chip);
    }
}

/* Cuts the power at every operation of the mount as well, and leaves that as `leaves` says. */
static void cut_the_mount(const struct model *model, int leaves)
{
    pumice_chip_snapshot *dead = NULL;
    pumice_chip_snapshot_take(the_chip, &dead);
    for (second_cut = 0;; second_cut++) {
        struct store store;
        pumice_chip_snapshot_restore(the_chip, dead);
        pumice_chip_cut_after(the_chip, second_cut, leaves);
        int result = store_mount(&store);
        pumice_chip_cancel_cut(the_chip);
        if (result == FLASH_OK)
            break;
        pumice_chip_power_on(the_chip);
        recover_and_go_on(*model);
    }
    pumice_chip_snapshot_restore(the_chip, dead);
    pumice_chip_snapshot_free(&dead);
    recover_and_go_on(*model);
}

int main(void)
{
    pumice_chip_snapshot *fresh = NULL;
    open_the_chip();
    pumice_chip_snapshot_take(the_chip, &fresh);
    for (int leaves = PUMICE_CHIP_CUT_BEFORE; leaves <= PUMICE_CHIP_CUT_MIXED; leaves++) {
        where = NAMES[leaves];
        for (first_cut = 0;; first_cut++) {
            struct store store;
            struct model model;
            memset(&model, 0, sizeof model);
            model.key_under_way = STORE_KEYS;
            pumice_chip_snapshot_restore(the_chip, fresh);
            pumice_chip_cut_after(the_chip, first_cut, leaves);
            int is_cut = store_mount(&store) == FLASH_DEAD || puts_until_cut(&store, &model, 0, PUTS);
            pumice_chip_cancel_cut(the_chip);
            if (!is_cut)
                break;
            pumice_chip_power_on(the_chip);
            cut_the_mount(&model, leaves);
        }
    }
    unsigned long operations = first_cut;
    pumice_chip_snapshot_free(&fresh);
    pumice_chip_close(&the_chip);
    let_blocks_go_bad();
    printf("%lu states checked after cuts at each of %lu operations: nothing was lost\n", checked, operations);
    return 0;
}
