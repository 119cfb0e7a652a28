/* SPDX-License-Identifier: MIT */
/*
 * segments: where the items of segments lie, in CUDA C and OpenCL C.
 *
 * Computes: nothing by itself. The stems that reduce segments call what stands here.
 * How: by axes, the number s of a segment is divided by the extents of the kept axes, the last one
 * fastest, and the number j of an item by those of the reduced axes. The remainders are the indices
 * along these axes. By offsets (OFFSET is their type) segment s is the items from begins[s] to
 * ends[s] - 1. A mask (WHERE) leaves out items whose byte is 0, and the others are counted.
 * Needs: the specialised text of a plan of segments (src/program/source.c).
 * Why: the planner makes every layout one of these two, so that a kernel is written once.
 */

/* The order of the inputs. */
enum { x_NUMBER, y_NUMBER, z_NUMBER, w_NUMBER };

/* src/axes/axes.h describes both structs. */
typedef struct {
    u64 extent;
    i64 in[INPUTS], where, out;
} AXIS;
typedef struct {
    u64 n;
    u32 reduced, kept;
    AXIS axis[AXES];
} SHAPE;

/* The kernels' arguments, in their order. OUT_ARGS are the outputs. */
#ifdef OFFSET /* offsets are compared and added as unsigned numbers */
typedef OFFSET OFFSET_TYPE;
#else
typedef u64 OFFSET_TYPE;
#endif
#define CALL_ARGS                                                                                                              \
    SOURCE_ARGS, GLOBAL const u8 *where, u64 where_offset, GLOBAL const OFFSET_TYPE *begins, u64 begins_offset,                \
        GLOBAL const OFFSET_TYPE *ends, u64 ends_offset, GLOBAL const u64 *number, u64 number_offset, const SHAPE shape,       \
        u64 first, u64 count, u64 leaf, u64 leaves, u32 team, u32 wide, u32 split, u32 last, GLOBAL ACC *partials,             \
        GLOBAL u64 *counts, GLOBAL ACC *slices, GLOBAL u64 *slice_counts, u64 slice, GLOBAL u64 *work, u64 capacity,           \
        u32 lists, const RESULT initial, OUT_ARGS

/* A segment: its items from item 0 on, the place of its result, and how many items it has. */
typedef struct {
    SOURCE in;
    GLOBAL const u8 *where;
    i64 out;
    u64 n;
} SEGMENT;

/* Divides by an extent; 64 bits take a GPU ten times as long as 32. */
INLINE u64 quotient(u64 a, u64 b) {
    return (a | b) >> 32 ? a / b : (u64)((u32)a / (u32)b);
}

/* Adds the steps to index `i` of axis `a`. */
#define ALONG(name) place.in[name##_NUMBER] += (i64)i * a->in[name##_NUMBER];
typedef struct {
    i64 in[INPUTS], where, out;
} STEPS;

/* Divides `index` by the extents of `count` axes, the last one fastest. Returns the steps to the
 * item or segment of this number. */
INLINE STEPS steps_to(const AXIS *axes, u32 count, u64 index) {
    STEPS place;
    for (int k = 0; k < INPUTS; k++) place.in[k] = 0;
    place.where = place.out = 0;
    KEEP_ROLLED
    for (u32 k = count; k > 0; k--) {
        const AXIS *a = &axes[k - 1];
        u64 i = index;
        if (k > 1) {
            const u64 rest = quotient(index, a->extent);
            i = index - rest * a->extent;
            index = rest;
        }
        EACH_INPUT(ALONG)
        place.where += (i64)i * a->where;
        place.out += (i64)i * a->out;
    }
    return place;
}

#ifdef OFFSET
/* Segment s by offsets. */
#define BEGIN_OF(s) ((u64)begins[begins_offset + (s)])
#define END_OF(s) ((u64)ends[ends_offset + (s)])
#define SEGMENT_OF(s) segment_at(in, where + where_offset, BEGIN_OF(s), END_OF(s) - BEGIN_OF(s), s)
INLINE SEGMENT segment_at(SOURCE in, GLOBAL const u8 *where, u64 begin, u64 n, u64 s) {
    SEGMENT segment;
    segment.in = in;
    segment.n = n;
    segment.where = where;
    segment.out = (i64)s;
#define TO_BEGIN(name) segment.in.name += begin;
    EACH_INPUT(TO_BEGIN)
#ifdef WHERE
    segment.where += begin;
#endif
    return segment;
}

#define ONE_STEP(shape) 1
INLINE STEPS item_step(const SHAPE *shape) {
    STEPS step;
#define STEP_OF_ONE(name) step.in[name##_NUMBER] = 1;
    EACH_INPUT(STEP_OF_ONE)
    step.where = 1;
    step.out = 0;
    return step;
}

INLINE ITEMS segment_items(const SEGMENT *s, const SHAPE *shape, u64 j) {
    return items_at(s->in, j);
}

INLINE u32 segment_has(const SEGMENT *s, const SHAPE *shape, u64 j) {
#ifdef WHERE
    return s->where[j] != 0;
#else
    return 1;
#endif
}
#else
/* Segment s by axes. */
#define SEGMENT_OF(s) segment_at(in, where + where_offset, &shape, s)
INLINE SEGMENT segment_at(SOURCE in, GLOBAL const u8 *where, const SHAPE *shape, u64 s) {
    const STEPS place = steps_to(&shape->axis[shape->reduced], shape->kept, s);
    SEGMENT segment;
    segment.in = in;
    segment.n = shape->n;
    segment.where = where;
    segment.out = place.out;
#define TO_PLACE(name) segment.in.name += place.in[name##_NUMBER];
    EACH_INPUT(TO_PLACE)
#ifdef WHERE
    segment.where += place.where;
#endif
    return segment;
}

/* Tells whether one step leads from each item to the next. */
#define ONE_STEP(shape) ((shape)->reduced == 1)
INLINE STEPS item_step(const SHAPE *shape) {
    STEPS step;
#define STEP_ALONG(name) step.in[name##_NUMBER] = shape->axis[0].in[name##_NUMBER];
    EACH_INPUT(STEP_ALONG)
    step.where = shape->axis[0].where;
    step.out = 0;
    return step;
}

/* Loads item j. */
INLINE ITEMS segment_items(const SEGMENT *s, const SHAPE *shape, u64 j) {
    ITEMS v;
    if (shape->reduced == 1) {
#define ITEM_ALONG(name) v.name = s->in.name[(i64)j * shape->axis[0].in[name##_NUMBER]];
        EACH_INPUT(ITEM_ALONG)
    } else {
        const STEPS place = steps_to(shape->axis, shape->reduced, j);
#define ITEM_AT(name) v.name = s->in.name[place.in[name##_NUMBER]];
        EACH_INPUT(ITEM_AT)
    }
    return v;
}

/* Returns 0 if item j is masked. */
INLINE u32 segment_has(const SEGMENT *s, const SHAPE *shape, u64 j) {
#ifdef WHERE
    if (shape->reduced == 1) return s->where[(i64)j * shape->axis[0].where] != 0;
    return s->where[steps_to(shape->axis, shape->reduced, j).where] != 0;
#else
    return 1;
#endif
}
#endif

/* Moves a source on by `by` items. */
INLINE SOURCE source_on(SOURCE in, i64 by, STEPS step) {
#define MOVE_ON(name) in.name += by * step.in[name##_NUMBER];
    EACH_INPUT(MOVE_ON)
    return in;
}

/* The accumulator of a part of a segment. With a mask also the number of its items. */
typedef struct {
    ACC acc;
#ifdef WHERE
    u64 n;
#endif
} PART;

INLINE PART part_identity(void) {
    PART p;
    p.acc = IDENTITY;
#ifdef WHERE
    p.n = 0;
#endif
    return p;
}

INLINE PART part_combine(PART a, PART b) {
    a.acc = op_combine(a.acc, b.acc);
#ifdef WHERE
    a.n += b.n;
#endif
    return a;
}

INLINE PART part_at(GLOBAL const ACC *partials, GLOBAL const u64 *counts, u64 at) {
    PART p;
    p.acc = partials[at];
#ifdef WHERE
    p.n = counts[at];
#endif
    return p;
}

INLINE void part_store(PART p, GLOBAL ACC *partials, GLOBAL u64 *counts, u64 at) {
    partials[at] = p.acc;
#ifdef WHERE
    counts[at] = p.n;
#endif
}

/* Returns the part of a chunk whose lanes are combined in `lane`. `has` is the number of its items
 * that are not masked. */
INLINE PART part_of_lane(LANE lane, CHUNK c, u32 has) {
    PART p;
    c.count = has;
#ifdef WHERE
    p.n = has;
#endif
    if (has)
        p.acc = lane_value(lane, c);
    else
        p.acc = IDENTITY;
    return p;
}

/* Stores the result of a segment of n items. With a mask the part has the number of items. */
INLINE void put_part(PART p, u64 n, OUTS out, i64 at, RESULT initial, PARAMS params) {
#ifdef WHERE
    n = p.n;
#endif
#ifdef INITIAL
    put_result(out, at, op_result(op_combine(op_initial(initial), n ? p.acc : IDENTITY), n, params));
#else
    put_result(out, at, n ? op_result(p.acc, n, params) : op_empty(params));
#endif
}

/* Adds leaf k to a binary counter whose level b holds a tree of 2^b leaves. `leaf` is combined with
 * the trees that it completes, from the lowest level up, and becomes the tree of its new level. The
 * loops have no break: NVIDIA's OpenCL would not unroll them, and keep the levels in memory. */
#define COUNTER_PUSH(LEVELS, levels, k, leaf, COMBINE)                                                                         \
    {                                                                                                                          \
        const u32 carries = (u32)(k) & ~((u32)(k) + 1); /* the lowest bits, as far as they are 1 */                            \
        _Pragma("unroll") for (int b = 0; b < (LEVELS); b++) if (carries >> b & 1) leaf = COMBINE(levels[b], leaf);            \
        _Pragma("unroll") for (int b = 0; b < (LEVELS); b++) if (carries + 1 == 1U << b) levels[b] = leaf;                     \
    }

#ifdef OFFSET
/* ---- the work list, by offsets --------------------------------------------------------------- */

/*
 * The work list, in words of 8 bytes:
 * - word 0: two u32, the numbers of its chunks and of its long segments
 * - from word CHUNKS on, two words for each chunk: its segment, and its number in the segment
 * - from word LONGS(capacity) on, three words for each long segment: its number, the place of its
 *   first chunk in the list, and its number of chunks
 */
#define CHUNKS 2
#define LONGS(capacity) (CHUNKS + 2 * (capacity))

#define CHUNKS_OF(n) (((n) + CHUNK_ITEMS - 1) / CHUNK_ITEMS)

/* The number of segments. By keys it is in the memory of the device. */
#ifdef NUMBER
#define SEGMENTS min(count, number[number_offset])
#else
#define SEGMENTS count
#endif

/* SWAP_IF sets a word to `next` if it is `old`; ADD_TO adds to one. Both return the word before. */
#ifdef __CUDA_ARCH__
#define SWAP_IF(at, old, next) atomicCAS(at, old, next)
#define ADD_TO(at, some) atomicAdd(at, some)
#else
#define SWAP_IF(at, old, next) atomic_cmpxchg((ATOMIC u32 *)(at), old, next)
#define ADD_TO(at, some) atomic_add((ATOMIC u32 *)(at), some)
#endif

/* Marks a place of the work list that no segment has. */
#define NO_SEGMENT (~(u64)0)
/* Most chunks that are added to the count before it is checked. A segment of more chunks takes its
 * places only if there is room, so that the count cannot wrap. */
#define MOST_ADDED 4096

/* Takes places of the work list for `chunks` chunks. Returns `capacity` if it has no room. */
INLINE u64 take_places(u64 chunks, GLOBAL u64 *work, u64 capacity) {
    GLOBAL u32 *numbers = (GLOBAL u32 *)work;
    u32 place = *(volatile GLOBAL u32 *)numbers, seen;
    if (chunks <= MOST_ADDED) {
        if (place + chunks > capacity) return capacity;
        place = ADD_TO(numbers, (u32)chunks);
        if (place + chunks <= capacity) return place;
        for (u64 k = place; k < capacity; k++) work[CHUNKS + 2 * k] = NO_SEGMENT;
        return capacity;
    }
    while (place + chunks <= capacity && (seen = SWAP_IF(numbers, place, (u32)(place + chunks))) != place) place = seen;
    return place + chunks <= capacity ? place : capacity;
}

/* Puts long segment s on the work list. Its chunks have the places from `place` on. */
INLINE void list_long(u64 s, u64 place, u64 chunks, GLOBAL u64 *work, u64 capacity) {
    GLOBAL u64 *own = work + LONGS(capacity) + 3 * (u64)ADD_TO((GLOBAL u32 *)work + 1, 1U);
    own[0] = s;
    own[1] = place;
    own[2] = chunks;
}

/* Puts chunk k of segment s on the work list. */
INLINE void list_chunk(u64 s, u64 k, u64 place, GLOBAL u64 *work) {
    work[CHUNKS + 2 * (place + k)] = s;
    work[CHUNKS + 2 * (place + k) + 1] = k;
}

/* Puts segment s on the work list. Returns 0 if the list has no room. */
INLINE u32 enlist(u64 s, u64 n, GLOBAL u64 *work, u64 capacity) {
    const u64 chunks = CHUNKS_OF(n), place = take_places(chunks, work, capacity);
    if (place == capacity) return 0;
    for (u64 k = 0; k < chunks; k++) list_chunk(s, k, place, work);
    list_long(s, place, chunks, work, capacity);
    return 1;
}

/* The number of places that are taken. */
#define LISTED(work, capacity) min((u64)((GLOBAL u32 *)(work))[0], capacity)
#endif
