/* SPDX-License-Identifier: MIT */
/*
 * look_back: a scan in one launch, in scan order v1.
 *
 * Computes: the scan of n items.
 * How: each group computes the exclusive prefix of its tiles from what other groups publish. It has
 * one to four tiles of 4,096 items, in registers, or in local memory with the feature BULK. The
 * items are read once. The kernel is in kernels/look_back_tiles.h.
 * Needs: local memory for some 35 accumulators per tile, and up to 32 KiB for items; words that
 * other groups see in order (feature ORDER).
 * Why: memory speed. Nothing is read twice. Launches that overlap gain nothing here, and lose at
 * 2^22: 17.9 us instead of 13.9 (H200, November 2026).
 */

/* Threads that a multiprocessor shall have room for. The compiler limits the registers to that. */
#if !defined(STAGED)
#define RESIDENT GROUP
#elif defined(SEGMENTED)
#define RESIDENT (ACC_BYTES <= 8 ? 1024 : GROUP)
#else
#define RESIDENT (ACC_BYTES <= 4 ? 1536 : ACC_BYTES <= 8 ? 1280 : ACC_BYTES <= 16 ? 1024 : ACC_BYTES <= 24 ? 768 : GROUP)
#endif
#define LOOK_BACK_BOUNDS __launch_bounds__(GROUP, RESIDENT / GROUP)
