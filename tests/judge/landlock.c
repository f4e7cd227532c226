#include "tests/judge/landlock.h"

#if defined __linux__ && __has_include(<linux/landlock.h>)

#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock only knows what is allowed. So on every level of the path from / to tests/golden,
 * everything is, except for the path's own next step. */
void hide_goldens(void) {
    const struct landlock_ruleset_attr reading = {.handled_access_fs =
                                                      LANDLOCK_ACCESS_FS_READ_FILE};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &reading, sizeof reading, 0);
    char *path = rules >= 0 ? realpath(ROOT "/tests/golden", NULL) : NULL, *rest = path;
    int folder = open("/", O_PATH | O_DIRECTORY);
    for (char *step; (step = strsep(&rest, "/"));) {
        if (!*step) continue; /* before the first / */
        DIR *entries = fdopendir(openat(folder, ".", O_RDONLY));
        for (struct dirent *entry; entries && (entry = readdir(entries));) {
            struct landlock_path_beneath_attr rule = {.allowed_access =
                                                          LANDLOCK_ACCESS_FS_READ_FILE};
            const char *name = entry->d_name;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, step) == 0)
                continue;
            rule.parent_fd = openat(folder, name, O_PATH);
            syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
            close(rule.parent_fd);
        }
        if (entries) closedir(entries);
        int next = openat(folder, step, O_PATH | O_DIRECTORY);
        close(folder);
        folder = next;
    }
    close(folder);
    if (path && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        syscall(SYS_landlock_restrict_self, rules, 0);
    if (rules >= 0) close(rules);
    free(path);
}

bool goldens_can_be_hidden(void) {
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

#else

void hide_goldens(void) {}

bool goldens_can_be_hidden(void) { return false; }

#endif
