//! Blocks as a controller keeps them: free blocks, lists, wear, and which are reclaimed next.

pub mod block_pool;
pub mod lists;
pub mod recency;
pub mod reclaim_leaves;
pub mod reclaim_lines;
pub mod reclaim_units;
pub mod victim_tree;
pub mod victims;
pub mod wear;
