/* SPDX-License-Identifier: MIT */
/*
 * Order v1: the canonical order of combination, a function of n alone (docs/numerics.md). Items form chunks of 4,096; in a chunk,
 * lane l of 128 takes items l, l + 128, l + 256, ... in sequence, starting from the identity; the lanes are combined by halving:
 * lane l with lane l + 64, then l + 32, ... l + 1, the lower lane on the left; the chunks are combined by the aligned binary tree
 * over their index: 2i with 2i + 1, level by level, an absent right node leaving the left one as it is. Absent items are the
 * identity. These numbers are frozen: the kernels, the planner and the tests' oracle all depend on them.
 *
 * 128 lanes are a warp of 16-byte loads of f32 (512 contiguous bytes) and 8 AVX-512 accumulators; a chunk of f32 is 16 KiB.
 */
#ifndef TALLY_ORDER_H
#define TALLY_ORDER_H

#define TALLY_ORDER_VERSION 1
#define TALLY_LANES 128
#define TALLY_ROWS 32
#define TALLY_CHUNK_ITEMS (TALLY_LANES * TALLY_ROWS)

/*
 * Scan order v1: a function of the items' indices alone, and the value of the first m items one of them alone. 4 items are a cell, 32 cells a
 * row (128 items), 32 rows a tile (4,096), 32 tiles a block (131,072). A cell's items are combined in sequence; the 32 parts of a row, a tile and
 * a block by Kogge and Stone's scan: in steps s = 1, 2, 4, 8, 16 part l >= s becomes (part l - s) combined with (part l); blocks in sequence.
 * The first m items come to ((((blocks before) . (tiles before, of the block)) . (rows before, of the tile)) . (cells before, of the row)) . (items
 * before, of the cell), where what has none is left out. Nothing stands for absent items.
 */
#define TALLY_CELL_ITEMS 4
#define TALLY_SCAN_WIDTH 32
#define TALLY_TILE_ITEMS (TALLY_CELL_ITEMS * TALLY_SCAN_WIDTH * TALLY_SCAN_WIDTH)

#endif
