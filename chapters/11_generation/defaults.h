/* Chapter 11: how a model's maker would have it write: generation_config.json, which lies in its folder. */
#ifndef DEFAULTS_H
#define DEFAULTS_H

#include "09_decoder/config.h"
#include "11_generation/sampling.h"

/* What a generation_config.json says is put in place of what is there: of sampling, temperature, top_k, top_p, min_p
 * and repetition_penalty, and a temperature of 0 where do_sample is false; of config, the ends, which config.json may
 * say too, but this file counts. What it leaves out stays. Without such a file in the folder, all does. Or fail(). */
void defaults_read(const char *folder, Sampling *sampling, Config *config);

#endif
