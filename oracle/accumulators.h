/* SPDX-License-Identifier: MIT */
/*
 * accumulators.h: accumulators on their own: made of an item or of an initial value, combined,
 * finished. A part of oracle.c, which includes it after sums.h.
 */

/* Parameters that the case does not give. */
static const double *default_params(tally_op op) {
    static const double closeness[2] = {1e-5, 1e-8}, none[2] = {0, 0};
    return op == TALLY_ALLCLOSE ? closeness : none;
}

static oracle_survey survey_of_none(const oracle_case *what) {
    return (oracle_survey){.first_nan = UINT64_MAX, .bits = bits_of_none(what)};
}

/* Stores float parts as the type that the case asks for. With n = 0 `parts` is not read. */
static void store_ordered(const oracle_case *what, uint64_t n, double parts[2], tally_dtype out, unsigned char *result) {
    if (n == 0) finish_none(what, parts);
    store_float(out, parts[0], result);
    if (is_complex_result(what)) store_float(out, parts[1], result + item_bytes_of(out) / 2);
}

static void finish_survey(const oracle_case *what, const oracle_survey *s, uint64_t n, tally_dtype out, void *result) {
    uint64_t value = s->bits;
    if (way_of(what) == OF_KEYS) {
        finish_keys(what, s, n, out, result);
        return;
    }
    if (way_of(what) == OF_SUMS) {
        store_float(out, sums_value(what, s, n), result);
        return;
    }
    if (what->op == TALLY_ANY) value = s->nonzero > 0;
    if (what->op == TALLY_ALL) value = s->nonzero == n;
    if (what->op == TALLY_COUNT_NONZERO) value = s->nonzero;
    if (what->op == TALLY_ALLCLOSE) value = s->far == 0;
    store_whole(default_result(what), value, out, result);
}

void oracle_acc_load(const oracle_case *what, const void *item, uint64_t index, oracle_acc *acc) {
    const void *const inputs[2] = {item, item};
    float f32[ORACLE_FIELDS][TALLY_CHUNK_ITEMS];
    double f64[ORACLE_FIELDS][TALLY_CHUNK_ITEMS];
    *acc = (oracle_acc){.survey = survey_of_none(what)};
    switch (way_of(what)) {
    case IN_ORDER:
        for (int f = 0; f < ORACLE_FIELDS; f++) f32[f][0] = 0, f64[f][0] = 0;
        if (real_of(what) == TALLY_F32)
            f32_load(what, inputs, 1, f32);
        else
            f64_load(what, inputs, 1, f64);
        for (int f = 0; f < ORACLE_FIELDS; f++) acc->f32[f] = f32[f][0], acc->f64[f] = f64[f][0];
        break;
    case OF_KEYS:
        take_keys(what, &acc->survey, item, 1, index);
        break;
    case OF_TRUTHS:
        take_truths(what, &acc->survey, item, 1);
        break;
    case OF_BITS:
        take_bits(what, &acc->survey, inputs, 1);
        break;
    case OF_SUMS:
        take_sums(what->in, &acc->survey, item, 1);
        break;
    case OF_PAIRS: /* ops of two inputs */
        break;
    }
}

void oracle_acc_combine(const oracle_case *what, oracle_acc *left, const oracle_acc *right) {
    if (way_of(what) != IN_ORDER)
        join_surveys(what->op, &left->survey, &right->survey);
    else if (real_of(what) == TALLY_F32)
        f32_combine(what, left->f32, 1, right->f32, 1, 1);
    else
        f64_combine(what, left->f64, 1, right->f64, 1, 1);
}

void oracle_acc_finish(const oracle_case *what, const oracle_acc *acc, uint64_t n, void *result) {
    const tally_dtype out = oracle_result_dtype(what);
    const oracle_survey none = survey_of_none(what);
    oracle_case with_params = *what;
    double parts[2];
    if (!what->params) with_params.params = default_params(what->op);
    if (way_of(what) != IN_ORDER) {
        finish_survey(&with_params, n ? &acc->survey : &none, n, out, result);
        return;
    }
    if (n && real_of(what) == TALLY_F32)
        f32_finish(&with_params, acc->f32, n, parts);
    else if (n)
        f64_finish(&with_params, acc->f64, n, parts);
    store_ordered(what, n, parts, out, result);
}

/* ---- accumulators of whole subtrees ---------------------------------------------------------- */

/* Returns k for 2^k chunks of items. */
static unsigned level_of(uint64_t n) {
    unsigned k = 0;
    while (((uint64_t)TALLY_CHUNK_ITEMS << k) < n) k++;
    return k;
}

void oracle_get_partial(const oracle *state, oracle_acc *partial) {
    const unsigned k = level_of(state->n);
    *partial = (oracle_acc){.survey = state->survey};
    if (way_of(&state->what) != IN_ORDER) return;
    if (real_of(&state->what) == TALLY_F32)
        memcpy(partial->f32, state->level.f32[k], sizeof partial->f32);
    else
        memcpy(partial->f64, state->level.f64[k], sizeof partial->f64);
}

void oracle_push_partial(oracle *state, const oracle_acc *partial, uint64_t n) {
    const uint64_t chunks = state->n / TALLY_CHUNK_ITEMS;
    oracle_acc next = *partial;
    if (way_of(&state->what) != IN_ORDER) {
        next.survey.low_at += state->n;
        next.survey.high_at += state->n;
        if (next.survey.first_nan != UINT64_MAX) next.survey.first_nan += state->n;
        join_surveys(state->what.op, &state->survey, &next.survey);
    } else if (real_of(&state->what) == TALLY_F32) {
        f32_put(state, next.f32, chunks, level_of(n));
    } else {
        f64_put(state, next.f64, chunks, level_of(n));
    }
    state->n += n;
    state->counted += n;
}

/* ---- initial values -------------------------------------------------------------------------- */

/* Reads value k of a result as another type, which holds it. */
static void convert_value(tally_dtype from, const void *value, uint32_t k, tally_dtype to, void *item) {
    const unsigned char *at = (const unsigned char *)value + k * item_bytes_of(from);
    const size_t part = item_bytes_of(to) / 2;
    uint64_t whole;
    double re, im = 0;
    if (from == to) {
        memcpy(item, at, item_bytes_of(to));
        return;
    }
    f64_read(from, at, 1, &re, &im);
    if (!is_float(from)) read_integers(from, at, 1, &whole);
    if (item_kind_of(to) == ITEM_COMPLEX) {
        store_float(to, re, item);
        store_float(to, im, (unsigned char *)item + part);
    } else if (is_float(to)) {
        store_float(to, re, item);
    } else {
        store_integer(to, is_float(from) ? (uint64_t)(int64_t)re : whole, item);
    }
}

/* Counts of truths and of pairs are values, and no items. */
static void load_truth(const oracle_case *what, const void *value, oracle_acc *acc) {
    uint64_t x;
    convert_value(oracle_result_dtype(what), value, 0, TALLY_U64, &x);
    acc->survey = survey_of_none(what);
    if (what->op == TALLY_ALLCLOSE)
        acc->survey.far = !x;
    else
        acc->survey.nonzero = what->op == TALLY_COUNT_NONZERO ? x : x != 0;
}

/* Makes an accumulator of value k of an initial result: that of one item of another op, whose
 * accumulator is the item itself. nrm2 and logsumexp take it as an item. */
static void load_value(const oracle_case *what, uint32_t k, oracle_acc *acc) {
    oracle_case like = *what;
    _Alignas(16) unsigned char item[16];
    like.in = default_result(what);
    like.acc = TALLY_DTYPE_DEFAULT;
    switch (what->op) {
    case TALLY_ASUM:
    case TALLY_SUMSQ:
    case TALLY_DOT:
    case TALLY_DOTC:
    case TALLY_DIST2:
        like.op = TALLY_SUM;
        break;
    case TALLY_AMAX: /* the value itself, whose sign stays */
        like.op = TALLY_MAX;
        break;
    default:
        break;
    }
    convert_value(oracle_result_dtype(what), what->initial, k, like.in, item);
    oracle_acc_load(&like, item, 0, acc);
}

/* Combines the initial value, on the left, with the accumulator of n items. */
static void put_initial(const oracle_case *what, uint64_t n, oracle_acc *acc) {
    oracle_acc first = {0}, high;
    if (way_of(what) == OF_TRUTHS || way_of(what) == OF_PAIRS) {
        load_truth(what, what->initial, &first);
    } else {
        load_value(what, 0, &first);
        if (what->op == TALLY_MINMAX) {
            load_value(what, 1, &high);
            first.survey.high = high.survey.high;
        }
    }
    if (n) oracle_acc_combine(what, &first, acc);
    *acc = first;
}
