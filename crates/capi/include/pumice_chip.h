/*
 * pumice_chip.h: a simulated NAND flash chip, called from the tests of firmware.
 *
 * A chip is opened from a spec (the same TOML and presets as `pumice run`). Its operations are synchronous. It keeps
 * the bytes of its pages, counts simulated time, refuses what a real chip cannot do, and loses its power in the middle
 * of the operation that the test chooses. All of it is a function of the spec, its seed and the calls.
 *
 * Physical assumptions
 * - A page is programmed whole, once, after it was erased. Bytes that a program does not give stay 0xff. Options of the
 *   chip allow several programs of a page, or programs of single bytes.
 * - Blocks are numbered from 0 over the whole device, plane by plane; pages from 0 in their block.
 * - With geometry.program_order = "in-order" the pages of a block are programmed in ascending order, gaps allowed.
 * - Reads pass the chip's error-correcting code, but for pumice_chip_read_raw.
 * - A block that is marked bad takes no program and no erase. What it holds can be read; one that the factory marked
 *   reads as zeroes, and fails its code.
 *
 * Threads: one chip belongs to one thread at a time. Different chips are independent.
 * Pointers: a null pointer where none is allowed is refused (PUMICE_CHIP_MISUSE). A pointer to memory that is gone, or
 * shorter than the length that comes with it, cannot be noticed.
 */
#ifndef PUMICE_CHIP_H
#define PUMICE_CHIP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header: major << 16 | minor. A library serves headers of its own major version up to its minor one. */
#define PUMICE_CHIP_VERSION 0x00010001u

/* What every call returns. */
enum pumice_chip_status {
    PUMICE_CHIP_OK = 0,
    PUMICE_CHIP_REFUSED = 1,       /* a rule of the chip; nothing has changed: see pumice_chip_rule */
    PUMICE_CHIP_UNCORRECTABLE = 2, /* the page fails its code */
    PUMICE_CHIP_FAILED = 3,        /* a program or erase reported a failure: the block is going bad */
    PUMICE_CHIP_POWER_LOST = 4,    /* the power is off, since this operation or before */
    PUMICE_CHIP_MISUSE = 5,        /* a call that means nothing, such as a null pointer; nothing has changed */
    PUMICE_CHIP_BAD_SPEC = 6,      /* a spec that is not allowed */
    PUMICE_CHIP_BAD_VERSION = 7,   /* this library does not serve programs built for the version asked for */
    PUMICE_CHIP_INTERNAL = 8       /* a fault of the library; the chip can only be closed */
};

/* What a cut of the power leaves of the operation that it meets. */
enum pumice_chip_cut {
    PUMICE_CHIP_CUT_BEFORE = 0, /* it has not begun; nothing is torn */
    PUMICE_CHIP_CUT_OLD = 1,    /* it looks as if it had not begun */
    PUMICE_CHIP_CUT_NEW = 2,    /* it looks as if it had ended; it fails after pumice_chip_settle or the next cut */
    PUMICE_CHIP_CUT_MIXED = 3,  /* the page fails its code; pages under erase are as before, fail, or look erased */
    PUMICE_CHIP_CUT_DRAWN = 4   /* old, new or mixed, drawn by the seed */
};

/* What becomes of a program, copy or erase that breaks a rule. */
enum pumice_chip_illegal {
    PUMICE_CHIP_ILLEGAL_REFUSE = 0, /* PUMICE_CHIP_REFUSED, and nothing has changed */
    /* It is done: bits that were 0 stay 0, and the page fails its code, as do the next page of the block and the earlier
     * pages of the same cells. In a bad block it fails. Blank pages read as 0xff, and fail their code. */
    PUMICE_CHIP_ILLEGAL_CORRUPT = 1
};

/* page_programs of a chip whose pages are programmed any number of times, byte by byte, like NOR flash. */
#define PUMICE_CHIP_BYTE_PROGRAMS 0xffffffffu

typedef struct pumice_chip pumice_chip;
typedef struct pumice_chip_snapshot pumice_chip_snapshot;

/*
 * Called for PUMICE_CHIP_REFUSED and PUMICE_CHIP_MISUSE before the call returns: for tests that stop at the first
 * illegal operation. It may end the process or return. It may not leave by longjmp or a C++ exception.
 */
typedef void pumice_chip_on_refusal(void *context, int status, const char *text);

/* How a chip is opened. Begin with PUMICE_CHIP_OPTIONS. */
typedef struct pumice_chip_options {
    uint32_t version;                   /* PUMICE_CHIP_VERSION */
    uint32_t size;                      /* sizeof(pumice_chip_options) */
    const char *preset;                 /* name of a preset, or null */
    const char *spec;                   /* TOML text that overrides it, or null */
    const char *spec_name;              /* what messages call that text, or null */
    pumice_chip_on_refusal *on_refusal; /* or null */
    void *context;                      /* handed to on_refusal */
    /* Since 1.1: */
    uint32_t page_programs;             /* programs of a page between two erases (NOP); 0: one. Each only clears bits */
    uint32_t pair_distance;             /* pages between two of the same cells, with geometry.bits_per_cell > 1; 0: one */
    uint32_t illegal;                   /* enum pumice_chip_illegal */
    uint32_t reserved;                  /* 0 */
} pumice_chip_options;

#define PUMICE_CHIP_OPTIONS {PUMICE_CHIP_VERSION, sizeof(pumice_chip_options), NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0}

/* Shape of a device. Set `size` before the call; members beyond it are not written. */
typedef struct pumice_chip_info {
    uint32_t size;             /* sizeof(pumice_chip_info) */
    uint32_t blocks;           /* of the whole device */
    uint32_t blocks_per_plane; /* copybacks stay in their plane */
    uint32_t pages_per_block;
    uint32_t page_bytes;
    uint32_t oob_bytes;        /* spare bytes of a page */
    uint32_t max_splits;       /* levels of partial blocks below the block, 0 if none can be erased */
    uint32_t sub_blocks;       /* sub-blocks that can be erased on their own, 0 if none can */
} pumice_chip_info;

/* What was done since the chip was opened. Set `size` before the call; members beyond it are not written. */
typedef struct pumice_chip_counts {
    uint32_t size;             /* sizeof(pumice_chip_counts) */
    uint32_t powered;          /* 1 with power, 0 without */
    uint64_t time_ns;          /* simulated time */
    uint64_t operations;       /* programs, copies and erases that began: what cuts are counted by */
    uint64_t reads;
    uint64_t oob_reads;
    uint64_t programs;
    uint64_t copies;
    uint64_t block_erases;
    uint64_t partial_erases;
    uint64_t sub_block_erases;
    uint64_t read_retries;     /* times that a page was read again because of its bit errors */
    uint64_t uncorrectable;    /* reads that failed their code */
    uint64_t failed;           /* programs and erases that reported a failure */
    uint64_t cuts;
    uint64_t illegal;          /* since 1.1: programs, copies and erases that broke a rule, refused or not */
} pumice_chip_counts;

/* Version of the library: major << 16 | minor. */
uint32_t pumice_chip_version(void);

/*
 * Opens a chip: every page erased, the factory's bad blocks marked. On failure *chip is null, and the reason is in
 * `message` (one line, cut to message_bytes with its final 0; it may be null).
 */
int pumice_chip_open(const pumice_chip_options *options, pumice_chip **chip, char *message, size_t message_bytes);

/* Closes a chip and sets *chip to null. Nothing happens if it is null. */
void pumice_chip_close(pumice_chip **chip);

/* Why the last call that did not return PUMICE_CHIP_OK did not: one line, valid until the next such call. */
const char *pumice_chip_message(const pumice_chip *chip);

/* Name of the rule that the last such call broke, such as "program-order"; empty if it broke none. */
const char *pumice_chip_rule(const pumice_chip *chip);

/* One line for each key of the spec that was set and that a chip without a controller does not read. */
const char *pumice_chip_notes(const pumice_chip *chip);

int pumice_chip_get_info(const pumice_chip *chip, pumice_chip_info *info);
int pumice_chip_get_counts(const pumice_chip *chip, pumice_chip_counts *counts);

/*
 * Reads the first bytes of a page's data and of its spare area, as many as there is room for; either may be null with
 * length 0. PUMICE_CHIP_UNCORRECTABLE: the buffers hold what was sensed. Reading the data of a blank page is refused
 * ("read-erased-page"): ask pumice_chip_is_blank.
 */
int pumice_chip_read(pumice_chip *chip, uint32_t block, uint32_t page, void *data, size_t data_bytes, void *oob, size_t oob_bytes);

/* Reads data_bytes of a page's data from `offset` on, as pumice_chip_read does. Takes the time of a whole page. */
int pumice_chip_read_at(pumice_chip *chip, uint32_t block, uint32_t page, size_t offset, void *data, size_t data_bytes);

/* As pumice_chip_read, without any code: with the bit errors of wear and age if the spec has erase.read_retry = true. A blank page
 * is all 0xff, a block that the factory marked bad all zeroes. */
int pumice_chip_read_raw(pumice_chip *chip, uint32_t block, uint32_t page, void *data, size_t data_bytes, void *oob, size_t oob_bytes);

/* Reads the first bytes of a spare area alone. That of a blank page is all 0xff. */
int pumice_chip_read_oob(pumice_chip *chip, uint32_t block, uint32_t page, void *oob, size_t oob_bytes);

/* Sets *blank to 1 if a page looks erased, else to 0. Costs a read. After a cut a page that looks erased need not be. */
int pumice_chip_is_blank(pumice_chip *chip, uint32_t block, uint32_t page, int *blank);

/* Programs a page: the first bytes of its data and of its spare area; either may be null with length 0. */
int pumice_chip_program(pumice_chip *chip, uint32_t block, uint32_t page, const void *data, size_t data_bytes, const void *oob, size_t oob_bytes);

/* Programs data_bytes of a page's data from `offset` on. With page_programs above 1 the rest can be programmed later; a
 * bit that is 0 can only be made 1 by an erase ("erase-before-program"). */
int pumice_chip_program_at(pumice_chip *chip, uint32_t block, uint32_t page, size_t offset, const void *data, size_t data_bytes);

/* Copies a page inside the chip. `oob`: spare bytes in place of the source's, or null. */
int pumice_chip_copy(pumice_chip *chip, uint32_t from_block, uint32_t from_page, uint32_t to_block, uint32_t to_page, const void *oob, size_t oob_bytes);

/* Erases a block. One whose erase has failed is not marked, and its erase can be tried again; until that ends well its
 * pages take no program ("unstable-program"). */
int pumice_chip_erase(pumice_chip *chip, uint32_t block);

/* Erases a partial block: 1 is the whole block, the halves of p are 2p and 2p + 1. Disturbs what lies beside it. */
int pumice_chip_erase_partial(pumice_chip *chip, uint32_t block, uint32_t partial_block);

/* Erases a set of sub-blocks in one operation; bit 0 is the first. */
int pumice_chip_erase_sub_blocks(pumice_chip *chip, uint32_t block, uint32_t sub_blocks);

/* Sets *bad to 1 if a block is marked bad: by the factory or by the firmware. */
int pumice_chip_is_bad(pumice_chip *chip, uint32_t block, int *bad);

/* Marks a block bad, as firmware does with one that has failed. */
int pumice_chip_mark_bad(pumice_chip *chip, uint32_t block);

/* Makes a block go bad: its programs and erases report a failure from now on. What it holds can be read. */
int pumice_chip_grow_bad(pumice_chip *chip, uint32_t block);

/* After `after` more programs, copies and erases the next one fails, and its block goes bad. */
int pumice_chip_fail_after(pumice_chip *chip, uint64_t after);

/* Sets *erases to the erases of that part of a block in which a page lies. */
int pumice_chip_get_erases(pumice_chip *chip, uint32_t block, uint32_t page, uint64_t *erases);

/* Lets simulated time pass. Data ages. */
int pumice_chip_wait(pumice_chip *chip, uint64_t time_ns);

/*
 * Plans a cut of the power: `after` more programs, copies and erases end, and the next one meets it and leaves what
 * `leaves` (enum pumice_chip_cut) says. That call and all later ones return PUMICE_CHIP_POWER_LOST until
 * pumice_chip_power_on. Operations that are refused do not count. Replaces an earlier plan.
 */
int pumice_chip_cut_after(pumice_chip *chip, uint64_t after, int leaves);

/* Takes back a planned cut. */
int pumice_chip_cancel_cut(pumice_chip *chip);

/* Cuts the power now, between two operations. */
int pumice_chip_power_off(pumice_chip *chip);

/* Gives the chip its power back. */
int pumice_chip_power_on(pumice_chip *chip);

/* The firmware has recovered: what a cut left readable although it is not sound fails from now on. */
int pumice_chip_settle(pumice_chip *chip);

/* The same after `after` more programs, copies and erases, before the next one. */
int pumice_chip_settle_after(pumice_chip *chip, uint64_t after);

/* Begins what is drawn (PUMICE_CHIP_CUT_DRAWN, PUMICE_CHIP_CUT_MIXED of an erase) anew: the same number and the same
 * calls draw the same. A restored snapshot does not: what is tried from it again is drawn anew. */
int pumice_chip_draw_from(pumice_chip *chip, uint64_t number);

/* Writes the chip into a file: its pages, its wear, what cuts have left; not its counts and what is planned. */
int pumice_chip_save(pumice_chip *chip, const char *path);

/* Makes the chip what such a file holds, if that is of the same spec, seed and options; else PUMICE_CHIP_MISUSE. */
int pumice_chip_load(pumice_chip *chip, const char *path);

/* Keeps the state of a chip, its clock, counts and planned cut included. Bytes that do not change are shared. */
int pumice_chip_snapshot_take(pumice_chip *chip, pumice_chip_snapshot **snapshot);

/* Makes a chip what it was. The snapshot stays, and serves any chip of the same spec and seed. */
int pumice_chip_snapshot_restore(pumice_chip *chip, const pumice_chip_snapshot *snapshot);

/* Frees a snapshot and sets *snapshot to null. Nothing happens if it is null. */
void pumice_chip_snapshot_free(pumice_chip_snapshot **snapshot);

#ifdef __cplusplus
}
#endif

#endif
