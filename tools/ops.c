/* SPDX-License-Identifier: MIT */
/* ops.c: `tally ops` lists the operators with the types of their results. It needs no device. */
#include <stdio.h>

#include "cli.h"
#include "tools/print/wrap.h"

/* Columns of the table. The JSON output has all types. */
static const tally_dtype columns[] = {TALLY_F16, TALLY_F32, TALLY_I32, TALLY_U32, TALLY_BOOL, TALLY_C64};

#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))
#define NAME_WIDTH 14
#define CELL_WIDTH 6
#define TEXT_COLUMN (NAME_WIDTH + CELL_WIDTH * (COLUMN_COUNT + 1))

/* Returns the summary and the parameters with their defaults. */
cli_text cli_op_text(tally_op op) {
    cli_text out;
    double value = 0;
    size_t used = (size_t)snprintf(out.text, sizeof(out.text), "%s", tally_op_summary(op));
    for (uint32_t i = 0; tally_op_param_name(op, i, &value); i++)
        used += (size_t)snprintf(out.text + used, sizeof(out.text) - used, "%s --param%c%s=%.15g", i ? "," : ";", WRAP_JOINT,
                                 tally_op_param_name(op, i, NULL), value);
    return out;
}

static void print_table(void) {
    printf("%-*s%-*s", NAME_WIDTH, "op", CELL_WIDTH, "files");
    for (size_t c = 0; c < COLUMN_COUNT; c++) printf("%-*s", CELL_WIDTH, tally_dtype_name(columns[c]));
    puts("the result");
    for (tally_op op = 1; op < TALLY_OP_END; op++) {
        printf("%-*s%-*u", NAME_WIDTH, tally_op_name(op), CELL_WIDTH, tally_op_inputs(op));
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            const char *result = tally_dtype_name(tally_result_dtype(op, columns[c]));
            printf("%-*s", CELL_WIDTH, result ? result : "-");
        }
        wrap_print(stdout, TEXT_COLUMN, TEXT_COLUMN, WRAP_COLUMNS, cli_op_text(op).text);
    }
    wrap_printf(stdout,
                "Below a type of items: the type of their result; - where they are not taken. f64 is like f32, c128 like "
                "c64, the other integers like i32 and u32; all of them: tally ops --json");
}

static json_object *op_json(tally_op op) {
    json_object *o = json_object_new_object(), *params = json_object_new_object(), *results = json_object_new_object();
    double value = 0;
    for (uint32_t i = 0; tally_op_param_name(op, i, &value); i++)
        json_object_object_add(params, tally_op_param_name(op, i, NULL), json_object_new_double(value));
    uint32_t values = 0;
    for (tally_dtype in = 1; in < TALLY_DTYPE_END; in++) {
        if (tally_result_count(op, in) > values) values = tally_result_count(op, in);
        json_object_object_add(results, tally_dtype_name(in), cli_json_text(tally_dtype_name(tally_result_dtype(op, in))));
    }
    json_object_object_add(o, "name", cli_json_text(tally_op_name(op)));
    json_object_object_add(o, "summary", cli_json_text(tally_op_summary(op)));
    json_object_object_add(o, "inputs", json_object_new_int64(tally_op_inputs(op)));
    json_object_object_add(o, "values", json_object_new_int64(values));
    json_object_object_add(o, "params", params);
    json_object_object_add(o, "result_dtypes", results);
    return o;
}

static void print_json(void) {
    json_object *all = json_object_new_object(), *rows = json_object_new_array();
    for (tally_op op = 1; op < TALLY_OP_END; op++) json_object_array_add(rows, op_json(op));
    json_object_object_add(all, "ops", rows);
    cli_print_json(all);
}

cli_exit cli_list_ops(const cli_options *options, int count, char **operands) {
    (void)count, (void)operands;
    (options->json ? print_json : print_table)();
    return CLI_DONE;
}
