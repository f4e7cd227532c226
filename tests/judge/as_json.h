/* What the judge says, as JSON for programs: verdicts, cases, kernels and known mistakes. README.md
 * explains the fields. */
#ifndef VERIFY_AS_JSON_H
#define VERIFY_AS_JSON_H

#include "common/json.h"
#include "tests/judge/verify.h"

/* {"kernel", "source", "verdict", "mistake", "advice", "cases": [{"case", "shape", "verdict",
 * "wrong", "of", "worst", "first_wrong"}, …]}. A verdict is "right" or "wrong"; that of a kernel
 * which was run is a status_name(), and "diagnosis" and "note" are added. */
json_t *verdicts_as_json(const Kernel *kernel, const Golden *golden, const char *source, int count,
                         const Verdict verdicts[]);
json_t *judgement_as_json(const Judgement *judgement, const char *source);

/* {"kernel", "verdict": "not judged", "diagnosis"}: a kernel that hides in a library. */
json_t *hidden_as_json(const Kernel *kernel, const char *why);

/* {"kernel", "chapter", "cases", "mistakes"}: how many it has of each. */
json_t *kernel_as_json(const Kernel *kernel, const Golden *golden);
/* {"kernel", "chapter", "cases": [{"case", "shape", "tries"}, …]} */
json_t *cases_as_json(const Kernel *kernel, const Golden *golden);
/* {"kernel", "chapter", "mistakes": [{"mistake", "does", "advice", "cases"}, …]} */
json_t *mistakes_as_json(const Kernel *kernel, const Golden *golden);

#endif
