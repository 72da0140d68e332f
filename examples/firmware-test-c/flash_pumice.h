/* The flash driver of the tests: the chip that it drives. */
#ifndef FLASH_PUMICE_H
#define FLASH_PUMICE_H

#include <pumice_chip.h>

extern pumice_chip *the_chip;

/* Opens it, or ends the program with the reason. */
void open_the_chip(void);

#endif
