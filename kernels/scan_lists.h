/* SPDX-License-Identifier: MIT */
/*
 * scan_lists: where the lists of a scan along an axis lie, in CUDA C and OpenCL C.
 *
 * Computes: nothing by itself. The kernels of scans along an axis call what stands here.
 * How: the number s of a list is divided by the extents of the axes that are not scanned, the last
 * one fastest. The remainders are the list's indices along these axes.
 * Needs: kernels/scanning.h before it.
 * Why: the kernels of GPUs and those of CPUs take the same arguments.
 */

/* src/axes/axes.h describes both structs. */
typedef struct {
    u64 extent;
    i64 in, where, out;
} SCAN_AXIS;
typedef struct {
    u64 n;
    u32 scanned, kept;
    SCAN_AXIS axis[SHAPE_AXES];
} SCAN_SHAPE;

/* The arguments of the kernels. `team` is the number of threads of a team. */
#define AXIS_ARGS                                                                                                              \
    SOURCE_ARGS, const SCAN_SHAPE shape, u64 count, u32 team, GLOBAL RESULT *out, u64 out_offset, const ITEM initial

/* Divides by an extent; 64 bits take a GPU ten times as long as 32. */
INLINE u64 list_quotient(u64 a, u64 b) {
    return (a | b) >> 32 ? a / b : (u64)((u32)a / (u32)b);
}

/* The places of a list's index 0, in items and in values. */
typedef struct {
    i64 in, out;
} LIST_PLACE;

INLINE LIST_PLACE list_place(const SCAN_SHAPE *shape, u64 s) {
    LIST_PLACE place;
    place.in = place.out = 0;
    for (u32 a = shape->kept; a > 0; a--) {
        u64 i = s;
        if (a > 1) {
            const u64 rest = list_quotient(s, shape->axis[a].extent);
            i = s - rest * shape->axis[a].extent;
            s = rest;
        }
        place.in += (i64)i * shape->axis[a].in;
        place.out += (i64)i * shape->axis[a].out;
    }
    return place;
}
