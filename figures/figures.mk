# The figures, and what the lessons quote.

# A program's output, for the lessons; NN_figures also writes the data that figures are drawn from. On one thread, because
# the models are so small that threads wait for each other more than they compute; only chapter 12 measures threads.
$(BUILD)/data/%.txt: $(BUILD)/% common/stories/model/model.safetensors
	@mkdir -p $(@D)
	@$(if $(filter 12_%,$*),,OMP_NUM_THREADS=1) $< $(if $(filter %_figures,$*),--data $(BUILD)/data) > $@

# figures/NN_name.gp draws all figures of a chapter, build/figures/NN_*.svg; NN.drawn says that they are there.
SCRIPTS = $(filter-out figures/style.gp,$(wildcard figures/*.gp))
FIGURES = $(patsubst figures/%.gp,$(BUILD)/figures/%.drawn,$(SCRIPTS))
DRAWN   = $(DRAWERS:$(BUILD)/%=$(BUILD)/data/%.txt)
OUTPUTS = $(CHAPTERS:%=$(BUILD)/data/%.txt) $(DRAWN)

figures: $(if $(GNUPLOT),$(FIGURES)) ## draw the figures from what the programs computed
	@echo "figures: $(if $(GNUPLOT),$(BUILD)/figures/*.svg,skipped: there is no gnuplot (apt install gnuplot-nox))"

$(BUILD)/figures/%.drawn: figures/%.gp figures/style.gp $(DRAWN) $(wildcard tests/studies/*.txt) common/stories/train.log
	@mkdir -p $(@D)
	@echo "  draw     $*"
	@gnuplot -e "data='$(BUILD)/data'; folder='$(@D)'" $<
	@touch $@

figures-text: $(DRAWN) ## the figures as text, in the terminal
	@$(if $(GNUPLOT),,echo "figures-text: there is no gnuplot (apt install gnuplot-nox)"; exit 1)
	@set -e; for script in $(SCRIPTS); do gnuplot -e "data='$(BUILD)/data'; preview=1" $$script; done

docs: $(OUTPUTS) figures ## for authors: refresh the code, the runs and the figures that the lessons show
	@$(if $(GNUPLOT),cp $(BUILD)/figures/*.svg figures/)
	@sh tests/lessons.sh $(BUILD)/data

preview: figures-text
.PHONY: figures figures-text preview docs
