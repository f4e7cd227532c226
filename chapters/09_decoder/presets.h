/* Chapter 9: the configurations of the Llamas that Meta published, from the first to 3.2, without
 * their weights. */
#ifndef PRESETS_H
#define PRESETS_H

#include "09_decoder/config.h"

/* The configuration of "llama-3-8b" or another of them. For any other name fail() lists them all.
 */
Config config_preset(const char *name);
const char *const *config_names(void); /* of all presets, NULL after the last */

#endif
