/* SPDX-License-Identifier: MIT */
/* job.c: prepares a row of the study to run: a variant of reductions or scans, or a kind of
 * map. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

/* ---- parts of all rows ----------------------------------------------------------------------- */

bool study_row_get(const study_request *request, size_t index, tally_variant_info *out) {
    const bool varies = request->primitive == CLI_REDUCE || request->primitive == CLI_SCAN;
    if (request->primitive == CLI_SEGMENTS) return study_segments_row(request->n, index, out);
    return varies ? cli_variant_get(request->primitive, index, out) : study_moves_row(request->primitive, index, out);
}

tally_status study_memory_open(study_memory *m, uint64_t n) {
    const study_request *r = m->request;
    tally_status status = tally_queue_create(m->context, &m->queue);
    if (!status) status = tally_buffer_create(m->context, n * study_item_bytes(r), &m->in);
    if (!status) status = tally_buffer_create(m->context, study_out_bytes(r, n), &m->out);
    if (!status && r->primitive > CLI_SEGMENTS)
        status = tally_buffer_create(m->context, n * tally_dtype_bytes(study_map_dtype(r)), &m->map);
    if (!status && !(m->got = malloc(study_out_bytes(r, n)))) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    return status;
}

void study_memory_close(study_memory *m) {
    free(m->got);
    study_input_destroy(m->input);
    tally_buffer_destroy(m->in);
    tally_buffer_destroy(m->out);
    tally_buffer_destroy(m->map);
    tally_queue_destroy(m->queue);
    tally_context_destroy(m->context);
}

/* ---- a row ----------------------------------------------------------------------------------- */

tally_status study_job_open(study_job *job, const study_memory *on, const tally_variant_info *row, uint32_t group,
                            uint32_t factor, uint64_t max_n) {
    const study_request *r = on->request;
    const tally_reduce_desc reduce = {.size = sizeof(reduce),
                                      .op = r->op,
                                      .in = r->dtype,
                                      .max_n = max_n,
                                      .variant = row->name,
                                      .group_threads = group,
                                      .factor = factor};
    const tally_scan_desc scan = {.size = sizeof(scan), .op = r->op, .in = r->dtype, .max_n = max_n, .variant = row->name};
    *job = (study_job){.on = on, .row = row->name, .canonical = row->canonical};
    if (r->primitive == CLI_REDUCE) return tally_plan_create(on->context, &reduce, &job->plan);
    if (r->primitive == CLI_SCAN) return tally_scan_plan_create(on->context, &scan, &job->plan);
    if (r->primitive == CLI_SEGMENTS) return study_segments_plan(on, max_n, &job->plan);
    return study_moves_plan(on, row->name, max_n, &job->moves);
}

void study_job_close(study_job *job) {
    tally_plan_destroy(job->plan);
    tally_plan_destroy(job->moves);
}

tally_status study_job_prepare(const study_job *job, uint64_t n) {
    return job->moves ? study_moves_map(job->on, job->row, n) : TALLY_OK;
}

tally_status study_job_run(const study_job *job, uint64_t n) {
    const study_memory *m = job->on;
    if (job->moves) return study_moves_run(m, job->moves, n);
    if (m->request->primitive == CLI_SEGMENTS) return study_segments_run(m, job->plan, job->row, n);
    return m->request->primitive == CLI_SCAN ? tally_scan(job->plan, m->queue, m->in, n, m->out)
                                             : tally_reduce(job->plan, m->queue, m->in, n, m->out);
}

study_state study_job_check(const study_job *job, uint64_t n, bool run, char *text, size_t bytes) {
    const study_memory *m = job->on;
    const uint64_t size = study_out_bytes(m->request, n);
    memset(m->got, 0xa5, size);
    tally_status status = run ? tally_buffer_write(m->queue, m->out, 0, m->got, size) : TALLY_OK;
    if (!status && run) status = study_job_run(job, n);
    if (!status) status = tally_buffer_read(m->queue, m->out, 0, m->got, size);
    const tally_status waited = tally_queue_wait(m->queue);
    if (status || waited) {
        snprintf(text, bytes, "%s", tally_last_error());
        return STUDY_FAILED;
    }
    if (job->moves) return study_moves_check(m, job->row, n, text, bytes) ? STUDY_CHECKED : STUDY_FAILED;
    if (m->request->primitive == CLI_SEGMENTS)
        return study_segments_check(m, job->row, n, text, bytes) ? STUDY_CHECKED : STUDY_FAILED;
    const uint64_t depth = tally_plan_depth(job->plan, n);
    return m->request->primitive == CLI_SCAN ? study_input_check_values(m->input, n, depth, m->got, text, bytes)
                                             : study_input_check(m->input, n, job->canonical, depth, m->got, text, bytes);
}
