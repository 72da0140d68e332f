/*
 * pumice_firmware.h: what `pumice torture` asks of firmware on the chip of pumice_chip.h.
 *
 * A shared object exports pumice_firmware_under_test. `pumice torture` runs a session of steps once, cuts the power at
 * each of its programs, copies and erases, and after each cut starts the firmware anew, mounts it, checks it and lets it
 * work on. All functions return null, or what is wrong in one line, which must live until the next call.
 *
 * The shared object need not be linked with the chip library: the chip's functions are those of pumice.
 */
#ifndef PUMICE_FIRMWARE_H
#define PUMICE_FIRMWARE_H

#include <pumice_chip.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header: major << 16 | minor. */
#define PUMICE_FIRMWARE_VERSION 0x00010000u

typedef struct pumice_firmware {
    uint32_t version; /* PUMICE_FIRMWARE_VERSION */
    uint32_t size;    /* sizeof(pumice_firmware) */
    const char *name; /* or null */
    uint64_t steps;   /* of a session, unless the user asks for another number */

    /* The firmware's RAM: made before every format and mount, gone after every cut. Null of `start` is a failure. What
     * lives elsewhere, in variables of the program, is not gone, and must not count. The chip has no power during `stop`. */
    void *(*start)(pumice_chip *chip);
    void (*stop)(void *ram);

    const char *(*format)(void *ram);
    const char *(*mount)(void *ram);

    /* Does a step, from 0 on, always the same for the same number. The step that a cut has met is asked for again. */
    const char *(*work)(void *ram, uint64_t step);

    /* Whether the first `done` steps have their effect. Step `done` may have it too, or a part of it, if that may be. */
    const char *(*check)(void *ram, uint64_t done);
} pumice_firmware;

/* What the shared object exports. */
const pumice_firmware *pumice_firmware_under_test(void);

#ifdef __cplusplus
}
#endif

#endif
