"""The superblock FTL of 2006 (EMSOFT'06)."""
