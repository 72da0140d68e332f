/* littlefs on a simulated NAND chip: the four functions that littlefs asks of a block device. */
#ifndef LFS_PUMICE_H
#define LFS_PUMICE_H

#include <lfs.h>
#include <pumice_chip.h>

/*
 * Fills a configuration for a chip that is open: reads and programs are of whole pages, a block of littlefs is a block
 * of the chip. Everything else is 0, so littlefs takes its defaults. Returns 0, or LFS_ERR_IO.
 */
int lfs_pumice_config(struct lfs_config *config, pumice_chip *chip);

#endif
