/*
 * littlefs under torture: six files in two directories are written and renamed, from one directory to the other.
 * Each step is one file; what the files are after n steps can be told from n alone.
 */
#include <pumice_firmware.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lfs_pumice.h"

enum { FILES = 6, BYTES = 700 };

struct ram {
    struct lfs_config config;
    lfs_t lfs;
    bool mounted;
};

/* A file: which directory it is in, and which step wrote it; 0 if none did. */
struct file {
    int folder;
    uint64_t version;
};

static char said[160];

static const char *say(const char *what, unsigned file, int result)
{
    if (result >= 0)
        return NULL;
    snprintf(said, sizeof said, "%s of file %u: littlefs says %d", what, file, result);
    return said;
}

static unsigned file_of(uint64_t step)
{
    return (unsigned)((step * 5 + step / 7) % FILES);
}

/* Does a step to the files as they should be. */
static void expect(struct file *files, uint64_t step)
{
    struct file *file = &files[file_of(step)];
    if (step % 2 == 0 || file->version == 0)
        file->version = step + 1;
    else
        file->folder = !file->folder;
}

static void expect_all(struct file files[FILES], uint64_t steps)
{
    memset(files, 0, FILES * sizeof *files);
    for (uint64_t step = 0; step < steps; step++)
        expect(files, step);
}

static size_t content_of(uint64_t version, char content[BYTES])
{
    size_t bytes = 20 + version * 37 % (BYTES - 20);
    for (size_t i = 0; i < bytes; i++)
        content[i] = (char)('a' + (version * 7 + i / 10) % 26);
    return bytes;
}

static void path_of(char path[16], int folder, unsigned file)
{
    snprintf(path, 16, "%c/file%u", 'a' + folder, file);
}

static void *start(pumice_chip *chip)
{
    struct ram *ram = calloc(1, sizeof *ram);
    if (ram && lfs_pumice_config(&ram->config, chip) < 0) {
        free(ram);
        return NULL;
    }
    return ram;
}

static void stop(void *given)
{
    struct ram *ram = given;
    if (ram->mounted)
        lfs_unmount(&ram->lfs); /* frees its buffers, and writes nothing */
    free(ram);
}

static const char *mount(void *given)
{
    struct ram *ram = given;
    int result = lfs_mount(&ram->lfs, &ram->config);
    ram->mounted = result == 0;
    return result < 0 ? "littlefs does not mount" : NULL;
}

static const char *format(void *given)
{
    struct ram *ram = given;
    if (lfs_format(&ram->lfs, &ram->config) < 0)
        return "littlefs does not format";
    const char *wrong = mount(ram);
    if (wrong || lfs_mkdir(&ram->lfs, "a") < 0 || lfs_mkdir(&ram->lfs, "b") < 0)
        return wrong ? wrong : "no directories";
    return NULL;
}

static const char *work(void *given, uint64_t step)
{
    struct ram *ram = given;
    struct file files[FILES];
    unsigned nth = file_of(step);
    char from[16], to[16], content[BYTES];
    expect_all(files, step);
    path_of(from, files[nth].folder, nth);
    expect(files, step);
    path_of(to, files[nth].folder, nth);
    if (strcmp(from, to) != 0) {
        int result = lfs_rename(&ram->lfs, from, to);
        struct lfs_info info;
        if (result == LFS_ERR_NOENT) /* done before the cut? */
            result = lfs_stat(&ram->lfs, to, &info);
        return say("rename", nth, result);
    }
    size_t bytes = content_of(step + 1, content);
    lfs_file_t file;
    int result = lfs_file_open(&ram->lfs, &file, to, LFS_O_WRONLY | LFS_O_CREAT | LFS_O_TRUNC);
    if (result < 0)
        return say("open", nth, result);
    lfs_ssize_t written = lfs_file_write(&ram->lfs, &file, content, (lfs_size_t)bytes);
    int closed = lfs_file_close(&ram->lfs, &file);
    return say("write", nth, written < 0 ? (int)written : closed);
}

/* Whether a file is where and what it should be. */
static bool is_there(struct ram *ram, unsigned nth, const struct file *should)
{
    char path[16], other[16], content[BYTES], found[BYTES];
    struct lfs_info info;
    lfs_file_t file;
    path_of(path, should->folder, nth);
    path_of(other, !should->folder, nth);
    if (lfs_stat(&ram->lfs, other, &info) != LFS_ERR_NOENT)
        return false;
    int result = lfs_file_open(&ram->lfs, &file, path, LFS_O_RDONLY);
    if (result < 0)
        return result == LFS_ERR_NOENT && should->version == 0;
    lfs_ssize_t bytes = lfs_file_read(&ram->lfs, &file, found, sizeof found);
    lfs_file_close(&ram->lfs, &file);
    if (should->version == 0)
        return bytes == 0; /* opening creates it, closing stores what was written */
    size_t right = content_of(should->version, content);
    return bytes == (lfs_ssize_t)right && memcmp(found, content, right) == 0;
}

static const char *check(void *given, uint64_t done)
{
    struct ram *ram = given;
    struct file before[FILES], after[FILES];
    expect_all(before, done);
    expect_all(after, done + 1);
    for (unsigned nth = 0; nth < FILES; nth++)
        if (!is_there(ram, nth, &before[nth]) && !is_there(ram, nth, &after[nth])) {
            const char *which = nth == file_of(done) ? "the file of the step under way" : "a file that nobody touched";
            snprintf(said, sizeof said, "%s is not there, or not what it was", which);
            return said;
        }
    return NULL;
}

static const pumice_firmware firmware = {
    PUMICE_FIRMWARE_VERSION, sizeof firmware, "littlefs", 190, start, stop, format, mount, work, check,
};

const pumice_firmware *pumice_firmware_under_test(void)
{
    return &firmware;
}
