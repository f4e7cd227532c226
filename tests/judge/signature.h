/* A reader's function beside a kernel's contract. A library only tells that a function has the
 * kernel's name. Whether it takes the kernel's arguments, and whose it is, the compiler says:
 * `build/compile.sh` compiles the source once more, behind a header that defines every kernel
 * (contracts.sh), and keeps the messages. */
#ifndef VERIFY_SIGNATURE_H
#define VERIFY_SIGNATURE_H

#include "tests/judge/verify.h"

typedef enum {
    NOT_FOUND,       /* the source defines no function of this name */
    SAME_SIGNATURE,  /* it can be called as the header has it */
    OTHER_SIGNATURE, /* a function of the reader's own, which happens to have the name: `say` shows
                        both */
    COURSES_OWN      /* the course's, from a file that the reader includes: `say` names it */
} Signature;

/* `messages` are the compiler's, of one source or of several. */
Signature signature_of(const char *messages, const Kernel *kernel, char say[static DIAGNOSIS]);

/* The library has no function of this name. Does the source define one that cannot be called by it:
 * one that is static, or is spelled otherwise? Then `say` is what it is, and what to do. */
bool is_hidden(const char *messages, const Kernel *kernel, char say[static DIAGNOSIS]);

#endif
