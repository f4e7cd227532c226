#include "11_generation/settings.h"
#include "11_generation/forms.h"
#include "11_generation/generation.h"
#include "common/timer.h"

#include <limits.h>
#include <math.h>

static float decimal(const char *name, const char *text, double low, double high) {
    return (float)option_decimal(name, text, low, high);
}

/* A seed that was not given is taken from the clock, and said with the speeds. */
static unsigned long seed_of(const char *text) {
    return text ? option_number("seed", text, 0, ULONG_MAX) : (unsigned long)fmod(1e6 * seconds(), 1e6);
}

Sampling sampling_of(const Words *w, Sampling s) {
    if (w->temperature) s.temperature = temperature_of(w->temperature);
    if (w->top_k) s.top_k = (int)option_number("top-k", w->top_k, 0, INT_MAX);
    if (w->top_p) s.top_p = decimal("top-p", w->top_p, 0, 1);
    if (w->min_p) s.min_p = decimal("min-p", w->min_p, 0, 1);
    if (w->repetition_penalty) s.repetition_penalty = decimal("repetition-penalty", w->repetition_penalty, 0.01, 100);
    return s;
}

Settings settings_of(const Words *w) {
    if (w->threads) use_threads((int)option_number("threads", w->threads, 1, 1024));
    if (w->context) option_number("context", w->context, 1, ULONG_MAX); /* the model's limit is not known yet */
    if (w->template) form_named(w->template);
    return (Settings){
        .sampling = sampling_of(w, (Sampling){.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1}),
        .tokens = (int)option_number("tokens", or(w->tokens, "256"), 0, INT_MAX),
        .logprobs = w->logprobs ? (int)option_number("logprobs", w->logprobs, 0, 100) : -1,
        .seed = seed_of(w->seed)};
}

void words_check(const Words *w) {
    const struct {
        const char *name, *value;
    } for_writing[] = {{"prompt", w->prompt}, {"tokens", w->tokens}, {"temperature", w->temperature},
                       {"top-k", w->top_k}, {"top-p", w->top_p}, {"min-p", w->min_p},
                       {"repetition-penalty", w->repetition_penalty}, {"seed", w->seed}, {"chat", w->chat},
                       {"ignore-eos", w->ignore_eos}, {"stop", w->stops[0]}, {"ids", w->ids},
                       {"logprobs", w->logprobs}},
      for_chat[] = {{"system", w->system}, {"date", w->date}, {"template", w->template}},
      not_for_chat[] = {{"ids", w->ids}, {"logprobs", w->logprobs}};
    for (size_t i = 0; i < sizeof for_chat / sizeof *for_chat; i++)
        if (for_chat[i].value && !w->chat) usage_error("--%s is for --chat", for_chat[i].name);
    if (w->chat && w->prompt) usage_error("--chat reads its lines from standard input, and takes no --prompt");
    for (size_t i = 0; i < sizeof not_for_chat / sizeof *not_for_chat; i++)
        if (w->chat && not_for_chat[i].value) usage_error("--chat takes no --%s", not_for_chat[i].name);
    if (w->ids && w->prompt) usage_error("--ids or --prompt, not both");
    for (size_t i = 0; w->stops[i]; i++)
        if (!*w->stops[i]) usage_error("--stop '': no text would begin");
    for (size_t i = 0; i < sizeof for_writing / sizeof *for_writing; i++)
        if (w->perplexity && for_writing[i].value)
            usage_error("--perplexity writes no text, and takes no --%s", for_writing[i].name);
}
