# The judge of a reader's kernels: make verify, exercise-NN, mine and grade.

# build/compile.sh FILE.so FILE.c … compiles a reader's files into a library, and says what the compiler says of its kernels
# beside the course's contracts (contracts.sh). It reports an index beyond an array, and guards the heap and the stack
# (guard.c). What a reader defines is what the reader calls (-Bsymbolic). With SANITIZE=1 it uses the address sanitizer.
WRAPPED  = $(call accepts,$(foreach f,malloc free calloc realloc posix_memalign aligned_alloc,-Wl$(comma)--wrap=$(f)))
CHECKED  = $(or $(call accepts,-fsanitize=array-bounds),$(call accepts,-fsanitize=bounds -static-libubsan),$(call accepts,-fsanitize=bounds)) \
           $(call accepts,-fstack-protector-all)
GUARDED  = $(if $(WRAPPED),-fno-sanitize=all $(CHECKED) $(WRAPPED) -Wl$(comma)--as-needed $(call quote,$(abspath $(BUILD))/guard.o))
COURSE   = $(call quote,$(abspath $(BUILD))/libllama.a) $(call accepts,-Wl$(comma)--allow-multiple-definition) $(call accepts,-Wl$(comma)-Bsymbolic)
MESSAGES = -fsyntax-only -Wmissing-prototypes -fms-extensions $(call accepts,-ferror-limit=0)

$(BUILD)/guard.o: tests/judge/guard.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) -fno-sanitize=all -fPIC -c $< -o $@

$(BUILD)/contracts.h: tests/judge/contracts.sh $(BUILD)/verify $(wildcard chapters/*/*.h common/*.h)
	@sh tests/judge/contracts.sh $(call quote,$(abspath $(BUILD)/verify)) > $@

$(BUILD)/compile.sh: tests/judge/judge.mk tests/judge/compile.sh tests/judge/mixed_signs.c $(BUILD)/flags $(BUILD)/libllama.a $(BUILD)/guard.o $(BUILD)/contracts.h
	@$(CC) $(FLAGS) -fno-sanitize=all tests/judge/mixed_signs.c -o $(BUILD)/mixed_signs && { \
	    $(EMULATOR) $(BUILD)/mixed_signs && mixed_signs= || mixed_signs="-mno-avx512vnni -mno-avxvnni"; }; \
	echo "mixed_signs='$$mixed_signs'" > $@
	@printf '%s\n' \
	    $(call quote,compiler() { $(CC) $(FLAGS) -UROOT -I$(call quote,$(CURDIR)) -I$(call quote,$(CURDIR)/chapters) $$mixed_signs "$$@"; }) \
	    $(call quote,reader() { [ "$$SANITIZED" ] || set -- "$$@" $(GUARDED); compiler "$$@" $(COURSE) $(LIBS); }) \
	    $(call quote,messages() { cat $(call quote,$(abspath $(BUILD))/contracts.h); \
	        LC_ALL=C compiler "$$@" $(MESSAGES) -include $(call quote,$(abspath $(BUILD))/contracts.h); }) >> $@
	@cat tests/judge/compile.sh >> $@

# The judge as a library, for notebooks/llama_kernels.
$(BUILD)/libjudge.so: $(BUILD)/objects/tests/judge/api.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	@echo "  link     $@"
	@$(CC) $(FLAGS) -shared $(call accepts,-Wl$(comma)-Bsymbolic) $^ -o $@ $(LIBS)

# The reader's files as "$1", "$2", …: SRC is one file, whose name may have blanks, or several with blanks between them.
sources = files=$(call quote,$(or $(SRC),$(1))); if [ -e "$$files" ]; then set -- "$$files"; else set -- $$files; fi

# A kernel is judged with more threads than there are processors, so threads that wait must sleep.
EXERCISES = $(NUMBERS:%=exercise-%)
verify $(EXERCISES) mine grade: export OMP_WAIT_POLICY ?= passive

verify: $(if $(SANITIZE),,$(BUILD)/verify $(if $(SRC),$(BUILD)/compile.sh)) ## judge your own kernels: make verify SRC=my_rope.c, with SANITIZE=1 under the sanitizers
ifeq ($(SANITIZE),)
	@$(if $(SRC),$(sources); library="$(BUILD)/$${1##*/}.so"; \
	 sh $(BUILD)/compile.sh "$$library" "$$@" && $(BUILD)/verify --library "$$library", \
	 echo "usage: make verify SRC=my_kernel.c    (the kernels it may define: $(BUILD)/verify --list)")
else
	@SANITIZED=1 $(MAKE) --no-print-directory BUILD=build/sanitize CFLAGS="$(SANITIZERS)" SANITIZE= verify
endif

$(EXERCISES): exercise-%: $(BUILD)/verify $(BUILD)/compile.sh ## how far is your chapters/04_*/exercise.c, or SRC=my.c: make exercise-04
	@mkdir -p $(BUILD)/$@
	@$(call sources,chapters/$*_*/exercise.c); library="$(BUILD)/$@/$${1##*/}.so"; \
	 sh $(BUILD)/compile.sh "$$library" "$$@" && $(BUILD)/verify --exercise $* --library "$$library"
$(foreach n,1 2 3 4 5 6 7 8 9,exercise-$(n)): exercise-%: exercise-0%

assemble: $(BUILD)/mine $(BUILD)/stories $(BUILD)/compile.sh ## a Llama of your kernels, with the course's where you have none: SRC="my_rope.c my_norm.c"
	@$(call sources); $(BUILD)/mine "$$@"
mine: assemble

grade: $(BUILD)/grade $(BUILD)/compile.sh ## judge a folder of submissions: make grade DIR=submissions/ EXERCISE=04
	@$(if $(DIR),,echo "usage: make grade DIR=submissions/ [EXERCISE=04] [CSV=$(BUILD)/grades.csv]"; exit 1)
	@$(BUILD)/grade $(EXERCISE:%=--exercise %) --csv $(call quote,$(or $(CSV),$(BUILD)/grades.csv)) $(call quote,$(DIR))

.PHONY: verify assemble mine grade $(EXERCISES) $(foreach n,1 2 3 4 5 6 7 8 9,exercise-$(n))
