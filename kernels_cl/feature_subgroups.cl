/* SPDX-License-Identifier: MIT */
/*
 * feature_subgroups: the trial of the feature SUBGROUPS: threads of a sub-group read each other's
 * registers.
 *
 * Computes: verdicts[i] = 1.0 for every thread i that found them right.
 * How: every thread leaves its own id in local memory, at the place that the device's ids for
 * sub-groups give it. Then it compares what shuffles bring with what lies there. Sub-groups of
 * unequal sizes, or not of a power of two, fail: the depth of the kernels' trees counts on it.
 * Needs: cl_khr_subgroup_shuffle. Without it every verdict is 0, so that the trial is quiet where
 * there is nothing to find.
 * Why: the ladder's steps from `shuffle` on exchange registers within sub-groups.
 */
#define SUBGROUPS 1

#if defined(cl_khr_subgroup_shuffle) && (defined(cl_khr_subgroups) || defined(__opencl_c_subgroups))
/* The steps are written out, not a loop: POCL's shuffles have a barrier in them. */
#define TRY(s) right &= sub_group_shuffle(thread, place + s < size ? place + s : place) == ids[place + s < size ? at + s : at];

KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    __local u32 ids[GROUP];
    const u32 thread = get_local_id(0), place = get_sub_group_local_id(), size = get_sub_group_size();
    const u32 at = get_sub_group_id() * size + place;
    u32 right = (size & (size - 1)) == 0 && size * get_num_sub_groups() == GROUP && at < GROUP;
    ids[thread] = GROUP;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < GROUP) ids[at] = thread;
    barrier(CLK_LOCAL_MEM_FENCE);
    TRY(32) TRY(16) TRY(8) TRY(4) TRY(2) TRY(1)
    verdicts[thread] = right ? 1.0f : 0.0f;
}
#else
KERNEL void tally_feature(GLOBAL f32 *verdicts) {
    verdicts[get_local_id(0)] = 0.0f;
}
#endif
