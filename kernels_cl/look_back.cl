/* SPDX-License-Identifier: MIT */
/*
 * look_back: a scan in one launch, in scan order v1, for NVIDIA's GPUs: each group learns what is before its tiles from what other groups publish.
 *
 * Computes n values. How: a group has one to four tiles of 4,096, in registers or, with the feature BULK, in local memory; the items are read once.
 * kernels/look_back.h has the kernel.
 * Needs: local memory of some 35 accumulators a tile, and up to 32 KiB of items; words that other groups see in order (feature ORDER); NVIDIA's
 * inline assembly (PTX).
 * Why: memory speed: nothing is read twice.
 */
#define SHARED_ADDRESS(p) ((u32)(size_t)(p))
#define LOOK_BACK_BOUNDS BOUNDS
