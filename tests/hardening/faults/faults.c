/* What if the n-th allocation fails, or the n-th write, open, read, mapping, fork? For every n: the
 * programs end with one clear line and exit status 1, or come to the same answer all the same. They
 * never crash, and leave no piece of a file, not even where the n-th write is the last thing they
 * live to see.
 *
 *     faults BUILD EVERY          every command below, for each EVERY-th n
 *     faults BUILD COMMAND KIND N    one of them again, and what it says
 *
 * A system call fails where the kernel would fail it: a seccomp filter hands it to this process,
 * which lets it pass or answers with an error, so that stdio's own writes fail, too, which no
 * preloaded library sees. Allocations fail in allocations.c, which is preloaded. */
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"
#include "tests/hardening/faults/allocations.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ------------------------------------------------------------------ what is run, and what fails */

/* commands.txt, beside this file, has one a line. A word that begins with @ is a path in this
 * repository. The folder of a run holds `text`, `model.bin`, `tokenizer.bin`, `old.safetensors` and
 * `task/one.c`. */
enum { MOST_COMMANDS = 100 };
static const char *commands[MOST_COMMANDS];
static int command_count;

static void read_commands(void) {
    size_t size;
    char *rest = file_read(ROOT "/tests/hardening/faults/commands.txt", &size);
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        if (command_count == MOST_COMMANDS) fail("over %d commands", MOST_COMMANDS);
        commands[command_count++] = line;
    }
}

/* The compiler's calls, and those of the process that a submission runs in, are not counted. */
static bool starts_programs(int command) { return strncmp(commands[command], "grade ", 6) == 0; }

typedef enum { ALLOCATION, OPEN, READ, WRITE, KILL, MAP, PROCESS, KINDS } Kind;

/* Not every machine has each call: an old one may have been left out for the new. */
#ifndef SYS_open
#define SYS_open -1
#endif
#ifndef SYS_rename
#define SYS_rename -1
#endif
#ifndef SYS_mkdir
#define SYS_mkdir -1
#endif
#ifndef SYS_newfstatat
#define SYS_newfstatat -1
#endif
#ifndef SYS_fork
#define SYS_fork -1
#define SYS_vfork -1
#define SYS_pipe -1
#endif
#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2
#endif
#ifndef SYS_renameat
#define SYS_renameat -1
#endif

#define WRITES                                                                                     \
    {SYS_write,     SYS_pwrite64, SYS_writev,   SYS_close,     SYS_fsync, SYS_fdatasync,           \
     SYS_ftruncate, SYS_rename,   SYS_renameat, SYS_renameat2, SYS_mkdir, SYS_mkdirat}

enum { CALLS = 12, NO_CALL = -1 };
static const struct {
    const char *name;
    int error, calls[CALLS]; /* 0 behind the last: SYS_read, where it is 0, is named first */
} kinds[KINDS] = {
    [ALLOCATION] = {"allocation", ENOMEM, {0}},
    [OPEN] = {"open", EMFILE, {SYS_openat, SYS_open, SYS_fstat, SYS_newfstatat, SYS_statx}},
    [READ] = {"read", EIO, {SYS_read, SYS_pread64, SYS_readv}},
    [WRITE] = {"write", ENOSPC, WRITES},
    [KILL] = {"kill", 0, WRITES},
    [MAP] = {"map", ENOMEM, {SYS_mmap}},
    [PROCESS] = {"process",
                 EAGAIN,
                 {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_pipe, SYS_pipe2}},
};

enum { LOOK = -1 };

/* The n-th call of a kind fails; with `lasting`, all after it, too, as on a disk that stays full.
 */
typedef struct {
    Kind kind;
    /* Or LOOK: none fails; the calls of all kinds are counted, or the places found where the
     * program allocates. */
    long n;
    bool lasting;
} Fault;

static const char *build;
static char folder[] = "/tmp/llama-faults-XXXXXX";
static Allocations *allocations;
static char preload[PATH_MAX + 32], counter[64];
static int output, errors; /* files in memory, which take what a program says */

static bool same(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* ------------------------------------------------------------------ system calls */

static bool is_of_kind(Kind kind, int call) {
    for (int i = 0; i < CALLS && (i == 0 || kinds[kind].calls[i] != 0); i++)
        if (kind != ALLOCATION && kinds[kind].calls[i] == call) return true;
    return false;
}

static bool is_watched(const Fault *fault, Kind kind) {
    return fault->n == LOOK || kind == fault->kind;
}

/* In the child: from here on, the calls that are watched wait for the parent's answer. Returns
 * where they are heard. */
static int filter_calls(const Fault *fault) {
    const struct sock_filter number =
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    struct sock_filter filter[2 * CALLS * KINDS + 2] = {number};
    unsigned short length = 1;
    for (Kind kind = OPEN; kind < KINDS; kind++)
        for (int i = 0;
             i < CALLS && is_watched(fault, kind) && (i == 0 || kinds[kind].calls[i] != 0); i++) {
            const unsigned call = (unsigned)kinds[kind].calls[i];
            filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
            filter[length++] =
                (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
        }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

/* A file goes from one process to the other along with a byte. */
typedef union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
} Parcel;

static void send_file(int socket, int file) {
    Parcel parcel = {.header = {.cmsg_len = CMSG_LEN(sizeof file),
                                .cmsg_level = SOL_SOCKET,
                                .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&parcel.header), &file, sizeof file);
    struct msghdr message = {.msg_iov = &(struct iovec){"", 1},
                             .msg_iovlen = 1,
                             .msg_control = &parcel,
                             .msg_controllen = sizeof parcel};
    sendmsg(socket, &message, 0);
}

static int receive_file(int socket) {
    Parcel parcel = {0};
    char byte;
    int file = -1;
    struct msghdr message = {.msg_iov = &(struct iovec){&byte, 1},
                             .msg_iovlen = 1,
                             .msg_control = &parcel,
                             .msg_controllen = sizeof parcel};
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 &&
        message.msg_controllen >= CMSG_LEN(sizeof file))
        memcpy(&file, CMSG_DATA(&parcel.header), sizeof file);
    return file;
}

/* The path that a call opens, or that its descriptor has; "" if it has none. */
static void path_of_call(const struct seccomp_notif *call, char path[static PATH_MAX]) {
    char name[64];
    ssize_t length;
    if (call->data.nr == SYS_openat || call->data.nr == SYS_open) {
        snprintf(name, sizeof name, "/proc/%u/mem", call->pid);
        int memory = open(name, O_RDONLY | O_CLOEXEC);
        length =
            pread(memory, path, PATH_MAX - 1, (off_t)call->data.args[call->data.nr == SYS_openat]);
        close(memory);
    } else {
        snprintf(name, sizeof name, "/proc/%u/fd/%d", call->pid, (int)call->data.args[0]);
        length = readlink(name, path, PATH_MAX - 1);
    }
    path[length > 0 ? length : 0] = '\0';
}

/* `make coverage`: what is done to the files of counts is the compiler's doing, and must succeed.
 */
static bool is_about_counts(const struct seccomp_notif *call) {
    char path[PATH_MAX];
    path_of_call(call, path);
    const char *dot = strrchr(path, '.');
    return dot && same(dot, ".gcda");
}

/* Answers the next call that waits. What is said on stderr always comes through, or nothing could
 * be said. */
static void answer_call(int listener, pid_t child, const Fault *fault, bool alone,
                        long count[KINDS]) {
    struct seccomp_notif call = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return; /* its process has died */
    const bool writes = call.data.nr == SYS_write || call.data.nr == SYS_writev;
    struct seccomp_notif_resp answer = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    bool aside = !allocations->running || (writes && call.data.args[0] == STDERR_FILENO) ||
                 (alone && (pid_t)call.pid != child) || is_about_counts(&call);
    for (Kind kind = 0; kind < KINDS; kind++)
        count[kind] += !aside && is_of_kind(kind, call.data.nr);
    long n = count[fault->kind];
    if (!aside && (n == fault->n || (fault->lasting && n > fault->n))) {
        if (fault->kind == KILL) kill((pid_t)call.pid, SIGKILL);
        answer = (struct seccomp_notif_resp){.id = call.id, .error = -kinds[fault->kind].error};
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* ------------------------------------------------------------------ one run */

typedef struct {
    int status; /* as waitpid gives it; -1: its time was up */
    long calls[KINDS];
    char *output, *errors,
        *files; /* files: a line for each, its name and what it holds, in short */
} Run;

static void run_free(Run *run) {
    free(run->output);
    free(run->errors);
    free(run->files);
}

/* Becomes the program. */
static _Noreturn void become(int number, const Fault *fault, int socket) {
    char line[1024], path[PATH_MAX], *words[64] = {path}, *rest = line;
    strcpy(line, commands[number]);
    snprintf(path, sizeof path, "%s/%s", build, strsep(&rest, " "));
    const char *input = "/dev/null";
    for (int i = 1; rest; i++) {
        words[i] = strsep(&rest, " ");
        if (words[i][0] == '@' && asprintf(&words[i], "%s/%s", ROOT, words[i] + 1) < 0) abort();
        if (words[i][0] == '<') {
            input = strsep(&rest, " ");
            words[i] = NULL;
        }
    }
    dup2(open(input, O_RDONLY), STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    setenv("OMP_NUM_THREADS", "1", 1);
    /* What fail() leaves is no leak: it frees nothing. */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1",
           1);
    putenv(preload);
    setenv("FAULTS", counter, 1);
    if (fault->kind != ALLOCATION) send_file(socket, filter_calls(fault));
    execv(path, words);
    _exit(126);
}

/* Returns how the child ends. */
static int watch(pid_t child, const Fault *fault, bool alone, int listener, long calls[KINDS]) {
    enum { MOST_MILLISECONDS = 600000 }; /* a busy machine, and a sanitizer */
    int status;
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd events[] = {{.fd = process, .events = POLLIN},
                              {.fd = listener, .events = POLLIN}};
    for (;;) {
        bool in_time = poll(events, 2, MOST_MILLISECONDS) > 0;
        if (!in_time) kill(child, SIGKILL);
        if (!in_time || events[0].revents) break;
        if (events[1].revents & POLLIN) answer_call(listener, child, fault, alone, calls);
        else if (events[1].revents) events[1].fd = -1;
    }
    bool in_time = events[0].revents;
    waitpid(child, &status, 0);
    close(process);
    return in_time ? status : -1;
}

static void take_output(int file, char **text) {
    char path[64];
    size_t length;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *text = file_read(path, &length);
}

static FILE *listing;

static int list_file(const char *path, const struct stat *status, int type, struct FTW *) {
    if (type != FTW_F || !S_ISREG(status->st_mode)) return 0;
    size_t length;
    char *bytes = file_read(path, &length);
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3;
    fprintf(listing, "%s %zu %" PRIx64 "\n", path, length, hash);
    free(bytes);
    return 0;
}

static char *list_files(void) {
    char *files;
    size_t size;
    listing = open_memstream(&files, &size);
    nftw(".", list_file, 16, FTW_PHYS);
    fclose(listing);
    return files;
}

static int remove_file(const char *path, const struct stat *, int, struct FTW *place) {
    return place->level > 0 ? remove(path) : 0;
}

static void empty_folder(void) { nftw(folder, remove_file, 16, FTW_PHYS | FTW_DEPTH); }

static void write_file(const char *name, size_t size, const void *bytes) {
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        fail("%s/%s: %s", folder, name, strerror(errno));
}

/* llama2.c's files: a model of zeros, of width 4, with 8 hidden, 1 layer, 2 heads, 1 key/value
 * head, as many tokens as the tokenizer and 16 positions; the tokenizer has <unk>, <s>, </s>, the
 * bytes and three pieces. */
static void write_llama2c(void) {
    static const char *const pieces[] = {" ", "th", " the"};
    enum { SPECIAL = 3, V = SPECIAL + 256 + 3, FLOATS = 2 * V * 4 };
    static struct {
        int header[7];
        float zeros[FLOATS];
    } model = {{4, 8, 1, 2, 1, V, 16}, {0}};
    const size_t floats = V * 4 + 4 + 16 + 8 + 8 + 16 + 4 + 3 * 32 + 4 + 16 * 2;
    write_file("model.bin", sizeof model.header + floats * sizeof(float), &model);
    FILE *file = fopen("tokenizer.bin", "wb");
    fwrite(&(int){10}, sizeof(int), 1, file);
    for (int id = 0; id < V; id++) {
        char name[16];
        if (id < SPECIAL) strcpy(name, (const char *const[]){"<unk>", "\n<s>\n", "\n</s>\n"}[id]);
        else if (id < SPECIAL + 256) snprintf(name, sizeof name, "<0x%02X>", id - SPECIAL);
        else strcpy(name, pieces[id - SPECIAL - 256]);
        fwrite(&(float){(float)-id}, sizeof(float), 1, file);
        fwrite(&(int){(int)strlen(name)}, sizeof(int), 1, file);
        fputs(name, file);
    }
    fclose(file);
}

static void fill_folder(void) {
    static const char text[] = "The llama saw 123 hills.\n  Then the llama's friend came: 羊驼!\n";
    static const char one[] = "#include \"02_activation/activation.h\"\n"
                              "void relu(int n, float out[n], const float x[n]) {\n"
                              "    for (int i = 0; i < n; i++) out[i] = x[i] > 0 ? x[i] : 0;\n"
                              "}\n";
    empty_folder();
    write_file("text", sizeof text - 1, text);
    write_file("old.safetensors", 3, "old");
    write_llama2c();
    mkdir("task", 0777);
    write_file("task/one.c", sizeof one - 1, one);
}

static Run run(int number, Fault fault) {
    Run run = {0};
    int ends[2];
    fill_folder();
    *allocations = (Allocations){.looks = fault.n == LOOK, .alone = starts_programs(number)};
    if (fault.kind == ALLOCATION) {
        allocations->fail_at = fault.n;
        allocations->lasting = fault.lasting;
    }
    if (ftruncate(output, 0) != 0 || ftruncate(errors, 0) != 0) fail("%s", strerror(errno));
    lseek(output, 0, SEEK_SET);
    lseek(errors, 0, SEEK_SET);
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) fail("%s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) fail("%s", strerror(errno));
    if (child == 0) become(number, &fault, ends[1]);
    int listener = fault.kind == ALLOCATION ? -1 : receive_file(ends[0]);
    if (fault.kind != ALLOCATION && listener < 0)
        fail("the system calls cannot be watched: %s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    run.status = watch(child, &fault, starts_programs(number), listener, run.calls);
    if (listener >= 0) close(listener);
    take_output(output, &run.output);
    take_output(errors, &run.errors);
    run.files = list_files();
    return run;
}

/* ------------------------------------------------------------------ judging */

/* Whether it is one of the lines. */
static bool has_line(const char *lines, const char *line, size_t length) {
    for (; *lines; lines += strcspn(lines, "\n") + 1)
        if (strcspn(lines, "\n") == length && strncmp(lines, line, length) == 0) return true;
    return false;
}

/* The files are as they were before the run, or as the undisturbed run leaves them. What a killed
 * program could not remove has a name that no one takes for the file's. */
static bool files_are_whole(const Run *run, const Run *undisturbed, const char *before,
                            bool killed) {
    for (const char *line = run->files; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        bool temporary = killed && memmem(line, length, ".tmp-", 5);
        if (!temporary && !has_line(before, line, length) &&
            !has_line(undisturbed->files, line, length))
            return false;
    }
    for (const char *line = before; *line;
         line += strcspn(line, "\n") + 1) { /* nothing that was there is gone */
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " ") + 1, line);
        if (!strstr(run->files, name)) return false;
    }
    return true;
}

/* One line, ours or OpenMP's; besides it, nothing that is not said undisturbed. */
static bool one_clear_line(const char *errors, const char *undisturbed) {
    static const char *const beginnings[] = {"error: ", "libgomp: "};
    int clear = 0;
    for (const char *line = errors; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        bool is = false;
        for (int i = 0; i < COUNT(beginnings); i++)
            is |= strncmp(line, beginnings[i], strlen(beginnings[i])) == 0;
        if (!is && length > 0 && !has_line(undisturbed, line, length)) return false;
        clear += is;
    }
    return clear == 1;
}

/* What is wrong, or NULL. */
static const char *judge(const Run *run, const Run *undisturbed, const char *before, Kind kind) {
    bool killed = kind == KILL && run->status != -1 && WIFSIGNALED(run->status) &&
                  WTERMSIG(run->status) == SIGKILL;
    if (run->status == -1) return "it does not end";
    if (!files_are_whole(run, undisturbed, before, killed))
        return "a file is lost, or left in part";
    if (killed) return NULL;
    if (!WIFEXITED(run->status)) return "it crashes";
    if (run->status == undisturbed->status && same(run->output, undisturbed->output) &&
        same(run->files, undisturbed->files))
        return NULL;
    if (run->status == 0) return "it says nothing, and the answer is another";
    if (!one_clear_line(run->errors, undisturbed->errors)) return "it ends without one clear line";
    return WEXITSTATUS(run->status) == 1 ? NULL : "its exit status is not 1";
}

typedef struct {
    long tried, found;
} Tally;

static void show_finding(int number, Fault fault, const char *what, const Run *run) {
    const char *kind = kinds[fault.kind].name, *all = fault.lasting ? " and all after it" : "",
               *plus = fault.lasting ? "+" : "";
    printf("\nFOUND: %s: %s number %ld%s: %s\n", commands[number], kind, fault.n, all, what);
    printf("  again: %s/faults %s %d %s %ld%s\n%.1000s", build, build, number, kind, fault.n, plus,
           run->errors);
}

/* Every EVERY-th n of one kind. Allocations are those of at[]. */
static void try_kind(int number, Kind kind, long every, const long at[], const Run *undisturbed,
                     const char *before, Tally *tally) {
    long count = undisturbed->calls[kind];
    for (int lasting = 0; lasting < (kind == KILL ? 1 : 2); lasting++)
        for (long i = (number + kind) % every; i < count;
             i += every) { /* other ones for each command */
            Fault fault = {kind, kind == ALLOCATION ? at[i] : i + 1, lasting};
            Run disturbed = run(number, fault);
            const char *what = judge(&disturbed, undisturbed, before, kind);
            if (what) show_finding(number, fault, what, &disturbed);
            tally->tried++;
            tally->found += what != NULL;
            run_free(&disturbed);
        }
    printf(" %s %ld", kinds[kind].name, count);
    fflush(stdout);
}

/* What the same command says twice, or else there is nothing to compare with. The calls are counted
 * on the way, and the allocations at[] found, one for each place that allocates. */
static Run run_undisturbed(int number, long at[MOST_PLACES]) {
    Run again = run(number, (Fault){ALLOCATION, LOOK, false});
    const int places = allocations->places;
    if (places == 0)
        fail("%s: its allocations cannot be watched: is it linked statically?", commands[number]);
    memcpy(at, allocations->at, sizeof allocations->at);
    Run once = run(number, (Fault){WRITE, LOOK, false});
    once.calls[ALLOCATION] = places;
    if (allocations->sanitized)
        once.calls[MAP] = 0; /* a sanitizer maps, too, and has its own words when it cannot */
    if (again.status == -1) fail("%s: it does not end", commands[number]);
    if (!WIFEXITED(once.status) || WEXITSTATUS(once.status) == 126)
        fail("%s/%s cannot be run", build, commands[number]);
    if (!same(once.output, again.output) || !same(once.files, again.files))
        fail("%s: its output is never the same", commands[number]);
    run_free(&again);
    return once;
}

static int try_all(long every) {
    Tally tally = {0};
    for (int number = 0; number < command_count; number++) {
        static long at[MOST_PLACES];
        Run undisturbed = run_undisturbed(number, at);
        fill_folder();
        char *before = list_files();
        printf("%2d %s:", number, commands[number]);
        for (Kind kind = 0; kind < KINDS; kind++)
            try_kind(number, kind, every, at, &undisturbed, before, &tally);
        putchar('\n');
        run_free(&undisturbed);
        free(before);
    }
    printf("%ld passed, %ld failed\n", tally.tried - tally.found, tally.found);
    return tally.found > 0;
}

static int try_one(int number, const char *kind_name, const char *n) {
    Kind kind = 0;
    while (kind < KINDS && !same(kinds[kind].name, kind_name)) kind++;
    if (kind == KINDS || number < 0 || number >= command_count)
        fail("there is no command %d, or no kind %s", number, kind_name);
    Run one = run(number, (Fault){kind, atol(n), strchr(n, '+')});
    printf("%s\nstatus %x\n%s%s", one.output, (unsigned)one.status, one.errors, one.files);
    run_free(&one);
    return 0;
}

static void remove_folder(void) {
    empty_folder();
    rmdir(folder);
}

int main(int argc, char **argv) {
    char absolute[PATH_MAX];
    if ((argc != 3 && argc != 5) || !realpath(argv[1], absolute))
        fail("usage: faults BUILD EVERY | faults BUILD COMMAND KIND N");
    build = absolute;
    read_commands();
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s/allocations.so", build);
    int shared = memfd_create("allocations", 0);
    snprintf(counter, sizeof counter, "/proc/%d/fd/%d", getpid(), shared);
    output = memfd_create("output", MFD_CLOEXEC);
    errors = memfd_create("errors", MFD_CLOEXEC);
    if (ftruncate(shared, sizeof *allocations) != 0 || !mkdtemp(folder) || chdir(folder) != 0)
        fail("%s: %s", folder, strerror(errno));
    allocations = mmap(NULL, sizeof *allocations, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    atexit(remove_folder);
    return argc == 3 ? try_all(atol(argv[2])) : try_one(atoi(argv[2]), argv[3], argv[4]);
}
