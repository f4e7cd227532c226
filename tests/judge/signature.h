/* What a reader's source says of a kernel. A library tells that a function has the kernel's name; whether it takes the
 * kernel's arguments, and whether it is the reader's, stands in the source alone. */
#ifndef VERIFY_SIGNATURE_H
#define VERIFY_SIGNATURE_H

#include "tests/judge/verify.h"

typedef enum {
    NOT_FOUND,       /* no function of this name that others could call */
    SAME_SIGNATURE,  /* it can be called as the header has it */
    OTHER_SIGNATURE, /* a function of the reader's own, which happens to have the name: `say` shows both */
    COURSES_OWN      /* the course's, from a file that the reader includes: `say` names it */
} Signature;

/* `preprocessed` is what the compiler says with -E, of one source or of several, one behind the other. */
Signature signature_of(const char *preprocessed, const Kernel *kernel, char say[static DIAGNOSIS]);

/* Is there something that was meant as the kernel, and that nobody can call by its name? Then `say` is what it is, and
 * what to do. */
bool is_hidden(const char *preprocessed, const Kernel *kernel, char say[static DIAGNOSIS]);

#endif
