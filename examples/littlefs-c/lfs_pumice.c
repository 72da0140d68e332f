#include "lfs_pumice.h"

#include <string.h>

/*
 * What a status means to littlefs. LFS_ERR_CORRUPT tells it that a block is bad; it then takes another.
 *
 * The chip refuses a program of a page that a cut has left half programmed, although it looks erased. A real chip
 * would take it, and the driver's look at what it has programmed would find the page wrong: the same answer.
 */
static int result_of(pumice_chip *chip, int status)
{
    switch (status) {
    case PUMICE_CHIP_OK:
        return LFS_ERR_OK;
    case PUMICE_CHIP_UNCORRECTABLE:
    case PUMICE_CHIP_FAILED:
        return LFS_ERR_CORRUPT;
    case PUMICE_CHIP_REFUSED: {
        const char *rule = pumice_chip_rule(chip);
        int is_bad = strcmp(rule, "bad-block") == 0 || strcmp(rule, "unstable-program") == 0;
        return is_bad ? LFS_ERR_CORRUPT : LFS_ERR_INVAL;
    }
    default:
        return LFS_ERR_IO;
    }
}

static int read_pages(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, void *buffer,
                      lfs_size_t size)
{
    pumice_chip *chip = config->context;
    lfs_size_t bytes = config->read_size;
    for (lfs_size_t done = 0; done < size; done += bytes) {
        uint32_t page = (offset + done) / bytes;
        uint8_t *data = (uint8_t *)buffer + done;
        int blank = 0;
        int status = pumice_chip_is_blank(chip, block, page, &blank);
        if (status == PUMICE_CHIP_OK && blank)
            memset(data, 0xff, bytes);
        else if (status == PUMICE_CHIP_OK || status == PUMICE_CHIP_UNCORRECTABLE)
            status = pumice_chip_read(chip, block, page, data, bytes, NULL, 0);
        if (status != PUMICE_CHIP_OK)
            return result_of(chip, status);
    }
    return LFS_ERR_OK;
}

static int program_pages(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, const void *buffer,
                         lfs_size_t size)
{
    pumice_chip *chip = config->context;
    lfs_size_t bytes = config->prog_size;
    for (lfs_size_t done = 0; done < size; done += bytes) {
        const uint8_t *data = (const uint8_t *)buffer + done;
        int status = pumice_chip_program(chip, block, (offset + done) / bytes, data, bytes, NULL, 0);
        if (status != PUMICE_CHIP_OK)
            return result_of(chip, status);
    }
    return LFS_ERR_OK;
}

static int erase_block(const struct lfs_config *config, lfs_block_t block)
{
    pumice_chip *chip = config->context;
    return result_of(chip, pumice_chip_erase(chip, block));
}

static int sync_nothing(const struct lfs_config *config)
{
    (void)config; /* every program has ended when it returns */
    return LFS_ERR_OK;
}

int lfs_pumice_config(struct lfs_config *config, pumice_chip *chip)
{
    pumice_chip_info info = {.size = sizeof info};
    if (pumice_chip_get_info(chip, &info) != PUMICE_CHIP_OK)
        return LFS_ERR_IO;
    memset(config, 0, sizeof *config);
    config->context = chip;
    config->read = read_pages;
    config->prog = program_pages;
    config->erase = erase_block;
    config->sync = sync_nothing;
    config->read_size = info.page_bytes;
    config->prog_size = info.page_bytes;
    config->cache_size = info.page_bytes;
    config->block_size = info.page_bytes * info.pages_per_block;
    config->block_count = info.blocks;
    config->block_cycles = 500;
    config->lookahead_size = (info.blocks + 63) / 64 * 8;
    return LFS_ERR_OK;
}
