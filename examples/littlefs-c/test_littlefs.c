/*
 * Writes a file again and again, with a cut of the power at every operation. After each, the file must be as it was
 * before the write or after it, at once and when what a cut had left readable has failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lfs_pumice.h"

enum { WRITES = 12, BYTES = 3000 };

static const char SPEC[] =
    "[geometry]\n"
    "channels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\n"
    "blocks_per_plane = 32\npages_per_block = 16\npage_bytes = 512\nspare_bytes = 16\n"
    "program_order = \"in-order\"\nbad_blocks_per_plane = 1\n"
    "[partial_erase]\nunit = \"none\"\n";

static const char *const NAMES[] = {"before", "old", "new", "mixed"};

static void content_of(unsigned nth, char content[BYTES])
{
    for (unsigned i = 0; i < BYTES; i++)
        content[i] = (char)('a' + (nth * 7 + i / 10) % 26);
}

/* Writes the file; returns 0 or an error of littlefs. */
static int write_file(lfs_t *lfs, unsigned nth)
{
    char content[BYTES];
    lfs_file_t file;
    content_of(nth, content);
    int result = lfs_file_open(lfs, &file, "file", LFS_O_WRONLY | LFS_O_CREAT | LFS_O_TRUNC);
    if (result < 0)
        return result;
    lfs_ssize_t written = lfs_file_write(lfs, &file, content, BYTES);
    int closed = lfs_file_close(lfs, &file);
    return written < 0 ? (int)written : closed;
}

/* Which write the file holds: its number, 0 if it is not there or empty, -1 if it is none of them. */
static int content_found(lfs_t *lfs)
{
    char content[BYTES + 1], expected[BYTES];
    lfs_file_t file;
    int result = lfs_file_open(lfs, &file, "file", LFS_O_RDONLY);
    if (result == LFS_ERR_NOENT)
        return 0;
    if (result < 0)
        return -1;
    lfs_ssize_t found = lfs_file_read(lfs, &file, content, sizeof content);
    lfs_file_close(lfs, &file);
    if (found == 0)
        return 0; /* opening creates it, closing stores what was written */
    for (int nth = 1; found == BYTES && nth <= WRITES; nth++) {
        content_of((unsigned)nth, expected);
        if (memcmp(content, expected, BYTES) == 0)
            return nth;
    }
    return -1;
}

static int mounted_content(const struct lfs_config *config)
{
    lfs_t lfs;
    if (lfs_mount(&lfs, config) < 0)
        return -1;
    int found = content_found(&lfs);
    lfs_unmount(&lfs);
    return found;
}

int main(void)
{
    pumice_chip_options options = PUMICE_CHIP_OPTIONS;
    pumice_chip *chip = NULL;
    pumice_chip_snapshot *formatted = NULL;
    struct lfs_config config;
    char message[512];
    lfs_t lfs;
    int lost[4][2] = {{0}};
    unsigned long cuts = 0;

    options.spec = SPEC;
    if (pumice_chip_open(&options, &chip, message, sizeof message) != PUMICE_CHIP_OK)
        return fprintf(stderr, "%s\n", message), 2;
    if (lfs_pumice_config(&config, chip) < 0 || lfs_format(&lfs, &config) < 0)
        return fprintf(stderr, "no format: %s\n", pumice_chip_message(chip)), 2;
    pumice_chip_snapshot_take(chip, &formatted);
    for (int leaves = PUMICE_CHIP_CUT_BEFORE; leaves <= PUMICE_CHIP_CUT_MIXED; leaves++) {
        for (cuts = 0;; cuts++) {
            int done = 0, result = 0;
            pumice_chip_snapshot_restore(chip, formatted);
            if (lfs_mount(&lfs, &config) < 0)
                return fprintf(stderr, "no mount: %s\n", pumice_chip_message(chip)), 2;
            pumice_chip_cut_after(chip, cuts, leaves);
            while (done < WRITES && (result = write_file(&lfs, (unsigned)done + 1)) == 0)
                done++;
            pumice_chip_cancel_cut(chip);
            pumice_chip_power_on(chip);
            lfs_unmount(&lfs);
            if (done == WRITES)
                break;
            for (int later = 0; later < 2; later++) {
                int found = mounted_content(&config);
                if (found != done && found != done + 1)
                    lost[leaves][later]++;
                pumice_chip_settle(chip);
            }
        }
    }
    int lost_ever = 0;
    for (int leaves = PUMICE_CHIP_CUT_BEFORE; leaves <= PUMICE_CHIP_CUT_MIXED; leaves++) {
        printf("%s: of %lu cuts, %d lost the file at once and %d later\n", NAMES[leaves], cuts, lost[leaves][0],
               lost[leaves][1]);
        lost_ever += lost[leaves][0] + lost[leaves][1];
    }
    pumice_chip_snapshot_free(&formatted);
    pumice_chip_close(&chip);
    return lost_ever > 0;
}
