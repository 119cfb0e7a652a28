/* SPDX-License-Identifier: MIT */
/* lists.c: the tasks and types to measure, and the lists of names and of numbers of items on the
 * command line and in the bars. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "tools/print/units.h"

#define X (1u << ARRAY_X)
#define MAP (1u << ARRAY_MAP)
#define OUT (1u << ARRAY_OUT)
const primitive_row bench_primitives[BENCH_END] = {
    [BENCH_REDUCE] = {"reduce", NULL, X, INPUT_WHOLE, PEER_READ},
    [BENCH_SCAN] = {"scan", "f32,f64,i32,i64,f16,bf16,i8", X | OUT, INPUT_WALK, PEER_COPY},
    [BENCH_GATHER] = {"gather", "f32", X | MAP | OUT, INPUT_ROUNDED, PEER_COPY},
    [BENCH_SCATTER] = {"scatter", "f32", X | MAP | OUT, INPUT_ROUNDED, PEER_COPY},
    [BENCH_SEGMENTS] = {"segments", NULL, X | MAP | OUT, INPUT_WHOLE, PEER_READ}};
const char *const bench_maps[MAP_END] = {[MAP_IDENTITY] = "identity", [MAP_RANDOM] = "random"};

/* The tasks that are not reductions. */
static const bench_task other_tasks[] = {
    {BENCH_SCAN, TALLY_SUM, MAP_NONE},          {BENCH_SCAN, TALLY_MIN, MAP_NONE},
    {BENCH_SCAN, TALLY_MAX, MAP_NONE},          {BENCH_GATHER, TALLY_OP_NONE, MAP_IDENTITY},
    {BENCH_GATHER, TALLY_OP_NONE, MAP_RANDOM},  {BENCH_SCATTER, TALLY_OP_NONE, MAP_IDENTITY},
    {BENCH_SCATTER, TALLY_OP_NONE, MAP_RANDOM}, {BENCH_NONE, TALLY_OP_NONE, MAP_NONE},
};

int is_copied(const bench_task *task) {
    return !strcmp(bench_primitives[task->primitive].ceiling, PEER_COPY);
}

const bench_task *bench_tasks(void) {
    static bench_task tasks[TALLY_OP_END + sizeof(other_tasks) / sizeof(other_tasks[0])];
    if (tasks[0].primitive) return tasks;
    bench_task *next = tasks;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) *next++ = (bench_task){BENCH_REDUCE, op, MAP_NONE};
    memcpy(next, other_tasks, sizeof(other_tasks));
    return tasks;
}

int task_takes(const bench_task *task, tally_dtype in) {
    const char *types = bench_primitives[task->primitive].types;
    if (!is_listed(types, tally_dtype_name(in))) return 0;
    return task->primitive != BENCH_REDUCE || tally_result_dtype(task->op, in);
}

const char *task_with(const bench_task *task) {
    return task->map ? bench_maps[task->map] : tally_op_name(task->op);
}

task_text task_name(const bench_task *task) {
    task_text out;
    const int is_reduce = task->primitive == BENCH_REDUCE;
    snprintf(out.text, sizeof(out.text), "%s%s%s", is_reduce ? "" : bench_primitives[task->primitive].name,
             is_reduce ? "" : " ", task_with(task));
    return out;
}

unsigned task_arrays(const bench_task *task) {
    return bench_primitives[task->primitive].arrays | (task->op && tally_op_inputs(task->op) > 1 ? 1u << ARRAY_Y : 0);
}

int arrays_inputs(unsigned arrays) {
    return arrays & 1u << ARRAY_Y ? 2 : arrays & X ? 1 : 0;
}

uint64_t array_bytes(int which, tally_dtype in, uint64_t n) {
    return n * (which == ARRAY_MAP ? sizeof(uint32_t) : tally_dtype_bytes(in));
}

int is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    if (!list) return 1;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ',')) return 1;
    return 0;
}

int sizes_have(const bench_sizes *sizes, uint64_t n) {
    for (int i = 0; i < sizes->count; i++)
        if (sizes->n[i] == n) return 1;
    return 0;
}

int sizes_add(bench_sizes *sizes, const char *text) {
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        uint64_t n;
        if (!units_read_count(text, length, LEAST_ITEMS, MOST_ITEMS, &n)) return 1;
        text += length;
        if (!sizes_have(sizes, n)) {
            if (sizes->count == MAX_SIZES) return 1;
            sizes->n[sizes->count++] = n;
        }
        if (!*text) return 0;
    }
}
