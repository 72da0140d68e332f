/* pumice_policy.h: policies of your own for pumice, in C, C++ or anything that speaks C.
 *
 * Build a shared object that exports `pumice_policy`, and give it to a run:
 *
 *     cc -O2 -shared -fPIC -o mine.so mine.c
 *     pumice run SPEC.toml --policy ./mine.so
 *
 * Every entry of `struct pumice_policy` below `name` is optional: pumice takes the decisions whose entry is null.
 * Calls of one run come one after the other, from one thread; those of a drive inside another program, from the thread
 * that calls the drive. Pointers to columns are valid during the call. A result is the same for the same seed if the
 * answers depend on nothing but what the calls are given and the seed.
 */
#ifndef PUMICE_POLICY_H
#define PUMICE_POLICY_H

#include <stdint.h>

#include "pumice_ftl.h" /* keys and their values */

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface, major << 16 | minor. A new minor version only adds. */
#define PUMICE_POLICY_VERSION 0x00010001u

/* "No block": the answer of a wear_swap that wants nothing moved, and of a victim that has failed. In the column
 * `oldest` it marks a count of valid pages that no closed block has. */
#define PUMICE_NO_BLOCK UINT32_MAX

/* `copied_from` of a page that the host writes. */
#define PUMICE_FROM_HOST 255u

/* The most streams of a placement. */
#define PUMICE_STREAMS_MAX 8u

/* One block of a plane. */
typedef struct pumice_block {
    uint64_t changed; /* clock of the plane when the block came to its number of valid pages */
    uint32_t erases;  /* erases in this run */
    uint16_t valid;   /* valid pages, while the block is closed */
    uint8_t stream;   /* the stream of its pages: yours if you place pages, else 0 host, 1 hot, 2 copies, 3 hot copies,
                         4 moved to level wear */
    uint8_t closed;   /* 1: written to its last page and not being reclaimed. Only such blocks may be named. */
} pumice_block;

/* When a block was written, by the clock of its plane. */
typedef struct pumice_block_life {
    uint64_t opened; /* when its first page was about to be written */
    uint64_t closed; /* when its last page had been written, while the block is closed */
} pumice_block_life;

/* The device of a run. */
typedef struct pumice_device {
    uint32_t planes;
    uint32_t blocks_per_plane;
    uint32_t pages_per_block;
    uint32_t user_pages; /* logical pages that the host may address */
    uint64_t seed;
    /* Since version 1.1. */
    const struct pumice_ftl_value *value; /* of the policy's keys, in their order */
} pumice_device;

/* A plane about which a decision is to be made. */
typedef struct pumice_plane {
    uint64_t now;    /* pages written to the plane so far: its clock */
    uint32_t plane;
    uint32_t blocks; /* length of `block` */
    uint32_t counts; /* length of `oldest` and `age`: pages of a block, and one */
    uint32_t reserved;
    const pumice_block *block; /* the plane's blocks by their index in the plane */
    const uint32_t *oldest;    /* for each number of valid pages, of the closed blocks with so many the one that has been
                                  unchanged longest, or PUMICE_NO_BLOCK */
    const double *age;         /* its age: now - changed + 1, or 0 */
    /* Since version 1.1. */
    const pumice_block_life *life; /* of the plane's blocks */
} pumice_plane;

/* An erase that can be suspended for reads that wait. */
typedef struct pumice_erase {
    uint64_t now_ns;   /* simulated time */
    uint64_t done_ns;  /* how much of the erase is done where it would stop */
    uint64_t total_ns; /* all of it */
    uint32_t die;
    uint32_t suspensions;   /* how often it was suspended so far */
    uint32_t waiting_reads; /* reads that wait for the die */
    uint32_t urgent;        /* 1: a write waits for the block */
} pumice_erase;

/* A page that is about to be programmed. */
typedef struct pumice_page {
    uint64_t now; /* pages written to its plane so far */
    uint32_t lpn; /* the logical page */
    uint32_t plane;
    uint32_t copied_from; /* stream of the block that collection copies it from, or PUMICE_FROM_HOST */
    uint32_t reserved;
} pumice_page;

typedef struct pumice_policy {
    uint32_t version; /* PUMICE_POLICY_VERSION */
    uint32_t size;    /* sizeof(struct pumice_policy) */
    const char *name; /* as errors and results have it; UTF-8 */

    /* Makes and ends the state of one run; what `create` returns is the `context` of every other call. A null pointer
     * from `create` is an error. Without `create` the context is null. A power cut takes the state with it: a new one
     * is made when the device recovers, and the old one is ended. */
    void *(*create)(const pumice_device *device);
    void (*destroy)(void *context);

    /* The block of the plane to reclaim next, by its index in the plane. Asked if a closed block has an invalid page. */
    uint32_t (*victim)(void *context, const pumice_plane *plane);

    /* The stream that a page joins, below `streams`: each has an open block in every plane, and what the host writes
     * and what collection copies may share one. */
    uint32_t (*placement)(void *context, const pumice_page *page);
    uint32_t streams; /* 1 to PUMICE_STREAMS_MAX if there is a placement, else 0 */
    uint32_t reserved;

    /* Whether the erase stops here: 1 or 0. Needs erase.suspension, which says where it could. */
    uint32_t (*suspend)(void *context, const pumice_erase *erase);

    /* The closed block whose data is moved now to level wear, or PUMICE_NO_BLOCK. Asked after each reclaimed block. */
    uint32_t (*wear_swap)(void *context, const pumice_plane *plane);

    /* Asked after each call if it is there: null, or why the call failed; one line, UTF-8. The run then ends with it. */
    const char *(*failure)(void *context);

    /* Since version 1.1. Keys of the section [policy] of a spec; --set policy.NAME=VALUE sets one. Their values come with
     * the device to `create`. */
    const struct pumice_ftl_key *key;
    uint64_t keys;
} pumice_policy_table;

/* Functions that are given by their addresses and not in a table (numba, ctypes). The arguments are the members of the
 * structures above. Those of the second three, since version 1.1, are of a policy with a state: its memory comes first. */
typedef uint32_t pumice_flat_plane(uint32_t plane, uint64_t now, const pumice_block *block, uint32_t blocks,
                                   const uint32_t *oldest, const double *age, uint32_t counts);
typedef uint32_t pumice_flat_page(uint32_t lpn, uint32_t plane, uint64_t now, uint32_t copied_from);
typedef uint32_t pumice_flat_erase(uint32_t die, uint64_t now_ns, uint64_t done_ns, uint64_t total_ns,
                                   uint32_t suspensions, uint32_t waiting_reads, uint32_t urgent);
typedef uint32_t pumice_state_plane(void *state, uint32_t plane, uint64_t now, const pumice_block *block,
                                    const pumice_block_life *life, uint32_t blocks, const uint32_t *oldest,
                                    const double *age, uint32_t counts);
typedef uint32_t pumice_state_page(void *state, uint32_t lpn, uint32_t plane, uint64_t now, uint32_t copied_from);
typedef uint32_t pumice_state_erase(void *state, uint32_t die, uint64_t now_ns, uint64_t done_ns, uint64_t total_ns,
                                    uint32_t suspensions, uint32_t waiting_reads, uint32_t urgent);

/* What your shared object exports. */
const struct pumice_policy *pumice_policy(void);

#ifdef __cplusplus
}
#endif

#endif
