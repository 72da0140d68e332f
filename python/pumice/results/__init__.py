"""Result documents: their fields, tables of many results, and comparisons."""
