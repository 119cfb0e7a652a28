/* SPDX-License-Identifier: MIT */
/*
 * Order v1: the canonical order of combination (docs/numerics.md). It is a function of n alone.
 *
 * - Items form chunks of 4,096. A chunk has 128 lanes.
 * - Lane l takes items l, l + 128, l + 256, ... in sequence and begins with the identity.
 * - The lanes of a chunk are halved: lane l takes in lane l + 64, then l + 32, ... then l + 1. The
 *   lower lane is on the left.
 * - Chunks are combined by the aligned binary tree over their index: 2i with 2i + 1, level by
 *   level. A left node without a right one stays as it is.
 * - Absent items are the identity.
 *
 * These numbers are frozen: the kernels, the planner and the tests' oracle depend on them. 128
 * lanes are a warp of 16-byte loads of f32 (512 contiguous bytes) and 8 AVX-512 accumulators. A
 * chunk of f32 is 16 KiB.
 */
#ifndef TALLY_ORDER_H
#define TALLY_ORDER_H

#define TALLY_ORDER_VERSION 1
#define TALLY_LANES 128
#define TALLY_ROWS 32
#define TALLY_CHUNK_ITEMS (TALLY_LANES * TALLY_ROWS)

/*
 * Scan order v1: a function of the items' indices alone. The value of the first m items is a
 * function of these items alone.
 *
 * - 4 items are a cell, 32 cells a row (128 items), 32 rows a tile (4,096), 32 tiles a block
 *   (131,072).
 * - A cell's items are combined in sequence.
 * - The 32 parts of a row, of a tile and of a block are combined by Kogge and Stone's scan: in
 *   steps s = 1, 2, 4, 8, 16 part l >= s becomes (part l - s) combined with (part l).
 * - Blocks are combined in sequence.
 * - The value of the first m items is the following, in which a part without items is left out:
 *     ((((blocks before) . (tiles before, in the block)) . (rows before, in the tile))
 *         . (cells before, in the row)) . (items before, in the cell)
 * - Nothing stands for absent items.
 */
#define TALLY_CELL_ITEMS 4
#define TALLY_SCAN_WIDTH 32
#define TALLY_TILE_ITEMS (TALLY_CELL_ITEMS * TALLY_SCAN_WIDTH * TALLY_SCAN_WIDTH)

#endif
