/* llama: text in, text out. All chapters before this, as one program that people would use: it goes on with a text, it
 * talks, or it scores a text. */
#include "11_generation/chat.h"
#include "11_generation/defaults.h"
#include "11_generation/generation.h"
#include "12_speed/rounding.h"
#include "common/error.h"
#include "common/file.h"
#include "common/gguf.h"
#include "common/measure.h"
#include "common/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char bundled[] = ROOT "/chapters/09_decoder/stories/model";

/* ------------------------------------------------------------------ what is asked for */

/* The command line, word by word; NULL for what it does not say. */
typedef struct {
    const char *model, *tokenizer, *prompt, *tokens, *temperature, *top_k, *top_p, *min_p, *repetition_penalty, *seed,
        *context, *threads, *chat, *system, *date, *perplexity, *ignore_eos, *quiet, *bf16;
} Words;

typedef struct {
    Sampling sampling;
    int tokens;
    unsigned long seed;
} Settings;

static const char *or(const char *said, const char *otherwise) { return said ? said : otherwise; }

static float decimal(const char *name, const char *text, double low, double high) {
    return (float)option_decimal(name, text, low, high);
}

/* Divided by less than this, a logit could become infinite. */
static float temperature_of(const char *text) {
    float T = decimal("temperature", text, 0, 1000);
    return T == 0 ? 0 : decimal("temperature", text, 0.001, 1000);
}

/* A seed that was not given is taken from the clock, and said with the speeds. */
static unsigned long seed_of(const char *text) {
    return text ? option_number("seed", text, 0, ULONG_MAX) : (unsigned long)fmod(1e6 * seconds(), 1e6);
}

/* What the words say, and where they say nothing, what there is otherwise. */
static Sampling sampling_of(const Words *w, Sampling s) {
    if (w->temperature) s.temperature = temperature_of(w->temperature);
    if (w->top_k) s.top_k = (int)option_number("top-k", w->top_k, 0, INT_MAX);
    if (w->top_p) s.top_p = decimal("top-p", w->top_p, 0, 1);
    if (w->min_p) s.min_p = decimal("min-p", w->min_p, 0, 1);
    if (w->repetition_penalty) s.repetition_penalty = decimal("repetition-penalty", w->repetition_penalty, 0.01, 100);
    return s;
}

/* Every number is read here, so that a bad one is refused before a large model is opened. */
static Settings settings_of(const Words *w) {
    if (w->threads) use_threads((int)option_number("threads", w->threads, 1, 1024));
    if (w->context) option_number("context", w->context, 1, MOST_POSITIONS); /* and again when the model is known */
    return (Settings){
        .sampling = sampling_of(w, (Sampling){.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1}),
        .tokens = (int)option_number("tokens", or(w->tokens, "256"), 0, INT_MAX),
        .seed = seed_of(w->seed)};
}

/* Of two options that do not go together, one would be ignored without a word. */
static void check_words(const Words *w) {
    const struct {
        const char *name, *value;
    } for_writing[] = {{"prompt", w->prompt}, {"tokens", w->tokens}, {"temperature", w->temperature},
                       {"top-k", w->top_k}, {"top-p", w->top_p}, {"min-p", w->min_p},
                       {"repetition-penalty", w->repetition_penalty}, {"seed", w->seed}, {"chat", w->chat},
                       {"ignore-eos", w->ignore_eos}};
    if (w->system && !w->chat) usage_error("--system is for --chat");
    if (w->date && !w->chat) usage_error("--date is for --chat");
    if (w->chat && w->prompt) usage_error("--chat reads its lines from standard input, and takes no --prompt");
    for (size_t i = 0; i < sizeof for_writing / sizeof *for_writing; i++)
        if (w->perplexity && for_writing[i].value)
            usage_error("--perplexity writes no text, and takes no --%s", for_writing[i].name);
}

/* ------------------------------------------------------------------ opening */

/* The model's folder, or the one that its file lies in. */
static const char *folder_of(char folder[static PATH_MAX], const char *path) {
    struct stat status;
    const char *slash = strrchr(path, '/');
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) return path;
    int length = slash > path ? (int)(slash - path) : 1; /* or it is "/" */
    snprintf(folder, PATH_MAX, "%.*s", length, slash ? path : ".");
    return folder;
}

/* It lies in the model's folder, in the .gguf, or beside the .bin. */
static Tokenizer *open_tokenizer(const char *model_path, const char *path) {
    char folder[PATH_MAX];
    if (!path) path = gguf_is(model_path) ? model_path : folder_of(folder, model_path);
    return tokenizer_open(path);
}

/* What the model's maker recommends, and over that what is asked for. */
static void follow_defaults(const char *path, const Words *words, Sampling *sampling, Config *config) {
    char folder[PATH_MAX];
    if (!gguf_is(path)) defaults_read(folder_of(folder, path), sampling, config);
    *sampling = sampling_of(words, *sampling);
}

/* Some models have a few rows more than their tokenizer has tokens, to make the number round. */
static void check_vocabularies(const Model *model, const Tokenizer *tokenizer) {
    enum { PADDING = 256 };
    int V = model->config.V, size = tokenizer_size(tokenizer);
    if (size > V || V - size >= PADDING)
        fail("the model has a vocabulary of %d tokens and the tokenizer one of %d: they do not belong together", V,
             size);
}

/* All that the program works with. */
typedef struct {
    Model model;
    Tokenizer *tokenizer;
    const Words *words;
    Settings settings;
} Llama;

static Llama llama_open(const Words *words) {
    const char *path = or(words->model, bundled);
    Llama llama = {.words = words, .settings = settings_of(words), .model = model_open(path)};
    llama.tokenizer = open_tokenizer(path, words->tokenizer);
    check_vocabularies(&llama.model, llama.tokenizer);
    follow_defaults(path, words, &llama.settings.sampling, &llama.model.config);
    const char *weights = tensor_type(&llama.model.lm_head);
    if (words->bf16 && strcmp(weights, "BF16") != 0) fail("--bf16: the weights of %s are %s, not BF16: leave it out", path, weights);
    project_rounds = words->bf16;
    return llama;
}

static void llama_close(Llama *llama) {
    tokenizer_close(llama->tokenizer);
    model_close(&llama->model);
}

/* How many positions there is room for: what is asked for, or else needed, but no more than the model was made for. */
static int context_of(const Llama *llama, size_t needed) {
    int most = config_context(&llama->model.config);
    const char *said = llama->words->context;
    if (said) return (int)option_number("context", said, 1, (unsigned long)most);
    return needed < (size_t)most ? (int)needed : most;
}

/* ------------------------------------------------------------------ reading and writing, with a clock */

typedef struct {
    const Llama *llama;
    Generation generation;
    int read;                /* tokens */
    double reading, writing; /* seconds */
} Session;

static volatile sig_atomic_t interrupted;
static void interrupt(int signal) { (void)signal, interrupted = 1; }

/* `needed`: how many positions, as far as one knows. */
static Session session_new(const Llama *llama, size_t needed) {
    const Settings *settings = &llama->settings;
    int context = context_of(llama, needed);
    Session session = {.llama = llama,
                       .generation = generation_new(&llama->model, context, settings->sampling, settings->seed)};
    session.generation.ignore_end = llama->words->ignore_eos;
    return session;
}

static void read_tokens(Session *s, size_t count, const int ids[count]) {
    double start = seconds();
    const Config *config = &s->llama->model.config;
    int capacity = s->generation.decoder.capacity, left = capacity - s->generation.decoder.length;
    if (count > (size_t)left)
        fail("%zu tokens are more than the %d that are left of a context of %d, %s", count, left, capacity,
             capacity < config_context(config) ? "which --context widens" : config_limit(config));
    generation_read(&s->generation, (int)count, ids);
    s->read += (int)count, s->reading += seconds() - start;
}

/* Writes as many tokens as there may be, to standard output. */
static void write_tokens(Session *s, bool skip_space) {
    Stream stream = {.file = stdout, .skip_space = skip_space, .stop = &interrupted};
    double start = seconds();
    int most = s->llama->settings.tokens;
    Ending ending = generation_write(&s->generation, s->llama->tokenizer, &stream, most);
    if (ferror(stdout) && !interrupted) exit(1); /* nobody can read it: finish_output() says why */
    if (ending == FULL) fprintf(stderr, "\nnote: the context of %d tokens is full\n", s->generation.decoder.capacity);
    stream_end(&stream);
    if (interrupted) clearerr(stdout); /* what Ctrl-C cut off is not missing */
    s->writing += seconds() - start;
}

/* Bytes that one more token has to read: every weight once, and the cache. */
static double bytes_per_token(const Model *model, int length) {
    const Config *c = &model->config;
    double bytes = (double)tensor_bytes(&model->lm_head);
    for (int l = 0; l < c->L; l++) {
        const Layer *layer = &model->layers[l];
        const Tensor *const weights[] = {&layer->q_proj, &layer->k_proj, &layer->v_proj, &layer->o_proj, &layer->gate_proj,
                                         &layer->up_proj, &layer->down_proj};
        for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) bytes += (double)tensor_bytes(weights[i]);
    }
    return bytes + 2.0 * c->L * length * c->KV * c->D * sizeof(float);
}

static void print_speed(const Session *s) {
    int written = s->generation.chosen;
    double rate = s->writing > 0 ? written / s->writing : 0, prefill = s->reading > 0 ? s->read / s->reading : 0;
    double bytes = bytes_per_token(&s->llama->model, s->generation.decoder.length);
    double share = rate * bytes / read_bandwidth(thread_count(), SOME_MEMORY);
    fprintf(stderr,
            "prompt: %d tokens, %.0f a second; "
            "written: %d tokens, %.0f a second, %.0f %% of what memory allows; seed %lu\n",
            s->read, prefill, written, rate, 100 * share, s->llama->settings.seed);
}

static void session_end(Session *s) {
    fflush(stdout);
    if (!s->llama->words->quiet) print_speed(s);
    generation_free(&s->generation);
}

/* ------------------------------------------------------------------ a text that goes on */

/* The prompt, as it is given or from standard input, where the end of its last line is not the prompt's. */
static char *prompt_of(const Words *words, size_t *length) {
    const char *said = or(words->prompt, "");
    if (strcmp(said, "-") != 0) return copy_text(said, *length = strlen(said));
    char *prompt = file_read("-", length);
    if (*length > 0 && prompt[*length - 1] == '\n') --*length;
    return prompt;
}

/* Reads BOS and the prompt, which is shown, and goes on from there. */
static void tell(const Llama *llama) {
    size_t length, count;
    char *prompt = prompt_of(llama->words, &length);
    int *ids = encode_with_bos(llama->tokenizer, length, prompt, &count);
    if (count == 0) fail("this tokenizer has no BOS to begin a text with: give a --prompt");
    Session session = session_new(llama, count + (size_t)llama->settings.tokens);
    read_tokens(&session, count, ids);
    fwrite(prompt, 1, length, stdout);
    write_tokens(&session, length == 0 && !tokenizer_byte_level(llama->tokenizer));
    putchar('\n');
    session_end(&session);
    free(ids), free(prompt);
}

/* ------------------------------------------------------------------ a conversation */

/* A line of the user, without its end, or NULL at the end of the conversation. Ctrl-C here only begins a new line. */
static const char *ask(char **line, size_t *room) {
    for (;;) {
        if (isatty(STDIN_FILENO)) fputs("> ", stderr);
        interrupted = 0;
        ssize_t length = getline(line, room, stdin);
        if (length >= 0 && memchr(*line, '\0', (size_t)length))
            fail("--chat: a line has a NUL in it: this is no text of UTF-8");
        if (length >= 0 && (*line)[strspn(*line, " \t\r\n")]) return *line;
        if (length < 0 && !interrupted && !feof(stdin)) fail("--chat: standard input: %s", strerror(errno));
        if (length < 0 && !interrupted) return NULL;
        if (length < 0) clearerr(stdin), fputc('\n', stderr);
    }
}

/* The date that the model is told: the user's, or its template's own; or NULL. */
static const char *date_of(const Llama *llama, char today[static 32]) {
    const char *date = chat_date(&llama->model.config, today), *said = llama->words->date;
    if (said && !date) fail("--date: this model is older than Llama 3.1, and its template has no date");
    return said ? said : date;
}

static void chat(const Llama *llama) {
    enum { CONTEXT = 8192 }; /* nobody knows how long it will be */
    char *line = NULL, today[32];
    size_t room = 0, count;
    const char *date = date_of(llama, today);
    Session session = session_new(llama, CONTEXT);
    struct sigaction stop = {.sa_handler = interrupt}; /* without SA_RESTART: it interrupts reading, too */
    sigaction(SIGINT, &stop, NULL);
    for (bool first = true; ask(&line, &room); first = false) {
        int *ids = chat_turn(llama->tokenizer, first, date, llama->words->system, line, &count);
        read_tokens(&session, count, ids);
        write_tokens(&session, !tokenizer_byte_level(llama->tokenizer));
        putchar('\n');
        free(ids);
    }
    session_end(&session);
    free(line);
}

/* ------------------------------------------------------------------ a score */

static void show_progress(size_t done, size_t count) {
    static const char bar[] = "########################################";
    int width = sizeof bar - 1, filled = (int)((size_t)width * done / count);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r[%.*s%*s] %zu of %zu tokens%s", filled, bar, width - filled, "", done, count,
                done == count ? "\n" : "");
}

static void no_progress(size_t done, size_t count) { (void)done, (void)count; }

static void score(const Llama *llama) {
    const char *path = llama->words->perplexity;
    size_t length, count;
    char *text = file_read(path, &length);
    int *ids = tokenizer_encode(llama->tokenizer, length, text, false, &count);
    int window = context_of(llama, INT_MAX), bos = tokenizer_bos(llama->tokenizer);
    if (bos < 0) fail("--perplexity: the tokenizer has no BOS to begin a window with");
    if (count == 0) fail("%s: there is no text to score", path);
    if (window < 2) usage_error("--context %d: a window needs 2 positions", window);
    void (*progress)(size_t, size_t) = llama->words->quiet ? no_progress : show_progress;
    double result = perplexity(&llama->model, bos, count, ids, window, progress);
    if (isinf(result))
        fail("%s: its perplexity is beyond every number: do the model and the tokenizer belong together?", path);
    printf("perplexity %.4f over %zu tokens (%.3f bits a byte), in windows of %d\n", result, count,
           log2(result) * (double)count / (double)length, window);
    free(ids), free(text);
}

/* ------------------------------------------------------------------ the program */

int main(int argc, char **argv) {
    Words w = {0};
    const Option options[] = {
        {"model", "DIR|FILE", "a Hugging Face folder, a .gguf or a .bin of llama2.c (the course's own small model)", &w.model},
        {"tokenizer", "PATH",
         "tokenizer.model, .json, .bin or a .gguf (the one beside the model, or in it)", &w.tokenizer},
        {"prompt", "TEXT|-", "what the text begins with; - reads standard input (nothing)", &w.prompt},
        {"tokens", "N", "write so many at most (256)", &w.tokens},
        {"temperature", "X", "0 takes the likeliest token, 1 draws as the model says (0.8)", &w.temperature},
        {"top-k", "K", "draw from the K likeliest; 0: from all (0)", &w.top_k},
        {"top-p", "P", "draw from the likeliest that together have P (0.95)", &w.top_p},
        {"min-p", "P", "draw from those that are P times as likely as the likeliest (0)", &w.min_p},
        {"repetition-penalty", "R",
         "above 1, what the text already has becomes less likely (1)", &w.repetition_penalty},
        {"seed", "S", "the same text for the same seed (from the clock)", &w.seed},
        {"context", "N", "positions to keep (what is needed, at most what the model was made for)", &w.context},
        {"threads", "N", "(all cores)", &w.threads},
        {"chat", NULL,
         "a conversation, a line at a time, in the form of Llama 2, 3 or 3.1; Ctrl-C stops an answer", &w.chat},
        {"system", "TEXT", "what the model is told before a conversation", &w.system},
        {"date", "TEXT", "the date that Llama 3.1 and later are told before it (what their templates say)", &w.date},
        {"bf16", NULL,
         "with BF16 weights: round what meets them, too; some processors read a prompt twice as fast", &w.bf16},
        {"perplexity", "FILE|-", "score a text instead of writing one", &w.perplexity},
        {"ignore-eos", NULL, "go on where the text would end", &w.ignore_eos},
        {"quiet", NULL, "no speeds, no progress", &w.quiet},
    };
    int rest = parse_options(argc, argv, "[--model DIR|FILE] [--prompt TEXT|-] [--tokens N] [--temperature X] …",
                             "Writes on from a prompt with any Llama, chats, or scores a text. How a token is chosen, and which\n"
                             "ones end a text, the model's generation_config.json may say; an option counts more.",
                             sizeof options / sizeof *options, options);
    if (rest < argc) usage_error("%s is not understood: is it the --prompt, in quotes?", argv[rest]);
    check_words(&w);
    Llama llama = llama_open(&w);
    if (w.perplexity) score(&llama);
    else if (w.chat) chat(&llama);
    else tell(&llama);
    llama_close(&llama);
    return 0;
}
