/* SPDX-License-Identifier: MIT */
/*
 * The feeds that a context keeps. They are the last ones (plan, queue, staging, result) that calls
 * with host arrays used, so that a repeated call makes nothing. A call takes a feed out of the set,
 * or makes one, and has it alone until it gives it back. A call that fails gives none back.
 *
 * The objects of a feed hold its context, as all objects do, but those in the set do not count.
 * Giving a feed back takes their references off the context's count; taking it out adds them again.
 * So the last object of the user's closes the context, and with it the set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/reduce.h"

/* Tells whether two terms give the same program. */
static bool is_same_term(const tally_term_desc *a, const tally_term_desc *b) {
    return a->op == b->op && a->out == b->out && a->acc == b->acc && a->accuracy == b->accuracy && a->custom == b->custom;
}

/* Tells whether the feed was made for those terms, whatever array they are in. */
static bool is_for_terms(const tally_kept *kept, const tally_reduce_desc *desc) {
    bool same = kept->desc.term_count == desc->term_count && (desc->terms || !desc->term_count);
    for (uint32_t t = 0; same && t < desc->term_count; t++) same = is_same_term(&kept->terms[t], &desc->terms[t]);
    return same;
}

/* Tells whether the feed was made for that descriptor with the variant of that name. */
static bool is_for(const tally_kept *kept, const tally_reduce_desc *desc, const char *variant) {
    const tally_reduce_desc *own = &kept->desc;
    const bool plain = own->size == desc->size && own->op == desc->op && own->in == desc->in && own->out == desc->out &&
                       own->max_n == desc->max_n && own->group_threads == desc->group_threads && own->factor == desc->factor &&
                       own->acc == desc->acc && own->accuracy == desc->accuracy && own->custom == desc->custom;
    return plain && is_for_terms(kept, desc) && !strcmp(kept->variant, variant);
}

static void remove_at(tally_kept_set *set, uint32_t i) {
    set->count--;
    set->bytes -= set->idle[i].bytes;
    memmove(&set->idle[i], &set->idle[i + 1], (set->count - i) * sizeof(set->idle[0]));
}

/* Destroys a feed that has left the set. */
static void end(tally_context *context, const tally_kept *kept) {
    atomic_fetch_add(&context->references, kept->references);
    tally_feed_destroy(kept->feed);
}

static tally_status make(tally_context *context, const tally_reduce_desc *desc, const char *variant, tally_kept *out) {
    out->desc = *desc;
    snprintf(out->variant, sizeof(out->variant), "%s", variant);
    const tally_status status = tally_feed_create(context, desc, &out->feed);
    if (status) return status;
    if (desc->term_count) memcpy(out->terms, desc->terms, desc->term_count * sizeof(desc->terms[0]));
    out->desc.terms = NULL; /* these are the caller's */
    out->desc.variant = NULL;
    tally_kept_set *set = context->kept;
    pthread_mutex_lock(&set->lock);
    set->made++;
    pthread_mutex_unlock(&set->lock);
    return TALLY_OK;
}

void tally_kept_give(tally_context *context, tally_kept *kept, bool sound) {
    tally_kept_set *set = context->kept;
    tally_kept ended[TALLY_KEPT_FEEDS];
    uint32_t count = 0;
    tally_feed_measure(kept->feed, &kept->references, &kept->bytes);
    pthread_mutex_lock(&set->lock);
    sound = sound && kept->tunings == set->tunings && kept->bytes <= TALLY_KEPT_BYTES;
    while (sound && (set->count == TALLY_KEPT_FEEDS || set->bytes + kept->bytes > TALLY_KEPT_BYTES)) {
        ended[count++] = set->idle[0];
        remove_at(set, 0);
    }
    if (sound) {
        set->idle[set->count++] = *kept;
        set->bytes += kept->bytes;
        atomic_fetch_sub(&context->references, kept->references);
    }
    pthread_mutex_unlock(&set->lock);
    if (!sound) tally_feed_destroy(kept->feed);
    for (uint32_t i = 0; i < count; i++) end(context, &ended[i]);
}

static void renew(tally_context *context) {
    tally_kept_set *set = context->kept;
    tally_kept ended[TALLY_KEPT_FEEDS];
    pthread_mutex_lock(&set->lock);
    const uint32_t count = set->count;
    memcpy(ended, set->idle, sizeof(ended));
    set->count = 0;
    set->bytes = 0;
    set->tunings++;
    pthread_mutex_unlock(&set->lock);
    for (uint32_t i = 0; i < count; i++) end(context, &ended[i]);
}

static void count_kept(tally_context *context, tally_context_info *info) {
    tally_kept_set *set = context->kept;
    pthread_mutex_lock(&set->lock);
    info->host_plans_made = set->made;
    info->host_plans_reused = set->reused;
    info->host_plans_kept = set->count;
    info->host_bytes_kept = set->bytes;
    pthread_mutex_unlock(&set->lock);
}

static void close_set(tally_context *context) {
    tally_kept_set *set = context->kept;
    for (uint32_t i = 0; i < set->count; i++) end(context, &set->idle[i]);
    pthread_mutex_destroy(&set->lock);
    free(set);
}

static const tally_keeper keeper = {renew, count_kept, close_set};

/* Returns the context's set; the first call makes it. NULL: out of memory. */
static tally_kept_set *set_of(tally_context *context) {
    pthread_mutex_lock(&context->lock);
    if (!context->kept && (context->kept = calloc(1, sizeof(tally_kept_set)))) {
        pthread_mutex_init(&((tally_kept_set *)context->kept)->lock, NULL);
        context->keeper = &keeper;
    }
    tally_kept_set *set = context->kept;
    pthread_mutex_unlock(&context->lock);
    return set;
}

tally_status tally_kept_take(tally_context *context, const tally_reduce_desc *desc, tally_kept *out) {
    tally_kept_set *set = set_of(context);
    const char *variant = desc->variant ? desc->variant : "auto";
    *out = (tally_kept){.feed = NULL};
    if (!set) return tally_fail(TALLY_E_MEMORY, "out of memory");
    pthread_mutex_lock(&set->lock);
    out->tunings = set->tunings;
    for (uint32_t i = set->count; i > 0 && !out->feed; i--) {
        if (!is_for(&set->idle[i - 1], desc, variant)) continue;
        *out = set->idle[i - 1];
        remove_at(set, i - 1);
        set->reused++;
        atomic_fetch_add(&context->references, out->references);
    }
    pthread_mutex_unlock(&set->lock);
    return out->feed ? TALLY_OK : make(context, desc, variant, out);
}
