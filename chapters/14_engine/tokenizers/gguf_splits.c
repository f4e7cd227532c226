#include "14_engine/tokenizers/gguf_splits.h"
#include "10_tokenizer/tokenizer_internal.h"

#include <stdio.h>

/* Source: llm_tokenizer_bpe and llama_vocab::impl::load in llama-vocab.cpp of llama.cpp. Where
 * llama.cpp only comes near to a model's own pattern, it names that in a comment; the model's own
 * stands here. */

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define ENDINGS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LINES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* A word that may begin with large letters and one that must have a small one, with marks. */
#define SMALL                                                                                      \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
#define LARGE                                                                                      \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"

/* The letters that have a case, as DeepSeek's first tokenizer lists them. */
#define CASED                                                                                      \
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ"               \
    "\\x{1e00}-\\x{1f15}\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}"                 \
    "\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}"         \
    "\\x{1fb6}-\\x{1fbc}\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}"        \
    "\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}"                 \
    "\\x{2102}\\x{2107}\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}\\x{2124}\\x{2126}"          \
    "\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}"                  \
    "\\x{2145}-\\x{2149}\\x{214e}ↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ"                  \
    "𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
#define CHINESE_AND_KOREAN "[一-\\x{9fa5}\\x{0800}-一가-\\x{d7ff}]+"

static const GgufSplit splits[] = {
    {" llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 ",
     true,
     true,
     {llama3_pattern}},
    /* Llama 3's vocabulary, in a folder whose tokenizer.json adds no BOS */
    {" smaug-bpe ", true, false, {llama3_pattern}},
    {" dbrx chatglm-bpe glm4 ", false, false, {llama3_pattern}},
    {" gpt-2 phi-2 gigachat a.x-4.0 mellum mpt olmo jais trillion granite-docling exaone4 ",
     false,
     false,
     {GPT2}},
    {" smollm starcoder refact command-r codeshell exaone minerva-7b mellum2 ",
     false,
     false,
     {GGUF_DIGITS, GPT2}},
    {" default ", false, false, {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {" falcon ", false, false, {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {" qwen2 deepseek-r1-qwen stablelm2 hunyuan solar-open megrez kormo grok-2 ",
     false,
     false,
     {ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" LINES}},
    {" deepseek-llm ",
     false,
     false,
     {"[\\r\\n]", "\\s?[" CASED "]+", "\\s?[!-/:-~！-／：-～‘-‟\\x{3000}-。]+", "\\s+$",
      CHINESE_AND_KOREAN, "\\p{N}+"}},
    {" deepseek-coder ",
     false,
     false,
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CHINESE_AND_KOREAN, GGUF_DIGITS}},
    {" deepseek-v3 hunyuan-dense joyai-llm ",
     false,
     false,
     {"\\p{N}{1,3}", "[一-\\x{9fa5}\\x{3040}-ゟ゠-ヿ]+",
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}"
      "\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" LINES}},
    {" tekken ", true, true, {SMALL "|" LARGE "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" LINES}},
    {" gpt-4o llama4 kanana2 talkie minimax-m2 ",
     false,
     false,
     {SMALL ENDINGS "?|" LARGE ENDINGS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" LINES}},
    {" seed-coder ",
     false,
     false,
     {ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" LINES}},
    {" minicpm5 ",
     true,
     false,
     {"\\p{N}{1,3}",
      ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" LINES}},
    {" bloom poro-chat gpt3-finnish ", false, false, {" ?[^(\\s|.,!?…。，、।۔،)]+"}},
    {" viking ", false, false, {" ?[^(\\s|.,!?…。，、।۔،)]+", GGUF_DIGITS}},
};

const GgufSplit *gguf_split_named(const char *name) {
    char word[80];
    snprintf(word, sizeof word, " %.70s ", name);
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (!strchr(name, ' ') && strstr(splits[i].names, word)) return &splits[i];
    return NULL;
}
