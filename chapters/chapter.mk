# A chapter's program, from nothing: its own files (SRC), the files of earlier chapters that it needs (NEEDS), and common/.
# `make` compiles it; `make run` also runs it. A compiler without OpenMP: make OPENMP=-Wno-unknown-pragmas
NAME   = $(lastword $(subst /, ,$(CURDIR)))
CFLAGS = -O2 -march=native
OPENMP = -fopenmp
FLAGS += -std=c2x -Wall -Wextra -Wno-pass-failed -ffp-contract=fast $(OPENMP) -D_GNU_SOURCE -DROOT='"$(CURDIR)/../.."' -I.. -I../..
COMMON = check console error file golden json linear options output random safetensors sentence tensor

$(NAME): main.c $(SRC) $(NEEDS) $(COMMON:%=../../common/%.c) $(wildcard *.h ../*/*.h ../../common/*.h)
	$(CC) $(FLAGS) $(CFLAGS) $(filter %.c,$^) -o $@ -ljansson $(LIBS) -lm

run: $(NAME)
	@./$(NAME)

clean:
	rm -f $(NAME)

.PHONY: run clean
