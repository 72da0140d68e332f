/* A store of a few small values that outlasts a cut of the power at any moment: a log in one flash block. */
#ifndef STORE_H
#define STORE_H

#include <stdint.h>

enum { STORE_KEYS = 8, STORE_VALUE_BYTES = 16 };

struct store {
    uint8_t values[STORE_KEYS][STORE_VALUE_BYTES];
    uint32_t generation; /* of the log; 0: there is none */
    uint32_t block;      /* that holds it */
    uint32_t next;       /* page that takes the next record */
};

/* Finds the newest log. An empty flash gives a store whose values are all 0. Returns a flash_result. */
int store_mount(struct store *store);

/* Stores a value. When it returns FLASH_OK, the value is there after every cut. */
int store_put(struct store *store, uint32_t key, const uint8_t value[STORE_VALUE_BYTES]);

#endif
