/* Chapter 9: the Llamas that Meta published, from the first to 3.2, in numbers: their shapes without their weights. */
#ifndef FAMILY_H
#define FAMILY_H

#include "09_decoder/config.h"

/* "llama-3-8b": one of the family. fail() names them all if it is none of them. */
Config config_preset(const char *name);
const char *const *config_names(void); /* of the whole family, NULL after the last */

#endif
