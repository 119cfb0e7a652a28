/* SPDX-License-Identifier: MIT */
/* A guess at a mistyped name: see did_you_mean.h. */
#include "base/did_you_mean.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 48 /* most characters of a name; a longer one gives no guess */

static bool is_same(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Counts the mistakes that turn one text into the other (the optimal string alignment distance). A
 * mistake is a character too many, missing or wrong, or two neighbours in the wrong order. rows[i %
 * 3][j] counts those between the first i characters of a and the first j of b. */
static unsigned count_mistakes(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++) rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + !is_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

static bool begins_with(const char *text, size_t text_length, const char *start, size_t length) {
    size_t i = 0;
    while (i < length && i < text_length && is_same(text[i], start[i])) i++;
    return i == length;
}

tally_guess tally_did_you_mean(const char *name, size_t length, const char *names) {
    tally_guess guess = {""};
    while (length && *name == '-') name++, length--;
    unsigned limit = (unsigned)(length + 1) / 3 + 1; /* a guess has fewer mistakes than this */
    if (length > LONGEST) return guess;
    for (const char *at = names; *at;) {
        const size_t whole = strcspn(at, ","), dashes = strspn(at, "-"), bare = whole - dashes;
        unsigned mistakes = bare > LONGEST ? limit : count_mistakes(name, length, at + dashes, bare);
        if (length >= 3 && mistakes && begins_with(at + dashes, bare, name, length)) mistakes = 1;
        if (mistakes < limit) {
            limit = mistakes;
            snprintf(guess.text, sizeof(guess.text), "did you mean %.*s? ", (int)whole, at);
        }
        at += whole;
        at += strspn(at, ", ");
    }
    return guess;
}
