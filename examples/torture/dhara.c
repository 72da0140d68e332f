/*
 * dhara under torture: each step writes three sectors and syncs. What was synced must be there, or newer.
 */
#include <pumice_firmware.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dhara/map.h"

enum { PAGE = 512, PAGES = 16, SECTORS = 60, WRITES = 3 };

struct ram {
    struct dhara_nand nand;
    pumice_chip *chip;
    struct dhara_map map;
    uint8_t buffer[PAGE];
};

static char said[160];

static pumice_chip *chip_of(const struct dhara_nand *nand)
{
    return ((const struct ram *)nand)->chip;
}

static int result_of(int status, dhara_error_t of_failure, dhara_error_t *error)
{
    if (status == PUMICE_CHIP_OK)
        return 0;
    dhara_set_error(error, of_failure);
    return -1;
}

int dhara_nand_is_bad(const struct dhara_nand *nand, dhara_block_t block)
{
    int bad = 1;
    pumice_chip_is_bad(chip_of(nand), block, &bad);
    return bad;
}

void dhara_nand_mark_bad(const struct dhara_nand *nand, dhara_block_t block)
{
    pumice_chip_mark_bad(chip_of(nand), block);
}

int dhara_nand_erase(const struct dhara_nand *nand, dhara_block_t block, dhara_error_t *error)
{
    return result_of(pumice_chip_erase(chip_of(nand), block), DHARA_E_BAD_BLOCK, error);
}

int dhara_nand_prog(const struct dhara_nand *nand, dhara_page_t page, const uint8_t *data, dhara_error_t *error)
{
    int status = pumice_chip_program(chip_of(nand), page / PAGES, page % PAGES, data, PAGE, NULL, 0);
    return result_of(status, DHARA_E_BAD_BLOCK, error);
}

int dhara_nand_is_free(const struct dhara_nand *nand, dhara_page_t page)
{
    int blank = 0;
    pumice_chip_is_blank(chip_of(nand), page / PAGES, page % PAGES, &blank);
    return blank;
}

int dhara_nand_read(const struct dhara_nand *nand, dhara_page_t page, size_t offset, size_t length, uint8_t *data,
                    dhara_error_t *error)
{
    if (dhara_nand_is_free(nand, page)) {
        memset(data, 0xff, length);
        return 0;
    }
    int status = pumice_chip_read_at(chip_of(nand), page / PAGES, page % PAGES, offset, data, length);
    return result_of(status, DHARA_E_ECC, error);
}

int dhara_nand_copy(const struct dhara_nand *nand, dhara_page_t from, dhara_page_t to, dhara_error_t *error)
{
    uint8_t data[PAGE];
    return dhara_nand_read(nand, from, 0, PAGE, data, error) < 0 ? -1 : dhara_nand_prog(nand, to, data, error);
}

static void *start(pumice_chip *chip)
{
    pumice_chip_info info = {.size = sizeof info};
    struct ram *ram = calloc(1, sizeof *ram);
    if (!ram || pumice_chip_get_info(chip, &info) != PUMICE_CHIP_OK)
        return NULL;
    ram->chip = chip;
    ram->nand = (struct dhara_nand){.log2_page_size = 9, .log2_ppb = 4, .num_blocks = info.blocks};
    dhara_map_init(&ram->map, &ram->nand, ram->buffer, 4);
    return ram;
}

static const char *format(void *ram)
{
    dhara_map_clear(&((struct ram *)ram)->map);
    return NULL;
}

static const char *mount(void *ram)
{
    /* It fails on an empty chip, too; what is lost by that is found by the check. */
    dhara_map_resume(&((struct ram *)ram)->map, NULL);
    return NULL;
}

static dhara_sector_t sector_of(uint64_t step, int nth)
{
    return (dhara_sector_t)((step * 7 + (uint64_t)nth * 23) % SECTORS);
}

static const char *work(void *given, uint64_t step)
{
    struct ram *ram = given;
    uint8_t data[PAGE] = {0};
    dhara_error_t error = DHARA_E_NONE;
    uint64_t version = step + 1;
    memcpy(data, &version, sizeof version);
    for (int nth = 0; nth < WRITES; nth++)
        if (dhara_map_write(&ram->map, sector_of(step, nth), data, &error) < 0)
            goto failed;
    if (dhara_map_sync(&ram->map, &error) == 0)
        return NULL;
failed:
    snprintf(said, sizeof said, "dhara says: %s", dhara_strerror(error));
    return said;
}

static const char *check(void *given, uint64_t done)
{
    struct ram *ram = given;
    uint64_t should[SECTORS] = {0};
    for (uint64_t step = 0; step < done; step++)
        for (int nth = 0; nth < WRITES; nth++)
            should[sector_of(step, nth)] = step + 1;
    for (dhara_sector_t sector = 0; sector < SECTORS; sector++) {
        uint8_t data[PAGE];
        uint64_t found;
        dhara_error_t error = DHARA_E_NONE;
        if (dhara_map_read(&ram->map, sector, data, &error) < 0) {
            snprintf(said, sizeof said, "a read fails: %s", dhara_strerror(error));
            return said;
        }
        memcpy(&found, data, sizeof found);
        int under_way = 0;
        for (int nth = 0; nth < WRITES; nth++)
            under_way |= sector == sector_of(done, nth) && found == done + 1;
        if (found != (should[sector] ? should[sector] : UINT64_MAX) && !under_way)
            return found == UINT64_MAX ? "a synced sector is gone" : "a synced sector is an older one, or another's";
    }
    return NULL;
}

static const pumice_firmware firmware = {
    PUMICE_FIRMWARE_VERSION, sizeof firmware, "dhara", 120, start, free, format, mount, work, check,
};

const pumice_firmware *pumice_firmware_under_test(void)
{
    return &firmware;
}
