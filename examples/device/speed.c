/*
 * How fast a drive answers: requests of 16 KiB at random places, 32 at a time, on the preset bench-64g.
 *
 *     cc -O2 speed.c $(pkg-config --cflags --libs pumice_device) -o speed && ./speed [read|write] [requests]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pumice_device.h>

#define BATCH 32
#define PAGE 16384

static void check(int status)
{
    if (status != PUMICE_DEVICE_OK) {
        fprintf(stderr, "status %d: %s\n", status, pumice_device_message());
        exit(1);
    }
}

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
    int writes = argc > 1 && strcmp(argv[1], "write") == 0;
    long batches = (argc > 2 ? atol(argv[2]) : 2000000) / BATCH;
    uint64_t state = 88172645463325252u;
    pumice_device_options options = PUMICE_DEVICE_OPTIONS;
    pumice_device_request requests[BATCH] = {{0, 0, 0, 0, 0, 0, 0}};
    pumice_device_completion done[BATCH];
    pumice_device_info info = {.size = sizeof info};
    pumice_device drive, copy;
    size_t count;

    options.preset = "bench-64g";
    options.settings = writes ? "" : "initial.age_writes = 0\n";
    check(pumice_device_open(&options, &drive));
    check(pumice_device_get_info(drive, &info));
    double begun = cpu_seconds();
    for (long batch = 0; batch < batches; batch++) {
        for (int i = 0; i < BATCH; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            requests[i].at_ns = info.now_ns;
            requests[i].offset_bytes = (state >> 16) % (info.capacity_bytes * 9 / 10 / PAGE) * PAGE;
            requests[i].bytes = PAGE;
            requests[i].kind = writes ? PUMICE_DEVICE_WRITE : PUMICE_DEVICE_READ;
        }
        check(pumice_device_submit(drive, requests, BATCH, NULL, NULL));
        check(pumice_device_advance(drive, PUMICE_DEVICE_NEVER, done, BATCH, &count));
        info.now_ns = done[count - 1].at_ns;
    }
    double seconds = cpu_seconds() - begun;
    printf("%s: %ld requests in %.2f s of CPU time, %.0f a second\n", writes ? "writes" : "reads", batches * BATCH,
           seconds, (double)(batches * BATCH) / seconds);
    begun = cpu_seconds();
    check(pumice_device_fork(drive, &copy));
    printf("fork: %.1f ms of CPU time\n", 1e3 * (cpu_seconds() - begun));
    check(pumice_device_close(copy));
    check(pumice_device_close(drive));
    return 0;
}
