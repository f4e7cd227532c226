# The judge of a reader's kernels: make verify, exercise-NN, mine, grade.

# sh build/compile.sh FILE.so FILE.c … compiles a reader's files into a library, which the judge loads. guard.c guards
# its heap; -Bsymbolic lets it call its own functions, whatever their names.
CHECKED = $(or $(call accepts,-fsanitize=array-bounds),$(call accepts,-fsanitize=bounds)) $(call accepts,-fstack-protector-all)
