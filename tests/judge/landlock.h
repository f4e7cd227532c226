/* The answers are not for the kernel that is judged by them. */
#ifndef VERIFY_LANDLOCK_H
#define VERIFY_LANDLOCK_H

#include <stdbool.h>

/* From now on neither this process nor any that it starts can read what lies in tests/golden, by
 * whatever name. It needs Linux with Landlock (5.13 and later); elsewhere nothing is hidden. */
void hide_goldens(void);

bool goldens_can_be_hidden(void);

#endif
