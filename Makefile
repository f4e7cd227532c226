# How a Llama works, in C. `make help` lists the targets; README.md explains them.

BUILD  ?= build
PYTHON ?= $(or $(wildcard build/venv/bin/python),python3)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

comma := ,
# $(call quote,TEXT): one word for the shell, whatever is in it. A path may have blanks.
quote = '$(subst ','\'',$(1))'
# A text in C.
string = "$(subst ",\",$(subst \,\\,$(1)))"

# ---------------------------------------------------------------- what this machine has

# Or another machine: make CC=aarch64-linux-gnu-gcc CPPFLAGS=-I… LDFLAGS=-L… EMULATOR='qemu-aarch64-static -L …', with whole paths.

# What is tried here leaves no files of counts behind.
TRIED = $(filter-out --coverage,$(CFLAGS))
# $(call accepts,FLAGS): FLAGS, if a program compiles and links with them.
accepts = $(shell echo 'int main(void) { return 0; }' | $(CC) $(CPPFLAGS) $(TRIED) -x c - $(1) $(LDFLAGS) -o /dev/null 2>/dev/null && echo '$(1)')
# $(call library,PACKAGE,HEADER,FLAG): the flags of a library, or nothing. What pkg-config says is of this machine: a compiler
# for another may not take it.
library = $(shell for flags in "$$(pkg-config --cflags --libs $(1) 2>/dev/null)" "$(3)"; do \
            printf '\043include <stdarg.h>\n\043include <stddef.h>\n\043include <setjmp.h>\n\043include <stdint.h>\n\043include <$(2)>\nint main(void) { return 0; }' | \
            $(CC) $(CPPFLAGS) $(TRIED) -x c -DPCRE2_CODE_UNIT_WIDTH=8 - $(LDFLAGS) $${flags:-$(3)} -o /dev/null 2>/dev/null && echo "$${flags:-$(3)}" && break; done)

ifeq ($(origin CFLAGS),undefined)
# Vectors as wide as the processor has them: compilers hold back from 512 bits unless asked.
CFLAGS := -O3 $(or $(call accepts,-march=native -mprefer-vector-width=512),$(call accepts,-march=native))
endif

ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),all)),)
ifeq ($(call accepts,-std=c2x),)
$(error $(CC) cannot compile C23 (-std=c2x): apt install gcc libc6-dev | dnf install gcc | xcode-select --install)
endif
# Where a processor's custom is to compute in double what is meant in float (s390x), gcc is told not to.
FLOAT   := $(if $(call accepts,-Werror -fexcess-precision=fast),-fexcess-precision=fast)
UNFIT   := $(shell $(CC) $(CPPFLAGS) $(TRIED) -std=c2x $(FLOAT) -fsyntax-only -x c common/machine.h 2>&1 | sed -n '/error: /{s/.*error: //;s/^.error //;p;q;}')
ifneq ($(UNFIT),)
$(error $(UNFIT))
endif
JANSSON := $(call library,jansson,jansson.h,-ljansson)
PCRE2   := $(call library,libpcre2-8,pcre2.h,-lpcre2-8)
UTF8    := $(call library,libutf8proc,utf8proc.h,-lutf8proc)
# MPI runs one model on several machines (chapter 15). The flags of Open MPI's package, or what mpicc says.
MPI     := $(call library,ompi-c,mpi.h,$(or $(shell mpicc --showme:compile --showme:link 2>/dev/null),-lmpi))
CMOCKA  := $(call library,cmocka,cmocka.h,-lcmocka)
# clang warns when it cannot vectorise an `omp simd` loop, as at -O1: that is no fault of the loop.
QUIET   := $(if $(call accepts,-Wpass-failed),-Wno-pass-failed)
OPENMP  := $(or $(call accepts,-fopenmp),$(call accepts,-fopenmp-simd -Wno-unknown-pragmas),-Wno-unknown-pragmas)
GNUPLOT := $(shell command -v gnuplot)
ifneq ($(filter test sanitize coverage configurations,$(MAKECMDGOALS)),)
ifeq ($(CMOCKA),)
$(error cmocka, the C test library, is missing for $(CC): apt install libcmocka-dev | dnf install libcmocka-devel | brew install cmocka)
endif
endif
ifeq ($(JANSSON),)
$(error jansson, the JSON library, is missing for $(CC): apt install libjansson-dev | dnf install jansson-devel | brew install jansson)
endif
endif

# The rounding policy is ours: fused multiply-adds are allowed (they round once instead of twice), nothing else is.
FLAGS = -std=c2x -Wall -Wextra -g -ffp-contract=fast $(FLOAT) $(OPENMP) $(QUIET) -I. -Ichapters -D_GNU_SOURCE \
        -DROOT=$(call quote,$(call string,$(CURDIR))) $(if $(EMULATOR),-DUNTIMED -DEMULATED) $(if $(UTF8),-DUTF8PROC) $(CPPFLAGS) $(CFLAGS)
# What is compiled may become a part of a reader's shared library, which does not show its names.
SHARED = -fPIC -fvisibility=hidden
LIBS  = $(LDFLAGS) $(JANSSON) $(PCRE2) $(UTF8) -lm

# ---------------------------------------------------------------- what is built

# Without PCRE2, which splits text for Llama 3, the chapters that need a tokenizer are left out: 10 and 11.
LEFT_OUT := $(if $(PCRE2),,chapters/10%/main.c chapters/11%/main.c chapters/10%/figures.c chapters/11%/figures.c figures/10%.gp figures/11%.gp chapters/10_tokenizer/byte_level.c tests/formats/test_tokenizer.c tests/kernels/test_generation.c tests/programs/test_terminal.c tests/formats/test_edges.c tests/judge/test_mine.c tests/programs/test_quantize.c tests/formats/test_gguf_model.c tests/formats/test_chat.c tests/kernels/test_chat_format.c chapters/10_tokenizer/pattern.c chapters/14%/main.c chapters/14%/figures.c figures/14%.gp tests/programs/test_parallel.c tests/programs/test_commands.c tests/programs/test_training.c tests/programs/test_recipe.c tests/formats/test_tokenizer_pipeline.c)

CHAPTERS := $(patsubst chapters/%/main.c,%,$(filter-out $(LEFT_OUT),$(wildcard chapters/[0-9][0-9]_*/main.c)))
PROGRAMS := $(CHAPTERS:%=$(BUILD)/%)
# What the figures draw is written by chapters/NN_name/figures.c, built as NN_figures; where there is none, by the chapter's program.
DRAWN    := $(patsubst chapters/%/figures.c,%,$(filter-out $(LEFT_OUT),$(wildcard chapters/[0-9][0-9]_*/figures.c)))
drawer    = $(firstword $(subst _, ,$(1)))_figures
DRAWERS  := $(foreach c,$(DRAWN),$(BUILD)/$(call drawer,$(c)))
TOOLS    := $(BUILD)/verify $(BUILD)/grade $(BUILD)/stories $(if $(PCRE2),$(BUILD)/lessons $(BUILD)/llama $(BUILD)/quantize $(BUILD)/mine $(BUILD)/train)
# These have the functions of chapters 9 and 8, but fast: a program that runs whole models names them before the library.
FAST     := $(addprefix chapters/12_speed/,projection.c pairs.c flash_attention.c)
# And two of chapters 1 and 3, for a program that calls none of the others in their files: the library would bring both.
FASTEST  := $(FAST) chapters/12_speed/elementwise.c
# And what goes backward, of chapter 16, with common/linear.c: a program that trains names them as well.
BACKWARD := $(FASTEST) $(addprefix chapters/17_training/,product.c linear.c attention.c gates.c loss.c)
CLIMB    := chapters/12_speed/climb.c
LLAMA    := $(addprefix chapters/14_engine/,llama.c session.c chat/conversation.c)
# The folders inside the engine.
ENGINE   := $(addprefix chapters/14_engine/chat/,chat.c chat_templates.c jinja_builtins.c jinja_eval.c jinja_lexer.c jinja_parser.c jinja_value.c)
# The ranks of chapter 15, or the one that there is without MPI.
SPREAD   := $(addprefix chapters/15_tensor_parallel/,run.c parallel.c $(if $(MPI),ranks.c counted.c,alone.c))
# The program of chapter 17; its functions are for it and its tests.
TRAINER  := $(addprefix chapters/17_training/,checkpoint.c documents.c folder.c mixture.c recipe.c report.c sample.c setup.c)
KERNELS  := $(filter-out %/main.c %/figures.c %/exercise.c %/quantize.c chapters/17_training/train.c $(LLAMA) $(TRAINER) $(BACKWARD) $(CLIMB) $(LEFT_OUT) $(addprefix %/,run.c parallel.c ranks.c counted.c alone.c),$(wildcard chapters/[0-9][0-9]_*/*.c) $(ENGINE))
COMMON   := $(wildcard common/*.c)
VERIFY   := $(filter-out $(addprefix tests/judge/,main.c grade.c guard.c mine.c route.c yours.c),$(wildcard tests/judge/*.c))
TESTS    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(filter-out $(LEFT_OUT),$(wildcard tests/test_*.c))) $(BUILD)/tests/fast_decoder $(BUILD)/tests/fast_flash_attention $(BUILD)/tests/fast_backward $(BUILD)/tests/fast_step
TESTS    := $(patsubst %/test_generation,%/fast_generation,$(patsubst %/test_elementwise,%/fast_elementwise,$(TESTS:%/test_speed=%/fast_speed)))
TESTS    := $(TESTS:%/test_product=%/fast_product)
FUZZED   := safetensors gguf config model template $(if $(PCRE2),tokenizer text)

object = $(patsubst %.c,$(BUILD)/objects/%.o,$(1))

all: $(PROGRAMS) $(DRAWERS) $(TOOLS)
	@$(if $(findstring -fopenmp ,$(OPENMP) ),,echo "note: $(CC) has no OpenMP: everything runs on one thread (apt install libgomp1 or libomp-dev)")
	@$(if $(PCRE2),,echo "note: no PCRE2: chapters 10, 11 and 15 are left out, and so are llama, quantize and train (apt install libpcre2-dev | dnf install pcre2-devel | brew install pcre2)")
	@$(if $(UTF8),,echo "note: no utf8proc: a tokenizer.json that normalizes text (NFC, NFKC, Lowercase) is refused (apt install libutf8proc-dev | dnf install utf8proc-devel | brew install utf8proc)")
	@$(if $(MPI),,echo "note: no MPI: chapter 15 runs on one process only (apt install libopenmpi-dev openmpi-bin | dnf install openmpi-devel | brew install open-mpi)")
	@$(if $(GNUPLOT),,echo "note: no gnuplot: figures are not drawn (apt install gnuplot-nox | dnf install gnuplot | brew install gnuplot)")

# A program for another machine is run by an emulator: by a script that has the program's name.
define link
@mkdir -p $(@D)
@echo "  link     $@"
@$(if $(EMULATOR),mkdir -p $(@D)/foreign && printf '\043!/bin/sh\nexec %s "%s" "$$@"\n' $(call quote,$(EMULATOR)) $(call quote,$(abspath $(@D)/foreign/$(@F))) >$@ && chmod +x $@)
@$(CC) $(FLAGS) $(filter-out %.a,$^) $(filter %.a,$^) -o $(if $(EMULATOR),$(@D)/foreign/$(@F),$@) $(LIBS)
endef

# One library holds the kernels of every chapter and common/: a program links what it includes, and so does a reader's
# shared library, which does not show their names. Where both define a kernel, the reader's counts.
$(BUILD)/libllama.a: $(call object,$(COMMON) $(KERNELS))
	@rm -f $@
	@ar rcs $@ $^

$(BUILD)/objects/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  compile  $<"
	@$(CC) $(FLAGS) $(SHARED) $(ALSO) -MMD -MP -c $< -o $@

RUNNERS  := $(BUILD)/11_generation $(BUILD)/12_speed $(BUILD)/15_tensor_parallel
# They name their parts before the library, too.
$(BUILD)/12_speed: $(call object,$(CLIMB))
$(BUILD)/15_tensor_parallel: $(call object,$(SPREAD))
$(BUILD)/15_tensor_parallel: LIBS += $(MPI)
$(call object,$(SPREAD)): ALSO = $(filter -I%,$(MPI))
$(BUILD)/12_figures: $(call object,$(CLIMB) $(FASTEST))
$(filter $(RUNNERS),$(PROGRAMS)): $(BUILD)/%: $(BUILD)/objects/chapters/%/main.o $(call object,$(FASTEST)) $(BUILD)/libllama.a
$(filter-out $(RUNNERS),$(PROGRAMS)): $(BUILD)/%: $(BUILD)/objects/chapters/%/main.o $(BUILD)/libllama.a
$(foreach c,$(DRAWN),$(eval $(BUILD)/$(call drawer,$(c)): $(BUILD)/objects/chapters/$(c)/figures.o $(BUILD)/libllama.a))
$(PROGRAMS) $(DRAWERS):
	$(link)

$(BUILD)/verify: $(call object,tests/judge/main.c $(VERIFY)) $(BUILD)/libllama.a
$(BUILD)/grade: $(call object,tests/judge/grade.c $(VERIFY)) $(BUILD)/libllama.a
# What is timed are the fast functions.
$(BUILD)/bench_kernels: $(call object,tests/judge/main.c $(FAST) $(VERIFY)) $(BUILD)/libllama.a
$(BUILD)/mine: $(call object,tests/judge/mine.c tests/judge/yours.c tests/golden/examine.c $(VERIFY)) $(BUILD)/libllama.a
$(BUILD)/verify $(BUILD)/grade $(BUILD)/bench_kernels $(BUILD)/mine:
	$(link) -ldl

# The program of the engine that people use, and the one that writes what the course's own model learned.
$(BUILD)/llama: $(call object,$(LLAMA) $(FASTEST)) $(BUILD)/libllama.a
$(BUILD)/quantize: $(call object,chapters/13_quantization/quantize.c) $(BUILD)/libllama.a
$(BUILD)/stories: $(call object,$(addprefix chapters/09_decoder/stories/,stories.c world.c)) $(BUILD)/libllama.a
$(BUILD)/lessons: $(call object,chapters/09_decoder/stories/lessons.c) $(BUILD)/libllama.a
TOGETHER := $(filter-out %/run.c %/parallel.c,$(SPREAD))
$(BUILD)/train: $(call object,chapters/17_training/train.c $(TRAINER) $(TOGETHER) $(BACKWARD)) $(BUILD)/libllama.a
$(BUILD)/train: LIBS += $(MPI)
$(BUILD)/llama $(BUILD)/quantize $(BUILD)/stories $(BUILD)/lessons $(BUILD)/train:
	$(link)

# What the trained model does when something is done to it: tests/golden/NAME.c, whose output is NAME.txt beside it.
STUDIES := ablations beyond choices likely quantized settings
STUDIED := $(addprefix $(BUILD)/,$(STUDIES) card)
$(STUDIED): $(BUILD)/%: $(call object,tests/golden/examine.c tests/golden/judged.c $(FAST)) $(BUILD)/objects/tests/golden/%.o $(BUILD)/libllama.a
$(BUILD)/bench_decoder: $(call object,tests/bench/bench_decoder.c $(FASTEST)) $(BUILD)/libllama.a
$(BUILD)/bench_parallel: $(call object,tests/bench/bench_parallel.c $(filter-out %/run.c,$(SPREAD)) $(FASTEST)) $(BUILD)/libllama.a
$(BUILD)/bench_parallel: LIBS += $(MPI)
$(call object,tests/bench/bench_parallel.c): ALSO = $(filter -I%,$(MPI))
$(BUILD)/bench_tokenizer: $(call object,tests/bench/bench_tokenizer.c) $(BUILD)/libllama.a
$(BUILD)/check_tokenizer: $(call object,tests/formats/check_tokenizer.c) $(BUILD)/libllama.a
$(BUILD)/bench_layer: $(call object,tests/bench/bench_layer.c $(FASTEST)) $(BUILD)/libllama.a
$(BUILD)/bench_training: $(call object,tests/bench/bench_training.c $(BACKWARD)) $(BUILD)/libllama.a
$(STUDIED) $(BUILD)/bench_training $(BUILD)/bench_decoder $(BUILD)/bench_layer $(BUILD)/bench_tokenizer $(BUILD)/check_tokenizer $(BUILD)/bench_parallel:
	$(link)

# What a test must know of this build; and who compiles a reader's files.
$(BUILD)/objects/tests/verify/grade.o $(BUILD)/objects/tests/verify/mine.o: ALSO = -DBUILD=$(call quote,$(call string,$(abspath $(BUILD)))) -DROUTED='"$(ROUTED)"'
$(BUILD)/objects/tests/test_%.o: ALSO = -DBUILD=$(call quote,$(call string,$(abspath $(BUILD)))) -DROUTED='"$(ROUTED)"' -DCHAPTERS='"$(CHAPTERS)"' -DPROGRAMS='"$(CHAPTERS) $(notdir $(DRAWERS) $(TOOLS))"'

$(BUILD)/tests/%: $(BUILD)/objects/tests/%.o $(call object,$(VERIFY)) $(BUILD)/libllama.a
	$(link) $(CMOCKA) -ldl

$(BUILD)/tests/test_training $(BUILD)/tests/test_recipe: $(call object,$(TRAINER))
$(BUILD)/tests/test_mine: $(call object,tests/judge/yours.c tests/golden/examine.c)

# The same tests with chapter 12's functions in place of those of chapters 1, 3, 8 and 9.
$(BUILD)/tests/fast_%: $(BUILD)/objects/tests/test_%.o $(call object,$(FASTEST)) $(BUILD)/libllama.a
	$(link) $(CMOCKA)

# And of chapter 16.
$(BUILD)/tests/fast_backward $(BUILD)/tests/fast_step $(BUILD)/tests/fast_product: $(call object,$(filter-out $(FASTEST),$(BACKWARD)))

# Somebody on another machine who has not pulled for a while.
$(BUILD)/tests/other_version: $(filter-out %/run.o,$(call object,chapters/15_tensor_parallel/main.c $(SPREAD) $(FASTEST))) $(BUILD)/objects/other_version.o $(BUILD)/libllama.a
	$(link) $(MPI)
$(BUILD)/objects/other_version.o: chapters/15_tensor_parallel/run.c $(BUILD)/flags
	@$(CC) $(FLAGS) -DSPOKEN=2 $(filter -I%,$(MPI)) -c $< -o $@
$(BUILD)/objects/tests/test_parallel.o $(BUILD)/objects/tests/test_training.o: ALSO += $(if $(MPI),-DMPIRUN=$(call quote,$(call string,$(MPIRUN))))
$(BUILD)/tests/test_parallel: $(if $(MPI),| $(BUILD)/tests/other_version)

# What `make fuzz` ever found, and what was thought of: it is given to the same code, without a fuzzer.
$(BUILD)/tests/replay_%: $(BUILD)/objects/tests/fuzz/fuzz_%.o $(call object,tests/hardening/fuzz/replay.c) $(BUILD)/libllama.a
	$(link)

# Other flags or another compiler: everything is compiled again.
$(BUILD)/flags: always
	@mkdir -p $(BUILD)
	@printf '%s\n' $(call quote,$(CC) $(SHARED) $(FLAGS) $(LIBS) $(EMULATOR)) | cmp -s - $@ || \
	 printf '%s\n' $(call quote,$(CC) $(SHARED) $(FLAGS) $(LIBS) $(EMULATOR)) > $@

-include $(shell find $(BUILD)/objects -name '*.d' 2>/dev/null)

# ---------------------------------------------------------------- what is run

NUMBERS := $(foreach c,$(CHAPTERS),$(firstword $(subst _, ,$(c))))

# What is only compiled is so side by side, unless make was told how many at a time.
SIDE_BY_SIDE = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))

run: ## every chapter's program in order, then the figures
	@$(MAKE) --no-print-directory $(SIDE_BY_SIDE) all
	@set -e; for chapter in $(CHAPTERS); do \
	    printf '\n──────── %s ────────\n' "$$chapter"; case " $(DRAWN) " in *" $$chapter "*) $(BUILD)/$$chapter ;; *) $(BUILD)/$$chapter --data $(BUILD)/data ;; esac; done
	@echo
	@$(MAKE) --no-print-directory figures
	@$(if $(PCRE2),printf '\n──────── build/llama --seed 33 --prompt "Once upon a time" ────────\n'; \
	    $(BUILD)/llama --seed 33 --prompt "Once upon a time"; echo)
	@echo "Where to look next: chapters/$(firstword $(CHAPTERS))/README.md is the first lesson; figures/README.md shows every figure,"
	@echo "and what this machine has just drawn lies in $(BUILD)/figures/."

$(NUMBERS): ## build and run one chapter: make 01
	@$(MAKE) --no-print-directory $(BUILD)/$(filter $@_%,$(CHAPTERS))
	@$(BUILD)/$(filter $@_%,$(CHAPTERS))

# --oversubscribe: more ranks than cores are welcome. --bind-to none: Open MPI would tie each of two ranks to one core, and all its
# threads with it. -q: what is wrong a rank says itself, in one line. As root mpirun wants to be asked twice.
MPIRUN = mpirun -q --oversubscribe --bind-to none $(if $(filter 0,$(shell id -u)),--allow-run-as-root)

# Open MPI's own way of sending: asking for every kind of network card first takes ranks longer than all the rest of their start.
export OMPI_MCA_pml ?= ob1
# On a busy machine mpirun, in one run of a thousand, has not heard the farewell of a rank that ended well, and fails. A rank that
# does not end well tells it by its status.
export OMPI_MCA_orte_allowed_exit_without_sync ?= 1

parallel: $(BUILD)/15_tensor_parallel ## one model on several processes: make parallel RANKS=3 MODEL=DIR PROMPT="Once"
	@$(if $(MPI),,echo "parallel: there is no MPI (apt install libopenmpi-dev openmpi-bin | dnf install openmpi-devel | brew install open-mpi)"; exit 1)
	$(MPIRUN) -n $(or $(RANKS),2) $(BUILD)/15_tensor_parallel --model $(call quote,$(or $(MODEL),chapters/09_decoder/stories/model)) \
	    --prompt $(call quote,$(or $(PROMPT),Once upon a time)) --report

# What a program prints, for the lessons, and what it computed, for the figures. On one thread, for so small are the models that
# several wait for each other more than they compute; all but chapter 12, which measures what threads are worth.
$(BUILD)/data/%.txt: $(BUILD)/% chapters/09_decoder/stories/model/model.safetensors
	@mkdir -p $(@D)
	@$(if $(filter 12_%,$*),,OMP_NUM_THREADS=1) $< $(if $(filter $*,$(DRAWN)),,--data $(BUILD)/data) > $@

FIGURES := $(patsubst %.gp,$(BUILD)/%.svg,$(filter-out figures/style.gp $(LEFT_OUT),$(wildcard figures/*.gp)))
DATA    := $(patsubst $(BUILD)/%,$(BUILD)/data/%.txt,$(PROGRAMS) $(DRAWERS))
# What figures are drawn from. A program that has a figures.c beside it writes nothing for them.
DRAWINGS := $(filter-out $(DRAWN:%=$(BUILD)/data/%.txt),$(DATA))
# What the lessons quote. What is only drawn takes an emulator long.
QUOTED  := $(filter $(patsubst %,$(BUILD)/data/%.txt,$(shell sed -n 's/^<!-- run: \([0-9a-z_]*\) .*/\1/p' chapters/*/*.md chapters/*.md README.md | sort -u)),$(DATA))

ifneq ($(GNUPLOT),)
figures: $(FIGURES) ## draw the figures from what the programs computed
	@echo "figures: $(words $(FIGURES)) drawn, $(BUILD)/figures/*.svg"
else
figures:
	@echo "figures: skipped, there is no gnuplot (apt install gnuplot-nox | dnf install gnuplot | brew install gnuplot)"
endif

$(BUILD)/figures/%.svg: figures/%.gp figures/style.gp $(DRAWINGS) $(wildcard tests/golden/*.txt) chapters/09_decoder/stories/train.log
	@mkdir -p $(@D)
	@echo "  draw     $@"
	@gnuplot -e "data='$(BUILD)/data'; output='$@'" $<

preview: $(DRAWINGS) ## the figures as text, in the terminal
	@$(if $(GNUPLOT),,echo "preview: there is no gnuplot (apt install gnuplot-nox | dnf install gnuplot | brew install gnuplot)"; exit 1)
	@set -e; for figure in $(filter-out figures/style.gp $(LEFT_OUT),$(wildcard figures/*.gp)); do \
	    echo; echo "$$figure"; gnuplot -e "data='$(BUILD)/data'; preview=1" $$figure; done

# ---------------------------------------------------------------- what is checked

# The kernels for Python, every name to be seen: notebooks/llama_c.py calls them. Of chapters 10 and 11 the kernels alone,
# which do without PCRE2. -Bsymbolic: they find each other first, whatever else the process has that is called `linear`.
FOR_PYTHON := $(COMMON) $(filter-out chapters/10_% chapters/11_% chapters/14_engine/%,$(KERNELS)) \
              chapters/10_tokenizer/train.c chapters/11_generation/sampling.c chapters/11_generation/draw.c

$(BUILD)/libllama.so: $(FOR_PYTHON) $(wildcard common/*.h chapters/*/*.h) $(BUILD)/flags
	@echo "  link     $@"
	@$(CC) $(FLAGS) -shared -fPIC $(call accepts,-Wl$(comma)-Bsymbolic) $(FOR_PYTHON) -o $@ $(LIBS)

# How a reader's file is compiled: sh $(BUILD)/compile.sh FILE.so FILE.c …. Beside it, as FILE.so.i, stands what the
# preprocessor makes of it. An index beyond the end of an array is told, the heap and the stack are guarded (guard.c), and what
# the reader defines is what the reader calls, be it called expf. With SANITIZE=1 it is the address sanitizer instead.
WRAPPED  := $(call accepts,$(foreach f,malloc free calloc realloc posix_memalign aligned_alloc,-Wl$(comma)--wrap=$(f)))
# What kernels of different files call of each other (route.c).
CALLED   := rms_norm linear swiglu rope_half_split kv_cache_append cached_attention attend_last flash_attention attention_block feed_forward_block
ROUTED   := $(if $(WRAPPED),$(CALLED))
CHECKED  := $(or $(call accepts,-fsanitize=array-bounds),$(call accepts,-fsanitize=bounds -static-libubsan),$(call accepts,-fsanitize=bounds)) $(call accepts,-fstack-protector-all)
GUARDED   = $(if $(WRAPPED),-fno-sanitize=all $(CHECKED) $(WRAPPED) $(ROUTED:%=-Wl$(comma)--wrap=%) -Wl$(comma)--as-needed $(call quote,$(abspath $(BUILD))/guard.o) $(call quote,$(abspath $(BUILD))/route.o))

# The reader's files as "$1", "$2", …: SRC is one file, whose name may have blanks, or several with blanks between them.
sources = if [ -e $(call quote,$(SRC)) ]; then set -- $(call quote,$(SRC)); else set -- $(or $(SRC),$(1)); fi

$(BUILD)/route.o: $(wildcard common/*.h chapters/*/*.h)
$(BUILD)/guard.o $(BUILD)/route.o: $(BUILD)/%.o: tests/judge/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(FLAGS) -fno-sanitize=all -fPIC -c $< -o $@

$(BUILD)/compile.sh: Makefile $(BUILD)/flags $(BUILD)/libllama.a $(BUILD)/guard.o $(BUILD)/route.o
	@printf '%s\n' 'library=$$1; shift' \
	    $(call quote,set -- $(CC) $(FLAGS) -UROOT -I$(call quote,$(CURDIR)) -I$(call quote,$(CURDIR)/chapters) "$$@") \
	    '"$$@" -w -E >"$$library.i" 2>/dev/null' \
	    $(call quote,[ "$$SANITIZED" ] || set -- "$$@" $(GUARDED)) \
	    $(call quote,exec "$$@" -o "$$library" -shared -fPIC $(call quote,$(abspath $(BUILD))/libllama.a) \
	        $(call accepts,-Wl$(comma)--allow-multiple-definition) $(call accepts,-Wl$(comma)-Bsymbolic) $(LIBS)) > $@

# gcc 14 looks for arrays of the stack that are used after their time; vectors of 64 bytes it then lays 32 bytes beside their place.
SANITIZERS := -O1 $(call accepts,-march=native) -fno-omit-frame-pointer -fsanitize=address,undefined,bounds -fno-sanitize-recover=all \
              $(if $(call accepts,-Werror -fsanitize=address --param=asan-use-after-return=0),--param=asan-use-after-return=0)

# A kernel is judged with more threads than there are processors: those that wait sleep, or they keep the others from their work.
verify $(NUMBERS:%=exercise-%) mine grade: export OMP_WAIT_POLICY ?= passive

ifeq ($(SANITIZE),)
verify: $(BUILD)/verify $(if $(SRC),$(BUILD)/compile.sh) ## judge your own kernels: make verify SRC=my_rope.c, with SANITIZE=1 under the sanitizers
	@$(if $(SRC),,echo "usage: make verify SRC=my_kernel.c    (the kernels it may define: $(BUILD)/verify --list)"; exit 1)
	@$(sources); library="$(BUILD)/$${1##*/}.so"; \
	 sh $(BUILD)/compile.sh "$$library" "$$@" && $(BUILD)/verify --library "$$library"
else
verify: # the reader's file and the workbench under the sanitizers: who overruns an array is told the line
	@SANITIZED=1 $(MAKE) --no-print-directory BUILD=build/sanitize CFLAGS="$(SANITIZERS)" SANITIZE= verify
endif

EXERCISES := $(NUMBERS:%=exercise-%)

# Who writes make 5 means make 04.
SMALL := $(patsubst 0%,%,$(filter 0%,$(NUMBERS)))
.PHONY: $(SMALL) $(SMALL:%=exercise-%)
$(SMALL): %: 0%
$(SMALL:%=exercise-%): exercise-%: exercise-0%

$(EXERCISES): exercise-%: $(BUILD)/verify $(BUILD)/compile.sh ## how far is your chapters/04_*/exercise.c, or SRC=my.c: make exercise-05
	@mkdir -p $(BUILD)/$@
	@$(call sources,chapters/$*_*/exercise.c); library="$(BUILD)/$@/$${1##*/}.so"; \
	 sh $(BUILD)/compile.sh "$$library" "$$@" && { $(BUILD)/verify --exercise $* --library "$$library" || \
	     { echo "(make's error, in the next line, says only that not all is right yet.)"; exit 1; }; }

mine: $(BUILD)/mine $(BUILD)/stories $(BUILD)/compile.sh ## the Llama that your exercise.c files make, with ours where you have none yet; or SRC="my_rope.c my_norm.c"
	@$(call sources); $(BUILD)/mine "$$@"

grade: $(BUILD)/grade $(BUILD)/compile.sh ## judge a folder of submissions: make grade DIR=submissions/ EXERCISE=05, a table and a CSV
	@$(if $(DIR),,echo "usage: make grade DIR=submissions/ [EXERCISE=05] [CSV=$(BUILD)/grades.csv]"; exit 1)
	@$(BUILD)/grade $(EXERCISE:%=--exercise %) --csv $(call quote,$(or $(CSV),$(BUILD)/grades.csv)) $(call quote,$(DIR))

# Everything, or what ONLY names of it (tests/kernels/test_speed.c is fast_speed, with chapter 12's code in it; either name will do):
# first what takes long, so that the others end beside it. Two are scripts; and where programs are run, they must be there.
LONGEST  := test_parallel test_classroom test_programs test_mine fast_product test_golden test_tokenizer test_chat fast_generation lessons
EVERY_TEST := $(notdir $(TESTS)) $(FUZZED:%=replay_%) languages lessons
TESTED   := $(or $(foreach t,$(ONLY),$(if $(filter $(t),$(EVERY_TEST)),$(t),$(t:test_%=fast_%))),$(filter $(EVERY_TEST),$(LONGEST)) $(filter-out $(LONGEST),$(EVERY_TEST)))
COMPILED := $(patsubst %,$(BUILD)/tests/%,$(filter-out languages lessons,$(TESTED)))
command   = $(or $(if $(filter replay_%,$(1)),"$(BUILD)/tests/$(1) tests/hardening/fuzz/corpus/$(1:replay_%=%)"),$(if $(filter languages,$(1)),"sh tests/submissions/languages/run.sh $(BUILD)"),$(if $(filter lessons,$(1)),"sh tests/lessons.sh $(BUILD)/data --check"),$(BUILD)/tests/$(1))

RUNNING  := $(filter languages lessons $(patsubst tests/%.c,%,$(shell grep -l '[^a-z_]run."' tests/test_*.c)),$(TESTED:fast_%=test_%))

test: ## kernels against PyTorch, wrong twins, parsers, programs, lessons; or some: make test ONLY="test_golden test_rope"
	@$(MAKE) --no-print-directory $(SIDE_BY_SIDE) $(COMPILED) $(if $(RUNNING),all $(BUILD)/compile.sh)
	@$(if $(filter lessons,$(TESTED)),$(MAKE) -s --no-print-directory $(SIDE_BY_SIDE) $(filter-out %/12_speed.txt,$(QUOTED)))
	@$(if $(filter lessons,$(TESTED)),$(MAKE) -s --no-print-directory $(QUOTED)) # by itself, for it measures
	@PYTHON=$(PYTHON) sh tests/run.sh $(foreach t,$(TESTED),$(call command,$(t)))

sanitize: ## the tests under the address, undefined-behaviour and bounds sanitizers; or make sanitize WHAT="faults EVERY=60"
	@$(MAKE) --no-print-directory BUILD=build/sanitize CFLAGS="$(SANITIZERS)" $(or $(WHAT),test)

# On one thread, or their counts would get into each other's way. The faults reach what nothing else does, and no test draws
# the figures that take long. What was not written is no zero here: MALLOC_PERTURB_.
DRAWN_SLOWLY = $(foreach n,12 15 16,build/coverage/data/$(n)_figures.txt)
coverage: ## which lines and branches of chapters/ and common/ do the tests run? A table, and what nobody runs
	@find build/coverage -name '*.gcda' -delete 2>/dev/null || true # the counts are of this run alone
	@MALLOC_PERTURB_=85 OMP_NUM_THREADS=1 $(MAKE) --no-print-directory BUILD=build/coverage CPPFLAGS=-DUNTIMED \
	    CFLAGS="-O1 --coverage -include tests/hardening/coverage/coverage.h" test faults $(DRAWN_SLOWLY) EVERY=$(or $(EVERY),40)
	@sh tests/hardening/coverage/table.sh build/coverage

# Preloaded: it must not have what CFLAGS may ask for, a sanitizer, say.
$(BUILD)/allocations.so: tests/hardening/faults/allocations.c tests/hardening/faults/allocations.h
	@mkdir -p $(@D)
	@$(CC) -std=c2x -O1 -D_GNU_SOURCE -I. -shared -fPIC $< -o $@

$(BUILD)/faults: $(call object,tests/hardening/faults/faults.c) $(BUILD)/libllama.a
	$(link)

ifneq ($(and $(wildcard /proc/self/status),$(shell echo '\#include <linux/seccomp.h>' | $(CC) -E - 2>/dev/null)),)
faults: all $(BUILD)/faults $(BUILD)/allocations.so $(BUILD)/compile.sh ## the n-th allocation, write, open, read fails, for every n: make faults EVERY=7 tries a seventh
	@$(BUILD)/faults $(BUILD) $(or $(EVERY),1)
else
faults:
	@echo "faults: skipped: only Linux lets another process answer system calls"
endif

fuzz: ## feed broken files to what reads them, any text to the tokenizers and any template to Jinja, a minute each; KEEP=1 keeps what reached new code
	@sh tests/hardening/fuzz/run.sh $(BUILD) $(or $(SECONDS),60) "$(JANSSON)" "$(if $(PCRE2),$(PCRE2) $(if $(UTF8),-DUTF8PROC $(UTF8)))" $(KEEP)

mutants: all $(BUILD)/libllama.a $(BUILD)/compile.sh ## break our own kernels on purpose, and count how many breaks the golden values catch
	@$(PYTHON) tests/hardening/mutants.py --build $(BUILD) $(if $(EVERY),--every $(EVERY))

# What computes the golden values and runs the notebooks. No reader of the lessons needs it.
venv: ## PyTorch and transformers in build/venv, for golden and notebooks
	@python3 -m venv build/venv || { echo "venv: apt install python3-venv"; exit 1; }
	@build/venv/bin/pip install -q -r notebooks/requirements.txt

torch = $(PYTHON) -c 'import safetensors, torch' 2>/dev/null || { echo "$@: $(PYTHON) has no PyTorch: make venv"; exit 1; }

train: $(BUILD)/train $(BUILD)/stories $(BUILD)/lessons $(BUILD)/card ## train a model like the course's own, for an hour: build/training/model, with a card that says what it knows
	@sh chapters/09_decoder/stories/train.sh $(BUILD)

SMALL := $(BUILD)/train-small
train-small: $(BUILD)/train $(BUILD)/stories $(BUILD)/llama ## train a smaller model by build/train, in a minute or two: its loss, its stories
	@rm -rf $(SMALL) && mkdir -p $(SMALL)
	@$(BUILD)/stories --count 8000 --seed 1 > $(SMALL)/stories.txt
	@$(BUILD)/stories --count 100 --seed 2 > $(SMALL)/unseen.txt
	@$(BUILD)/train --config chapters/17_training/small.json --tokenizer chapters/09_decoder/stories/model --data $(SMALL)/stories.txt \
	    --valid $(SMALL)/unseen.txt --rate 0.005 --sample 100 --plot --out $(SMALL)/model
	@echo "It writes: $(BUILD)/llama --model $(SMALL)/model --prompt \"Once upon a time\""

GOLDEN := golden printing articles 09_decoder 16_gradients 17_run unseen stories sentence stand_ins 10_tokenizer 10_others chat vocabularies 13_gguf

golden: $(BUILD)/stories ## compute the golden values again
	@$(torch)
	@set -e; for script in $(GOLDEN); do $(PYTHON) tests/golden/$$script.py; done

golden-check: $(BUILD)/stories ## prove that the committed golden values are what PyTorch computes
	@$(torch)
	@set -e; for script in $(GOLDEN); do $(PYTHON) tests/golden/$$script.py --check; done

configurations: $(BUILD)/09_decoder $(if $(PCRE2),$(BUILD)/tests/test_chat) ## random Llamas and conversations that transformers writes: do we give its answers?
	@$(PYTHON) -c 'import safetensors, torch, transformers' 2>/dev/null || { echo "configurations: skipped: $(PYTHON) has no transformers (make venv)"; exit 0; }; \
	 $(PYTHON) tests/golden/configurations.py $(BUILD)/09_decoder && $(PYTHON) tests/golden/checkpoints.py $(BUILD)/09_decoder && $(if $(PCRE2),$(PYTHON) tests/golden/chat.py --many $(BUILD)/tests/test_chat,true)

ablations: $(STUDIED) $(BUILD)/stories ## what each part, each choice and each bit does to the trained model, in some minutes
	@$(BUILD)/stories --count 300 --seed 2 | $(BUILD)/beyond > $(BUILD)/beyond.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/ablations > $(BUILD)/ablations.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/choices $(BUILD)/stories > $(BUILD)/choices.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/likely > $(BUILD)/likely.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/quantized > $(BUILD)/quantized.txt
	@$(BUILD)/settings > $(BUILD)/settings.txt
	@mv $(STUDIES:%=$(BUILD)/%.txt) tests/golden/

bench: $(BUILD)/bench_kernels $(BUILD)/bench_layer $(BUILD)/bench_decoder ## our kernels and the decoder against this machine's own limits, on one thread and on all
	@OMP_NUM_THREADS=1 $(BUILD)/bench_kernels --bench
	@echo
	@$(BUILD)/bench_kernels --bench
	@echo
	@$(BUILD)/bench_layer
	@echo
	@mkdir -p $(BUILD)/bench; memory=$$(mktemp -d -p /dev/shm 2>/dev/null); \
	 trap 'rm -rf "$$memory" $(BUILD)/bench' EXIT INT TERM; $(BUILD)/bench_decoder $$memory $(BUILD)/bench

bench-parallel: $(BUILD)/bench_parallel $(BUILD)/bench_decoder ## one process with all cores beside several ranks of one thread, and a pipeline: tokens a second, predicted and measured
	@$(if $(MPI),,echo "bench-parallel: there is no MPI (apt install libopenmpi-dev openmpi-bin)"; exit 1)
	@sh tests/bench/bench_parallel.sh "$(MPIRUN)" $(BUILD)

bench-training: $(BUILD)/bench_training ## steps of training beside PyTorch's, and beside this machine's FMA peak
	@$(PYTHON) tests/bench/bench_training.py $(BUILD)/bench_training

bench-tokenizer: $(BUILD)/bench_tokenizer $(BUILD)/stories ## our tokenizer beside sentencepiece, tiktoken and tokenizers: the seconds, and the ids
	@$(PYTHON) tests/bench/bench_tokenizer.py $(BUILD)/bench_tokenizer $(BUILD)/stories

check-tokenizers: $(BUILD)/check_tokenizer ## whatever the text, are the ids those of the libraries? In a minute or two
	@$(PYTHON) tests/formats/check_tokenizers.py $(BUILD)/check_tokenizer

notebooks: all $(BUILD)/libllama.so ## run the notebooks, and keep what they show
	@$(torch)
	@$(PYTHON) notebooks/execute.py

notebooks-check: all $(BUILD)/libllama.so ## do they still run? And Python's calls of the kernels, on every golden case
	@$(torch)
	@sh tests/run.sh "$(PYTHON) tests/kernels/test_llama_c.py" "$(PYTHON) notebooks/execute.py --check"

docs: $(DATA) figures ## refresh what the lessons show: code, runs and figures
	@$(if $(GNUPLOT),cp $(FIGURES) figures/)
	@sh tests/lessons.sh $(BUILD)/data

help: ## this list
	@sed -n 's/^\([a-z$$()A-Z-]*\):.*## \(.*\)/\1|\2/p' Makefile | sed -e 's/$$(NUMBERS)/01, 02, …/' -e 's/$$(EXERCISES)/exercise-01, …/' | sort | \
	 awk -F'|' 'BEGIN { printf "  %-15s %s\n", "all", "build everything this machine can build (the default)" } { printf "  %-15s %s\n", $$1, $$2 }'

clean: ## remove what was built
	rm -rf $(BUILD)

.PHONY: all always run figures preview verify mine grade test sanitize coverage faults fuzz mutants venv train train-small golden golden-check ablations bench bench-tokenizer check-tokenizers bench-training notebooks notebooks-check docs help clean $(NUMBERS) $(EXERCISES) configurations parallel bench-parallel
