/* The registry: every kernel that the course defines by name, and how to call it. The tests, the
 * workbench and the benchmark all read it. A chapter's kernels are one file beside this one,
 * NN_name.c, and one golden script.
 *
 * Kernels of one signature are a family: one function unpacks a call into C arguments, one makes
 * random calls. */
#ifndef VERIFY_KERNELS_H
#define VERIFY_KERNELS_H

#include "common/golden.h"
#include "common/random.h"
#include "tests/judge/sandbox.h"

/* Random calls come small or medium, to compare kernels on, or as large as in a Llama, to time them
 * on. Far are those whose last token has thousands before it, where a kernel minds; elsewhere they
 * are small. Long are those with one dimension that is longer than any of a Llama's, and in empty
 * ones there is no row. Chosen ones have the dimensions of choose_extents(). */
typedef enum { SMALL, MEDIUM, FAR, EMPTY, LONG, CHOSEN, LARGE, LARGE_PREFILL } Size;

/* A call that a kernel must not answer: it ends the program, as fail() does. */
typedef struct {
    const char *words; /* "a full cache": what it is */
    void (*call)(Call *call);
    bool is_asked; /* the exercise asks for it: not to refuse is wrong. Otherwise it is only told */
} Refusal;

typedef struct {
    const char *name;    /* the C function; its golden values are tests/golden/NAME.safetensors */
    const char *chapter; /* the folder whose header states its contract */
    Function ours;
    Function fast; /* the same in 12_speed; NULL: there is none */
    Unpack *unpack;
    void (*random_call)(Call *call, Random *random, Size size);
    bool pointwise;          /* judged element by element: no sum mixes them */
    const char *in_place[2]; /* the inputs that its output may be laid over, by the contract */
    const Refusal *refusals; /* what the contract says that it refuses; the last has no words */
    double (*operations)(
        const Call *call); /* floating-point operations, where they may be the limit; or NULL */
    bool has_prefill;      /* random_call knows LARGE_PREFILL */
    bool may_be_empty;     /* by the contract; random_call knows EMPTY */
    bool (*in_first_step)(
        const GoldenCase *); /* of a kernel that is written in two steps; or NULL */
} Kernel;

/* The kernels in the order of the chapters; NULL past the last. */
const Kernel *kernel_at(int index);
const Kernel *kernel_named(const char *name); /* NULL if there is none */

/* A case may have an input that is no parameter of the kernel: this says in words what it is. NULL
 * for a parameter. */
const char *words_on_input(const char *kernel, const char *input);

/* For a chapter's file: its array ends with an empty entry. */
extern const Kernel common_kernels[], normalization_kernels[], activation_kernels[],
    feed_forward_kernels[], rope_kernels[], attention_kernels[], decoder_kernels[],
    tokenizer_kernels[], generation_kernels[], quantization_kernels[], parallel_kernels[],
    backward_kernels[], training_kernels[];

#define KERNEL(function, folder, family)                                                           \
    .name = #function, .chapter = folder, .ours = (Function)function, .unpack = unpack_##family,   \
    .random_call = random_##family
#define AS(type, kernel)                                                                           \
    ((__typeof__(type) *)(kernel)) /* a Function as what it is: of the type of that function */
#define SHAPE(...)                                                                                 \
    (const size_t[]) { __VA_ARGS__ }

/* An F32 input of normal numbers, or of those that choose_numbers() says. */
void random_input(Call *call, Random *random, const char *name, int rank, const size_t shape[]);
void scalar_input(Call *call, const char *name, float value);
void index_input(Call *call, const char *name, int64_t value);

/* A scalar that is usual or, in one of four small calls, a special value such as 0 or 1: SPECIAL().
 */
void scalar_or_special(Call *call, Random *random, Size size, const char *name, double usual,
                       int count, const double special[]);
#define SPECIAL(...)                                                                               \
    (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (const double[]) { __VA_ARGS__ }

/* The scalars of norms, and of DyT. */
void random_eps(Call *call, Random *random, Size size);
void random_alpha(Call *call, Random *random, Size size);

/* The kind of the numbers that random_input() draws. Mistakes that normal numbers hide show with
 * other kinds: a sum that skips zeros, a maximum that begins at 0. */
typedef enum {
    USUAL,
    POSITIVE,
    NEGATIVE,
    SOME_ZERO,
    ALL_ZERO,
    SECOND_HALF_ZERO,
    EQUAL,
    HALVES,
    LARGE_NUMBERS,
    TINY_NUMBERS,
    OUTLIER,
    KINDS
} NumberKind;
/* The kind of each input, by the input's place among those of a call. */
typedef struct {
    NumberKind kind[CALL_MAX_INPUTS];
} Numbers;

extern const Numbers usual_numbers;
void choose_numbers(const Numbers *numbers); /* for the calls from now on */
Numbers numbers_drawn(void);                 /* since then: usual where random_input() drew none */
const char *kind_text(NumberKind kind);      /* of an input: "all negative" */

/* A random call; a small one has these kinds of numbers. Returns those that were drawn. */
Numbers draw_call(const Kernel *kernel, Call *call, Random *random, Size size,
                  const Numbers *numbers);

/* One dimension of a random call: low .. high where it is small, otherwise as given. In a long call
 * the one that begin_long() chose, by its number from 0, is beyond 2^17; the others are at most 2.
 */
size_t extent(Random *random, Size size, int low, int high, size_t medium, size_t large);
/* A dimension that the work grows with the square of, such as a text's length in attention, or that
 * many rows are as wide as at a time: in a long call it is beyond 2^11. */
size_t extent_squared(Random *random, Size size, int low, int high, size_t medium, size_t large);
void begin_long(int which);

/* Which of a kernel's outputs is asked for: a number below `choices`, drawn; 0 in a large call; in
 * a call of medium size the one that begin_medium() chose. */
int one_of(Random *random, Size size, int choices);
void begin_medium(int which);
int outputs_to_ask_for(void); /* since then: 1 where one_of() was not called */

/* The dimensions of a random call, in the order in which it asks for them. */
enum { MOST_EXTENTS = 16 };
typedef struct {
    int count; /* may be more than there is room for here */
    size_t size[MOST_EXTENTS], least[MOST_EXTENTS];
    bool is_squared[MOST_EXTENTS]; /* extent_squared() */
} Extents;

void choose_extents(const Extents *extents); /* for a call of CHOSEN size */
Extents extents_drawn(void);                 /* since then */

#endif
