/* SPDX-License-Identifier: MIT */
/*
 * look_back: a scan in one launch, in scan order v1, for NVIDIA's GPUs.
 *
 * Computes: the scan of n items.
 * How: each group computes the exclusive prefix of its tiles from what other groups publish. It has
 * one to four tiles of 4,096 items, in registers, or in local memory with the feature BULK. The
 * items are read once. The kernel is in kernels/look_back_tiles.h.
 * Needs: local memory for some 35 accumulators per tile, and up to 32 KiB for items; words that
 * other groups see in order (feature ORDER); NVIDIA's inline assembly (feature PTX).
 * Why: memory speed. Nothing is read twice.
 */
#define LOOK_BACK_BOUNDS BOUNDS
