/* SPDX-License-Identifier: MIT */
/* did_you_mean.h: guesses at mistyped names, for the error texts of the library and the
 * programs. */
#ifndef TALLY_DID_YOU_MEAN_H
#define TALLY_DID_YOU_MEAN_H

#include <stddef.h>

typedef struct tally_guess {
    char text[80];
} tally_guess;

/* Returns "did you mean sum? " if a name in the list "prod, sum, min" is near to the first `length`
 * characters of `name`; else "". Case does not count, nor do dashes before the name. A name that
 * begins with the text counts as near. */
tally_guess tally_did_you_mean(const char *name, size_t length, const char *names);

#endif
