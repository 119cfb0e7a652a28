/* SPDX-License-Identifier: MIT */
/* segments.h: plans of segments: by axes, by offsets, by keys. */
#ifndef TALLY_SRC_SEGMENTS_H
#define TALLY_SRC_SEGMENTS_H

#include "axes/axes.h"
#include "reduce/reduce.h"

/* ---- the kernels' arguments ------------------------------------------------------------------ */

/*
 * The arguments of all kernels of segments behind the inputs and their offsets, in their order.
 * Each kernel takes all of them. Memory that a plan does not have is any memory, which is not
 * touched.
 */
enum {
    TALLY_SEGMENT_ARG_PARAMS,
    TALLY_SEGMENT_ARG_WHERE,
    TALLY_SEGMENT_ARG_WHERE_OFFSET,
    TALLY_SEGMENT_ARG_BEGINS,
    TALLY_SEGMENT_ARG_BEGINS_OFFSET,
    TALLY_SEGMENT_ARG_ENDS,
    TALLY_SEGMENT_ARG_ENDS_OFFSET,
    TALLY_SEGMENT_ARG_NUMBER,        /* by keys: the number of segments, a u64; the least of it and COUNT counts */
    TALLY_SEGMENT_ARG_NUMBER_OFFSET, /* in u64s */
    TALLY_SEGMENT_ARG_SHAPE,         /* by axes: a SHAPE */
    TALLY_SEGMENT_ARG_FIRST,         /* u64: the launch's first segment */
    TALLY_SEGMENT_ARG_COUNT,         /* u64: its segments */
    TALLY_SEGMENT_ARG_LEAF,          /* u64: by axes: the first chunk of each segment */
    TALLY_SEGMENT_ARG_LEAVES,        /* u64: its chunks; of a fold: its partials */
    TALLY_SEGMENT_ARG_TEAM,          /* u32: threads that share a chunk; on CPUs the segments of a block */
    TALLY_SEGMENT_ARG_WIDE,          /* u32: of columns: threads that have neighbours; of staged rows: a warp's rows */
    TALLY_SEGMENT_ARG_SPLIT,         /* u32: of columns: threads that share a chunk; of staged rows: strides */
    TALLY_SEGMENT_ARG_LAST,          /* u32, a TALLY_LAST_*: the launch writes results, or (NONE) partials */
    TALLY_SEGMENT_ARG_PARTIALS,      /* ACCs: the LEAVES of the first segment, of the next one, ... */
    TALLY_SEGMENT_ARG_COUNTS,        /* u64s: their items, with a mask */
    TALLY_SEGMENT_ARG_SLICES,        /* ACCs: a fold that is not LAST writes one for each segment, from SLICE on */
    TALLY_SEGMENT_ARG_SLICE_COUNTS,  /* u64s */
    TALLY_SEGMENT_ARG_SLICE,         /* u64 */
    TALLY_SEGMENT_ARG_WORK,          /* u64s: the work list of long segments; by axes u32s: a counter of each */
    TALLY_SEGMENT_ARG_CAPACITY,      /* u64: the chunks that it has room for */
    TALLY_SEGMENT_ARG_LISTS,         /* u32: by offsets: 1: the launch makes the list; 0: it is made */
    TALLY_SEGMENT_ARG_INITIAL,       /* a RESULT */
    TALLY_SEGMENT_ARGS               /* then each output and its offset (u64, in results) */
};

/* ---- plan.c ---------------------------------------------------------------------------------- */

extern const tally_plan_kind tally_segments_kind;

/* Copies a descriptor, and fills missing members with defaults. Errors: E_ARGUMENT for its size. */
tally_status tally_segments_copy_desc(const tally_segments_desc *given, tally_segments_desc *desc);

/* A variant: the kernels of a device class. */
typedef struct tally_segments_variant {
    const char *name, *stem;
    bool has_teams; /* threads of a group share a chunk; false: one thread is a group */
} tally_segments_variant;
enum { TALLY_SEGMENTS_TEAMS, TALLY_SEGMENTS_BLOCKS, TALLY_SEGMENTS_VARIANTS };
extern const tally_segments_variant tally_segments_variants[TALLY_SEGMENTS_VARIANTS];

/* The most bytes of a batch of more than TALLY_LEAST_BATCH segments that a group stages
 * (kernels/segment_stage.h). Its tile has 160 bytes for each thread. Several tiles may be
 * needed. */
#define TALLY_BATCH_BYTES(group_threads) (512 * ((group_threads) < 256 ? (group_threads) : 256))
#define TALLY_LEAST_BATCH 32

/* The most bytes of the rows that a warp stages at once (kernels/segment_dense.h): the tiles of a
 * group of 8 warps take 48 KB, and 32 warps of a multiprocessor 192 KB. */
#define TALLY_DENSE_BYTES 6080

/* Bytes for the accumulators of columns that a group takes as one run
 * (kernels/segment_flat.h). Four groups of a multiprocessor take 144 KB. */
#define TALLY_FLAT_BYTES 36864

/* Offsets that a plan has of its own (keep.c), and the work list of their long segments. */
typedef struct tally_kept_offsets {
    tally_buffer *begins, *ends, *work; /* ends NULL: begins has count + 1 entries; work NULL: nothing is kept */
    uint64_t count, n;
    uint64_t chunks, longs; /* on the list, and the segments that they are of */
} tally_kept_offsets;

/* X(name): the programs of a plan by axes, by the kernels that each has. A GPU's compiler takes
 * them at once; elsewhere they are one. */
#define TALLY_SEGMENT_PROGRAMS(X) X(TEAMS) X(THREADS) X(ROWS) X(COLUMNS) X(LOW) X(TILES)
#define TALLY_SEGMENT_PROGRAM_NUMBER(name) TALLY_SEGMENT_IN_##name,
enum { TALLY_SEGMENT_PROGRAMS(TALLY_SEGMENT_PROGRAM_NUMBER) TALLY_SEGMENT_PROGRAM_END };
#define TALLY_SEGMENT_ALL_PROGRAMS ((1u << TALLY_SEGMENT_PROGRAM_END) - 1)

/* When a plan has a kernel: bits of a set. */
enum {
    TALLY_SEGMENT_BY_AXES = 1,
    TALLY_SEGMENT_BY_RUNS = 2,     /* by offsets or keys */
    TALLY_SEGMENT_PLAIN = 4,       /* by axes, in teams, without mask and pivots; so are those up to LONG, but for TILES */
    TALLY_SEGMENT_ROWS_2 = 8,      /* items so small that a team loads two chunk rows at once */
    TALLY_SEGMENT_ROWS_4 = 16,     /* four */
    TALLY_SEGMENT_SHUFFLES = 32,   /* warps shuffle */
    TALLY_SEGMENT_SHUFFLES_2 = 64, /* and two chunk rows are loaded at once */
    TALLY_SEGMENT_TILES = 128,     /* warps shuffle, and stage rows of one input */
    TALLY_SEGMENT_FLAT = 256,      /* warps shuffle; one input */
    TALLY_SEGMENT_LONG = 512,      /* few long rows */
    TALLY_SEGMENT_CHECK = 1024,    /* of offsets */
    TALLY_SEGMENT_ALONE = 2048,    /* by offsets; warps shuffle */
    TALLY_SEGMENT_KEYS = 4096,
    TALLY_SEGMENT_NOT_PLAIN = 8192 /* by axes, in teams, with a mask or pivots */
};

/* X(member, entry point, program, when): the kernels of plans. */
#define TALLY_SEGMENT_KERNELS(X)                                                                                               \
    X(teams, "tally_segments_teams", TEAMS, TALLY_SEGMENT_BY_AXES | TALLY_SEGMENT_BY_RUNS)                                     \
    X(threads, "tally_segments_threads", THREADS, TALLY_SEGMENT_BY_AXES)                                                       \
    X(fold, "tally_segments_fold", THREADS, TALLY_SEGMENT_BY_AXES | TALLY_SEGMENT_BY_RUNS)                                     \
    X(fold_each, "tally_segments_fold_each", THREADS, TALLY_SEGMENT_BY_AXES)                                                   \
    X(single, "tally_segments_single", ROWS, TALLY_SEGMENT_NOT_PLAIN)                                                          \
    X(few, "tally_segments_short", ROWS, TALLY_SEGMENT_PLAIN)                                                                  \
    X(columns, "tally_segments_columns", COLUMNS, TALLY_SEGMENT_PLAIN)                                                         \
    X(planes, "tally_segments_planes", TEAMS, TALLY_SEGMENT_PLAIN)                                                             \
    X(rows_2, "tally_segments_rows_2", ROWS, TALLY_SEGMENT_ROWS_2)                                                             \
    X(rows_4, "tally_segments_rows_4", ROWS, TALLY_SEGMENT_ROWS_4)                                                             \
    X(quad, "tally_segments_quad", ROWS, TALLY_SEGMENT_SHUFFLES)                                                               \
    X(quad_chunks, "tally_segments_quad_chunks", TEAMS, TALLY_SEGMENT_SHUFFLES)                                                \
    X(low, "tally_segments_low", LOW, TALLY_SEGMENT_SHUFFLES)                                                                  \
    X(quads, "tally_segments_quads", ROWS, TALLY_SEGMENT_SHUFFLES_2)                                                           \
    X(dense, "tally_segments_dense", TILES, TALLY_SEGMENT_TILES)                                                               \
    X(flat, "tally_segments_flat", COLUMNS, TALLY_SEGMENT_FLAT)                                                                \
    X(longs, "tally_segments_long", TILES, TALLY_SEGMENT_LONG)                                                                 \
    X(clear, "tally_segments_clear", TEAMS, TALLY_SEGMENT_BY_RUNS)                                                             \
    X(alone, "tally_segments_alone", TEAMS, TALLY_SEGMENT_ALONE)                                                               \
    X(chunks, "tally_segments_chunks", TEAMS, TALLY_SEGMENT_BY_RUNS)                                                           \
    X(check_offsets, "tally_offsets_check", TEAMS, TALLY_SEGMENT_CHECK)                                                        \
    X(count_runs, "tally_keys_count", TEAMS, TALLY_SEGMENT_KEYS)                                                               \
    X(place_runs, "tally_keys_place", TEAMS, TALLY_SEGMENT_KEYS)                                                               \
    X(write_runs, "tally_keys_write", TEAMS, TALLY_SEGMENT_KEYS)                                                               \
    X(write_lengths, "tally_keys_lengths", TEAMS, TALLY_SEGMENT_KEYS)
#define TALLY_SEGMENT_KERNEL_NUMBER(member, entry, program, when) TALLY_SEGMENT_KERNEL_##member,
#define TALLY_SEGMENT_KERNEL_MEMBER(member, entry, program, when) void *member;
enum { TALLY_SEGMENT_KERNELS(TALLY_SEGMENT_KERNEL_NUMBER) TALLY_SEGMENT_KERNEL_END };

typedef struct tally_segments_plan tally_segments_plan;
/* Tells whether chunks have a pivot. */
bool tally_segments_take_pivot(const tally_segments_plan *plan);

/* Tells whether a plan has neither a mask nor pivots, so that each item counts as it comes. */
bool tally_segments_are_plain(const tally_segments_plan *plan);

/* Tells whether a plan by axes has the kernel of few long rows, kernels/segment_long.h. */
bool tally_segments_take_long(const tally_segments_plan *plan);

/* Returns the chunk rows that a team loads at once: FLIGHT_ROWS of kernels/segment_teams.h. */
uint64_t tally_segments_flight(const tally_terms *terms);

struct tally_segments_plan {
    tally_plan base; /* max_n: items. Without terms the plan is of runs alone */
    tally_segments_by by;
    const tally_segments_variant *variant;
    uint32_t group_threads, flags, offset_bytes, key_bytes;
    tally_segment_form form;
    uint64_t max_segments;
    uint64_t last_offset; /* by offsets: the largest that their type has */
    bool has_signed_offsets;
    uint64_t capacity; /* chunks of a work list or of a launch; by offsets and keys 0: no segment is long */
    uint32_t outs;     /* buffers of results */
    tally_layout out[TALLY_MAX_TERMS];
    void *initial; /* a RESULT; NULL: none */
    union {        /* NULL: none */
        struct {
            TALLY_SEGMENT_KERNELS(TALLY_SEGMENT_KERNEL_MEMBER)
        };
        void *kernels[TALLY_SEGMENT_KERNEL_END];
    };
    tally_buffer *partials, *counts, *slices, *slice_counts;
    tally_buffer *work;           /* the work list; by axes the counters of long segments, NULL: none */
    tally_buffer *bad, *found;    /* by offsets: the first bad segment of each group, and its staging; by
                                * keys `found` is for the number of runs */
    tally_buffer *begins, *tiles; /* by keys */
    tally_kept_offsets kept;      /* by offsets */
    tally_reduce_plan *whole;     /* of calls of one segment whose items are side by side; NULL: none */
};

/* The lines before the stems "offsets" and "keys", for offsets and keys of `bytes` bytes, and
 * begins of runs of `begin_bytes`. `shuffles`: OpenCL C has PTX. */
typedef struct tally_segments_defines {
    char text[128];
} tally_segments_defines;
tally_segments_defines tally_segments_offset_defines(uint32_t bytes);
tally_segments_defines tally_segments_key_defines(uint32_t bytes, uint32_t begin_bytes, bool shuffles);

/* Returns the largest offset that a call of n items may have. A negative offset, read as an
 * unsigned number, is above it. */
uint64_t tally_segments_end(const tally_segments_plan *plan, uint64_t n);
/* Opens device memory of `bytes` bytes, at least 8. */
tally_status tally_segments_open_buffer(const tally_segments_plan *plan, uint64_t bytes, tally_buffer **out);
/* The bytes of a work list with room for `chunks` chunks: two counts, two words for each chunk, and
 * three for each long segment, which has two chunks. */
#define TALLY_LIST_CHUNKS 2
#define TALLY_LIST_LONGS(chunks) (TALLY_LIST_CHUNKS + 2 * (chunks))
#define TALLY_LIST_BYTES(chunks) (8 * (TALLY_LIST_LONGS(chunks) + 3 * ((chunks) / 2 + 1)))

/* Groups that check offsets. */
#define TALLY_CHECK_GROUPS 256
/* Tiles that a thread places at once. */
#define TALLY_PLACED_TILES 8
/* Keys that a thread takes of a tile. */
uint64_t tally_keys_run(const tally_segments_plan *plan);

/* ---- programs.c ------------------------------------------------------------------------------ */

/* Sets what the plan's programs depend on, but for the terms, the variant and the group. */
void tally_segments_choose_form(tally_segments_plan *plan, const tally_segments_desc *desc);
/* Chooses the threads of a group: as many as there is local memory for, an accumulator, a lane and
 * four segments of each. Errors: E_UNSUPPORTED where there is not enough for any group. */
tally_status tally_segments_choose_group(tally_segments_plan *plan);
/* Returns the recipe of a program of these: bits 1 << TALLY_SEGMENT_IN_. */
tally_recipe tally_segments_recipe(const tally_segments_variant *variant, uint32_t group_threads,
                                   const tally_segment_form *form, unsigned programs);
/* Makes the recipes of the programs of the plan's ops. `kernels` has the bits of each. The features
 * of the context are tried. The caller frees the slots with free(). Errors: E_MEMORY. */
tally_status tally_segments_choose_programs(const tally_segments_plan *plan, tally_program_slot **slots, uint32_t *count);
/* Opens the plan's programs and kernels. */
tally_status tally_segments_open_programs(tally_segments_plan *plan, const tally_segments_desc *desc);

/* ---- launch.c -------------------------------------------------------------------------------- */

/* A call, checked: the memory of the inputs, masks, offsets and outputs. */
typedef struct tally_segments_call {
    void *in[TALLY_MAX_INPUTS], *where, *begins, *ends, *number, *out[TALLY_MAX_TERMS];
    uint64_t in_offset[TALLY_MAX_INPUTS], where_offset, begins_offset, ends_offset, number_offset;
    uint64_t out_offset[TALLY_MAX_TERMS];
    uint64_t n;                     /* by offsets and keys: items of the input */
    uint64_t count;                 /* segments; by keys the most */
    const tally_kept_offsets *kept; /* their list; NULL: the call makes one */
} tally_segments_call;

/* Enqueue the reduction of all segments. */
tally_status tally_segments_launch_axes(tally_segments_plan *plan, void *queue, const tally_segments_call *call,
                                        const tally_array_shape *shape);
tally_status tally_segments_launch_offsets(tally_segments_plan *plan, void *queue, const tally_segments_call *call);

/* ---- way.c ----------------------------------------------------------------------------------- */

/* Threads of a warp; the most neighbouring columns that a load takes; the most groups of a CPU's
 * core. */
enum { TALLY_WARP = 32, TALLY_MOST_COLUMNS = 4, TALLY_CPU_UNIT_GROUPS = 16 };

/* A way to launch: the kernel, its TEAM, WIDE and SPLIT, and how many chunks of segments a group
 * takes at once. */
typedef struct tally_way {
    void *kernel;
    uint32_t team, wide, split;
    uint64_t units;
} tally_way;

/* Tells whether the items of each segment are side by side. */
bool tally_are_rows(const tally_array_shape *shape, uint32_t inputs);
/* Chooses a way for segments of `leaves` chunks each. */
tally_way tally_segments_way(const tally_segments_plan *plan, const tally_segments_call *call, const tally_array_shape *shape,
                             uint64_t leaves);

/* ---- whole.c --------------------------------------------------------------------------------- */

/* Returns the descriptor of the same values of a whole input of one item. */
tally_reduce_desc tally_segments_whole_desc(const tally_segments_desc *given);
/* Opens plan->whole, where the plan is by axes, of one segment, for a GPU, and has neither a mask
 * nor outputs apart nor an initial value. */
tally_status tally_segments_open_whole(tally_segments_plan *plan, const tally_segments_desc *given);
/* Tells whether plan->whole takes a call of an array of that shape. */
bool tally_segments_is_whole(const tally_segments_plan *plan, const tally_segments_call *call, const tally_array_shape *shape);
/* Enqueues the reduction of n items by plan->whole, with the parameters of `plan`. */
tally_status tally_segments_launch_whole(tally_segments_plan *plan, void *queue, const tally_segments_call *call, uint64_t n);

/* ---- keep.c ---------------------------------------------------------------------------------- */

void tally_kept_offsets_close(tally_kept_offsets *kept);

/* ---- offsets.c ------------------------------------------------------------------------------- */

/* Checks the plan, the queue, the sizes and the arrays of offsets of a call, and no outputs. */
tally_status tally_offsets_check(tally_plan *base, const tally_queue *queue, const tally_offsets_args *args);
/* A segment that ends before it begins, or beyond the input's n items. Its offsets are read as
 * unsigned numbers of their width. */
typedef struct tally_bad_segment {
    uint64_t segment, begin, end, n;
    bool has_ends; /* the ends are an array of their own */
} tally_bad_segment;
/* Fails with E_ARGUMENT. The text has the offset that is wrong, and its value. */
tally_status tally_offsets_fail(const tally_segments_plan *plan, const tally_bad_segment *bad);

/* ---- check.c --------------------------------------------------------------------------------- */

/* The buffers and offsets that calls of all kinds have. */
typedef struct tally_segments_given {
    const tally_buffer *const *in, *where;
    const uint64_t *in_offset;
    uint64_t where_offset;
    tally_buffer *const *out;
    const uint64_t *out_offset;
} tally_segments_given;
/* Takes them from the arguments `a` of a call of any kind. */
#define TALLY_SEGMENTS_GIVEN(a)                                                                                                \
    ((tally_segments_given){(a)->in, (a)->where, (a)->in_offset, (a)->where_offset, (a)->out, (a)->out_offset})

/* The places of a buffer that a call reads or writes: `low` to `high`. `any`: there are some. */
typedef struct tally_places {
    bool any;
    uint64_t low, high;
} tally_places;
typedef struct tally_segments_places {
    tally_places in[TALLY_MAX_INPUTS], where, out[TALLY_MAX_TERMS];
} tally_segments_places;

/* Return the name of an input or an output for error texts; a lone one has no number. */
const char *tally_segments_in_name(const tally_segments_plan *plan, uint32_t input);
const char *tally_segments_out_name(const tally_segments_plan *plan, uint32_t output);
/* Checks a call's plan, queue and size. */
tally_status tally_segments_check(const tally_plan *base, const tally_queue *queue, tally_segments_by by, size_t size,
                                  size_t wanted, const char *type);
/* Finds the places of n neighbouring items, and of `count` neighbouring results. Errors: E_ARGUMENT
 * for an offset beyond any memory. */
tally_status tally_segments_line_up(const tally_segments_plan *plan, const tally_segments_given *given, uint64_t n,
                                    uint64_t count, tally_segments_places *places);
/* Checks a call's inputs, mask and outputs, and fills the call. */
tally_status tally_segments_open_call(const tally_segments_plan *plan, const tally_segments_given *given,
                                      const tally_segments_places *places, tally_segments_call *call);
/* Checks that a range and the outputs of a call are apart. */
tally_status tally_segments_check_apart(const tally_segments_plan *plan, tally_range range, const tally_segments_given *given,
                                        const tally_segments_places *places);

#endif
