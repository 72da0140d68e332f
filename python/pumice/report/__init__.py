"""Reports: one self-contained HTML file over results, comparisons and reproductions."""
