/* For tests that are run for both tables of training kernels. */
#ifndef TESTS_TRAINING_TABLES_H
#define TESTS_TRAINING_TABLES_H

#include "17_training/fast_training_kernels.h"

/* Two entries of the array of tests: the test finds its table in *state. */
#define FOR_BOTH(test)                                                                             \
    {#test ", reference", test, NULL, NULL, (void *)&reference_training_kernels}, {                \
        #test ", fast", test, NULL, NULL, (void *)&fast_training_kernels                           \
    }

#endif
