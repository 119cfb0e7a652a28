/* SPDX-License-Identifier: MIT */
/*
 * cpu_tiles: a tile of a scan on a CPU, which one thread looks at twice.
 *
 * Computes: nothing by itself. The kernels of CPUs' scans call what stands here.
 * How: the first look computes the tile's aggregate and brings the items into the core's caches.
 * The second one computes the results of the tile's prefixes.
 * Needs: cpu_rows.cl before it.
 * Why: scans of one list and along an axis differ in how a tile gets its prefixes.
 */

/* ---- the first look -------------------------------------------------------------------------- */

/*
 * A group's state of a tile between its two looks. First part l of cells[r] is the combination of
 * cell l and the cells before it in row r, and part r of `rows` that of row r and the rows before
 * it in the tile. At last they are inclusive prefixes.
 */
typedef struct {
    SCANS cells[WIDTH], rows;
} KEPT;

INLINE int rows_of_tile(const CALL *c, u64 begin) {
    return (int)min((c->n - begin + ROW_ITEMS - 1) / ROW_ITEMS, (u64)WIDTH);
}

/* Takes the first look at a tile, and returns its aggregate. */
OUT_OF_LINE SCAN fold_tile(const CALL *c, u64 begin, KEPT *kept) {
    const int count = rows_of_tile(c, begin);
    for (int first = 0; first < count; first += AT_ONCE) {
        const int rows = min(count - first, AT_ONCE);
        const u64 k = begin + first * ROW_ITEMS;
        ROW row[AT_ONCE];
        for (int i = 0; i < rows; i++) {
            prefetch_row(c, k + i * ROW_ITEMS);
            load_row(c, k + i * ROW_ITEMS, &row[i]);
        }
        for (int i = 0; i < rows; i++) {
            SCANS parts[CELL];
            fold_row(c, k + i * ROW_ITEMS, &row[i], parts);
            for (int l = 0; l < WIDTH; l++) set(&kept->cells[first + i], l, get(&parts[CELL - 1], l));
        }
        scan_parts(&kept->cells[first], rows);
    }
    /* Rows beyond n take any aggregate: no result that is stored depends on it. */
    for (int row = 0; row < WIDTH; row++) set(&kept->rows, row, get(&kept->cells[row < count ? row : 0], WIDTH - 1));
    scan_parts(&kept->rows, 1);
    return get(&kept->rows, WIDTH - 1);
}

/* ---- the second look ------------------------------------------------------------------------- */

/* Takes the second look at a tile, whose prefixes are `exclusive` and `inclusive`. `has` is 1 if
 * anything stands before it. */
OUT_OF_LINE void scan_tile(const CALL *c, u64 begin, u32 has, SCAN exclusive, SCAN inclusive, KEPT *kept) {
    const int count = rows_of_tile(c, begin);
    join_parts(&kept->rows, has, exclusive);
    set(&kept->rows, WIDTH - 1, inclusive);
    for (int first = 0; first < count; first += AT_ONCE) {
        const int rows = min(count - first, AT_ONCE);
        const u64 k = begin + first * ROW_ITEMS;
        SCANS *cells = &kept->cells[first];
        ROW row[AT_ONCE];
        for (int i = 0; i < rows; i++) {
            join_parts(&cells[i], has || first + i, get(&kept->rows, first + i - 1));
            set(&cells[i], WIDTH - 1, get(&kept->rows, first + i));
            load_row(c, k + i * ROW_ITEMS, &row[i]);
        }
        for (int i = 0; i < rows; i++) scan_row(c, k + i * ROW_ITEMS, has || first + i, &row[i], &cells[i]);
    }
}
