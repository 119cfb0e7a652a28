/* SPDX-License-Identifier: MIT */
/*
 * unroll_all: every step of the tree is unrolled for the group's size.
 *
 * Why: document 000, version 5; 003, reduction #8; 001. GROUP is a constant of the program, so the steps that it does not need are not
 * there at all.
 */
#define STEP(s)                                                                                                                \
    if (item < (s)) data[item] = op_combine(data[item], data[item + (s)]);                                                     \
    barrier(CLK_LOCAL_MEM_FENCE);

PARTIALS {
    SOURCE_OPEN(in)
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
    const u64 i = (u64)get_group_id(0) * 2 * GROUP + item;
    data[item] = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    barrier(CLK_LOCAL_MEM_FENCE);
#if GROUP >= 1024
    STEP(512)
#endif
#if GROUP >= 512
    STEP(256)
#endif
#if GROUP >= 256
    STEP(128)
#endif
#if GROUP >= 128
    STEP(64)
#endif
    LAST_STEPS(data, item)
    if (item == 0) HAND_IN(data[0]);
}
