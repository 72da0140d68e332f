/*
 * yaffs2 under torture, by its direct interface: each step writes one of five files and syncs, or renames it.
 * yaffs2 needs pages of at least 1024 bytes: --set geometry.page_bytes=2048 --set geometry.spare_bytes=64.
 */
#include <pumice_firmware.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yaffs_guts.h"
#include "yaffs_osglue.h"
#include "yaffsfs.h"

enum { FILES = 5, BYTES = 3000 };

struct ram {
    struct yaffs_dev dev; /* first */
    pumice_chip *chip;
    unsigned pages;
    int mounted;
};

static char said[160];
static int last_error;

/* What yaffs2 asks of a system. */
unsigned yaffs_trace_mask;
void yaffs_bug_fn(const char *file, int line) { (void)file, (void)line; abort(); }
void yaffsfs_Lock(void) {}
void yaffsfs_Unlock(void) {}
u32 yaffsfs_CurrentTime(void) { return 0; }
void yaffsfs_SetError(int error) { last_error = error; }
int yaffsfs_GetLastError(void) { return last_error; }
void *yaffsfs_malloc(size_t bytes) { return malloc(bytes); }
void yaffsfs_free(void *start) { free(start); }
int yaffsfs_CheckMemRegion(const void *start, size_t bytes, int writes) { return (void)bytes, (void)writes, start ? 0 : -1; }
void yaffsfs_OSInitialisation(void) {}

static struct ram *ram_of(struct yaffs_dev *dev)
{
    return (struct ram *)dev;
}

static int write_chunk(struct yaffs_dev *dev, int chunk, const u8 *data, int data_bytes, const u8 *oob, int oob_bytes)
{
    struct ram *ram = ram_of(dev);
    unsigned block = (unsigned)chunk / ram->pages, page = (unsigned)chunk % ram->pages;
    return pumice_chip_program(ram->chip, block, page, data, data ? (size_t)data_bytes : 0, oob,
                                             oob ? (size_t)oob_bytes : 0) == PUMICE_CHIP_OK;
}

static int read_chunk(struct yaffs_dev *dev, int chunk, u8 *data, int data_bytes, u8 *oob, int oob_bytes,
                      enum yaffs_ecc_result *result)
{
    struct ram *ram = ram_of(dev);
    unsigned block = (unsigned)chunk / ram->pages, page = (unsigned)chunk % ram->pages;
    int blank = 0, status = pumice_chip_is_blank(ram->chip, block, page, &blank);
    size_t data_room = data ? (size_t)data_bytes : 0, oob_room = oob ? (size_t)oob_bytes : 0;
    if (status == PUMICE_CHIP_OK && blank) {
        memset(data, 0xff, data_room);
        memset(oob, 0xff, oob_room);
    } else if (status == PUMICE_CHIP_OK && data) {
        status = pumice_chip_read(ram->chip, block, page, data, data_room, oob, oob_room);
    } else if (status == PUMICE_CHIP_OK) {
        status = pumice_chip_read_oob(ram->chip, block, page, oob, oob_room);
    }
    if (result)
        *result = status == PUMICE_CHIP_OK ? YAFFS_ECC_RESULT_NO_ERROR : YAFFS_ECC_RESULT_UNFIXED;
    return status == PUMICE_CHIP_OK;
}

static int erase_block(struct yaffs_dev *dev, int block)
{
    struct ram *ram = ram_of(dev);
    return pumice_chip_erase(ram->chip, (uint32_t)block) == PUMICE_CHIP_OK;
}

static int mark_bad(struct yaffs_dev *dev, int block)
{
    struct ram *ram = ram_of(dev);
    return pumice_chip_mark_bad(ram->chip, (uint32_t)block) == PUMICE_CHIP_OK;
}

static int check_bad(struct yaffs_dev *dev, int block)
{
    int bad = 1;
    pumice_chip_is_bad(ram_of(dev)->chip, (uint32_t)block, &bad);
    return !bad;
}

static int nothing(struct yaffs_dev *dev)
{
    (void)dev;
    return YAFFS_OK;
}

static void *start(pumice_chip *chip)
{
    pumice_chip_info info = {.size = sizeof info};
    struct ram *ram = calloc(1, sizeof *ram);
    if (!ram || pumice_chip_get_info(chip, &info) != PUMICE_CHIP_OK)
        return NULL;
    ram->chip = chip;
    ram->pages = info.pages_per_block;
    struct yaffs_param *param = &ram->dev.param;
    param->name = "chip";
    param->total_bytes_per_chunk = info.page_bytes;
    param->spare_bytes_per_chunk = info.oob_bytes;
    param->chunks_per_block = info.pages_per_block;
    param->end_block = info.blocks - 1;
    param->n_reserved_blocks = 5;
    param->is_yaffs2 = 1;
    param->n_caches = 4;
    ram->dev.drv = (struct yaffs_driver){write_chunk, read_chunk, erase_block, mark_bad, check_bad, nothing, nothing};
    yaffs_add_device(&ram->dev);
    return ram;
}

static void stop(void *given)
{
    struct ram *ram = given;
    if (ram->mounted)
        yaffs_unmount2_reldev(&ram->dev, 1);
    yaffs_remove_device(&ram->dev);
    free(ram);
}

static const char *mount(void *given)
{
    struct ram *ram = given;
    ram->mounted = yaffs_mount_reldev(&ram->dev) == 0;
    return ram->mounted ? NULL : "yaffs2 does not mount";
}

static const char *format(void *given)
{
    return mount(given); /* erased flash is an empty file system */
}

static uint64_t version_of(unsigned file, uint64_t steps, int *renamed)
{
    uint64_t version = 0;
    *renamed = 0;
    for (uint64_t step = file; step < steps; step += FILES)
        if (step / FILES % 3 == 2)
            *renamed = !*renamed;
        else
            version = step + 1;
    return version;
}

static void path_of(char path[16], unsigned file, int renamed)
{
    snprintf(path, 16, "%s%u", renamed ? "new" : "old", file);
}

static size_t content_of(uint64_t version, char content[BYTES])
{
    size_t bytes = 100 + version * 137 % (BYTES - 100);
    memset(content, 'a' + (int)(version % 26), bytes);
    memcpy(content, &version, sizeof version);
    return bytes;
}

static const char *say(const char *what)
{
    snprintf(said, sizeof said, "%s: yaffs2 says %d", what, last_error);
    return said;
}

static const char *work(void *given, uint64_t step)
{
    struct ram *ram = given;
    unsigned nth = (unsigned)(step % FILES);
    int renamed, after;
    char from[16], to[16], content[BYTES];
    version_of(nth, step, &renamed);
    version_of(nth, step + 1, &after);
    path_of(from, nth, renamed);
    path_of(to, nth, after);
    if (renamed != after) {
        struct yaffs_stat stat;
        if (yaffs_rename_reldev(&ram->dev, from, to) < 0 && yaffs_stat_reldev(&ram->dev, to, &stat) < 0)
            return say("rename");
        return yaffs_sync_reldev(&ram->dev) < 0 ? say("sync") : NULL;
    }
    size_t bytes = content_of(step + 1, content);
    int file = yaffs_open_reldev(&ram->dev, to, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        return say("open");
    int written = yaffs_write(file, content, (unsigned)bytes);
    int closed = yaffs_close(file);
    if (written != (int)bytes || closed < 0)
        return say("write");
    return yaffs_sync_reldev(&ram->dev) < 0 ? say("sync") : NULL;
}

static int is_there(struct ram *ram, unsigned nth, uint64_t steps)
{
    int renamed;
    char path[16], content[BYTES], found[BYTES];
    uint64_t version = version_of(nth, steps, &renamed);
    path_of(path, nth, renamed);
    int file = yaffs_open_reldev(&ram->dev, path, O_RDONLY, 0);
    if (file < 0)
        return version == 0;
    int bytes = yaffs_read(file, found, sizeof found);
    yaffs_close(file);
    size_t right = version ? content_of(version, content) : 0;
    return bytes == (int)right && memcmp(found, content, right) == 0;
}

static const char *check(void *given, uint64_t done)
{
    for (unsigned nth = 0; nth < FILES; nth++)
        if (nth != done % FILES) { /* the write under way truncates its file first */
            if (!is_there(given, nth, done))
                return "a synced file is not there, or not what it was";
        }
    return NULL;
}

static const pumice_firmware firmware = {
    PUMICE_FIRMWARE_VERSION, sizeof firmware, "yaffs2", 60, start, stop, format, mount, work, check,
};

const pumice_firmware *pumice_firmware_under_test(void)
{
    return &firmware;
}
