/* SPDX-License-Identifier: MIT */
/* The common part of all plans: the context, the terms and their parameters, and the public
 * calls that take any plan. */
#include <stdlib.h>

#include "program/program.h"

tally_status tally_plan_open(tally_context *context, const tally_plan_kind *kind, size_t bytes, tally_terms *terms,
                             uint64_t max_n, tally_plan **out) {
    tally_plan *plan = calloc(1, bytes);
    void *params = terms ? malloc(terms->param.bytes) : NULL;
    if (!plan || (terms && !params)) {
        free(plan);
        free(params);
        if (terms) tally_terms_close(terms);
        return tally_fail(TALLY_E_MEMORY, "out of memory");
    }
    *plan = (tally_plan){.tag = TALLY_TAG_PLAN, .kind = kind, .context = context, .params = params, .max_n = max_n};
    if (terms) {
        plan->terms = *terms;
        tally_terms_pack_params(&plan->terms, params);
    }
    tally_context_retain(context);
    *out = plan;
    return TALLY_OK;
}

tally_status tally_plan_give(tally_plan *plan, tally_status status, tally_plan **out) {
    if (status)
        tally_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

static bool is_plan(const tally_plan *plan) {
    return plan && plan->tag == TALLY_TAG_PLAN;
}

void tally_plan_destroy(tally_plan *plan) {
    if (!is_plan(plan)) return;
    tally_context *context = plan->context;
    plan->kind->close(plan);
    tally_terms_close(&plan->terms);
    free(plan->params);
    plan->tag = 0;
    free(plan);
    tally_context_destroy(context);
}

tally_status tally_check_plan(const tally_plan *plan, const tally_plan_kind *kind) {
    if (!plan) return tally_fail(TALLY_E_ARGUMENT, "plan is NULL");
    if (plan->tag != TALLY_TAG_PLAN) return tally_fail(TALLY_E_ARGUMENT, "plan is no plan");
    if (kind && plan->kind != kind)
        return tally_fail(TALLY_E_ARGUMENT, "plan is one of %s, not of %s", plan->kind->name, kind->name);
    return TALLY_OK;
}

tally_status tally_check_n(const tally_plan *plan, uint64_t n) {
    if (n <= plan->max_n) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "n is %llu: the plan's max_n is %llu", (unsigned long long)n,
                      (unsigned long long)plan->max_n);
}

void tally_plan_fit(tally_plan *plan, uint64_t most, void (*set)(tally_plan *, uint64_t), bool (*fits)(const tally_plan *)) {
    uint64_t least = 1;
    set(plan, most);
    while (least < most) {
        if (fits(plan))
            least = plan->max_n;
        else
            most = plan->max_n - 1;
        set(plan, most - (most - least) / 2);
    }
}

tally_status tally_kernel_open(const tally_plan *plan, void *program, const char *entry, void **kernel) {
    return plan->context->backend->kernel_create(plan->context->device, program, entry, kernel);
}

void tally_kernel_close(const tally_plan *plan, void *kernel) {
    if (kernel) plan->context->backend->kernel_close(plan->context->device, kernel);
}

/* ---- the public calls that take any plan ----------------------------------------------------- */

const char *tally_plan_variant(const tally_plan *plan) {
    return is_plan(plan) ? plan->kind->variant(plan) : NULL;
}

uint64_t tally_plan_depth(const tally_plan *plan, uint64_t n) {
    return is_plan(plan) ? plan->kind->depth(plan, n) : 0;
}

uint64_t tally_plan_workspace_bytes(const tally_plan *plan) {
    return is_plan(plan) ? plan->kind->workspace_bytes(plan) : 0;
}

uint64_t tally_plan_result_bytes(const tally_plan *plan) {
    return is_plan(plan) ? plan->terms.result.bytes : 0;
}

int tally_plan_result(const tally_plan *plan, uint32_t index, tally_result_info *result) {
    return is_plan(plan) && result && tally_terms_result(&plan->terms, index, result);
}

tally_status tally_plan_set_param(tally_plan *plan, const char *name, double value) {
    tally_status status = tally_check_plan(plan, NULL);
    if (!status) status = tally_check_pointer(name, "name");
    if (!status) status = tally_terms_set_param(&plan->terms, name, value);
    if (!status && plan->params) tally_terms_pack_params(&plan->terms, plan->params);
    return TALLY_NAMED(status);
}
