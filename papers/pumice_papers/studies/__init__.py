"""Studies that are of no paper, drawn and judged like the papers."""
