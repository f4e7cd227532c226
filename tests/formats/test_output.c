/* Files that appear only when they are complete, whoever else writes, and whoever was killed while
 * he wrote. What a full disk and a signal leave is in test_safetensors.c; what every single failing
 * or deadly write leaves, `make faults` tries. */
#include "common/output.h"
#include "tests/program.h"
#include "tests/refused.h"

#include <sys/stat.h>

/* What a file of the folder holds; "" if there is none. */
static const char *holds(const char *name) {
    static char bytes[100];
    FILE *file = fopen(AT("%s/%s", folder, name), "rb");
    bytes[file ? fread(bytes, 1, sizeof bytes - 1, file) : 0] = '\0';
    if (file) fclose(file);
    return bytes;
}

static int files_in_folder(void) {
    assert_runs("ls | wc -l");
    return atoi(said);
}

static int empty_folder(void **) { return run("rm -f *"); }

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_who_is_killed_leaves_the_old_file, empty_folder),
        cmocka_unit_test_setup(test_a_left_over_is_left_alone, empty_folder),
        cmocka_unit_test_setup(test_a_link_and_its_permissions_stay, empty_folder),
        cmocka_unit_test_setup(test_two_at_once_do_not_mix, empty_folder),
        cmocka_unit_test_setup(test_a_new_file_is_everyones_to_read, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
