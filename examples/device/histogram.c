/*
 * A drive in the main loop of a simulation with events of its own: a service whose clients arrive at random, and a timer
 * that flushes every 20 milliseconds. At the end the latencies of reads and writes, as histograms.
 *
 *     cc -O2 histogram.c $(pkg-config --cflags --libs pumice_device) -o histogram && ./histogram
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <pumice_device.h>

#define REQUESTS 20000
#define PAGE 4096
#define FLUSH_EVERY 20000000 /* ns */
#define MEAN_GAP 800000.0    /* ns */

static pumice_device drive;
static uint64_t submitted_at[2 * REQUESTS];
static uint8_t kind_of[2 * REQUESTS];
static unsigned long histogram[4][64]; /* by kind, and by the power of two of the latency in ns */

static void check(int status)
{
    if (status != PUMICE_DEVICE_OK) {
        fprintf(stderr, "status %d: %s\n", status, pumice_device_message());
        exit(1);
    }
}

/* Random numbers of the simulation: the same on every machine. */
static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t gap(void)
{
    return (uint64_t)(-MEAN_GAP * log(((double)(random_bits() >> 11) + 1.0) / 9007199254740993.0));
}

static void submit(uint64_t now, uint8_t kind, uint64_t offset, uint32_t bytes)
{
    pumice_device_request request = {now, offset, bytes, kind, 0, 0, 0};
    uint64_t id;
    check(pumice_device_submit(drive, &request, 1, &id, NULL));
    submitted_at[id] = now;
    kind_of[id] = kind;
}

/* The drive's time goes on to `to`; what is done is noted. */
static void let_pass(uint64_t to)
{
    pumice_device_completion done[64];
    size_t count;
    do {
        check(pumice_device_advance(drive, to, done, 64, &count));
        for (size_t i = 0; i < count; i++) {
            uint64_t latency = done[i].at_ns - submitted_at[done[i].id];
            int power = 0;
            while (latency >>= 1)
                power++;
            histogram[kind_of[done[i].id]][power]++;
        }
    } while (count == 64);
}

static void print(const char *name, const unsigned long *counts)
{
    unsigned long all = 0, so_far = 0;
    for (int power = 0; power < 64; power++)
        all += counts[power];
    printf("%s: %lu\n", name, all);
    for (int power = 0; power < 64; power++)
        if (counts[power]) {
            so_far += counts[power];
            printf("  below %10.1f us %7lu  %6.2f %%\n", ldexp(1.0, power + 1) / 1000, counts[power], 100.0 * so_far / all);
        }
}

int main(void)
{
    pumice_device_options options = PUMICE_DEVICE_OPTIONS;
    pumice_device_info info = {.size = sizeof info};
    options.preset = "tiny";
    options.settings = "ftl.kind = page\nftl.over_provisioning = 0.2\nhost.read_priority = true\n"
                       "host.link_mb_per_s = 1000\nhost.overhead_us = 10\nhost.write_buffer_kib = 256\nhost.flush = lru\ninitial.fill = 0.9\ninitial.age_writes = 1.0\n";
    check(pumice_device_open(&options, &drive));
    check(pumice_device_get_info(drive, &info));

    uint64_t arrival = gap(), timer = FLUSH_EVERY, next;
    int left = REQUESTS;
    while (left > 0) {
        /* The events of this simulation are arrivals and a timer; those of the drive come between them. */
        check(pumice_device_next_event(drive, &next));
        uint64_t now = arrival < timer ? arrival : timer;
        if (next <= now) {
            let_pass(next);
        } else if (now == timer) {
            submit(now, PUMICE_DEVICE_FLUSH, 0, 0);
            timer += FLUSH_EVERY;
        } else {
            uint8_t kind = random_bits() % 10 < 7 ? PUMICE_DEVICE_READ : PUMICE_DEVICE_WRITE;
            submit(now, kind, random_bits() % (info.capacity_bytes / PAGE) * PAGE, PAGE);
            arrival += gap();
            left--;
        }
    }
    let_pass(PUMICE_DEVICE_NEVER);
    print("reads", histogram[PUMICE_DEVICE_READ]);
    print("writes", histogram[PUMICE_DEVICE_WRITE]);
    print("flushes", histogram[PUMICE_DEVICE_FLUSH]);
    check(pumice_device_close(drive));
    return 0;
}
