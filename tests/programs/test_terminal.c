/* Programs that somebody sits in front of: what they show on a terminal and nowhere else, and what
 * Ctrl-C does. */
#include "tests/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

enum { CTRL_C = 3, CTRL_D = 4, SECONDS = 60 };

static pid_t program;
static int terminal;

/* Starts a shell's command in the folder, on a terminal of its own. */
static void start(const char *command) {
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
        print_message("skipped: no terminal can be opened here (is /dev/pts mounted?)\n");
        skip();
    }
    program = fork();
    if (program == 0) {
        alarm(SECONDS);
        setsid();
        int line = open(ptsname(terminal), O_RDWR);
        ioctl(line, TIOCSCTTY, 0);
        dup2(line, STDIN_FILENO);
        dup2(line, STDOUT_FILENO);
        dup2(line, STDERR_FILENO);
        if (chdir(folder) == 0) execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(126);
    }
    said[0] = '\0';
}

/* Whether the words are on the screen before nothing has come for so long; what comes after them is
 * left for the next. */
static bool comes(const char *words, int seconds) {
    const char *found;
    while (!(found = strstr(said, words))) {
        size_t length = strlen(said);
        struct pollfd screen = {.fd = terminal, .events = POLLIN};
        ssize_t got = poll(&screen, 1, 1000 * seconds) == 1
                          ? read(terminal, said + length, sizeof said - 1 - length)
                          : 0;
        if (got <= 0) return false;
        said[length + (size_t)got] = '\0';
    }
    found += strlen(words);
    memmove(said, found, strlen(found) + 1);
    return true;
}

static void expect(const char *words) {
    if (!comes(words, SECONDS)) fail_msg("\"%s\" never comes, but\n%s", words, said);
}

static void type(const char *keys) {
    assert_int_equal(write(terminal, keys, strlen(keys)), strlen(keys));
}

/* The exit status; -1 if a signal ended it. */
static int end(void) {
    char rest[4096];
    int status;
    while (read(terminal, rest, sizeof rest) > 0) {
    } /* or it would wait for somebody to read */
    assert_int_equal(waitpid(program, &status, 0), program);
    close(terminal);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_conversation_has_a_prompt(void **) {
    start("exec '" BUILD "/llama' --chat --quiet --seed 1 --max-tokens 5");
    expect("> ");
    type("Hello!\n");
    expect("Hello!\r\n"); /* the terminal's echo */
    expect("\r\n> ");
    /* Only the line is given up; a terminal drops what it shows at that moment. */
    type((char[]){'n', 'o', CTRL_C, '\0'});
    /* Not every terminal makes a signal of Ctrl-C: in a sandbox it may be a letter like others. */
    for (int tried = 0; !comes("note: Ctrl-D ends the conversation\r\n", 1); tried++) {
        assert_true(tried < SECONDS);
        kill(program, SIGINT);
    }
    type("Who?\n");
    expect("Who?\r\n");
    expect("\r\n> ");
    type((char[]){CTRL_D, '\0'});
    assert_int_equal(end(), 0);
}

static void progress_is_shown(void **) {
    assert_runs("for i in 1 2 3 4; do echo Once upon a time there was a fox.; done >text");
    start("exec '" BUILD "/llama' --perplexity text --ctx-size 9");
    expect("\r[#");
    expect(" of 43 tokens, perplexity "); /* so far */
    expect("[########################################]");
    expect("perplexity ");
    expect("\r\nperplexity ");
    assert_int_equal(end(), 0);
    assert_runs("'" BUILD "/llama' --perplexity text --ctx-size 9");
    assert_null(strchr(said, '#'));
    start("exec '" BUILD "/quantize' '" ROOT "/common/stories/model' stories.gguf --type q8_0");
    expect("\r[#");
    expect("[########################################]");
    expect("\r\n");
    assert_int_equal(end(), 0);
}

/* Before the first step is done there is nothing to tell of it, and it may take long. */
static void a_long_step_says_how_long_it_is(void **) {
    assert_runs("echo Once upon a time there was a fox. >fox");
    start(
        "exec '" BUILD "/train' --model '" ROOT
        "/common/stories/model' --data fox::3 --out trained --steps 1 --batch-size 2 --seq-len 12");
    expect("step 1 of 1 at work   a step reads 24 tokens");
    expect("step 1 of 1   loss ");
    assert_int_equal(end(), 0);
}

static void a_long_prompt_is_announced(void **) {
    assert_runs("for i in $(seq 60); do printf 'Mia has the red ball. '; done >long");
    start("exec '" BUILD "/llama' --prompt - --max-tokens 3 --seed 1 <long");
    expect("processing a prompt of ");
    expect(" tokens; then up to 3 tokens are generated\r\nMia has the red ball. ");
    assert_int_equal(end(), 0);
    start("exec '" BUILD "/llama' --prompt 'Mia has' --max-tokens 3 --seed 1");
    expect("Mia has");
    assert_null(strstr(said, "processing"));
    assert_int_equal(end(), 0);
    assert_runs("'" BUILD "/llama' --prompt - --max-tokens 3 --seed 1 <long");
    assert_null(strstr(said, "processing"));
}

static void pieces_are_coloured(void **) {
    static const char command[] =
        "'" BUILD "/tokenize' --model '" ROOT
        "/tests/golden/tokenizers/sentencepiece' --encode 'the llama' --pieces";
    start(command);
    expect("\033[30;106m▁the\033[0m\033[30;103m");
    assert_int_equal(end(), 0);
    assert_runs("%s", command);
    assert_null(strchr(said, '\033'));
}

#ifdef __linux__
/* Nothing is left for the process to read, no signal for it to take, and still it sleeps. */
static bool waits(pid_t process, int input) {
    char about[4096] = "";
    int left;
    FILE *file = fopen(AT("/proc/%d/status", process), "r");
    if (!file) return false;
    about[fread(about, 1, sizeof about - 1, file)] = '\0';
    fclose(file);
    return strstr(about, "State:\tS") && strstr(about, "ShdPnd:\t0000000000000000") &&
           ioctl(input, FIONREAD, &left) == 0 && left == 0;
}

static void wait_until_it_waits(pid_t process, int input) {
    for (int waited = 0; !waits(process, input) && waited < 1000 * SECONDS; waited++) usleep(1000);
}

/* An answer that nobody reads stops at Ctrl-C, and what it cut off is no error. */
static void ctrl_c_stops_an_answer(void **) {
    int input[2], output[2], status;
    static char full[1 << 20];
    assert_true(pipe(input) == 0 && pipe(output) == 0);
    fcntl(output[1], F_SETFL, O_NONBLOCK);
    while (write(output[1], full, sizeof full) > 0) {
    }
    fcntl(output[1], F_SETFL, 0);
    pid_t process = fork();
    if (process == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        close(input[1]);
        close(output[0]);
        close(output[1]);
        execl(BUILD "/llama", "llama", "--chat", "--quiet", "--seed", "1", "--threads", "1",
              "--max-tokens", "3", NULL);
        _exit(126);
    }
    close(output[1]);
    assert_int_equal(write(input[1], "Hello!\n", 7), 7);
    wait_until_it_waits(process, input[0]); /* for somebody to read what it writes */
    kill(process, SIGINT);
    wait_until_it_waits(process, input[0]); /* for the next line */
    close(input[1]);
    while (read(output[0], full, sizeof full) > 0) {
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close(input[0]);
    close(output[0]);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_has_a_prompt),
        cmocka_unit_test(progress_is_shown),
        cmocka_unit_test(a_long_step_says_how_long_it_is),
        cmocka_unit_test(a_long_prompt_is_announced),
        cmocka_unit_test(pieces_are_coloured),
#ifdef __linux__
        cmocka_unit_test(ctrl_c_stops_an_answer),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
