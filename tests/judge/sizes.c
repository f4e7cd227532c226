#include "tests/judge/sizes.h"
#include "tests/judge/lab.h"
#include "tests/judge/numbers.h"
#include "tests/judge/own_answer.h"

#include <string.h>

/* ------------------------------------------------------------------ at which sizes it is wrong */

/* Wrong from `from` to `to`, where the size divided by `step` leaves one of the remainders: a bit
 * for each unit. It says nothing if that is all sizes. */
typedef struct {
    size_t from, to, step, unit, right_below;
    bool is_about; /* right some times by luck, next to `from` */
    uint64_t remainders;
} Pattern;

static const Pattern everywhere = {.to = SIZE_MAX, .step = 1, .unit = 1, .remainders = 1};
static bool says_nothing(const Pattern *pattern) {
    return pattern->from == 0 && pattern->to == SIZE_MAX && pattern->step == pattern->unit;
}

static bool is_predicted(const Pattern *pattern, size_t size) {
    return size >= pattern->from && size <= pattern->to &&
           pattern->remainders >> (size % pattern->step / pattern->unit) & 1;
}

enum { SCANNED = 70, MOST_STEPS = 32, AROUND = 9, MOST_SEEN = SCANNED + 3 * AROUND + 32 };
typedef struct {
    int count;
    Point point[MOST_SEEN];
} Scan;

/* Sets the pattern's remainders to those that are wrong. False if one is sometimes right, or is not
 * seen twice. Just beyond a far edge little is wrong, and may be right by luck. */
static bool find_remainders(const Scan *scan, int which, Pattern *pattern) {
    enum { LUCKY = 2 };
    size_t steps = pattern->step / pattern->unit;
    bool is_far = pattern->from > SCANNED * pattern->unit && steps == 1;
    int wrong[MOST_STEPS] = {0}, right[MOST_STEPS] = {0};
    pattern->remainders = 0;
    for (int p = 0; p < scan->count; p++) {
        size_t size = scan->point[p].size[which], class = size % pattern->step / pattern->unit;
        bool is_inside = size >= pattern->from && size <= pattern->to;
        if (!is_inside && scan->point[p].wrong) return false;
        if (is_inside) (scan->point[p].wrong ? wrong : right)[class]++;
    }
    for (size_t class = 0; class < steps; class ++) {
        if ((wrong[class] && right[class] > (is_far ? LUCKY : 0)) ||
            (steps > 1 && wrong[class] + right[class] < 2))
            return false;
        if (wrong[class]) pattern->remainders |= (uint64_t)1 << class;
        pattern->is_about |= wrong[class] && right[class];
    }
    return true;
}

/* The simplest pattern: first the one without a remainder. */
static bool find_pattern(const Scan *scan, int which, size_t unit, Pattern *pattern) {
    size_t from = SIZE_MAX, to = 0, below = 0;
    for (int p = 0; p < scan->count; p++) {
        size_t size = scan->point[p].size[which];
        if (!scan->point[p].wrong) continue;
        if (size < from) from = size;
        if (size > to) to = size;
    }
    for (int p = 0; p < scan->count; p++) {
        size_t size = scan->point[p].size[which];
        if (size < from && size > below) below = size;
    }
    for (size_t steps = 1; steps <= MOST_STEPS; steps++)
        for (int bounds = 0; bounds < (steps == 1 ? 4 : 2); bounds++) {
            *pattern = (Pattern){.from = bounds & 1 ? from : 0,
                                 .to = bounds & 2 ? to : SIZE_MAX,
                                 .step = steps * unit,
                                 .unit = unit,
                                 .right_below = below};
            if (find_remainders(scan, which, pattern)) return true;
        }
    return false;
}

static Point ask_at(Lab *lab, Extents extents, int which, size_t size) {
    extents.size[which] = size;
    return lab_ask_often(lab, &extents);
}

static void look_at(Lab *lab, Scan *scan, const Extents *extents, int which, size_t size) {
    if (scan->count == MOST_SEEN || size < extents->least[which]) return;
    Point point = ask_at(lab, *extents, which, size);
    if (!point.is_too_large) scan->point[scan->count++] = point;
}

/* The third size that is wrong: small, and more than an exception. */
static size_t small_wrong_extent(const Scan *scan, int which) {
    size_t smallest[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    for (int p = 0; p < scan->count; p++) {
        size_t extent = scan->point[p].extents.size[which];
        for (int i = 0; i < 3 && scan->point[p].wrong; i++)
            if (extent < smallest[i]) {
                size_t next = smallest[i];
                smallest[i] = extent;
                extent = next;
            }
    }
    return smallest[2];
}

/* Between a size that is right and one that is wrong: where it begins, and what is around that. */
static void look_for_the_edge(Lab *lab, Scan *scan, const Extents *wrong, int which, size_t right) {
    size_t above = wrong->size[which];
    while (above - right > 1 && !lab->is_over) {
        size_t middle = right + (above - right) / 2;
        Point point = ask_at(lab, *wrong, which, middle);
        *(point.wrong ? &above : &right) = middle;
    }
    for (size_t i = 0; i < AROUND && !lab->is_over; i++) {
        look_at(lab, scan, wrong, which, above + i);
        look_at(lab, scan, wrong, which, right - i);
        look_at(lab, scan, wrong, which, above + (wrong->size[which] - above) * (i + 1) / AROUND);
    }
}

/* Tries the sizes of one dimension, the others as they are in a call that is wrong. In the end this
 * one is small. */
static bool scan_dimension(Lab *lab, Extents *wrong, int which, Pattern *pattern) {
    enum { ENOUGH = 34 }; /* wrong ones without a right one */
    Scan scan = {0};
    int wrongs = 0;
    size_t least = wrong->least[which], end = least + SCANNED;
    for (size_t size = least; size < end && !lab->is_over; size++) {
        look_at(lab, &scan, wrong, which, size);
        if (scan.count) wrongs += scan.point[scan.count - 1].wrong;
        if (wrongs == ENOUGH && scan.count == ENOUGH) break;
        if (scan.count == 0) return false;
    }
    if (!wrongs && wrong->size[which] >= end) look_for_the_edge(lab, &scan, wrong, which, end - 1);
    size_t unit = lab->dimension[which].unit, extent = small_wrong_extent(&scan, which);
    bool found = unit && find_pattern(&scan, which, unit, pattern);
    if (found && pattern->is_about) extent += extent / 4;
    if (extent < wrong->size[which]) wrong->size[which] = extent;
    if (wrongs == scan.count) return *pattern = everywhere, true;
    return !lab->is_over && found;
}

/* ------------------------------------------------------------------ does it hold? */

/* Either a pattern for each dimension, all of which must be met; or how two of them compare. */
typedef struct {
    Pattern pattern[MOST_EXTENTS];
    int left, right; /* dimensions */
    enum { BY_PATTERN, LARGER, SMALLER, OTHER, THE_SAME } relation;
} Hypothesis;

static bool matters(const Hypothesis *of, int k) {
    return of->relation == BY_PATTERN ? !says_nothing(&of->pattern[k])
                                      : k == of->left || k == of->right;
}

static bool must_be_wrong(const Hypothesis *of, int count, const size_t size[]) {
    size_t left = size[of->left], right = size[of->right];
    switch (of->relation) {
    case LARGER: return left > right;
    case SMALLER: return left < right;
    case OTHER: return left != right;
    case THE_SAME: return left == right;
    case BY_PATTERN: break;
    }
    for (int k = 0; k < count; k++)
        if (!is_predicted(&of->pattern[k], size[k])) return false;
    return true;
}

/* No call may be wrong that should not. One in eight of those that should be may be right, by luck
 * or as it is of another kind; `lucky` counts them, if that is wanted. */
static bool holds(const Hypothesis *of, const Lab *lab, int calls, const Point calls_made[],
                  int *lucky) {
    int wrong = 0, right = 0, of_the_kind = 0;
    for (int p = 0; p < calls; p++) {
        bool must = must_be_wrong(of, lab->count, calls_made[p].size);
        if (calls_made[p].wrong && !must) return false;
        bool is_right = must && !calls_made[p].wrong,
             is_of_the_kind = calls_made[p].kind == lab->kind;
        wrong += calls_made[p].wrong && is_of_the_kind;
        of_the_kind += is_right && is_of_the_kind;
        right += is_right;
    }
    if (lucky) *lucky = right;
    return of_the_kind * 8 <= wrong + of_the_kind;
}

/* No golden case may fail that should not. */
static bool golden_cases_agree(const Lab *lab, const Hypothesis *of, int count,
                               const Verdict verdicts[]) {
    for (int v = 0; v < count; v++) {
        size_t size[MOST_EXTENTS];
        bool fails = verdicts[v].comparison.wrong > 0;
        for (int k = 0; k < lab->count; k++) {
            const GoldenCase *golden = verdicts[v].golden_case;
            const char *name = lab->dimension[k].name;
            const Tensor *input =
                strcmp(name, output_name) == 0 ? &golden->expected : golden_input(golden, name);
            bool is_known = input && input->rank == lab->dimension[k].rank;
            fails &= is_known || !matters(of, k);
            size[k] = is_known ? size_in(input, &lab->dimension[k]) : 0;
        }
        if (fails && !must_be_wrong(of, lab->count, size)) return false;
    }
    return true;
}

static void keep_small(Extents *extents, int k) {
    size_t most = extents->least[k] + 3;
    if (extents->size[k] > most) extents->size[k] = most;
}

/* The sizes that matter are those of a wrong call, and the others vary, beside a far one a little.
 */
static bool holds_elsewhere(Lab *lab, const Hypothesis *of, const Extents *wrong,
                            const Point drawn[]) {
    enum { TRIES = 8, FAR = 100 };
    Point made[TRIES];
    bool is_far = false;
    for (int k = 0; k < lab->count; k++) is_far |= matters(of, k) && wrong->size[k] > FAR;
    for (int t = 0; t < TRIES; t++) {
        Extents extents = drawn[t].extents;
        for (int k = 0; k < lab->count; k++)
            if (matters(of, k)) extents.size[k] = wrong->size[k];
            else if (is_far) keep_small(&extents, k);
        made[t] = lab_ask(lab, &extents, NULL);
    }
    return holds(of, lab, TRIES, made, NULL);
}

enum { DRAWS = 48 };

/* Of several the one with the fewest calls that are right by luck. */
static bool find_relation(Lab *lab, Point drawn[DRAWS], Hypothesis *found) {
    enum { SOME = 4 };
    int wrong = 0, fewest = DRAWS, lucky;
    Point more[DRAWS];
    for (int p = 0; p < DRAWS; p++) wrong += drawn[p].wrong;
    if (wrong < SOME || DRAWS - wrong < SOME) return false;
    for (int left = 0; left < lab->count; left++)
        for (int right = left + 1; right < lab->count; right++)
            for (int relation = LARGER; relation <= THE_SAME; relation++) {
                Hypothesis other = {.left = left, .right = right, .relation = relation};
                if (!holds(&other, lab, DRAWS, drawn, &lucky) || lucky >= fewest) continue;
                fewest = lucky;
                *found = other;
            }
    for (int p = 0; p < DRAWS; p++) more[p] = lab_ask(lab, NULL, NULL);
    return fewest < DRAWS && DRAWS - wrong - fewest >= SOME && holds(found, lab, DRAWS, more, NULL);
}

/* ------------------------------------------------------------------ words */

static char *dimension_text(char text[static 64], const Dimension *dimension) {
    const char *which = dimension->rank == 1                     ? "length"
                        : dimension->axis == 0                   ? "first dimension"
                        : dimension->axis + 1 == dimension->rank ? "last dimension"
                                                                 : "second dimension";
    if (dimension->rank) snprintf(text, 64, "the %s of %s", which, dimension->name);
    else snprintf(text, 64, "%s", dimension->name);
    return text;
}

/* "no multiple of 8", "odd", "1 or 2 after division by 4" */
static void remainder_text(char text[static 128], const Pattern *pattern) {
    size_t steps = pattern->step / pattern->unit, length = 0;
    uint64_t all = ((uint64_t)1 << steps) - 1, wrong = pattern->remainders;
    if (pattern->step == 2) snprintf(text, 128, "%s", wrong == 1 ? "even" : "odd");
    else if (wrong == 1) snprintf(text, 128, "a multiple of %zu", pattern->step);
    else if (wrong == all - 1) snprintf(text, 128, "no multiple of %zu", pattern->step);
    else {
        length = (size_t)snprintf(text, 128, "%zu n", pattern->step);
        for (size_t class = 0; class < steps && length < 100; class ++)
            if (wrong >> class & 1)
                length += (size_t)snprintf(text + length, 128 - length, "%s %zu",
                                           strchr(text, '+') ? "," : " +", class * pattern->unit);
    }
}

static void pattern_text(char text[static 192], const Pattern *pattern) {
    char bounds[64] = "", remainder[128] = "";
    if (pattern->step > pattern->unit) remainder_text(remainder, pattern);
    if (pattern->from && pattern->to == pattern->from)
        snprintf(bounds, sizeof bounds, "%zu", pattern->from);
    else if (pattern->from && pattern->to != SIZE_MAX)
        snprintf(bounds, sizeof bounds, "%zu to %zu", pattern->from, pattern->to);
    else if (pattern->from)
        snprintf(bounds, sizeof bounds, "over %s%zu", pattern->is_about ? "about " : "",
                 pattern->right_below);
    else if (pattern->to != SIZE_MAX) snprintf(bounds, sizeof bounds, "%zu or less", pattern->to);
    snprintf(text, 192, "%s%s%s", bounds, *bounds && *remainder ? " and " : "", remainder);
}

static const char *hint(const Pattern *pattern) {
    enum { SMALLEST_BLOCK = 4 };
    if (pattern->step > pattern->unit && pattern->step > 2)
        return " What becomes of what is left after the last full step of a loop?";
    bool is_edge = pattern->right_below >= SMALLEST_BLOCK && pattern->to == SIZE_MAX;
    return pattern->from && is_edge ? " Has a buffer, a block or a tile that size?" : "";
}

static void put_in_words(const Lab *lab, const Hypothesis *of, char say[static DIAGNOSIS]) {
    static const char *const relations[] = {[LARGER] = "larger than",
                                            [SMALLER] = "smaller than",
                                            [OTHER] = "not",
                                            [THE_SAME] = "equal to"};
    char one[64], other[64], pattern[192];
    size_t length =
        (size_t)snprintf(say, DIAGNOSIS, "Called with all kinds of sizes, it is wrong only where ");
    if (of->relation != BY_PATTERN) {
        snprintf(say + length, DIAGNOSIS - length, "%s is %s %s.",
                 dimension_text(one, &lab->dimension[of->left]), relations[of->relation],
                 dimension_text(other, &lab->dimension[of->right]));
        return;
    }
    const char *and = "", *question = "";
    for (int k = 0; k < lab->count && length < DIAGNOSIS - 128; k++) {
        if (!matters(of, k)) continue;
        pattern_text(pattern, &of->pattern[k]);
        length += (size_t)snprintf(say + length, DIAGNOSIS - length, "%s%s is %.96s", and,
                                   dimension_text(one, &lab->dimension[k]), pattern);
        question = hint(&of->pattern[k]);
        and = ", and ";
    }
    snprintf(say + length, DIAGNOSIS - length, ".%s", question);
}

/* ------------------------------------------------------------------ all together */

static bool is_wrong_at(Lab *lab, const Extents *extents, Extents *wrong) {
    Point point = lab_ask_often(lab, extents);
    if (!point.wrong) return false;
    lab->kind = point.kind;
    *wrong = point.extents;
    return true;
}

/* The sizes of a wrong call: those that are given, one that is drawn, or such that one of them is
 * large. */
static bool find_wrong(Lab *lab, const Extents *failing, const Point drawn[DRAWS], Extents *wrong) {
    static const size_t large[] = {9, 17, 33, 70, 128, 1100, 4200};
    enum { SIZES = sizeof large / sizeof *large };
    if (failing && is_wrong_at(lab, failing, wrong)) return true;
    for (int p = 0; p < DRAWS; p++) {
        if (!drawn[p].wrong) continue;
        lab->kind = drawn[p].kind;
        *wrong = drawn[p].extents;
        return true;
    }
    for (int l = 0; l < SIZES * 2; l++) /* first where it is quick */
        for (int k = 0; k < lab->count; k++) {
            Extents extents = drawn[0].extents;
            for (int other = 0; other < lab->count; other++) keep_small(&extents, other);
            extents.size[k] = large[l % SIZES];
            if (extents.is_squared[k] == l / SIZES && is_wrong_at(lab, &extents, wrong))
                return true;
        }
    return false;
}

static void shrink(Lab *lab, Extents *wrong) {
    for (int k = 0; k < lab->count; k++)
        if (ask_at(lab, *wrong, k, wrong->least[k]).wrong) wrong->size[k] = wrong->least[k];
}

/* Two dimensions that are wrong at one size alone, both at the same, may be wrong where they are
 * equal. */
static void try_equal_sizes(Lab *lab, const Extents *wrong, Hypothesis *of) {
    int pinned[MOST_EXTENTS], count = 0;
    for (int k = 0; k < lab->count; k++)
        if (matters(of, k)) pinned[count++] = k;
    if (count != 2) return;
    int left = pinned[0], right = pinned[1];
    const Pattern *one = &of->pattern[left], *other = &of->pattern[right];
    if (one->from != one->to || other->from != other->to || one->from != other->from) return;
    Extents larger = *wrong;
    larger.size[left]++;
    larger.size[right]++;
    if (lab_ask_often(lab, &larger).wrong)
        *of = (Hypothesis){.left = left, .right = right, .relation = THE_SAME};
}

/* The largest dimension first: then the others are tried quickly. */
static bool scan_all(Lab *lab, Extents *wrong, Hypothesis *of) {
    bool is_scanned[MOST_EXTENTS] = {0}, is_something = false;
    for (int scans = 0; scans < lab->count; scans++) {
        int next = -1;
        for (int k = 0; k < lab->count; k++)
            if (!is_scanned[k] && (next < 0 || wrong->size[k] > wrong->size[next])) next = k;
        if (!scan_dimension(lab, wrong, next, &of->pattern[next])) return false;
        is_scanned[next] = true;
        is_something |= matters(of, next);
    }
    try_equal_sizes(lab, wrong, of);
    return is_something;
}

bool sizes_decide(const Subject *subject, const Extents *failing, int count,
                  const Verdict verdicts[], char say[static DIAGNOSIS], Verdict *smallest) {
    enum { TRIES = 4 };
    Lab lab = lab_of(subject);
    Hypothesis of = {0};
    Extents wrong;
    Point drawn[DRAWS];
    *smallest = (Verdict){0};
    name_dimensions(&lab);
    if (ends_decide(&lab, say)) return true;
    bool is_usual = false; /* wrong with usual sizes and numbers */
    for (int p = 0; p < DRAWS; p++) {
        drawn[p] = lab_ask(&lab, NULL, NULL);
        is_usual |= drawn[p].wrong;
    }
    if (!is_usual && !(failing && lab_ask_often(&lab, failing).wrong) &&
        kinds_decide(subject, say, smallest))
        return true;
    if (!find_wrong(&lab, failing, drawn, &wrong)) return false;
    shrink(&lab, &wrong);
    lab.most_work = WORK_TO_SCAN;
    bool found = (scan_all(&lab, &wrong, &of) && holds(&of, &lab, DRAWS, drawn, NULL) &&
                  holds_elsewhere(&lab, &of, &wrong, drawn)) ||
                 find_relation(&lab, drawn, &of);
    for (int t = 0; t < TRIES && !smallest->output; t++) lab_ask(&lab, &wrong, smallest);
    if (!found || lab.is_over || !golden_cases_agree(&lab, &of, count, verdicts)) return false;
    put_in_words(&lab, &of, say);
    return true;
}
