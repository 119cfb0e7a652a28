/* SPDX-License-Identifier: MIT */
/*
 * look_back: a scan in one launch, in scan order v1, for NVIDIA's GPUs: each group learns what is before its tiles from what other groups publish.
 *
 * Computes n values. How: a group has one to four tiles of 4,096, in registers or, with the feature BULK, in shared memory; the items are read once.
 * kernels/look_back.h has the kernel.
 * Needs: shared memory of some 35 accumulators a tile, and up to 32 KiB of items; words that other groups see in order (feature ORDER).
 * Why: memory speed: nothing is read twice. (Launches that overlap gain nothing here, and lose at 2^22: 17.9 instead of 13.9 us, H200, November 2026.)
 */
#define SHARED_ADDRESS(p) ((u32)__cvta_generic_to_shared(p))

/* So many items of a unit shall have registers. */
#if !defined(STAGED)
#define RESIDENT GROUP
#elif defined(SEGMENTED)
#define RESIDENT (ACC_BYTES <= 8 ? 1024 : GROUP)
#else
#define RESIDENT (ACC_BYTES <= 4 ? 1536 : ACC_BYTES <= 8 ? 1280 : ACC_BYTES <= 16 ? 1024 : GROUP)
#endif
#define LOOK_BACK_BOUNDS __launch_bounds__(GROUP, RESIDENT / GROUP)
