# A chapter's program, from nothing: its own files (SRC), the files of earlier chapters that it needs
# (NEEDS), and common/. `make` compiles it, `make run` runs it. On a Mac without OpenMP: make OPENMP=
NAME   = $(notdir $(CURDIR))
CFLAGS = -O3 -march=native
OPENMP = -fopenmp
FLAGS  = -std=c2x -Wall -Wextra -ffp-contract=fast $(OPENMP) -D_GNU_SOURCE -DROOT='"$(CURDIR)/../.."' -I.. -I../..

$(NAME): main.c $(SRC) $(NEEDS) $(wildcard *.h ../../common/*.[ch])
	$(CC) $(FLAGS) $(CFLAGS) $(filter %.c,$^) -o $@ -ljansson $(LIBS) -lm

run: $(NAME)
	@./$(NAME)

clean:
	rm -f $(NAME)

.PHONY: run clean
