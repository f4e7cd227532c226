# Targets that check the course itself. `make help-maintainers` lists them.

# ---------------------------------------------------------------- make test

# A test is tests/FOLDER/test_NAME.c; it is built as build/tests/test_NAME.
SOURCES  = $(wildcard tests/kernels/test_*.c tests/formats/test_*.c tests/programs/test_*.c tests/judge/test_*.c)
# Without PCRE2 some tokenizers are refused, so their tests cannot run.
WITHOUT  = $(if $(PCRE2),,test_tokenizer test_tokenizer_pipeline test_chat)
TESTS    = $(filter-out $(WITHOUT),$(basename $(notdir $(SOURCES))))
READERS  = safetensors gguf config model template $(if $(PCRE2),tokenizer text)
# These take more time than all others together: make test leaves them to make test-slow.
SLOW     = test_own test_parallel test_mine test_submissions test_grade alone test_random test_training languages test_data
# These take longest and run first, so that the others end beside them.
LONGEST  = $(SLOW) layering test_programs test_tokenizer test_generation test_model
EVERY    = $(TESTS) $(READERS:%=replay_%) languages layering alone lessons
choose   = $(or $(filter $(ONLY),$(EVERY)),$(filter $(1),$(LONGEST)) $(filter-out $(LONGEST),$(1)))
SHELLS   = languages layering alone lessons
# Tests that run programs, which must be there.
OUTSIDE  = $(basename $(notdir $(wildcard tests/programs/test_*.c tests/judge/test_*.c))) lessons languages \
    $(addprefix test_,chat data decoder edges elementwise generation model tokenizer)

# A test's own code is compiled at -O1, in half the time: the code that it tests has all flags.
$(BUILD)/objects/tests/%.o: DEFINES = $(if $(filter test_%.c,$(<F)),-O1) -DBUILD=$(call quote,$(call string,$(abspath $(BUILD)))) \
    -DCHAPTERS='"$(CHAPTERS)"' -DPROGRAMS='"$(notdir $(PROGRAMS))"' $(if $(MPI),-DMPIRUN=$(call quote,$(call string,$(MPIRUN))))

$(BUILD)/tests/%: $(BUILD)/objects/tests/kernels/%.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)
$(BUILD)/tests/%: $(BUILD)/objects/tests/formats/%.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)
$(BUILD)/tests/%: $(BUILD)/objects/tests/programs/%.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)
$(BUILD)/tests/%: $(BUILD)/objects/tests/judge/%.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)
$(BUILD)/tests/replay_%: $(BUILD)/objects/tests/hardening/fuzz/fuzz_%.o $(BUILD)/objects/tests/hardening/fuzz/replay.o $(BUILD)/libllama.a
	$(link)
$(BUILD)/tests/%: EXTRA = $(CMOCKA)
$(BUILD)/corpus/%: tests/hardening/fuzz/%.tar.gz
	@rm -rf $@ && mkdir -p $@ && tar -xzf $< -C $@

command = $(or $(if $(filter replay_%,$(1)),"$(BUILD)/tests/$(1) $(BUILD)/corpus/$(1:replay_%=%)"), \
    $(if $(filter languages,$(1)),"sh tests/submissions/languages/run.sh $(BUILD)"), \
    $(if $(filter layering,$(1)),"sh tests/layering.sh"), $(if $(filter alone,$(1)),"sh tests/layering.sh --alone"), \
    $(if $(filter lessons,$(1)),"sh tests/lessons.sh $(BUILD)/data --check"),"$(BUILD)/tests/$(1)")

# ONLY="test_rope lessons" runs some of them. What lessons quote of chapter 12 is run by itself, because it measures time.
test:      CHOSEN = $(call choose,$(filter-out $(SLOW),$(EVERY)))
test-slow: CHOSEN = $(call choose,$(filter $(SLOW),$(EVERY)))
test-all:  CHOSEN = $(call choose,$(EVERY))
test: ## kernels against PyTorch, known mistakes, parsers, programs and lessons; some: make test ONLY="test_rope lessons"
test-slow: ## what make test leaves out: a reader's Llama, a class to grade, several ranks, training, every kernel as a reader's
test-all: ## make test and make test-slow
test test-slow test-all:
	@$(if $(CMOCKA),,echo "cmocka, the C test library, is missing for $(CC): apt install libcmocka-dev | brew install cmocka"; exit 1)
	@$(MAKE) --no-print-directory $(PARALLEL) $(patsubst %,$(BUILD)/tests/%,$(filter-out $(SHELLS),$(CHOSEN))) \
	    $(patsubst replay_%,$(BUILD)/corpus/%,$(filter replay_%,$(CHOSEN))) \
	    $(if $(filter $(OUTSIDE),$(CHOSEN)),all $(BUILD)/compile.sh) \
	    $(if $(filter test_backward,$(CHOSEN)),$(BUILD)/16_backward) $(if $(filter test_parallel,$(CHOSEN)),$(OTHER_VERSION)) \
	    $(if $(filter lessons,$(CHOSEN)),$(filter-out %/12_speed.txt,$(QUOTED)))
	@$(if $(filter lessons,$(CHOSEN)),$(MAKE) -s --no-print-directory $(QUOTED))
	@PYTHON=$(PYTHON) sh tests/run.sh $(foreach t,$(CHOSEN),$(call command,$(t)))

# The outputs that lessons quote, as the lessons say.
QUOTED = $(filter $(patsubst %,$(BUILD)/data/%.txt,$(shell sed -n 's/^<!-- run: \([0-9a-z_]*\) .*/\1/p' chapters/*/*.md chapters/*.md README.md | sort -u)),$(OUTPUTS))

# --oversubscribe allows more ranks than cores; --bind-to none keeps a rank's threads off one core; mpirun refuses root
# unless it is told; Open MPI 5 knows no -q. OMPI_MCA_pml and _btl skip a slow search for network cards, and a warning where
# there is none; the last line: a busy machine may miss a rank's exit.
ROOT_MAY = $(if $(filter 0,$(shell id -u)),--allow-run-as-root)
QUIETLY  = $(shell mpirun $(ROOT_MAY) --help 2>/dev/null | sed -n 's/^ *\(-q\)|.*/\1/p')
MPIRUN   = mpirun $(QUIETLY) --oversubscribe --bind-to none $(ROOT_MAY)
export OMPI_MCA_pml ?= ob1
export OMPI_MCA_btl ?= ^tcp
export OMPI_MCA_orte_allowed_exit_without_sync ?= 1

# A rank with another version of the program: test_parallel sees it refused.
OTHER_VERSION = $(if $(MPI),$(BUILD)/tests/other_version)
$(BUILD)/other_version.c: chapters/15_tensor_parallel/run.c
	@mkdir -p $(@D)
	@sed 's/VERSION = 1/VERSION = 2/' $< > $@
$(BUILD)/tests/other_version: $(BUILD)/objects/chapters/15_tensor_parallel/main.o $(BUILD)/other_version.c $(BUILD)/libllama.a
	$(link)

# ---------------------------------------------------------------- what goes further

# Without MPI, because Open MPI itself leaks memory at its end. gcc 14's search for arrays used after their scope misaligns vectors of 64 bytes.
SANITIZERS = -O1 $(call accepts,-march=native) -fno-omit-frame-pointer -fsanitize=address,undefined,bounds -fno-sanitize-recover=all \
             $(if $(call accepts,-Werror -fsanitize=address --param=asan-use-after-return=0),--param=asan-use-after-return=0)

sanitize: ## the tests under the address, undefined-behaviour and bounds sanitizers; or make sanitize WHAT="fault-injection EVERY=60"
	@$(MAKE) --no-print-directory BUILD=build/sanitize CFLAGS="$(SANITIZERS)" MPI= $(or $(WHAT),test-all)

# On one thread, so that the counts of several do not mix. MALLOC_PERTURB_ makes memory that was not written no zero.
coverage: ## the lines and branches of chapters/ and common/ that the tests run
	@find build/coverage -name '*.gcda' -delete 2>/dev/null || true
	@MALLOC_PERTURB_=85 OMP_NUM_THREADS=1 $(MAKE) --no-print-directory BUILD=build/coverage CPPFLAGS=-DUNTIMED \
	    CFLAGS="-O1 --coverage -include tests/hardening/coverage/coverage.h" test-all fault-injection EVERY=$(or $(EVERY),40) \
	    $(foreach n,12 16 17,build/coverage/data/$(n)_figures.txt)
	@sh tests/hardening/coverage/table.sh build/coverage

# Preloaded into other programs, so it is compiled without the sanitizers that CFLAGS may ask for.
$(BUILD)/allocations.so: tests/hardening/faults/allocations.c tests/hardening/faults/allocations.h
	@mkdir -p $(@D)
	@$(CC) -std=c2x -O1 -D_GNU_SOURCE -I. -shared -fPIC $< -o $@
$(BUILD)/faults: $(BUILD)/objects/tests/hardening/faults/faults.o $(BUILD)/libllama.a
	$(link)
fault-injection: all $(BUILD)/faults $(BUILD)/allocations.so $(BUILD)/compile.sh ## the n-th allocation, write, open, read fails, for every n; EVERY=7: a seventh of them
	@$(BUILD)/faults $(BUILD) $(or $(EVERY),1)

fuzz: ## broken files, texts and templates for their readers, a minute each; KEEP=1 keeps what reached new code
	@sh tests/hardening/fuzz/run.sh "$(MAKE)" $(BUILD) $(or $(SECONDS),60) $(KEEP)
fuzz-targets: $(READERS:%=$(BUILD)/fuzz_%)
$(BUILD)/fuzz_%: $(BUILD)/objects/tests/hardening/fuzz/fuzz_%.o $(BUILD)/libllama.a
	$(link) -fsanitize=fuzzer

mutation-test: all $(BUILD)/compile.sh ## break the kernels on purpose, and count the breaks that the golden values catch; EVERY=24
	@$(PYTHON) tests/hardening/mutants.py --build $(BUILD) $(if $(EVERY),--every $(EVERY))

check-all: ## the long check: other machines and compilers, faults, fuzzing, mutants (.ci/run is the gate)
	@.ci/check-all

venv: ## PyTorch and transformers in build/venv, for golden values and notebooks
	@python3 -m venv build/venv || { echo "venv: apt install python3-venv"; exit 1; }
	@build/venv/bin/pip install -q --no-compile -r notebooks/requirements.txt
torch = $(PYTHON) -c 'import safetensors, torch' 2>/dev/null || { echo "$@: $(PYTHON) has no PyTorch: make venv"; exit 1; }

GOLDEN = golden low_precision printing articles 09_decoder 16_gradients 17_run unseen stories sentence unicode_data 10_tokenizer 10_others chat vocabularies 13_gguf
golden-update: $(BUILD)/stories ## compute the golden values again
	@$(torch)
	@set -e; for script in $(GOLDEN); do $(PYTHON) tests/golden/$$script.py; done
golden-check: $(BUILD)/stories ## prove that the committed golden values are what PyTorch computes
	@$(torch)
	@set -e; for script in $(GOLDEN); do $(PYTHON) tests/golden/$$script.py --check; done
compat-models: $(BUILD)/inspect $(BUILD)/tests/test_chat ## random Llamas and conversations of transformers: the same answers?
	@$(PYTHON) -c 'import safetensors, torch, transformers' 2>/dev/null || { echo "compat-models: skipped: $(PYTHON) has no transformers (make venv)"; exit 0; }; \
	 $(PYTHON) tests/golden/configurations.py $(BUILD)/inspect && $(PYTHON) tests/golden/checkpoints.py $(BUILD)/inspect && \
	 $(PYTHON) tests/golden/chat.py --many $(BUILD)/tests/test_chat
compat-tokenizers: $(BUILD)/check_tokenizer ## the same ids as Hugging Face's, OpenAI's and Google's libraries, for any text?
	@$(PYTHON) tests/formats/check_tokenizers.py $(BUILD)/check_tokenizer && $(PYTHON) tests/formats/check_gguf_tokenizers.py $(BUILD)/check_tokenizer

# What changes in the trained model when something is done to it: tests/studies/NAME.c, whose output is NAME.txt beside it.
STUDIES = ablations extrapolation sampling perplexity quantized hyperparameters judges
$(STUDIES:%=$(BUILD)/%) $(BUILD)/model_card: $(BUILD)/%: $(BUILD)/objects/tests/studies/%.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)
studies: $(STUDIES:%=$(BUILD)/%) $(BUILD)/stories ## run the studies of the trained model again, in some minutes
	@$(BUILD)/stories --count 300 --seed 2 | $(BUILD)/extrapolation > $(BUILD)/extrapolation.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/ablations > $(BUILD)/ablations.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/sampling $(BUILD)/stories > $(BUILD)/sampling.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/perplexity > $(BUILD)/perplexity.txt
	@$(BUILD)/stories --count 100 --seed 2 | $(BUILD)/quantized > $(BUILD)/quantized.txt
	@$(BUILD)/hyperparameters > $(BUILD)/hyperparameters.txt
	@$(BUILD)/judges > $(BUILD)/judges.txt
	@mv $(STUDIES:%=$(BUILD)/%.txt) tests/studies/

# ---------------------------------------------------------------- how fast

BENCHES = bench_decoder bench_layer bench_parallel bench_tokenizer bench_training
$(BENCHES:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/objects/tests/bench/%.o $(BUILD)/libllama.a
	$(link)
$(BUILD)/check_tokenizer: $(BUILD)/objects/tests/formats/check_tokenizer.o $(BUILD)/libllama.a
	$(link)
$(BUILD)/bench_kernels: $(BUILD)/objects/tests/judge/bench_kernels.o $(BUILD)/libjudge.a $(BUILD)/libllama.a
	$(link)

bench: $(BUILD)/bench_kernels $(BUILD)/bench_layer $(BUILD)/bench_decoder ## kernels, a layer and the decoder beside this machine's own limits
	@OMP_NUM_THREADS=1 $(BUILD)/bench_kernels --bench
	@echo
	@$(BUILD)/bench_kernels --bench
	@echo
	@$(BUILD)/bench_layer
	@echo
	@mkdir -p $(BUILD)/bench; memory=$$(mktemp -d -p /dev/shm 2>/dev/null); \
	 trap 'rm -rf "$$memory" $(BUILD)/bench' EXIT INT TERM; $(BUILD)/bench_decoder $$memory $(BUILD)/bench
bench-parallel: $(BUILD)/bench_parallel $(BUILD)/bench_decoder ## one process beside several ranks, and a pipeline: tokens per second
	@$(if $(MPI),,echo "bench-parallel: there is no MPI (apt install libopenmpi-dev openmpi-bin)"; exit 1)
	@sh tests/bench/bench_parallel.sh "$(MPIRUN)" $(BUILD)
bench-training: $(BUILD)/bench_training ## steps of training beside PyTorch's, and beside this machine's peak
	@$(PYTHON) tests/bench/bench_training.py $(BUILD)/bench_training
bench-tokenizer: $(BUILD)/bench_tokenizer $(BUILD)/stories ## the tokenizers beside sentencepiece, tiktoken and tokenizers
	@$(PYTHON) tests/bench/bench_tokenizer.py $(BUILD)/bench_tokenizer $(BUILD)/stories

# ---------------------------------------------------------------- Python

# The kernels for Python, every name visible: notebooks/llama_c.py calls them. -Bsymbolic: they find each other first.
$(BUILD)/libllama.so: $(LIBRARY) $(wildcard common/*.h chapters/*/*.h) $(BUILD)/flags
	@echo "  link     $@"
	@$(CC) $(FLAGS) -shared -fPIC $(call accepts,-Wl$(comma)-Bsymbolic) $(LIBRARY) -o $@ $(LIBS)
notebooks: all $(BUILD)/libllama.so ## run the notebooks, and keep their outputs
	@$(torch)
	@$(PYTHON) notebooks/execute.py
notebooks-check: all $(BUILD)/libllama.so $(BUILD)/libjudge.so ## the notebooks run and show the same; kernels from Python, and its judge
	@$(torch)
	@sh tests/run.sh "$(PYTHON) tests/kernels/test_llama_c.py" "$(PYTHON) tests/kernels/test_python.py $(BUILD)" "$(PYTHON) notebooks/execute.py --check"

run-mpi: $(BUILD)/15_tensor_parallel ## one model in several processes: make run-mpi RANKS=3 MODEL=DIR PROMPT="Once"
	@$(if $(MPI),,echo "run-mpi: there is no MPI (apt install libopenmpi-dev openmpi-bin | dnf install openmpi-devel)"; exit 1)
	$(MPIRUN) -n $(or $(RANKS),2) $(BUILD)/15_tensor_parallel --model $(call quote,$(or $(MODEL),common/stories/model)) \
	    --prompt $(call quote,$(or $(PROMPT),Once upon a time)) --report

help-maintainers: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' tests/tests.mk | awk -F'|' '{ printf "  %-18s %s\n", $$1, $$2 }'

# Earlier names.
faults: fault-injection
mutants: mutation-test
configurations: compat-models
check-tokenizers: compat-tokenizers
golden: golden-update
ablations: studies
parallel: run-mpi
.PHONY: test sanitize coverage fault-injection fuzz fuzz-targets mutation-test check-all venv golden-update golden-check compat-models compat-tokenizers \
    studies bench bench-parallel bench-training bench-tokenizer notebooks notebooks-check run-mpi help-maintainers \
    faults mutants configurations check-tokenizers golden ablations parallel
