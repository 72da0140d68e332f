/* How many page reads and programs the chip takes in a second of processor time, without data and with pages of 4 KiB. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <pumice_chip.h>

enum { BLOCKS = 64, PAGES = 64, PAGE_BYTES = 4096, ROUNDS = 100 };

static const char SPEC[] =
    "[geometry]\n"
    "channels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n"
    "blocks_per_plane = 64\npages_per_block = 64\npage_bytes = 4096\nspare_bytes = 128\n";

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(int status, pumice_chip *chip)
{
    if (status != PUMICE_CHIP_OK) {
        fprintf(stderr, "%s\n", pumice_chip_message(chip));
        exit(1);
    }
}

/* Programs every page and reads it `ROUNDS` times, with this many bytes of data. */
static void measure(const char *name, size_t bytes)
{
    static unsigned char data[PAGE_BYTES];
    void *given = bytes > 0 ? data : NULL;
    pumice_chip_options options = PUMICE_CHIP_OPTIONS;
    pumice_chip *chip = NULL;
    options.spec = SPEC;
    must(pumice_chip_open(&options, &chip, NULL, 0), chip);
    double start = now_s();
    for (uint32_t block = 0; block < BLOCKS; block++)
        for (uint32_t page = 0; page < PAGES; page++)
            must(pumice_chip_program(chip, block, page, given, bytes, NULL, 0), chip);
    double programmed = now_s();
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t block = 0; block < BLOCKS; block++)
            for (uint32_t page = 0; page < PAGES; page++)
                must(pumice_chip_read(chip, block, page, given, bytes, NULL, 0), chip);
    double read = now_s();
    double pages = (double)BLOCKS * PAGES;
    printf("%s: %.1f million page reads/s, %.1f million programs/s\n", name,
           1e-6 * ROUNDS * pages / (read - programmed), 1e-6 * pages / (programmed - start));
    pumice_chip_close(&chip);
}

int main(void)
{
    for (int times = 0; times < 3; times++) {
        measure("no data", 0);
        measure("4 KiB  ", PAGE_BYTES);
    }
    return 0;
}
