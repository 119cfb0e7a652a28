/* SPDX-License-Identifier: MIT */
/* parts.h: parts of reductions: their shapes, their records, and how they are joined
 * (docs/parts.md). */
#ifndef TALLY_SRC_PARTS_H
#define TALLY_SRC_PARTS_H

#include "host/host.h"
#include "reduce/reduce.h"

/* ---- shape.c --------------------------------------------------------------------------------- */

/* A node of the canonical tree: the chunks from index << level on, 1 << level of them, or fewer at
 * the end of a known total. */
typedef struct tally_part_node {
    uint64_t index;
    uint32_t level;
} tally_part_node;

/* 2^60 items are 2^48 chunks; a run of them has less than two nodes of each level. */
#define TALLY_PART_MOST_NODES 98

/* The division of a part: raw items of a chunk that began before it, nodes, raw items of a chunk
 * that goes on behind it. A function of first, n and total alone. */
typedef struct tally_part_shape {
    uint64_t first, n, total;
    bool closed; /* it ends at a known total, so its last chunk may be short */
    uint32_t head_items, tail_items, node_count;
    tally_part_node nodes[TALLY_PART_MOST_NODES];
} tally_part_shape;

/* Checks the range of a part. `name` is the record in error texts, "" for none. Errors:
 * E_ARGUMENT. */
tally_status tally_part_check_range(const char *name, uint64_t first, uint64_t n, uint64_t total);
/* The range has been checked. */
void tally_part_shape_of(uint64_t first, uint64_t n, uint64_t total, tally_part_shape *shape);
/* Returns the first item of a node, and writes how many it has in an input that ends at `end`. */
uint64_t tally_part_node_items(const tally_part_node *node, uint64_t end, uint64_t *count);

/* ---- record.c -------------------------------------------------------------------------------- */

#define TALLY_PART_FORMAT 1

/* The beginning of a record, as it is stored. Sections follow: term_count tally_part_term; the
 * parameters; the nodes' accumulators; the head's items, input by input; the tail's. Each begins at
 * a multiple of 8, and bytes between are 0. */
typedef struct tally_part_head {
    unsigned char magic[8];
    uint32_t format, order;
    uint64_t bytes, check, first, n, total;
    uint32_t in, inputs, term_count, acc_bytes, param_bytes, result_bytes;
    uint32_t node_count, head_items, tail_items, zero;
} tally_part_head;

typedef struct tally_part_term {
    uint32_t op, out, acc, accuracy;
    uint64_t custom; /* a hash of an own operator's texts; 0: none */
} tally_part_term;

/* The most bytes of head, terms and parameters. */
#define TALLY_PART_PREFIX_BYTES 2560
/* The most bytes of an accumulator of all terms: sixteen fields of eight bytes each. */
#define TALLY_PART_ACC_BYTES (TALLY_MAX_TERMS * TALLY_MAX_FIELDS * 8)
/* The word of the record that is its checksum. */
#define TALLY_PART_CHECK_WORD 3

/* The beginnings of a record's sections, in bytes. */
typedef struct tally_part_places {
    uint64_t params, nodes, head, tail, bytes;
} tally_part_places;
tally_part_places tally_part_places_of(const tally_part_head *head);

/* Fills the head of a record but for its checksum. */
void tally_part_fill(const tally_terms *terms, const tally_part_shape *shape, tally_part_head *head);
/* Writes the terms and the parameters, as they stand behind the head, and returns their bytes. */
uint32_t tally_part_identify(const tally_terms *terms, const void *params, unsigned char *to);
/* Returns what word i of a record adds to its checksum. */
uint64_t tally_part_mix(uint64_t word, uint64_t i);
/* Computes the checksum of a record of `bytes` bytes, a multiple of 8. */
uint64_t tally_part_sum(const unsigned char *record, uint64_t bytes);

/* A record that has been read. */
typedef struct tally_part_view {
    tally_part_head head;
    tally_part_term terms[TALLY_MAX_TERMS];
    tally_part_shape shape;
    tally_part_places places;
    const unsigned char *at;
} tally_part_view;

/* Reads and checks a record of at most `bytes` bytes, but for its ops. Errors: E_ARGUMENT,
 * E_UNSUPPORTED. */
tally_status tally_part_read(const char *name, const void *record, uint64_t bytes, tally_part_view *view);
/* Resolves the built-in ops of a record, and checks its sizes against them. On success the caller
 * closes the terms. Errors: E_ARGUMENT, for own operators too; E_MEMORY. */
tally_status tally_part_resolve(const char *name, const tally_part_view *view, tally_terms *terms);

/* ---- fold.c ---------------------------------------------------------------------------------- */

/* The arithmetic of a plan's terms: by the library's programs on the host, or by the plan. */
typedef struct tally_part_folder {
    const tally_terms *terms;
    const unsigned char *params; /* of all terms, aligned */
    tally_reduce_plan *plan;     /* NULL: on the host */
    uint32_t threads;            /* of the host */
    const tally_host_program *programs[TALLY_MAX_TERMS];
    tally_dtype in[TALLY_MAX_TERMS]; /* the items' type that a program takes */
    uint32_t param_offset[TALLY_MAX_TERMS], result_offset[TALLY_MAX_TERMS];
    uint64_t used[TALLY_PART_ACC_BYTES / 256]; /* bit i: word i (4 bytes) of an accumulator is no padding */
} tally_part_folder;

/* Opens a folder of the host's programs, or where they do not have all terms, of the plan. It keeps
 * the pointers. Errors: E_UNSUPPORTED without a plan (a cross build has no programs). */
tally_status tally_part_folder_open(const tally_terms *terms, const void *params, tally_reduce_plan *plan,
                                    tally_part_folder *folder);
/* Writes the accumulator of n > 0 items of a node or of a chunk, the first of which has the index
 * `base`. Padding is 0. */
tally_status tally_part_fold(const tally_part_folder *folder, const void *const *items, uint64_t base, uint64_t n, void *acc);
/* Combines two accumulators into the left one. */
tally_status tally_part_combine(const tally_part_folder *folder, void *left, const void *right);
/* Writes the result of the accumulator of n items. */
tally_status tally_part_finish(const tally_part_folder *folder, const void *acc, uint64_t n, void *result);
/* Sets the padding of an accumulator to 0. */
void tally_part_clean(const tally_part_folder *folder, void *acc);

/* ---- kit.c ----------------------------------------------------------------------------------- */

/* The kernels and buffers of parts, made by the first call that does. */
typedef struct tally_part_kit {
    void *items_kernel, *seal_kernel;
    uint32_t threads; /* of their groups */
    void *fold_kernel;
    uint32_t fold_threads;
    tally_buffer *fold_nodes, *fold_accs; /* of all packets' nodes (kernels/fold.h) */
    tally_buffer *few;                    /* a pair of accumulators, and one */
    tally_buffer *result;
    tally_feed *feed; /* for host memory */
    tally_queue *queue;
} tally_part_kit;

/* The kit for device memory, and for host memory. Errors: E_UNSUPPORTED for a variant that is not
 * canonical; E_BUILD, E_MEMORY, E_DEVICE. */
tally_status tally_part_kit_device(tally_reduce_plan *plan, tally_part_kit **out);
tally_status tally_part_kit_host(tally_reduce_plan *plan, tally_part_kit **out);
/* The threads of a GPU's group that folds packets: a warp, whose barriers are short, or for more
 * packets MANY. */
#define TALLY_FOLD_THREADS 32
#define TALLY_FOLD_MANY_THREADS 256
/* The recipe of the program that folds packets of a plan, whose own recipe is given. */
tally_recipe tally_fold_recipe(const tally_recipe *own, uint32_t group_threads);
/* The kit for the fold of `count` packets. */
tally_status tally_part_kit_fold(tally_reduce_plan *plan, uint64_t count, tally_part_kit **out);
/* Errors: E_UNSUPPORTED. */
tally_status tally_part_check_plan(const tally_plan *plan);

/* ---- reduce.c, packet.c ---------------------------------------------------------------------- */

/* A piece of a head, and the words of an accumulator that are no padding (kernels/part.h). */
#define TALLY_PART_PIECE_WORDS 32
typedef struct tally_part_piece {
    uint64_t words[TALLY_PART_PIECE_WORDS], used[TALLY_PART_ACC_BYTES / 256];
} tally_part_piece;

/* The arguments of tally_part_seal, in their order. */
enum {
    TALLY_SEAL_ARG_OUT,
    TALLY_SEAL_ARG_OFFSET,
    TALLY_SEAL_ARG_NODE_WORDS,
    TALLY_SEAL_ARG_ACC_WORDS,
    TALLY_SEAL_ARG_PIECE,
    TALLY_SEAL_ARG_PIECE_AT,
    TALLY_SEAL_ARG_PIECE_WORDS,
    TALLY_SEAL_ARG_NODES_AT,
    TALLY_SEAL_ARG_WORDS,
    TALLY_SEAL_ARG_SEALS,
    TALLY_SEAL_ARGS
};

/* An entry of the list of kernels/fold.h: a word of 8 bytes, four of 4. */
#define TALLY_FOLD_NODE_BYTES 24

/* The arguments of tally_fold, in their order. */
enum {
    TALLY_FOLD_ARG_PACKETS,
    TALLY_FOLD_ARG_AT,
    TALLY_FOLD_ARG_STRIDE,
    TALLY_FOLD_ARG_COUNT,
    TALLY_FOLD_ARG_KEY,
    TALLY_FOLD_ARG_TOTAL,
    TALLY_FOLD_ARG_CHUNKS,
    TALLY_FOLD_ARG_LEVELS,
    TALLY_FOLD_ARG_NODES,
    TALLY_FOLD_ARG_ACCS,
    TALLY_FOLD_ARG_OUT,
    TALLY_FOLD_ARG_OUT_OFFSET,
    TALLY_FOLD_ARG_VERDICT,
    TALLY_FOLD_ARG_VERDICT_AT,
    TALLY_FOLD_ARG_PARAMS,
    TALLY_FOLD_ARGS
};

/* Checks the arguments of a part in device memory. */
tally_status tally_part_check_args(const tally_plan *plan, const tally_queue *queue, const tally_part_args *args);
/* Checks the part's place, of `bytes` bytes. The arguments have been checked. */
tally_status tally_part_check_out(const tally_plan *plan, const tally_part_args *args, uint64_t bytes);
/* Enqueues the reduction of a part's nodes, to accumulators that begin nodes_at bytes behind the
 * part's place. With `header` the part is a packet, and its last launch writes these words to its
 * place: a packet without nodes has a launch of its own. */
tally_status tally_part_enqueue_nodes(tally_plan *plan, tally_queue *queue, const tally_part_args *args,
                                      const tally_part_shape *shape, uint64_t nodes_at, const uint64_t *header);

/* ---- join.c ---------------------------------------------------------------------------------- */

/* A record that grows at its right end. */
typedef struct tally_part_builder {
    const tally_part_folder *folder;
    uint64_t first, end, total;
    uint32_t head_items, tail_items, node_count;
    tally_part_node nodes[TALLY_PART_MOST_NODES + 1];
    unsigned char *accs;
    unsigned char *heads, *tails; /* a chunk of each input; NULL before the first item */
} tally_part_builder;

tally_status tally_part_builder_open(const tally_part_folder *folder, uint64_t first, uint64_t total,
                                     tally_part_builder *builder);
void tally_part_builder_close(tally_part_builder *builder);
/* Appends n items, which end within the chunk of the builder's end or with it. */
tally_status tally_part_add_items(tally_part_builder *builder, const void *const *items, uint64_t n);
/* Appends the node that begins at the builder's end, of n items. The accumulator is copied. */
tally_status tally_part_add_node(tally_part_builder *builder, const tally_part_node *node, uint64_t n, const void *acc);
/* Ends the builder, and writes its record. Errors: E_ARGUMENT if it has more bytes. */
tally_status tally_part_build(tally_part_builder *builder, void *out, uint64_t out_bytes, uint64_t *bytes);

#endif
