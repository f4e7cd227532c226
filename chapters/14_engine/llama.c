/* llama: all chapters before this as one program. It continues a text, holds a conversation, or
 * scores a text. */
#include "14_engine/chat/conversation.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ continuing a text */

/* The prompt, from the option or from standard input, there without the end of its last line. */
static char *prompt_of(const Args *args, size_t *length) {
    const char *said = or_default(args->prompt, "");
    if (strcmp(said, "-") != 0) return xstrndup(said, *length = strlen(said));
    char *prompt = file_read("-", length);
    if (*length > 0 && prompt[*length - 1] == '\n') --*length;
    return prompt;
}

/* Nothing is seen of a long prompt before all of it is processed. */
static void announce_prompt(const Llama *llama, size_t count) {
    enum { MANY = 256 };
    const double many = 2e11; /* operations: some seconds of a processor */
    double operations = 2.0 * (double)config_parameters(&llama->model.config) * (double)count;
    bool is_long = count >= MANY || operations > many;
    if (is_long && !llama->args->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "processing a prompt of %zu tokens; then up to %d tokens are generated\n",
                count, llama->settings.tokens);
}

static void write_on(const Llama *llama, size_t count, const int ids[count], size_t length,
                     const char shown[length]) {
    Session session = session_new(llama, count + (size_t)llama->settings.tokens);
    announce_prompt(llama, count);
    session_read(&session, count, ids);
    fwrite(shown, 1, length, stdout);
    FinishReason ending =
        session_write(&session, length == 0 && !tokenizer_byte_level(llama->tokenizer),
                      llama->settings.tokens, NULL);
    if (llama->settings.logprobs < 0) putchar('\n'); /* or every line has its end */
    fflush(stdout);
    if (ending == FINISH_CONTEXT_FULL)
        fprintf(stderr, "note: the context of %d token%s is full\n",
                session.generation.decoder.capacity,
                session.generation.decoder.capacity == 1 ? "" : "s");
    session_end(&session);
}

/* Reads BOS and the prompt, shows the prompt, and generates from there. A prompt of --token-ids is
 * not shown. */
static void continue_text(const Llama *llama) {
    size_t length = 0, count;
    int given;
    char *prompt = llama->args->ids ? NULL : prompt_of(llama->args, &length);
    int *ids = prompt ? encode_with_bos(llama->tokenizer, length, prompt, &count)
                      : option_ids("token-ids", llama->args->ids, &given);
    if (!prompt) count = (size_t)given;
    if (count == 0) fail("this tokenizer has no BOS to begin a text with: give a --prompt");
    write_on(llama, count, ids, llama->settings.logprobs < 0 ? length : 0, or_default(prompt, ""));
    free(ids);
    free(prompt);
}

/* ------------------------------------------------------------------ perplexity */

/* The perplexity so far is shown, for those who stop it early. */
static void show_progress(size_t done, size_t count, double so_far) {
    progress_bar(done, count, "%zu of %zu token%s, perplexity %.4f", done, count,
                 count == 1 ? "" : "s", so_far);
}

static void no_progress(size_t done, size_t count, double so_far) {
    (void)done;
    (void)count;
    (void)so_far;
}

static void score(const Llama *llama) {
    const char *path = llama->args->perplexity;
    size_t length, count;
    char *text = file_read(path, &length);
    int *ids = tokenizer_encode(llama->tokenizer, length, text, false, &count);
    const int window = llama_context(llama, INT_MAX), bos = tokenizer_bos(llama->tokenizer);
    if (bos < 0) fail("--perplexity: the tokenizer has no BOS to begin a window with");
    if (count == 0) fail("%s: there is no text to score", path);
    if (window < 2) usage_error("--ctx-size %d: a window needs 2 positions", window);
    void (*progress)(size_t, size_t, double) = llama->args->quiet ? no_progress : show_progress;
    double result = perplexity(&llama->model, llama->kernels, bos, count, ids, window, progress);
    if (isinf(result))
        fail("%s: its perplexity is beyond every number: do the model and the tokenizer belong "
             "together?",
             path);
    printf("perplexity %.4f over %zu token%s (%.3f bits a byte), in windows of %d\n", result, count,
           count == 1 ? "" : "s", log2(result) * (double)count / (double)length, window);
    free(ids);
    free(text);
}

/* ------------------------------------------------------------------ the program */

int main(int argc, char **argv) {
    Args a = {0};
    const Option options[] = {
        {"model", "DIR|FILE",
         "a Hugging Face folder, a .gguf or a .bin of llama2.c (the course's own small model)",
         &a.model},
        {"tokenizer", "PATH",
         "tokenizer.model, .json, .bin or a .gguf (the one beside the model, or in it)",
         &a.tokenizer},
        {"prompt", "TEXT|-", "what the text begins with; - reads standard input (nothing)",
         &a.prompt},
        {"token-ids|ids", "1,2,3", "the same in tokens; and tokens are what is written, too",
         &a.ids},
        {"max-tokens|tokens", "N", "write so many at most (256)", &a.tokens},
        {"temperature", "X", "0 takes the most probable token, 1 draws as the model says (0.8)",
         &a.temperature},
        {"top-k", "K", "draw from the K most probable; 0: from all (0)", &a.top_k},
        {"top-p", "P", "draw from the most probable that together have P (0.95)", &a.top_p},
        {"min-p", "P", "draw from those that are at least P times as probable as the first (0)",
         &a.min_p},
        {"repetition-penalty", "R", "above 1, what the text already has becomes less likely (1)",
         &a.repetition_penalty},
        {"stop", "TEXT …", "the text ends where this would begin; it may be there several times",
         a.stops},
        {"logprobs", "N", "a line for each token: log p of it, and of the N most probable",
         &a.logprobs},
        {"seed", "S", "the same text for the same seed (from the clock)", &a.seed},
        {"ctx-size|context", "N",
         "positions to keep (what is needed, at most what the model was made for)", &a.context},
        {"threads", "N", "(all cores)", &a.threads},
        {"chat", NULL,
         "a conversation, a line at a time (\\ at its end: it goes on); Ctrl-C stops an answer, "
         "Ctrl-D the conversation",
         &a.chat},
        {"chat-template|template", "NAME",
         "its form: llama2, llama3, llama3.1, llama3.2, chatml, zephyr, vicuna, alpaca, mistral "
         "(the model's own)",
         &a.template},
        {"system-prompt|system", "TEXT", "what the model is told before a conversation", &a.system},
        {"date", "TEXT",
         "the date that Llama 3.1 and later are told before it (what their templates say)",
         &a.date},
        {"bf16-activations|bf16", NULL,
         "with BF16 weights: round what meets them, too; some processors read a prompt twice as "
         "fast",
         &a.bf16},
        {"no-quantize-activations|exact", NULL,
         "with weights in blocks: do not round what meets them; slower", &a.exact},
        {"perplexity", "FILE|-", "score a text instead of writing one", &a.perplexity},
        {"ignore-eos", NULL, "go on where the text would end", &a.ignore_eos},
        {"quiet", NULL, "no speeds, no progress", &a.quiet},
    };
    int rest = parse_options(
        argc, argv, "[--model DIR|FILE] [--prompt TEXT|-] [--max-tokens N] [--temperature X] …",
        "Writes on from a prompt with any Llama, chats, or scores a text. How a token is chosen, "
        "and which\n"
        "ones end a text, the model's generation_config.json may say; an option counts more.",
        sizeof options / sizeof *options, options);
    if (rest < argc)
        usage_error("%s is not understood: is it the --prompt, in quotes?", argv[rest]);
    args_validate(&a);
    Llama llama = llama_open(&a);
    if (a.perplexity) score(&llama);
    else if (a.chat) converse(&llama);
    else continue_text(&llama);
    llama_close(&llama);
    return 0;
}
