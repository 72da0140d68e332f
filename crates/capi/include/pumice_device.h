/*
 * pumice_device.h: a simulated SSD inside another program's simulation. Requests and time go in, completions come out.
 *
 * A device is opened from a spec (the TOML and presets of `pumice run`). It has no threads, no clock of its own, and no
 * files but the snapshots that it is asked for. All of it is a function of the spec, its seed and the calls: it runs the
 * commands that `pumice run` runs on the same requests, and its result is the same.
 *
 *     pumice_device_options options = PUMICE_DEVICE_OPTIONS;
 *     pumice_device drive;
 *     options.preset = "tiny";
 *     if (pumice_device_open(&options, &drive) != PUMICE_DEVICE_OK)
 *         return puts(pumice_device_message()), 1;
 *
 * Time is whole nanoseconds of one clock, which begins at 0 when the device is opened. A request that is submitted at
 * an instant meets the device behind everything that happened up to then.
 *
 * Handles: a device is a number. Numbers of closed devices, and any others, are refused (PUMICE_DEVICE_NO_DEVICE).
 * Threads: a device may go from thread to thread. A call to one that another thread is calling is refused
 * (PUMICE_DEVICE_BUSY). Different devices are independent.
 * Errors: a call that does not return PUMICE_DEVICE_OK has changed nothing, if nothing else is said of it;
 * pumice_device_message says why.
 * Pointers: a null pointer where none is allowed is refused (PUMICE_DEVICE_MISUSE). A pointer to memory that is gone, or
 * shorter than the length that comes with it, cannot be noticed.
 */
#ifndef PUMICE_DEVICE_H
#define PUMICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header: major << 16 | minor. A library serves headers of its own major version up to its minor one. */
#define PUMICE_DEVICE_VERSION 0x00010002u

/* No instant: nothing will happen before the next request. As an end of time: until nothing happens any more. */
#define PUMICE_DEVICE_NEVER UINT64_MAX

/* What every call returns. */
enum pumice_device_status {
    PUMICE_DEVICE_OK = 0,
    PUMICE_DEVICE_TIME = 1,         /* an instant before the device's present, or later than 146 years */
    PUMICE_DEVICE_RANGE = 2,        /* bytes, zones or a flow that the device does not have, or a length that no such
                                     * request has */
    PUMICE_DEVICE_NO_POWER = 3,     /* the device is off */
    PUMICE_DEVICE_HAS_POWER = 4,    /* the device is on, and cannot be restarted */
    PUMICE_DEVICE_ENDED = 5,        /* after pumice_device_finish, or after an error of the simulation */
    PUMICE_DEVICE_NO_FORK = 6,      /* a device that cannot be copied */
    PUMICE_DEVICE_SIMULATION = 7,   /* the simulation has ended in an error: a rule of the flash, a wrong belief */
    PUMICE_DEVICE_BAD_SPEC = 8,     /* a spec that is not allowed, or does not allow this call */
    PUMICE_DEVICE_BAD_VERSION = 9,  /* this library does not serve programs built for the version asked for */
    PUMICE_DEVICE_NO_DEVICE = 10,   /* the handle is of no device that is open */
    PUMICE_DEVICE_BUSY = 11,        /* another thread is calling the device */
    PUMICE_DEVICE_MISUSE = 12,      /* a call that means nothing, such as a null pointer */
    PUMICE_DEVICE_NO_ROOM = 13,     /* the text is longer than there is room for */
    PUMICE_DEVICE_INTERNAL = 14,    /* a fault of the library; the device can only be closed */
    PUMICE_DEVICE_SNAPSHOT = 15     /* a snapshot that cannot be written or read (since 1.1) */
};

/* What a request asks for. */
enum pumice_device_kind {
    PUMICE_DEVICE_READ = 0,
    PUMICE_DEVICE_WRITE = 1,
    PUMICE_DEVICE_TRIM = 2,
    PUMICE_DEVICE_FLUSH = 3,
    /* Commands to the zone in which the first byte lies; only an append has bytes. Need ftl.zns.interface = "zones". */
    PUMICE_DEVICE_ZONE_APPEND = 4,
    PUMICE_DEVICE_ZONE_OPEN = 5,
    PUMICE_DEVICE_ZONE_CLOSE = 6,
    PUMICE_DEVICE_ZONE_FINISH = 7,
    PUMICE_DEVICE_ZONE_RESET = 8
};

/* How a request ended. What its zone refused has the status code of NVMe for that, 0xb8 to 0xbf. */
enum pumice_device_end {
    PUMICE_DEVICE_DONE = 0,
    PUMICE_DEVICE_POWER_LOST = 1,   /* the power was cut first */
    PUMICE_DEVICE_UNREADABLE = 0x81 /* a page fails its code, which a drive that fails has damaged (since 1.2) */
};

/* A device that is open. No device is 0. */
typedef uint64_t pumice_device;

/* A request. */
typedef struct pumice_device_request {
    uint64_t at_ns;        /* when it is submitted, not before the device's present */
    uint64_t offset_bytes; /* first byte; 0 for a flush */
    uint32_t bytes;        /* length; 0 for a flush and a command to a zone that is no append, and for nothing else */
    uint8_t kind;          /* enum pumice_device_kind */
    uint8_t fua;           /* not 0: a write that is to outlast a power cut once it is done (force unit access) */
    uint8_t stream;        /* placement handle or stream that a write names, 0 if none */
    uint8_t flow;          /* number of the [[workload.flow]] that it belongs to, 0 if there are none */
} pumice_device_request;

/* A request that is done. */
typedef struct pumice_device_completion {
    uint64_t id;           /* what pumice_device_submit gave it */
    uint64_t at_ns;        /* when it was done */
    uint64_t offset_bytes; /* its first byte: that of the request, or where an append was written */
    uint32_t end;          /* enum pumice_device_end */
    uint32_t reserved;     /* 0 */
} pumice_device_completion;

/* How a device is opened. Begin with PUMICE_DEVICE_OPTIONS. The file comes first, then each overrides what is above. */
typedef struct pumice_device_options {
    uint32_t version;          /* PUMICE_DEVICE_VERSION */
    uint32_t size;             /* sizeof(pumice_device_options) */
    uint32_t request_bytes;    /* sizeof(pumice_device_request): what lies between two in an array */
    uint32_t completion_bytes; /* sizeof(pumice_device_completion) */
    const char *preset;        /* name of a preset, or null: in place of one that the file or the text names */
    const char *file;          /* path of a spec, or null */
    const char *spec;          /* TOML text of a spec in place of a file, or null */
    const char *settings;      /* lines `key = value`, or null */
    uint32_t data;             /* not 0: the device keeps the bytes of its pages (since 1.2) */
    uint32_t reserved;         /* 0 */
} pumice_device_options;

#define PUMICE_DEVICE_OPTIONS \
    {PUMICE_DEVICE_VERSION, sizeof(pumice_device_options), sizeof(pumice_device_request), \
     sizeof(pumice_device_completion), NULL, NULL, NULL, NULL, 0, 0}

/* What a device is at present. Set `size` before the call; members beyond it are not written. */
typedef struct pumice_device_info {
    uint32_t size;           /* sizeof(pumice_device_info) */
    uint32_t powered;        /* 1 with power, 0 without */
    uint64_t capacity_bytes; /* what a host can address */
    uint64_t now_ns;         /* the present. While the device starts after a cut: when it serves its host again */
    uint64_t outstanding;    /* requests that were submitted and are not done */
    uint64_t waiting;        /* completions that wait to be taken */
} pumice_device_info;

/* Version of the library: major << 16 | minor. */
uint32_t pumice_device_version(void);

/* Why the last call of this thread that did not return PUMICE_DEVICE_OK did not: one line, valid until the next such
 * call of this thread. */
const char *pumice_device_message(void);

/* Opens a device in its initial state, aged as its spec says. On failure *device is 0. Keys of [workload] are not read. */
int pumice_device_open(const pumice_device_options *options, pumice_device *device);

/* Closes a device. */
int pumice_device_close(pumice_device device);

int pumice_device_get_info(pumice_device device, pumice_device_info *info);

/*
 * Submits requests in the order of the array, each at its own instant, which none may have before the one ahead of it.
 * *taken becomes how many were taken, and *first_id the id of the first; those of the others count up from there. Either
 * pointer may be null. If one is refused, those before it are taken, and the call returns what refused it.
 */
int pumice_device_submit(pumice_device device, const pumice_device_request *requests, size_t count, uint64_t *first_id, size_t *taken);

/*
 * Submits one request to a device that keeps bytes, with those that it writes: as many as its length for a write and an
 * append, none (null, 0) for any other request. *id becomes its id; the pointer may be null. Requests are multiples of
 * 512 bytes; writes are multiples of a page if host.partial_page is "whole-page". Since 1.2.
 */
int pumice_device_submit_data(pumice_device device, const pumice_device_request *request, const void *data, size_t data_bytes, uint64_t *id);

/*
 * Takes the bytes that a read has returned which is done; until then they wait in the device. *data_bytes becomes how many
 * they are, also if there is not so much room (PUMICE_DEVICE_NO_ROOM: they wait on); the pointer may be null. Since 1.2.
 */
int pumice_device_take_data(pumice_device device, uint64_t id, void *data, size_t room, size_t *data_bytes);

/* Sets *at_ns to when something happens next that may complete a request, or to the device's present if a completion
 * waits to be taken; else to PUMICE_DEVICE_NEVER. */
int pumice_device_next_event(pumice_device device, uint64_t *at_ns);

/*
 * Lets time pass until `to_ns`, or until there are completions for all the room, and no further; then takes them, in the
 * order of time. *count becomes how many there are. Without room time passes until `to_ns`, and completions wait.
 * With PUMICE_DEVICE_NEVER the present becomes that of the last event.
 */
int pumice_device_advance(pumice_device device, uint64_t to_ns, pumice_device_completion *completions, size_t room, size_t *count);

/* Takes completions that wait, at most as many as there is room for. No time passes: for a device that is off or ended. */
int pumice_device_take(pumice_device device, pumice_device_completion *completions, size_t room, size_t *count);

/* Cuts the power. What is under way completes with PUMICE_DEVICE_POWER_LOST. Needs ftl.recovery. */
int pumice_device_cut(pumice_device device, uint64_t now_ns);

/* Gives the power back. The device starts as its spec says, and takes no request before the present that
 * pumice_device_get_info then tells. */
int pumice_device_restart(pumice_device device, uint64_t now_ns);

/* Makes *copy an independent device in the same state, completions that wait included. On failure *copy is 0. */
int pumice_device_fork(pumice_device device, pumice_device *copy);

/*
 * Writes a device in which nothing happens to a file, sealed with a key: any text, without which nobody can make such a
 * file. What the device holds is in it, with its bytes if it keeps them, and its wear; not its clock, and nothing that was
 * measured. Since 1.1.
 */
int pumice_device_snapshot(pumice_device device, const char *path, const char *key);

/* Opens a device of the same spec and library as it was when it was written: it keeps bytes if that one did, whatever
 * the options say. Its clock begins at 0. Since 1.1. */
int pumice_device_open_snapshot(const pumice_device_options *options, const char *path, const char *key, pumice_device *device);

/* Ends the use of a device as a run ends: what is under way ends, what is buffered is programmed. Completions can still
 * be taken, and the result can be read. */
int pumice_device_finish(pumice_device device);

/*
 * Writes the result document (JSON, pumice.result/1) with a final 0: so far, or after pumice_device_finish of the whole
 * use. *text_bytes becomes its length with that 0, also if there is not so much room (PUMICE_DEVICE_NO_ROOM). `text` may
 * be null with room 0, text_bytes null.
 */
int pumice_device_result(pumice_device device, char *text, size_t room, size_t *text_bytes);

#ifdef __cplusplus
}
#endif

#endif
