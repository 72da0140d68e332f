/* flash.h on a simulated chip. An operation that no chip would carry out ends the program. */
#include "flash_pumice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flash.h"

pumice_chip *the_chip;

static const char SPEC[] =
    "seed = 1\n"
    "[geometry]\n"
    "channels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n"
    "blocks_per_plane = 6\npages_per_block = 32\npage_bytes = 512\nspare_bytes = 16\n"
    "program_order = \"in-order\"\nbad_blocks_per_plane = 1\n"
    "[partial_erase]\nunit = \"none\"\n";

static void stop(void *context, int status, const char *text)
{
    (void)context;
    fprintf(stderr, "illegal use of the flash (status %d): %s\n", status, text);
    exit(2);
}

void open_the_chip(void)
{
    pumice_chip_options options = PUMICE_CHIP_OPTIONS;
    char message[512];
    options.spec = SPEC;
    options.on_refusal = stop;
    if (pumice_chip_open(&options, &the_chip, message, sizeof message) != PUMICE_CHIP_OK) {
        fprintf(stderr, "no chip: %s\n", message);
        exit(2);
    }
}

static int result_of(int status)
{
    switch (status) {
    case PUMICE_CHIP_OK: return FLASH_OK;
    case PUMICE_CHIP_UNCORRECTABLE: return FLASH_CORRUPT;
    case PUMICE_CHIP_FAILED: return FLASH_FAILED;
    default: return FLASH_DEAD;
    }
}

int flash_read(uint32_t block, uint32_t page, void *data, uint32_t data_bytes, void *oob, uint32_t oob_bytes)
{
    int blank = 0;
    int status = pumice_chip_is_blank(the_chip, block, page, &blank);
    if (status == PUMICE_CHIP_OK && !blank)
        status = pumice_chip_read(the_chip, block, page, data, data_bytes, oob, oob_bytes);
    if (blank) {
        if (data)
            memset(data, 0xff, data_bytes);
        memset(oob, 0xff, oob_bytes);
    }
    return result_of(status);
}

int flash_program(uint32_t block, uint32_t page, const void *data, uint32_t data_bytes, const void *oob,
                  uint32_t oob_bytes)
{
    return result_of(pumice_chip_program(the_chip, block, page, data, data_bytes, oob, oob_bytes));
}

int flash_erase(uint32_t block)
{
    return result_of(pumice_chip_erase(the_chip, block));
}

int flash_is_bad(uint32_t block)
{
    int bad = 0;
    pumice_chip_is_bad(the_chip, block, &bad);
    return bad;
}

void flash_mark_bad(uint32_t block)
{
    pumice_chip_mark_bad(the_chip, block);
}
