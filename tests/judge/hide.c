#include "tests/judge/hide.h"

#if defined __linux__ && __has_include(<linux/landlock.h>)

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void allow(int rules, int folder, const char *name) {
    struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE};
    rule.parent_fd = openat(folder, name, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0) return;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* Landlock knows only what is allowed: everything that lies in the folder, but for one entry. */
static void allow_all_but(int rules, const char *folder, const char *but) {
    DIR *directory = opendir(folder);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        bool above = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!above && strcmp(entry->d_name, but) != 0) allow(rules, dirfd(directory), entry->d_name);
    }
    closedir(directory);
}

/* On every level of the path from / to tests/golden: all that does not lie on it. */
void hide_goldens(void) {
    char path[PATH_MAX];
    if (!realpath(ROOT "/tests/golden", path)) return;
    struct landlock_ruleset_attr handled = {.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0) return;
    for (char *slash = path, *next; slash; slash = next) {
        next = strchr(slash + 1, '/');
        *slash = '\0';
        if (next) *next = '\0';
        allow_all_but(rules, *path ? path : "/", slash + 1);
        *slash = '/';
        if (next) *next = '/';
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}

bool goldens_can_be_hidden(void) {
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

#else

void hide_goldens(void) {}

bool goldens_can_be_hidden(void) { return false; }

#endif
