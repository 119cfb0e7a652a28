/* SPDX-License-Identifier: MIT */
/*
 * segment_quads: rows whose items are loaded four at a time, on GPUs with shuffles.
 *
 * Computes: nothing by itself. The kernels of rows (segment_arrays) call what stands here.
 * How: a quad is four neighbouring items, loaded at once: OWN lanes. Slot s of thread t of a team
 * is quad t + s * team of a row. A thread loads 64 bytes of slots at once, of one row or several.
 * It combines its slots, then the team combines the threads' quads, lane by lane, and the four
 * lanes of a quad come last. That is the order of the halvings.
 * Needs: kernels/segment_teams.h before it.
 * Why: bandwidth grows with the bytes on their way. With 16 or 32 bytes a thread, rows of narrow
 * items reached a half to three quarters of an H200's memory speed.
 */
#if defined(PLAIN) && defined(SHUFFLES)
#define QUADS 1
#define FLIGHT_QUADS ((int)(IN_BYTES > 8 ? 1 : IN_BYTES > 4 ? 2 : IN_BYTES > 2 ? 4 : IN_BYTES > 1 ? 8 : 16))
#define SLOTS (FLIGHT_QUADS < 8 ? FLIGHT_QUADS : 8) /* the most of a row */
#define SLOT_LEVELS 3                               /* of SLOTS quads */
#define QUAD_BYTES (ITEM_BYTES * OWN)
/* Groups that a multiprocessor must have room for: narrow items need more registers. */
#define QUAD_GROUPS (sizeof(LANE) > 8 || IN_BYTES < 2 ? 2 : IN_BYTES < 4 ? 3 : 4)
EXCHANGE_BY(lane_xor, LANE, lane, "bfly", THREAD_ID ^ s)

/* A quad is kept in words, and taken apart where its items are added: while it is on its way,
 * nothing waits for it. */
typedef struct ALIGN(QUAD_BYTES < 16 ? QUAD_BYTES : 16) {
    u32 word[QUAD_BYTES / 4];
} QUAD_WORDS;
typedef union {
    QUAD_WORDS words;
    ITEM item[OWN];
} QUAD_ITEMS;
#define QUAD_OF(name) QUAD_WORDS name;
typedef struct {
    EACH_INPUT(QUAD_OF)
} QUAD;

/* Tells whether the inputs are aligned for quads. */
INLINE u32 are_aligned(SOURCE in) {
    u32 is = 1;
#define IS_ALIGNED(name) is = is && (u64)in.name % (QUAD_BYTES < 16 ? QUAD_BYTES : 16) == 0;
    EACH_INPUT(IS_ALIGNED)
    return is;
}

INLINE QUAD quad_at(SOURCE at) {
    QUAD v;
#define LOAD_QUAD(name) v.name = *(GLOBAL const QUAD_WORDS *)at.name;
    EACH_INPUT(LOAD_QUAD)
    return v;
}

INLINE QUAD quad_of_items(SOURCE at) {
    QUAD v;
#define LOAD_QUAD_ITEMS(name)                                                                                                  \
    {                                                                                                                          \
        QUAD_ITEMS quad;                                                                                                       \
        _Pragma("unroll") for (int j = 0; j < OWN; j++) quad.item[j] = at.name[j];                                             \
        v.name = quad.words;                                                                                                   \
    }
    EACH_INPUT(LOAD_QUAD_ITEMS)
    return v;
}

INLINE ITEMS quad_items(const QUAD *v, int j) {
    ITEMS items;
#define ITEM_OF_QUAD(name)                                                                                                     \
    {                                                                                                                          \
        QUAD_ITEMS quad;                                                                                                       \
        quad.words = v->name;                                                                                                  \
        items.name = quad.item[j];                                                                                             \
    }
    EACH_INPUT(ITEM_OF_QUAD)
    return items;
}

/* Bytes that may go to any lane are 0 where there is no quad, and are added in any case. */
#ifdef PADS_BYTES
#define NO_QUADS(v, slots) _Pragma("unroll") for (int s = 0; s < (slots); s++) v[s].x.word[0] = 0;
#define IS_QUAD(is) 1
#else
#define NO_QUADS(v, slots)
#define IS_QUAD(is) (is)
#endif

/* Loads `slots` slots of a thread, item by item if they are not aligned. `at` is its first quad,
 * and `left` the number of items from the row's begin on. */
#define EACH_SLOT(QUAD_AT)                                                                                                     \
    _Pragma("unroll") for (int s = 0; s < slots; s++) {                                                                        \
        if (OWN * (t + s * team) < left) v[s] = QUAD_AT(at);                                                                   \
        at = source_on(at, OWN * team, step);                                                                                  \
    }
INLINE void load_slots(QUAD *v, int slots, SOURCE at, u32 aligned, STEPS step, u32 t, u32 team, u32 left) {
    if (aligned)
        EACH_SLOT(quad_at)
    else
        EACH_SLOT(quad_of_items)
}

/* Adds slot s of a thread to its four lanes of chunk row `row`, the first of which is `lane`. Four
 * bytes may go to any lane at once. */
INLINE void step_slot(LANE *own, const QUAD *v, int s, CHUNK c, u32 row, u32 lane, PARAMS p) {
#ifdef PADS_BYTES
    own[0] = lane_bytes(own[0], v[s].x.word[0]);
#else
#pragma unroll
    for (int j = 0; j < OWN; j++) own[j] = lane_step(own[j], quad_items(&v[s], j), c, row, lane + j, p);
#endif
}

/* Combines `slots` slots of a thread, which has `across` quads of each chunk row. */
INLINE void combine_slots(LANE *own, const QUAD *v, int slots, int across, CHUNK c, u32 t, u32 team, PARAMS p) {
    LANE level[OWN][SLOT_LEVELS];
#pragma unroll
    for (int k = 0; k < across; k++) {
        /* The quads in bit-reversed order, as the turns of a thread. */
        const int quad = (k & 1) * across / 2 + (k & 2) * across / 8 + (k & 4) * across / 32;
#pragma unroll
        for (int j = 0; j < OWN; j++) own[j] = lane_identity();
#pragma unroll
        for (int s = 0; s < slots; s += across)
            if (OWN * (t + (s + quad) * team) < c.count) step_slot(own, v, s + quad, c, s / across, OWN * (t + quad * team), p);
#pragma unroll
        for (int j = 0; j < OWN; j++) COUNTER_PUSH(SLOT_LEVELS, level[j], k, own[j], lane_combine)
    }
}

/* A step among threads t and t ^ s that have different quads: of each pair of their lanes both get
 * one. The lower thread gets the first `pairs` lanes, the upper one the others. */
INLINE void halve_quads(LANE *own, int pairs, u32 t, u32 s, LOCAL EXCHANGE *meet) {
#pragma unroll
    for (int k = 0; k < pairs; k++) {
        LANE mine = own[k], give = own[k + pairs];
        if (t & s) {
            mine = own[k + pairs];
            give = own[k];
        }
        const LANE other = lane_xor(give, s, meet);
        own[k] = t & s ? lane_combine(other, mine) : lane_combine(mine, other);
    }
}

/* Combines lanes of threads t and t ^ s, in both of them; that of the lower one is the first. */
INLINE LANE lane_across(LANE a, u32 t, u32 s, LOCAL EXCHANGE *meet) {
    const LANE other = lane_xor(a, s, meet);
    return t & s ? lane_combine(other, a) : lane_combine(a, other);
}

/* Combines the four lanes of each thread of a team, whose threads have neighbouring quads. Steps
 * from quad to quad come first, those within a quad last. */
INLINE LANE quads_across(LANE *own, u32 t, u32 team, LOCAL EXCHANGE *meet) {
    if (team == 1) return four_lanes(own);
    halve_quads(own, 2, t, team / 2, meet);
    if (team == 2) {
        own[0] = lane_across(own[0], t, 1, meet);
        own[1] = lane_across(own[1], t, 1, meet);
        return lane_combine(own[0], own[1]);
    }
    halve_quads(own, 1, t, team / 4, meet);
    KEEP_ROLLED
    for (u32 s = team / 8; s > 0; s /= 2) own[0] = lane_across(own[0], t, s, meet);
    own[0] = lane_across(own[0], t, team / 2, meet);
    return lane_across(own[0], t, team / 4, meet);
}

#ifdef PADS_BYTES
/* Combines a segment whose quads are all in its team's slots, `slots` of each thread. */
INLINE LANE slots_lane(const QUAD *v, int slots, CHUNK c, u32 t, u32 team, PARAMS p, LOCAL EXCHANGE *meet) {
    LANE own = lane_identity();
#pragma unroll
    for (int s = 0; s < slots; s++) own = lane_bytes(own, v[s].x.word[0]);
    ACROSS_TEAM(LANE, own, lane_xor, lane_combine)
    return own;
}
#else
/* Combines a segment whose quads are all in its team's slots, `slots` of each thread. */
INLINE LANE slots_lane(const QUAD *v, int slots, CHUNK c, u32 t, u32 team, PARAMS p, LOCAL EXCHANGE *meet) {
    const u32 across = slots == 1 ? 1 : c.count <= LANES ? slots : WIDTH / team;
    LANE own[OWN];
#define IF_ACROSS_SLOTS(k)                                                                                                     \
    if (slots >= (k) && across == (k)) combine_slots(own, v, slots, k, c, t, team, p);
    IF_ACROSS_SLOTS(1)
    IF_ACROSS_SLOTS(2)
    IF_ACROSS_SLOTS(4)
    IF_ACROSS_SLOTS(8)
    return quads_across(own, t, team, meet);
}
#endif

/* Combines a chunk by a warp: SLOTS chunk rows at once. */
INLINE LANE quads_lane(const SEGMENT *s, STEPS step, CHUNK c, u32 t, LOCAL EXCHANGE *meet) {
    const u32 aligned = are_aligned(s->in);
    SOURCE at = source_on(s->in, (i64)(c.index + OWN * t), step);
    LANE own[OWN];
    QUAD v[SLOTS];
#pragma unroll
    for (int j = 0; j < OWN; j++) own[j] = lane_identity();
    u32 row = 0;
    KEEP_ROLLED
    for (; (row + SLOTS) * LANES <= c.count; row += SLOTS) {
        load_slots(v, SLOTS, at, aligned, step, t, WIDTH, SLOTS * LANES);
#pragma unroll
        for (int f = 0; f < SLOTS; f++) step_slot(own, v, f, c, row + f, OWN * t, at.p);
        at = source_on(at, SLOTS * LANES, step);
    }
    if (row * LANES < c.count) {
        NO_QUADS(v, SLOTS)
        load_slots(v, SLOTS, at, aligned, step, t, WIDTH, c.count - row * LANES);
#pragma unroll
        for (int f = 0; f < SLOTS; f++)
            if (IS_QUAD((row + f) * LANES + OWN * t < c.count)) step_slot(own, v, f, c, row + f, OWN * t, at.p);
    }
    return quads_across(own, t, WIDTH, meet);
}

/* Returns, in thread 0 of a warp, the part of a chunk. */
INLINE PART quads_part(const SEGMENT *s, const SHAPE *shape, u64 chunk, u32 t, LOCAL EXCHANGE *meet) {
    const CHUNK c = chunk_of(s, chunk);
    return part_of_lane(quads_lane(s, item_step(shape), c, t, meet), c, c.count);
}
#endif
