# The compiler's flags and the libraries that this machine has. The Makefile includes this file.
# For another machine: make CC=aarch64-linux-gnu-gcc CPPFLAGS=-I… LDFLAGS=-L… EMULATOR='qemu-aarch64-static -L …'

BUILD  ?= build
PYTHON ?= $(or $(wildcard build/venv/bin/python),python3)

comma := ,
# $(call quote,TEXT) is one word for the shell; $(call string,TEXT) is a string in C. A path may have blanks.
quote  = '$(subst ','\'',$(1))'
string = "$(subst ",\",$(subst \,\\,$(1)))"

# $(call accepts,FLAGS) is FLAGS if a program compiles and links with them, and nothing otherwise.
PROBED  = $(filter-out --coverage,$(CFLAGS))
accepts = $(shell echo 'int main(void) { return 0; }' | \
            $(CC) $(CPPFLAGS) $(PROBED) -x c - $(1) $(LDFLAGS) -o /dev/null 2>/dev/null && echo '$(1)')

# $(call library,PACKAGE,HEADER,FLAG) is the library's flags, or nothing. pkg-config may speak of
# another machine than the compiler does, so both its answer and FLAG are tried.
HEADERS = \043include <stdarg.h>\n\043include <stddef.h>\n\043include <setjmp.h>\n\043include <stdint.h>
library = $(shell for flags in "$$(pkg-config --cflags --libs $(1) 2>/dev/null)" "$(3)"; do \
            printf '$(HEADERS)\n\043include <$(2)>\nint main(void) { return 0; }' | \
            $(CC) $(CPPFLAGS) $(PROBED) -DPCRE2_CODE_UNIT_WIDTH=8 -x c - $(LDFLAGS) $${flags:-$(3)} \
                -o /dev/null 2>/dev/null && echo "$${flags:-$(3)}" && break; done)

ifeq ($(origin CFLAGS),undefined)
# Compilers avoid vectors of 512 bits unless they are asked for them.
CFLAGS := -O3 $(or $(call accepts,-march=native -mprefer-vector-width=512),$(call accepts,-march=native))
endif

ifneq ($(filter-out help help-maintainers clean,$(or $(MAKECMDGOALS),all)),)
ifeq ($(call accepts,-std=c2x),)
$(error $(CC) cannot compile C23 (-std=c2x): apt install gcc libc6-dev | dnf install gcc | xcode-select --install)
endif
UNFIT   := $(shell $(CC) $(CPPFLAGS) $(PROBED) -std=c2x -fsyntax-only -x c common/machine.h 2>&1 | \
                   sed -n '/error: /{s/.*error: //;s/^.error //;p;q;}')
ifneq ($(UNFIT),)
$(error $(UNFIT))
endif
JANSSON := $(call library,jansson,jansson.h,-ljansson)
PCRE2   := $(call library,libpcre2-8,pcre2.h,-lpcre2-8)
UTF8    := $(call library,libutf8proc,utf8proc.h,-lutf8proc)
MPI     := $(call library,ompi-c,mpi.h,$(or $(shell mpicc --showme:compile 2>/dev/null; mpicc --showme:link 2>/dev/null),-lmpi))
CMOCKA  := $(call library,cmocka,cmocka.h,-lcmocka)
OPENMP  := $(or $(call accepts,-fopenmp),$(call accepts,-fopenmp-simd -Wno-unknown-pragmas),-Wno-unknown-pragmas)
# clang warns of every `omp simd` loop that it does not vectorise, at -O1 for instance.
QUIET   := $(if $(call accepts,-Wpass-failed),-Wno-pass-failed)
NEEDED  := $(call accepts,-Wl$(comma)--as-needed)
GNUPLOT := $(shell command -v gnuplot)
ifeq ($(JANSSON),)
$(error jansson, the JSON library, is missing for $(CC): apt install libjansson-dev | dnf install jansson-devel | brew install jansson)
endif
endif

# Fused multiply-adds are allowed, because they round once instead of twice. Nothing else of fast-math is.
FLAGS = -std=c2x -Wall -Wextra -g -ffp-contract=fast $(OPENMP) $(QUIET) -I. -Ichapters -D_GNU_SOURCE \
        -DROOT=$(call quote,$(call string,$(CURDIR))) $(if $(EMULATOR),-DUNTIMED -DEMULATED) \
        $(if $(PCRE2),-DPCRE2) $(if $(UTF8),-DUTF8PROC) $(if $(MPI),-DWITH_MPI) $(filter -I%,$(MPI)) $(CPPFLAGS) $(CFLAGS)
LIBS  = $(LDFLAGS) $(NEEDED) $(JANSSON) $(PCRE2) $(UTF8) $(filter-out -I%,$(MPI)) -lm -ldl

# A program for another machine is run by an emulator, from a script that has the program's name.
define link
@mkdir -p $(@D)
@echo "  link     $@"
@$(if $(EMULATOR),mkdir -p $(@D)/foreign && printf '#!/bin/sh\nexec %s "%s" "$$@"\n' $(call quote,$(EMULATOR)) \
    $(call quote,$(abspath $(@D)/foreign/$(@F))) >$@ && chmod +x $@)
@$(CC) $(FLAGS) $(filter-out %.a,$^) $(filter %.a,$^) -o $(if $(EMULATOR),$(@D)/foreign/$(@F),$@) $(LIBS) $(EXTRA)
endef
