/* Files that appear only when they are complete, whoever else writes, and whoever was killed while
 * he wrote. What every single failing or deadly write leaves, `make fault-injection` tries. */
#include "common/file.h"
#include "common/output.h"
#include "common/safetensors.h"
#include "tests/program.h"
#include "tests/refused.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* What a file of the folder holds; "" if there is none. */
static const char *holds(const char *name) {
    static char bytes[100];
    FILE *file = fopen(AT("%s/%s", folder, name), "rb");
    bytes[file ? fread(bytes, 1, sizeof bytes - 1, file) : 0] = '\0';
    if (file) fclose(file);
    return bytes;
}

static void write_whole(const char *name, const char *words) {
    Output output = output_open(AT("%s/%s", folder, name));
    fputs(words, output.file);
    output_close(&output);
}

static void write_half_and_be_killed(void) {
    Output output = output_open(AT("%s/file", folder));
    fputs("half of", output.file);
    fflush(output.file);
    raise(SIGKILL);
}

static void test_who_is_killed_leaves_the_old_file(void **) {
    write_whole("file", "the old one");
    assert_int_equal(
        WTERMSIG(run_in_child(write_half_and_be_killed, STDERR_FILENO, (char[2000]){0})), SIGKILL);
    assert_string_equal(holds("file"), "the old one");
    assert_int_equal(files_in_folder(), 2); /* what nobody could remove any more has another name */
    write_whole("file", "the new one");
    assert_string_equal(holds("file"), "the new one");
}

/* Process numbers come again: the left-over of one who had ours is neither taken for the file nor
 * written on. */
static void test_a_left_over_is_left_alone(void **) {
    Output earlier = output_open(AT("%s/file", folder));
    const char *left_over = AT("%s", earlier.temporary);
    output_close(&earlier);
    FILE *file = fopen(left_over, "wb");
    fputs("half of a much longer text", file);
    fclose(file);
    write_whole("file", "new");
    assert_string_equal(holds("file"), "new");
    assert_string_equal(holds(left_over + strlen(folder) + 1), "half of a much longer text");
    assert_int_equal(files_in_folder(), 2);
}

static void write_the_link(void) { write_whole("link", "newer"); }

/* Who wrote the file before has said where it lies, and who may read it. */
static void test_a_link_and_its_permissions_stay(void **) {
    struct stat status;
    assert_runs(
        "mkdir -p disk && echo old >disk/file && chmod 600 disk/file && ln -s disk/file link");
    write_whole("link", "new");
    assert_string_equal(holds("disk/file"), "new");
    assert_int_equal(lstat(AT("%s/link", folder), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(AT("%s/link", folder), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    run("rm -r disk");
    assert_refused(write_the_link,
                   "link: it is a link, and what it points to is not there: remove it");
    assert_int_equal(lstat(AT("%s/link", folder), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void test_two_at_once_do_not_mix(void **) {
    Output one = output_open(AT("%s/file", folder)), other = output_open(AT("%s/file", folder));
    fputs("the one's longer words", one.file);
    fflush(one.file);
    fputs("the other's", other.file);
    fflush(other.file);
    output_close(&one);
    assert_string_equal(holds("file"), "the one's longer words");
    output_close(&other);
    assert_string_equal(holds("file"), "the other's");
    assert_int_equal(files_in_folder(), 1);
}

static void test_a_new_file_is_everyones_to_read(void **) {
    struct stat status;
    mode_t before = umask(022);
    write_whole("file", "");
    umask(before);
    assert_int_equal(stat(AT("%s/file", folder), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
}

/* ---- programs that fail while they write ---- */

static float large[1 << 16];
static const Tensor large_tensor = {
    .name = "t", .dtype = F32, .rank = 1, .shape = {1 << 16}, .data = large};

static void save_past_the_limit(void) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 5000, .rlim_max = 5000});
    safetensors_save(AT("%s/file", folder), 1, &large_tensor, 0, NULL);
}

static void write_to_a_full_disk(void) {
    Output output = output_open(AT("%s/file", folder));
    dup2(open("/dev/full", O_WRONLY), fileno(output.file));
    fputs("less than the buffer holds", output.file);
    output_close(&output);
}

static void stop_before_the_end(void) {
    Output output = output_open(AT("%s/file", folder));
    Output another = output_open(AT("%s/another", folder));
    fputs("part", output.file);
    fputs("part", another.file);
    output_close(&another);
    remove(AT("%s/another", folder));
    safetensors_open(AT("%s/missing", folder));
}

static void save_a_name_twice(void) {
    Tensor twice[] = {large_tensor, large_tensor};
    safetensors_save(AT("%s/file", folder), 2, twice, 0, NULL);
}

static void save_a_name_of_no_utf8(void) {
    Tensor tensor = {.name = "\xff", .dtype = F32, .data = large};
    safetensors_save(AT("%s/file", folder), 1, &tensor, 0, NULL);
}

static void save_a_tensor_named_metadata(void) {
    Tensor tensor = {.name = "__metadata__", .dtype = F32, .data = large};
    safetensors_save(AT("%s/file", folder), 1, &tensor, 0, NULL);
}

static void test_a_failing_write_leaves_the_old_file(void **) {
    static const struct {
        void (*action)(void);
        const char *words;
    } cases[] = {
        {save_past_the_limit, "file: a write failed; is the disk full?"},
        {write_to_a_full_disk, "file: No space left on device"},
        {stop_before_the_end, "No such file or directory"},
        {save_a_name_twice, "it would hold \"t\" twice"},
        {save_a_name_of_no_utf8, "is not UTF-8"},
        {save_a_tensor_named_metadata, "it would hold \"__metadata__\" twice"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_text("file", "the old one");
        assert_refused(cases[i].action, cases[i].words);
        assert_string_equal(holds("file"), "the old one");
        assert_int_equal(files_in_folder(), 1);

        empty_folder(NULL);
        assert_refused(cases[i].action, cases[i].words);
        assert_int_equal(files_in_folder(), 0);
    }
}

static void die(void) { raise(SIGTERM); }

static void open_and_die(void) {
    output_open(AT("%s/another", folder));
    die();
}

static void test_a_forked_child_leaves_its_parents_files(void **) {
    char message[2000];
    Output output = output_open(AT("%s/file", folder));
    assert_int_equal(WTERMSIG(run_in_child(die, STDERR_FILENO, message)), SIGTERM);
    assert_int_equal(WTERMSIG(run_in_child(open_and_die, STDERR_FILENO, message)), SIGTERM);
    output_close(&output);
    assert_string_equal(holds("file"), "");
    assert_int_equal(files_in_folder(), 1);
}

static int deadly_signal;

static void be_killed(void) {
    signal(deadly_signal, SIG_DFL); /* nohup lets it be ignored */
    Output output = output_open(AT("%s/file", folder));
    fputs("part", output.file);
    fflush(output.file);
    raise(deadly_signal);
}

static void test_a_signal_leaves_the_old_file(void **) {
    int signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM};
    char message[2000];
    for (size_t i = 0; i < COUNT(signals); i++) {
        deadly_signal = signals[i];
        write_text("file", "the old one");
        int status = run_in_child(be_killed, STDERR_FILENO, message);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_string_equal(holds("file"), "the old one");
        assert_int_equal(files_in_folder(), 1);
    }
}

/* nohup's SIGHUP, say: who is not ended by it goes on writing. */
static void an_ignored_signal(void) {
    signal(SIGHUP, SIG_IGN);
    Output output = output_open(AT("%s/file", folder));
    fputs("part", output.file);
    fflush(output.file);
    raise(SIGHUP);
    fputs(" and whole", output.file);
    output_close(&output);
    exit(0);
}

static void test_an_ignored_signal_changes_nothing(void **) {
    char message[2000];
    assert_int_equal(run_in_child(an_ignored_signal, STDERR_FILENO, message), 0);
    assert_string_equal(holds("file"), "part and whole");
}

static void end_with_7(int) { _exit(7); }

/* Where a file of ours is mapped, and one of somebody else's loses its bytes. */
static void another_file_is_shortened(void) {
    char why[FILE_WHY];
    void *ours;
    size_t size;
    alarm(20);
    signal(SIGBUS, end_with_7);
    write_text("ours", "ours");
    write_text("other", "other");
    int other = open(AT("%s/other", folder), O_RDWR);
    const volatile char *bytes = mmap(NULL, 5, PROT_READ, MAP_PRIVATE, other, 0);
    if (!file_map(AT("%s/ours", folder), &ours, &size, why) || ftruncate(other, 0) != 0) exit(1);
    exit(bytes[0]);
}

static void test_another_files_bytes_are_not_ours_to_miss(void **) {
    char message[2000];
    int status = run_in_child(another_file_is_shortened, STDERR_FILENO, message);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_string_equal(message, "");
}

static void open_a_directory(void) { output_open(folder); }
static void open_in_no_directory(void) { output_open(AT("%s/missing/file", folder)); }
static void open_a_device(void) { output_open("/dev/null"); }
static void open_too_many(void) {
    for (int i = 0; i < 1000; i++) {
        char name[20];
        snprintf(name, sizeof name, "%d", i);
        output_open(AT("%s/%s", folder, name));
    }
}

static void test_output_paths_that_cannot_be(void **) {
    assert_refused(open_a_directory, "it is a directory");
    assert_refused(open_in_no_directory, "(make its directory first)");
    assert_refused(open_a_device, "it is not a regular file");
    assert_refused(open_too_many, "output files are open already");
    assert_int_equal(files_in_folder(), 0);
}

int main(void) {
#define ON_DISK(test) cmocka_unit_test_setup(test, empty_folder)
    const struct CMUnitTest tests[] = {
        ON_DISK(test_who_is_killed_leaves_the_old_file),
        ON_DISK(test_a_left_over_is_left_alone),
        ON_DISK(test_a_link_and_its_permissions_stay),
        ON_DISK(test_two_at_once_do_not_mix),
        ON_DISK(test_a_new_file_is_everyones_to_read),
        ON_DISK(test_a_failing_write_leaves_the_old_file),
        ON_DISK(test_a_forked_child_leaves_its_parents_files),
        ON_DISK(test_a_signal_leaves_the_old_file),
        ON_DISK(test_an_ignored_signal_changes_nothing),
        ON_DISK(test_another_files_bytes_are_not_ours_to_miss),
        ON_DISK(test_output_paths_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
