/* SPDX-License-Identifier: MIT */
/*
 * feature_subgroups: whether items of a sub-group can read each other's registers: 1.0 for every item that found them right.
 *
 * How: by the ids that the device gives, every item leaves its own in local memory, and compares what shuffles bring with what lies
 * there. Sub-groups of unequal sizes, or not of a power of two, are no feature: the depth of the kernels' trees counts on it.
 * Needs: cl_khr_subgroup_shuffle; without it every verdict is 0, so that the trial is quiet where there is nothing to find.
 */
#define SUBGROUPS 1

#if defined(cl_khr_subgroup_shuffle) && (defined(cl_khr_subgroups) || defined(__opencl_c_subgroups))
/* Not in a loop: POCL's shuffles have a barrier in them. */
#define TRY(s) right &= sub_group_shuffle(item, lane + s < size ? lane + s : lane) == ids[lane + s < size ? at + s : at];

KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    __local u32 ids[GROUP];
    const u32 item = get_local_id(0), lane = get_sub_group_local_id(), size = get_sub_group_size();
    const u32 at = get_sub_group_id() * size + lane;
    u32 right = (size & (size - 1)) == 0 && size * get_num_sub_groups() == GROUP && at < GROUP;
    ids[item] = GROUP;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < GROUP) ids[at] = item;
    barrier(CLK_LOCAL_MEM_FENCE);
    TRY(32) TRY(16) TRY(8) TRY(4) TRY(2) TRY(1)
    verdicts[item] = right ? 1.0f : 0.0f;
}
#else
KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    verdicts[get_local_id(0)] = 0.0f;
}
#endif
