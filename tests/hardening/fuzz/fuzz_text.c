/* Any text, for the encoders of all the tokenizers at hand. */
#define TEXT
#include "tests/hardening/fuzz/fuzz_tokenizer.c"
