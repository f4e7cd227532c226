# The figures, and what the lessons quote.

# A program's output, for the lessons; NN_figures also writes the data that figures are drawn from. On one thread, because
# the models are so small that threads wait for each other more than they compute; only chapter 12 measures threads.
$(BUILD)/data/%.txt: $(BUILD)/% common/stories/model/model.safetensors
	@mkdir -p $(@D)
	@$(if $(filter 12_%,$*),,OMP_NUM_THREADS=1) $< $(if $(filter %_figures,$*),--data $(BUILD)/data) > $@

SCRIPTS = $(filter-out figures/style.gp,$(wildcard figures/*.gp))
FIGURES = $(SCRIPTS:%.gp=$(BUILD)/%.svg)
DRAWN   = $(DRAWERS:$(BUILD)/%=$(BUILD)/data/%.txt)
OUTPUTS = $(CHAPTERS:%=$(BUILD)/data/%.txt) $(DRAWN)

figures: $(if $(GNUPLOT),$(FIGURES)) ## draw the figures from what the programs computed
	@echo "figures: $(if $(GNUPLOT),$(words $(FIGURES)) drawn$(comma) $(BUILD)/figures/*.svg,skipped: there is no gnuplot (apt install gnuplot-nox))"

$(BUILD)/figures/%.svg: figures/%.gp figures/style.gp $(DRAWN) $(wildcard tests/studies/*.txt) common/stories/train.log
	@mkdir -p $(@D)
	@echo "  draw     $@"
	@gnuplot -e "data='$(BUILD)/data'; output='$@'" $<

figures-text: $(DRAWN) ## the figures as text, in the terminal
	@$(if $(GNUPLOT),,echo "figures-text: there is no gnuplot (apt install gnuplot-nox)"; exit 1)
	@set -e; for figure in $(SCRIPTS); do \
	    echo; echo "$$figure"; gnuplot -e "data='$(BUILD)/data'; preview=1" $$figure; done

docs: $(OUTPUTS) figures ## for authors: refresh the code, the runs and the figures that the lessons show
	@$(if $(GNUPLOT),cp $(FIGURES) figures/)
	@sh tests/lessons.sh $(BUILD)/data

preview: figures-text
.PHONY: figures figures-text preview docs
