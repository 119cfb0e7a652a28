/* SPDX-License-Identifier: MIT */
/*
 * byte_table: lanes that take items of a byte by a table, in CUDA C and OpenCL C for NVIDIA's GPUs.
 *
 * Computes: the numbers of a group's items: TABLE_FILL computes each that there is once. The lanes
 * are what they would be item by item (tally_table_row, src/ops/ops.h).
 * How: local memory has 16 banks of 8 bytes. So there are 16 copies of the table, each in a bank
 * of its own, and the 16 threads that are served at a time read a copy each: none waits for
 * another. An address takes one instruction, since the compiler cannot tell how that of the table
 * came about.
 * Needs: table_number, take_number, take_word; 32 KiB of local memory; all threads of the group.
 * Why: an exponential in f64 takes 25 instructions, and an item by the table 5.
 */
#ifdef TAKES_TABLE
#define TABLE_COPIES 16
typedef u32 TABLE; /* the address of the thread's copy of item 0 */
#define TABLE_FILL(table)                                                                                                      \
    SHARED f64 copies[256 * TABLE_COPIES];                                                                                     \
    table = filled_table(copies);

/* The threads of a warp write to different banks. */
INLINE TABLE filled_table(LOCAL f64 *copies) {
    TABLE table;
    for (u32 at = THREAD_ID; at < 256; at += GROUP) {
        const f64 number = table_number(at + TABLE_FIRST);
        for (u32 k = 0; k < TABLE_COPIES; k++) copies[at * TABLE_COPIES + (at + k) % TABLE_COPIES] = number;
    }
    BARRIER
    asm volatile("mov.u32 %0, %1;"
                 : "=r"(table)
                 : "r"(SHARED_ADDRESS(copies) + 8 * (THREAD_ID % TABLE_COPIES - TABLE_FIRST * TABLE_COPIES))
                 : "memory");
    return table;
}

INLINE f64 table_at(TABLE table, u32 x) {
    f64 number;
    asm("ld.shared.f64 %0, [%1];" : "=d"(number) : "r"(table + x * (8 * TABLE_COPIES)));
    return number;
}

/* Takes the items of a vector into their lanes. Without a table it takes none, and tells so. */
INLINE u32 take_by_table(LANE *lane, const VECTORS *v, TABLE table) {
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const u32 bytes = v->x.word[w];
        lane[0] = take_word(lane[0], bytes);
#pragma unroll
        for (int at = 0; at < 4; at++)
            lane[4 * w + at] = take_number(lane[4 * w + at], table_at(table, (u32)ITEM_OF_WORD(bytes, at)));
    }
    return 1;
}

/* The same of item j alone, for lane i. */
INLINE u32 take_item_by_table(LANE *lane, int i, const VECTORS *v, int j, TABLE table) {
    const u32 x = (u32)v->x.item[j];
    lane[0] = take_word(lane[0], (x & 0xffU) * 0x01010101U);
    lane[i] = take_number(lane[i], table_at(table, x));
    return 1;
}
#else
typedef u32 TABLE;
#define TABLE_FILL(table) table = 0;
#define take_by_table(lane, v, table) 0
#define take_item_by_table(lane, i, v, j, table) 0
#endif
