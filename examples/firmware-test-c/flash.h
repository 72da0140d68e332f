/* What the store needs of a flash driver. The firmware has one for its hardware; flash_pumice.c is one for tests. */
#ifndef FLASH_H
#define FLASH_H

#include <stdint.h>

enum { FLASH_BLOCKS = 6, FLASH_PAGES = 32, FLASH_PAGE_BYTES = 512, FLASH_OOB_BYTES = 16 };

enum flash_result {
    FLASH_OK,
    FLASH_CORRUPT, /* the page fails its code */
    FLASH_FAILED,  /* a program or erase failed: the block is going bad */
    FLASH_DEAD     /* nothing works any more: the power is gone */
};

/* Reads the first bytes of a page and of its spare area. A blank page reads as 0xff. */
int flash_read(uint32_t block, uint32_t page, void *data, uint32_t data_bytes, void *oob, uint32_t oob_bytes);
int flash_program(uint32_t block, uint32_t page, const void *data, uint32_t data_bytes, const void *oob,
                  uint32_t oob_bytes);
int flash_erase(uint32_t block);
int flash_is_bad(uint32_t block);
void flash_mark_bad(uint32_t block);

#endif
