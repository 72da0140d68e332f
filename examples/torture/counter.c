/*
 * A counter under torture: step n programs n + 1 into the next page; a block that is full, or has failed, is followed by
 * another. With -DFAULT=1 it tidies up when it mounts: it keeps the block with the newest value and erases the others,
 * although what reads well after a cut may fail later.
 */
#include <pumice_firmware.h>

#include <stdlib.h>

enum { BLOCKS = 8, PAGES = 8 };

struct ram {
    pumice_chip *chip;
    uint64_t value; /* 0 before the first step */
    unsigned block, page; /* where the next one goes */
};

static void *start(pumice_chip *chip)
{
    struct ram *ram = calloc(1, sizeof *ram);
    if (ram)
        ram->chip = chip;
    return ram;
}

static const char *format(void *ram)
{
    for (unsigned block = 0; block < BLOCKS; block++)
        pumice_chip_erase(((struct ram *)ram)->chip, block);
    return NULL;
}

/* Programs a value into the next page, or into a fresh block. The old block is not touched before that has ended. */
static const char *store(struct ram *ram, uint64_t value)
{
    for (unsigned tries = 0; tries < BLOCKS; tries++) {
        int status = PUMICE_CHIP_OK;
        if (ram->page == 0)
            status = pumice_chip_erase(ram->chip, ram->block);
        if (status == PUMICE_CHIP_OK)
            status = pumice_chip_program(ram->chip, ram->block, ram->page, &value, sizeof value, NULL, 0);
        if (status == PUMICE_CHIP_POWER_LOST)
            return "no power";
        ram->page = (ram->page + 1) % PAGES;
        if (status != PUMICE_CHIP_OK)
            ram->page = 0;
        if (ram->page == 0)
            ram->block = (ram->block + 1) % BLOCKS;
        if (status == PUMICE_CHIP_OK) {
            ram->value = value;
            return NULL;
        }
    }
    return "every block fails";
}

static const char *mount(void *given)
{
    struct ram *ram = given;
    uint64_t value, highest = 0;
    for (unsigned block = 0; block < BLOCKS; block++)
        for (unsigned page = 0; page < PAGES; page++) {
            if (pumice_chip_read(ram->chip, block, page, &value, sizeof value, NULL, 0) != PUMICE_CHIP_OK)
                continue;
            if (value > highest) {
                highest = value;
                ram->block = (block + 1) % BLOCKS; /* a fresh block: behind the last page may lie a torn one */
            }
        }
    ram->value = highest;
#if FAULT == 1
    for (unsigned nth = BLOCKS - 1; highest && nth-- > 0;)
        pumice_chip_erase(ram->chip, (ram->block + nth) % BLOCKS);
    return NULL;
#endif
    return highest ? store(ram, highest) : NULL; /* a copy that no cut has met */
}

static const char *work(void *ram, uint64_t step)
{
    return store(ram, step + 1);
}

static const char *check(void *given, uint64_t done)
{
    struct ram *ram = given;
    return ram->value == done || ram->value == done + 1 ? NULL : "the counter is not what it was";
}

static const pumice_firmware firmware = {
    PUMICE_FIRMWARE_VERSION, sizeof firmware, "counter", 40, start, free, format, mount, work, check,
};

const pumice_firmware *pumice_firmware_under_test(void)
{
    return &firmware;
}
