#include "14_engine/args.h"
#include "14_engine/chat/chat_templates.h"
#include "common/timer.h"

#include <limits.h>
#include <math.h>

static float decimal(const char *name, const char *text, double low, double high) {
    return (float)option_decimal(name, text, low, high);
}

float temperature_of(const char *text) {
    float T = decimal("temperature", text, 0, MAX_TEMPERATURE);
    return T == 0 ? 0 : decimal("temperature", text, MIN_TEMPERATURE, MAX_TEMPERATURE);
}

/* A seed that was not given is taken from the clock, and printed with the speeds. */
static unsigned long seed_of(const char *text) {
    return text ? option_number("seed", text, 0, ULONG_MAX)
                : (unsigned long)fmod(1e6 * seconds(), 1e6);
}

SamplingParams args_sampling(const Args *a, SamplingParams s) {
    if (a->temperature) s.temperature = temperature_of(a->temperature);
    if (a->top_k) s.top_k = (int)option_number("top-k", a->top_k, 0, INT_MAX);
    if (a->top_p) s.top_p = decimal("top-p", a->top_p, 0, 1);
    if (a->min_p) s.min_p = decimal("min-p", a->min_p, 0, 1);
    if (a->repetition_penalty)
        s.repetition_penalty = decimal("repetition-penalty", a->repetition_penalty, 0.01, 100);
    return s;
}

Settings args_settings(const Args *a) {
    const SamplingParams defaults = {.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1};
    if (a->threads) use_threads((int)option_number("threads", a->threads, 1, 1024));
    if (a->context)
        option_number("ctx-size", a->context, 1,
                      ULONG_MAX); /* the model's limit is not known yet */
    if (a->template) chat_template_named(a->template);
    return (Settings){
        .sampling = args_sampling(a, defaults),
        .tokens = (int)option_number("max-tokens", or_default(a->tokens, "256"), 0, INT_MAX),
        .logprobs = a->logprobs ? (int)option_number("logprobs", a->logprobs, 0, 100) : -1,
        .seed = seed_of(a->seed),
    };
}

void args_validate(const Args *a) {
    const struct {
        const char *name, *value;
    } generation_only[] = {{"prompt", a->prompt},
                           {"max-tokens", a->tokens},
                           {"temperature", a->temperature},
                           {"top-k", a->top_k},
                           {"top-p", a->top_p},
                           {"min-p", a->min_p},
                           {"repetition-penalty", a->repetition_penalty},
                           {"seed", a->seed},
                           {"chat", a->chat},
                           {"ignore-eos", a->ignore_eos},
                           {"stop", a->stops[0]},
                           {"token-ids", a->ids},
                           {"logprobs", a->logprobs}},
      chat_only[] = {{"system-prompt", a->system},
                     {"date", a->date},
                     {"chat-template", a->template}},
      not_with_chat[] = {{"token-ids", a->ids}, {"logprobs", a->logprobs}};
    for (size_t i = 0; i < sizeof chat_only / sizeof *chat_only; i++)
        if (chat_only[i].value && !a->chat) usage_error("--%s is for --chat", chat_only[i].name);
    if (a->chat && a->prompt)
        usage_error("--chat reads its lines from standard input, and takes no --prompt");
    for (size_t i = 0; i < sizeof not_with_chat / sizeof *not_with_chat; i++)
        if (a->chat && not_with_chat[i].value)
            usage_error("--chat takes no --%s", not_with_chat[i].name);
    if (a->ids && a->prompt) usage_error("--token-ids or --prompt, not both");
    for (size_t i = 0; a->stops[i]; i++)
        if (!*a->stops[i]) usage_error("--stop '': no text would begin");
    for (size_t i = 0; i < sizeof generation_only / sizeof *generation_only; i++)
        if (a->perplexity && generation_only[i].value)
            usage_error("--perplexity writes no text, and takes no --%s", generation_only[i].name);
}
