/* SPDX-License-Identifier: MIT */
/*
 * interleaved_modulo: a tree in local memory, neighbours first, by the items whose index divides.
 *
 * Why: document 000, reduce0, and 003, reduction #3: the first tree. Every second, then every fourth item of each warp works: the warps
 * diverge, and the remainder is slow to compute.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
    data[item] = item_or_identity(in, get_global_id(0), n, base);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (u32 s = 1; s < GROUP; s *= 2) {
        if (item % (2 * s) == 0) data[item] = op_combine(data[item], data[item + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) HAND_IN(data[0]);
}
