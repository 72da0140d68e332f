/* A translation layer of your own for pumice.
 *
 * A shared object exports `pumice_ftl`, which returns a table of functions. `pumice run --plugin FILE --set
 * ftl.kind=plugin:NAME` runs it; docs/OWN-FTL.md leads through an example. Every flash command that it plans is checked
 * by the rules of the chip, and every page that the host reads by what the host wrote.
 *
 * Calls come one after the other for one state, not always from one thread. Two states may be used at the same time by
 * two threads. A call that
 * does not return within ten seconds ends the run; `capacity`, which is called before it, has no limit. No call may
 * leave by `longjmp` or a C++ exception.
 *
 * Addresses are numbers from 0. Plane p has the blocks p * blocks_per_plane to (p + 1) * blocks_per_plane - 1; die d has
 * the planes d * planes_per_die to (d + 1) * planes_per_die - 1, and channels have their dies in the same way.
 */
#ifndef PUMICE_FTL_H
#define PUMICE_FTL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface: major << 16 | minor. A new minor version only adds. */
#define PUMICE_FTL_VERSION 0x00010004u

/* What a call returns. */
#define PUMICE_FTL_OK 0
#define PUMICE_FTL_NOT_STORED 1 /* read, locate: the page was never written, or was trimmed */
#define PUMICE_FTL_FAILED 2     /* anything else is a failure too; `failure` tells why */

/* What a command does. */
#define PUMICE_FTL_READ 0            /* page read: must find `lpn` in `version` */
#define PUMICE_FTL_LOOK 1            /* page read for whatever it holds: a prediction that may be wrong (since 1.2) */
#define PUMICE_FTL_PROGRAM 2         /* page program: stores `lpn` in `version` */
#define PUMICE_FTL_COPY 3            /* copy of `lpn` from `from_block`, `from_page`, which is on the same die */
#define PUMICE_FTL_ERASE 4           /* block erase */
#define PUMICE_FTL_PARTIAL_ERASE 5   /* erase of partial block `operand`: 1 is the block, 2n and 2n + 1 halve n */
#define PUMICE_FTL_SUB_BLOCK_ERASE 6 /* erase of the physical sub-blocks whose bits are set in `operand` */

/* On whose behalf it runs: reads and programs for the host, all others for collection. Since 1.2 reads and programs of
 * the layer's own pages, and looks, are for the map; a read and a program for collection move a page from die to die, if
 * the layer says that it does so. */
#define PUMICE_FTL_FOR_HOST 0
#define PUMICE_FTL_FOR_COLLECTION 1
#define PUMICE_FTL_FOR_MAP 2

/* Kinds of requests. */
#define PUMICE_FTL_OF_READ 0
#define PUMICE_FTL_OF_WRITE 1
#define PUMICE_FTL_OF_TRIM 2
#define PUMICE_FTL_OF_FLUSH 3

/* `lpn` of a force_out of all pages. */
#define PUMICE_FTL_ALL 0xFFFFFFFFu

/* One flash command; what it does not use is 0. */
typedef struct pumice_ftl_command {
    uint32_t block;
    uint16_t page;
    uint32_t from_block;
    uint16_t from_page;
    uint32_t lpn;
    uint32_t reserved_0;
    uint32_t operand;
    uint8_t version;
    uint8_t op;
    uint8_t cause;
    uint8_t reserved_1;
} pumice_ftl_command;

/* `completes` of a plan whose access is complete with its last command, or without any. */
#define PUMICE_FTL_LAST 0xFFFFFFFFu
#define PUMICE_FTL_AT_ONCE 0xFFFFFFFEu

/* The commands of one call, in the order in which they are queued. Each die takes its own in this order. */
typedef struct pumice_ftl_plan {
    /* Room for `room` commands. It may be set to an array of the plug-in's own, which must stay as it is until the next
     * call on the same state. */
    pumice_ftl_command *command;
    uint32_t room;
    uint32_t commands;  /* how many there are; 0 at the start of a call */
    uint32_t completes; /* place of the command whose end completes the access; PUMICE_FTL_LAST at the start */
    uint32_t look_up_ns; /* since version 1.3, of `look_up` alone: the time that it takes beside its commands */
} pumice_ftl_plan;

/* Kinds of keys. */
#define PUMICE_FTL_WHOLE_NUMBER 0
#define PUMICE_FTL_NUMBER 1
#define PUMICE_FTL_SWITCH 2
#define PUMICE_FTL_CHOICE 3

/* A key of the section [ftl.NAME]. All texts are UTF-8 and stay. */
typedef struct pumice_ftl_key {
    const char *name;          /* small letters, digits and '_' */
    const char *default_value; /* as a spec writes it; empty: the key has no value unless given. A choice in quotes. */
    const char *unit;          /* empty if it has none */
    const char *text;          /* what it means */
    const char *choices;       /* names of a choice, separated by '|'; null for other kinds */
    double low, high;          /* limits of a number, both included */
    int64_t least, most;       /* limits of a whole number, both included */
    uint32_t kind;
    uint32_t reserved;
} pumice_ftl_key;

/* The value of a key. */
typedef struct pumice_ftl_value {
    double number; /* of a number */
    int64_t whole; /* of a whole number; 1 or 0 of a switch; the place of a choice among its names */
    uint32_t given; /* 0: the key has no value */
    uint32_t reserved;
} pumice_ftl_value;

/* The device. */
typedef struct pumice_ftl_device {
    uint32_t channels;
    uint32_t chips_per_channel;
    uint32_t dies_per_chip;
    uint32_t planes_per_die;
    uint32_t blocks_per_plane;
    uint32_t pages_per_block;
    uint32_t page_bytes;
    uint32_t spare_bytes;
    uint32_t in_order;   /* pages of a block are programmed in ascending order */
    uint32_t max_splits; /* halvings down to the smallest partial block; 0: only whole blocks are erased */
    uint32_t sub_blocks; /* physical sub-blocks that can be erased apart; 0: none */
    uint32_t bad_blocks_per_plane;
    const uint32_t *bad_block; /* blocks that take no command, ascending; null while only the capacity is asked for */
    uint64_t bad_blocks;       /* length of `bad_block` */
    double over_provisioning;  /* ftl.over_provisioning: share of all pages that the host shall not address */
    uint64_t seed;             /* for whatever is drawn; 0 while only the capacity is asked for */
    /* Since version 1.1. */
    uint32_t loses_power; /* 1: the power may be cut (ftl.recovery), and `recover` is then called */
    /* Since version 1.4: runs of pages that a partial block has, one in each sub-block if these are written one after the
     * other (geometry.write_sequence = "sfws"), else 1. */
    uint32_t runs;
} pumice_ftl_device;

/* A page. */
typedef struct pumice_ftl_page {
    uint32_t block;
    uint32_t page;
} pumice_ftl_page;

/* What the spare area of a page says. */
#define PUMICE_FTL_BLANK 0      /* all ones: the page looks erased */
#define PUMICE_FTL_UNREADABLE 1 /* it fails its code */
#define PUMICE_FTL_WRITTEN 2    /* the page was programmed, or copied to */

/* The spare area of a page, as it is read after a power cut. The engine writes these numbers with every program and
 * copy, in the order in which they were planned. */
typedef struct pumice_ftl_spare {
    uint64_t written;    /* number of the write that brought the data; a copy takes it along. 0: the initial fill */
    uint64_t programmed; /* number of the program or copy that put it here; what was planned later has a larger one */
    uint32_t lpn;
    uint32_t state; /* PUMICE_FTL_BLANK, UNREADABLE or WRITTEN; the other members are 0 unless it is written */
} pumice_ftl_spare;

/* The chips, as `recover` reads them. What is read costs simulated time. A place that does not exist reads as unreadable,
 * and ends the run. A call returns PUMICE_FTL_OK; without `recover` under way on its thread, PUMICE_FTL_FAILED. */
typedef struct pumice_ftl_chips {
    int (*page)(uint32_t block, uint32_t page, pumice_ftl_spare *area); /* of one page: a page read */
    int (*block)(uint32_t block, pumice_ftl_spare *area); /* of all pages of a block, into an array of so many: a page
                                                             read each */
} pumice_ftl_chips;

/* A request of the host whose pages come next (since 1.2). */
typedef struct pumice_ftl_request {
    uint64_t now_ns; /* simulated time; 0 in a run without a clock */
    uint32_t lpn;    /* first page */
    uint32_t pages;  /* 0 of a flush */
    uint32_t kind;
    uint32_t stream; /* that the host names */
} pumice_ftl_request;

/* Something that the layer counts for itself, which the result lists as plugin.counts.NAME (since 1.2). */
typedef struct pumice_ftl_counter {
    const char *name; /* small letters, digits and '_' */
    const char *text; /* what it counts */
} pumice_ftl_counter;

typedef struct pumice_ftl_layer {
    uint32_t version; /* PUMICE_FTL_VERSION */
    uint32_t size;    /* sizeof(struct pumice_ftl_layer) */
    const char *name; /* small letters, digits and '-': ftl.kind = "plugin:NAME" */
    const pumice_ftl_key *key;
    uint64_t keys; /* length of `key`, and of the values that calls are given */

    /* Logical pages that the host may address, or 0 and a failure. Called before a run, more than once. */
    uint64_t (*capacity)(const pumice_ftl_device *device, const pumice_ftl_value *value);

    /* Makes the state of one run on an erased device; null and a failure if it cannot. `device` and `value` live during
     * the call. The initial fill then comes as writes of version 0. */
    void *(*create)(const pumice_ftl_device *device, const pumice_ftl_value *value);
    void (*destroy)(void *state); /* may be null */

    /* Plans what stores, or reads, a logical page. `version` stands for its data. */
    int (*write)(void *state, uint32_t lpn, uint32_t version, pumice_ftl_plan *plan);
    int (*read)(void *state, uint32_t lpn, uint32_t version, pumice_ftl_plan *plan);

    /* Where the current copy of a logical page is. */
    int (*locate)(void *state, uint32_t lpn, pumice_ftl_page *page);

    /* Optional, may be null: gives a page up, which then reads as never written. Without it trimmed pages stay. */
    int (*trim)(void *state, uint32_t lpn);

    /* Optional: plans the next step of collection while a die is idle; nothing if none is due. */
    int (*step)(void *state, uint32_t die, pumice_ftl_plan *plan);

    /* Optional: whether `step` shall be called for this state; without it, it is. */
    int (*works_when_idle)(void *state);

    /* Optional: the next erase of a block will fail, and it must not be used after that. Without this entry specs with
     * erases that can fail are refused. */
    int (*note_failing)(void *state, uint32_t block);

    /* Optional: bytes of RAM that the controller's map needs; bytes of the state in this process. */
    uint64_t (*map_ram_bytes)(void *state);
    uint64_t (*state_bytes)(void *state);

    /* Optional: why the last call failed; one line, UTF-8. `state` is null after capacity and create. */
    const char *(*failure)(void *state);

    /* Since version 1.1. Optional: makes the state of a device whose power was cut, in place of `create`; null and a
     * failure if it cannot. All that was known is gone but what `chips` tell. Nothing tells that a page or block which
     * reads well was being written or erased when the power was cut; a blank page takes no program before its block is
     * erased. `plan` takes the copies and erases that must have ended before the host is served: each die runs them in
     * their order, and an erase waits for all programs and copies before it. The power may be cut again before they
     * have ended. The plan stays as it is until the next call on the new state. Without this entry specs with
     * `ftl.recovery` are refused. */
    void *(*recover)(const pumice_ftl_device *device, const pumice_ftl_value *value, const pumice_ftl_chips *chips,
                     pumice_ftl_plan *plan);

    /* Since version 1.2. All are optional. */

    /* Pages of the layer's own beside those of the host, such as pages of a map: logical pages from `user_pages` on. They
     * are read and programmed for the map, and copied and erased like others. Called before a run, more than once. */
    uint64_t (*own_pages)(const pumice_ftl_value *value, uint64_t user_pages);

    /* Plans what must have ended before a page is accessed: reads of the map, and looks where a prediction was wrong.
     * Called before each read, write and trim; `kind` says of what. A look-up that costs time without flash sets
     * `look_up_ns` of the plan; both pass at once. */
    int (*look_up)(void *state, uint32_t lpn, uint32_t kind, pumice_ftl_plan *plan);

    /* As `write`, to a stream that the host names; without it every stream is written by `write`. */
    int (*write_to_stream)(void *state, uint32_t lpn, uint32_t version, uint32_t stream, pumice_ftl_plan *plan);

    /* A layer that holds pages of the host in RAM has both. `holds`: whether the newest data of a page is in RAM alone;
     * its write need not plan a program, and is acknowledged at once, its read no read. `force_out` plans the programs of
     * such a page (force unit access), or of all with PUMICE_FTL_ALL: the host flushes, or the run ends. */
    int (*holds)(void *state, uint32_t lpn);
    int (*force_out)(void *state, uint32_t lpn, pumice_ftl_plan *plan);

    /* A request begins, before its pages; a flush too. */
    int (*begin_request)(void *state, const pumice_ftl_request *request);

    /* What it counts for itself: `counts` writes a number for each. */
    const pumice_ftl_counter *counter;
    uint64_t counters;
    int (*counts)(void *state, uint64_t *value);

    uint32_t moves_between_dies; /* 1: collection moves pages by a read and a program in one plan */
    uint32_t reserved_2;
} pumice_ftl_layer;

/* What your shared object exports. */
const struct pumice_ftl_layer *pumice_ftl(void);

/* Appends a command to a plan. 0 if it is full: then fail. */
static inline int pumice_ftl_push(pumice_ftl_plan *plan, pumice_ftl_command command)
{
    if (plan->commands >= plan->room)
        return 0;
    plan->command[plan->commands++] = command;
    return 1;
}

/* Commands: of the host, and of collection. A page that is too large becomes one that no device has. */
static inline pumice_ftl_command pumice_ftl_access(uint32_t op, uint32_t block, uint32_t page, uint32_t lpn,
                                                   uint32_t version)
{
    pumice_ftl_command command = {0};
    command.block = block;
    command.page = (uint16_t)(page < UINT16_MAX ? page : UINT16_MAX);
    command.lpn = lpn;
    command.version = (uint8_t)version;
    command.op = (uint8_t)op;
    command.cause = op <= PUMICE_FTL_PROGRAM ? PUMICE_FTL_FOR_HOST : PUMICE_FTL_FOR_COLLECTION;
    return command;
}

static inline pumice_ftl_command pumice_ftl_read(uint32_t block, uint32_t page, uint32_t lpn, uint32_t version)
{
    return pumice_ftl_access(PUMICE_FTL_READ, block, page, lpn, version);
}

static inline pumice_ftl_command pumice_ftl_program(uint32_t block, uint32_t page, uint32_t lpn, uint32_t version)
{
    return pumice_ftl_access(PUMICE_FTL_PROGRAM, block, page, lpn, version);
}

static inline pumice_ftl_command pumice_ftl_copy(uint32_t from_block, uint32_t from_page, uint32_t block, uint32_t page,
                                                 uint32_t lpn)
{
    pumice_ftl_command command = pumice_ftl_access(PUMICE_FTL_COPY, block, page, lpn, 0);
    command.from_block = from_block;
    command.from_page = (uint16_t)(from_page < UINT16_MAX ? from_page : UINT16_MAX);
    return command;
}

/* A look at a page for whatever it holds, in search of `lpn`. */
static inline pumice_ftl_command pumice_ftl_look(uint32_t block, uint32_t page, uint32_t lpn)
{
    pumice_ftl_command command = pumice_ftl_access(PUMICE_FTL_LOOK, block, page, lpn, 3);
    command.operand = 1;
    command.cause = PUMICE_FTL_FOR_MAP;
    return command;
}

/* A read or program of a page of the layer's own. */
static inline pumice_ftl_command pumice_ftl_of_map(pumice_ftl_command command)
{
    command.cause = PUMICE_FTL_FOR_MAP;
    return command;
}

/* The read and the program that move a page from die to die, in this order. */
static inline pumice_ftl_command pumice_ftl_read_to_move(uint32_t block, uint32_t page, uint32_t lpn, uint32_t version)
{
    pumice_ftl_command command = pumice_ftl_access(PUMICE_FTL_READ, block, page, lpn, version);
    command.cause = PUMICE_FTL_FOR_COLLECTION;
    return command;
}

static inline pumice_ftl_command pumice_ftl_move(uint32_t from_block, uint32_t from_page, uint32_t block, uint32_t page,
                                                 uint32_t lpn, uint32_t version)
{
    pumice_ftl_command command = pumice_ftl_copy(from_block, from_page, block, page, lpn);
    command.op = PUMICE_FTL_PROGRAM;
    command.version = (uint8_t)version;
    return command;
}

static inline pumice_ftl_command pumice_ftl_erase(uint32_t block)
{
    return pumice_ftl_access(PUMICE_FTL_ERASE, block, 0, 0, 0);
}

#ifdef __cplusplus
}
#endif

#endif
