# How a Llama works, in C. `make help` lists the targets; README.md explains them.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:

include common/config.mk

# ---------------------------------------------------------------- what is built

CHAPTERS = 01_normalization 02_activation 03_feed_forward 04_attention 05_rope 06_grouped_query 07_kv_cache \
           08_flash_attention 09_decoder 10_tokenizer 11_generation 12_speed 13_quantization 14_engine \
           15_tensor_parallel 16_backward 17_training
NUMBERS  = 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17
# Programs to use, beside the chapters' own: build/NAME.
ENGINE   = llama inspect tokenize quantize
TOOLS    = $(ENGINE) train stories curriculum verify grade mine
# chapters/NN_name/figures.c is build/NN_figures: it writes what the chapter's figures are drawn from.
DRAWERS  = $(patsubst %,$(BUILD)/%_figures,$(filter-out 14,$(NUMBERS)))
PROGRAMS = $(CHAPTERS:%=$(BUILD)/%) $(DRAWERS) $(TOOLS:%=$(BUILD)/%)

# A program is its own main() and what it needs of these two libraries.
MAINS    = $(addprefix %/,main.c figures.c exercise.c stories.c curriculum.c $(ENGINE:%=%.c)) chapters/17_training/train.c
LIBRARY  = $(filter-out $(MAINS),$(wildcard common/*.c common/stories/*.c chapters/*/*.c chapters/14_engine/*/*.c))
JUDGE    = $(filter-out $(addprefix %/,main.c grade.c mine.c guard.c bench_kernels.c) tests/judge/test_%,$(wildcard tests/judge/*.c)) \
             tests/studies/eval_questions.c tests/studies/eval_stories.c
object   = $(patsubst %.c,$(BUILD)/objects/%.o,$(1))

all: $(PROGRAMS) ## build everything this machine can build (the default)
	@$(if $(findstring -fopenmp ,$(OPENMP) ),,echo "note: $(CC) has no OpenMP: everything runs on one thread (apt install libgomp1 or libomp-dev)")
	@$(if $(PCRE2),,echo "note: no PCRE2: a tokenizer.json with a pattern of its own is refused (apt install libpcre2-dev | dnf install pcre2-devel)")
	@$(if $(UTF8),,echo "note: no utf8proc: a tokenizer.json that normalizes text is refused (apt install libutf8proc-dev | dnf install utf8proc-devel)")
	@$(if $(MPI),,echo "note: no MPI: chapter 15 runs in one process (apt install libopenmpi-dev openmpi-bin | dnf install openmpi-devel)")
	@$(if $(GNUPLOT),,echo "note: no gnuplot: figures are not drawn (apt install gnuplot-nox | dnf install gnuplot | brew install gnuplot)")

$(BUILD)/libllama.a: $(call object,$(LIBRARY))
$(BUILD)/libjudge.a: $(call object,$(JUDGE))
$(BUILD)/%.a:
	@rm -f $@
	@ar rcs $@ $^

# Position-independent and hidden, because a reader's shared library may link them without showing their names.
$(BUILD)/objects/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  compile  $<"
	@$(CC) $(FLAGS) -fPIC -fvisibility=hidden $(DEFINES) -MMD -MP -c $< -o $@

# When the flags or the compiler change, everything is compiled again.
$(BUILD)/flags: always
	@mkdir -p $(BUILD)
	@printf '%s\n' $(call quote,$(CC) $(FLAGS) $(LIBS) $(EMULATOR)) | cmp -s - $@ || \
	 printf '%s\n' $(call quote,$(CC) $(FLAGS) $(LIBS) $(EMULATOR)) > $@

-include $(shell find $(BUILD)/objects -name '*.d' 2>/dev/null)

$(CHAPTERS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/objects/chapters/%/main.o $(BUILD)/libllama.a
	$(link)
$(NUMBERS:%=$(BUILD)/%_figures): $(BUILD)/%_figures: $$(BUILD)/objects/chapters/$$(word $$*,$$(CHAPTERS))/figures.o $(BUILD)/libllama.a
	$(link)
$(ENGINE:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/objects/chapters/14_engine/%.o $(BUILD)/libllama.a
	$(link)
$(BUILD)/train $(BUILD)/curriculum: $(BUILD)/%: $(BUILD)/objects/chapters/17_training/%.o $(BUILD)/libllama.a
	$(link)
$(BUILD)/stories: $(BUILD)/objects/common/stories/stories.o $(BUILD)/libllama.a
	$(link)
$(BUILD)/verify: $(BUILD)/objects/tests/judge/main.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)
$(BUILD)/grade $(BUILD)/mine: $(BUILD)/%: $(BUILD)/objects/tests/judge/%.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)

# ---------------------------------------------------------------- what is run

# Compiling uses all processors, unless make was told how many.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))

run: ## every chapter's program in order, then the figures
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@set -e; for chapter in $(CHAPTERS); do printf '\n──────── %s ────────\n' "$$chapter"; $(BUILD)/$$chapter; done
	@$(MAKE) --no-print-directory figures
	@printf '\n──────── build/llama --seed 33 --prompt "Once upon a time" ────────\n'
	@$(BUILD)/llama --seed 33 --prompt "Once upon a time"
	@echo
	@echo "Where to look next: chapters/01_normalization/README.md is the first lesson; figures/README.md shows every"
	@echo "figure, and what this machine has just drawn lies in $(BUILD)/figures/."

$(NUMBERS): ## build and run one chapter: make 01
	@$(MAKE) --no-print-directory $(BUILD)/$(filter $@_%,$(CHAPTERS))
	@$(BUILD)/$(filter $@_%,$(CHAPTERS))
1 2 3 4 5 6 7 8 9: %: 0%

train: $(BUILD)/train $(BUILD)/stories $(BUILD)/curriculum $(BUILD)/model_card ## train a model like the course's own, in an hour
	@sh common/stories/train.sh $(BUILD)

train-small: $(BUILD)/train $(BUILD)/stories $(BUILD)/llama $(BUILD)/quantize ## train a small model in five minutes: its loss, its stories
	@sh chapters/17_training/train_small.sh $(BUILD)

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z$$()A-Z -]*\):.*## \(.*\)/\1|\2/p' Makefile tests/judge/judge.mk | sed 's/$$(NUMBERS)/01, 02, …/; s/$$(EXERCISES)/exercise-01, …/' | \
	 awk -F'|' '{ printf "  %-17s %s\n", $$1, $$2 }'
	@echo "  help-maintainers  the targets that check the course itself"

include tests/judge/judge.mk figures/figures.mk tests/tests.mk

.PHONY: all always run $(NUMBERS) 1 2 3 4 5 6 7 8 9 train train-small clean help
