#!/bin/sh
# The rule of the house, checked: sh tests/layering.sh [FOLDER] checks FOLDER/chapters and FOLDER/common. sh tests/layering.sh
# --alone builds chapters 1 to 8 as a reader does, and checks how long that takes.
#   1. No function is defined in two source files. An exercise.c defines the kernels again on purpose, and every program
#      has a main. Two files may each have a static function of the same name.
#   2. Includes run down: a chapter includes lower chapters and common/, common/ includes no chapter. No files call each
#      other in a circle. No Makefile of a chapter names a higher chapter.
#   3. Every chapter builds by itself, with nothing else built: here with a compiler that keeps what it has compiled.
# Without FOLDER the script also proves, in a copy of the tree, that it finds each kind of violation.
here=$(cd "$(dirname "$0")" && pwd)
alone=
if [ "$1" = --alone ]; then alone=1 && shift; fi
root=${1:-${here%/tests*}}
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# verdict WHAT: passes if the file `found` is empty, and shows it otherwise.
verdict() {
    if [ -s "$scratch/found" ]; then
        echo "not ok: $1"
        sed 's/^/    /' "$scratch/found"
        failed=$((failed + 1))
    else
        echo "ok: $1"
        passed=$((passed + 1))
    fi
}

sources() { (cd "$root" && find chapters common -name '*.[ch]' ! -name exercise.c | sort); }

# Every function that a source file defines: NAME FILE global|static. A definition begins outside of all braces and is
# what stands before a `{`, with an argument list and without a `=`. The file `calls` gets every name that a body calls:
# NAME FILE.
definitions() {
    (cd "$root" && awk -v calls="$scratch/calls" '
        # The line without comments, and with empty strings.
        function code(line,    out, mark) {
            out = ""
            while (line != "") {
                if (comment) {
                    if (!match(line, /\*\//)) return out
                    line = substr(line, RSTART + 2)
                    comment = 0
                } else if (match(line, /\/\*|\/\/|"|\047/)) {
                    mark = substr(line, RSTART, RLENGTH)
                    out = out substr(line, 1, RSTART - 1)
                    line = substr(line, RSTART + RLENGTH)
                    if (mark == "//") return out
                    if (mark == "/*") comment = 1
                    else {
                        if (mark == "\"") match(line, /^([^"\\]|\\.)*"/)
                        else match(line, /^([^\047\\]|\\.)*\047/)
                        line = substr(line, RLENGTH + 1)
                        out = out "\"\""
                    }
                } else return out line
            }
            return out
        }
        function name_of(head,    start) {
            while (match(head, /__attribute__ *\(\([^()]*(\([^()]*\))*[^()]*\)\)/))
                head = substr(head, 1, RSTART - 1) substr(head, RSTART + RLENGTH)
            gsub(/(__)?typeof(__)? *\([^()]*\)/, "", head)
            if (head ~ /=/ && head !~ /^[^=]*\(.*=/) return ""
            if (match(head, /\(\* *[A-Za-z_][A-Za-z_0-9]*\(/)) start = RSTART + 2
            else if (match(head, /[A-Za-z_][A-Za-z_0-9]* *\(/)) start = RSTART
            else return ""
            head = substr(head, start)
            match(head, /[A-Za-z_][A-Za-z_0-9]*/)
            return substr(head, RSTART, RLENGTH)
        }
        FNR == 1 { head = ""; depth = comment = macro = 0 }
        macro || /^ *#/ { macro = /\\$/; next }
        {
            line = code($0)
            body = depth ? line : index(line, "{") ? substr(line, index(line, "{")) : ""
            for (; match(body, /[A-Za-z_][A-Za-z_0-9]* *\(/); body = substr(body, RSTART + RLENGTH)) {
                name = substr(body, RSTART, RLENGTH - 1)
                sub(/ *$/, "", name)
                print name, FILENAME >calls
            }
            if (depth == 0) {
                head = head " " line
                brace = index(head, "{")
                end = index(head, ";")
                if (end && (!brace || end < brace)) head = ""
                else if (brace) {
                    name = name_of(substr(head, 1, brace - 1))
                    if (name != "") print name, FILENAME, head ~ /(^| )(static|INLINE) / ? "static" : "global"
                    head = ""
                }
            }
            depth += gsub(/{/, "", line) - gsub(/}/, "", line)
        }' $(sources))
}

# Names that two files define, where at least one of the definitions is global.
two_bodies() {
    sort -u | awk '
        $1 == "main" { next }
        { files[$1] = files[$1] " " $2; count[$1]++; if ($3 == "global") global[$1] = 1 }
        END {
            for (name in files)
                if (count[name] > 1 && name in global) print name "() is defined in" files[name]
        }' | sort
}

# How many names are static functions of several files: allowed, but each costs a reader a search.
shared_static_names() {
    sort -u | awk '{ count[$1]++ } END { for (name in count) n += count[name] > 1 && name != "main"; print n + 0 }'
}

# FILE:LINE: what a source file includes of a higher chapter, or of what no source file may include.
includes_up() {
    (cd "$root" && awk '
        function chapter(path) { return match(path, /(^|\/)[0-9][0-9]_/) ? substr(path, RSTART + RLENGTH - 3, 2) + 0 : 0 }
        /^ *# *include *"/ {
            split($0, part, "\"")
            higher = chapter(part[2]) > chapter(FILENAME)
            if (higher || part[2] ~ /^(\.\.\/)*tests\//) print FILENAME ":" FNR ": it includes " part[2]
        }' $(sources))
}

# Files that call each other in a circle. A .c and a .h of one name are one module.
circles() {
    awk '
        function module(path) { sub(/\.[ch]$/, "", path); return path }
        NR == FNR { if ($3 == "global") home[$1] = module($2); own[$1 " " module($2)] = 1; next }
        $1 in home && home[$1] != module($2) && !($1 " " module($2) in own) { print module($2), home[$1] }
    ' "$scratch/definitions" "$scratch/calls" | sort -u | tsort 2>&1 >/dev/null |
        grep -v 'input contains a loop' | sed 's/^tsort: /in a circle: /'
}

# FILE:LINE: what a chapter's Makefile names of a higher chapter.
makefiles_up() {
    (cd "$root" && awk '
        { sub(/(^|[ \t])#.*/, "") }
        {
            own = substr(FILENAME, length("chapters/") + 1, 2) + 0
            for (line = $0; match(line, /[0-9][0-9]_[a-z]/); line = substr(line, RSTART + RLENGTH))
                if (substr(line, RSTART, 2) + 0 > own) print FILENAME ":" FNR ": it names " substr(line, RSTART)
        }' chapters/[0-9][0-9]_*/Makefile)
}

# In a copy without anything that was built: nothing here depends on what the user has built, nor changes it. The flags of
# the make that runs this script are not those that a reader uses.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CFLAGS CPPFLAGS LDFLAGS
copy() {
    mkdir -p "$1/common"
    cp -R "$root/chapters" "$1"
    cp "$root"/common/*.[ch] "$root"/common/*.mk "$1/common" 2>/dev/null
    (cd "$root" && find common -mindepth 1 -type d -exec cp -R {} "$1/common" \;)
}

# Runs a command and prints the processor seconds that it took.
processor_seconds() {
    ("$@" >"$scratch/log" 2>&1 || echo failed >"$scratch/found"; times >"$scratch/times")
    awk 'NR == 2 {
        gsub(/s/, "")
        split($1, user, "m")
        split($2, kernel, "m")
        printf "%.1f", 60 * (user[1] + kernel[1]) + user[2] + kernel[2]
    }' "$scratch/times"
}

# Builds one chapter and prints the processor time: build FOLDER CHAPTER LIMIT [CC=… CFLAGS=…].
build() {
    chapter=$2 limit=$3 folder=$1/chapters/$2
    shift 3
    seconds=$(processor_seconds sh -c 'cd "$1" && shift && make clean && make "$@"' - "$folder" "$@")
    [ ! -s "$scratch/found" ] || tail -n 5 "$scratch/log" >"$scratch/found"
    echo "$seconds $limit" | awk '$1 > $2 { print "it took more than " $2 " s" }' >>"$scratch/found"
    verdict "cd chapters/$chapter && make clean && make ($seconds s)"
}

# A compiler that compiles each file once, for the first chapter that needs it. Without optimization, because only the list
# of files is in question.
write_compiler() {
    printf '#!/bin/sh\nflags= compiler="%s" objects="%s"\n' "${CC:-cc}" "$scratch/objects" >"$scratch/cc"
    cat >>"$scratch/cc" <<'END'
for word; do
    case $word in
    -DROOT=*) ;; # another in each chapter, and used only when the program runs
    -[DIWfms]*) flags="$flags $word" ;;
    esac
done
for word; do
    shift
    case $word in
    ../../*.c) object=$objects/${word#../../}.o ;;
    ../*.c) object=$objects/chapters/${word#../}.o ;;
    *.c) object=$objects/chapters/${PWD##*/}/$word.o ;;
    *) object= ;;
    esac
    if [ "$object" ] && ! [ "$object" -nt "$word" ]; then
        mkdir -p "${object%/*}"
        $compiler $flags -O0 -DROOT='""' -c "$word" -o "$object" || exit
    fi
    set -- "$@" "${object:-$word}"
done
exec $compiler "$@"
END
    chmod +x "$scratch/cc"
}

check_sources() {
    definitions >"$scratch/definitions"
    two_bodies <"$scratch/definitions" >"$scratch/found"
    [ -s "$scratch/definitions" ] || echo "there are no functions in $root" >"$scratch/found"
    verdict "every function has one body ($(wc -l <"$scratch/definitions") functions)"
    echo "note: $(shared_static_names <"$scratch/definitions") names are static functions of several files"
    includes_up >"$scratch/found"
    verdict "includes run down"
    circles >"$scratch/found"
    verdict "no circle of calls between files"
    makefiles_up >"$scratch/found"
    verdict "Makefiles name lower chapters only"
}

check_builds() {
    copy "$scratch/copy"
    write_compiler
    for chapter in "$root"/chapters/[0-9][0-9]_*/; do
        : >"$scratch/found"
        build "$scratch/copy" "$(basename "$chapter")" 60 CC="$scratch/cc"
    done
}

# They take at most 3 s each on two idle cores; the limit is far above that, because on a busy machine everything is slower.
check_alone() {
    copy "$scratch/copy"
    for chapter in "$root"/chapters/0[1-8]_*/; do
        : >"$scratch/found"
        build "$scratch/copy" "$(basename "$chapter")" 30
    done
}

# finds WHAT FILE LINE: with the line at the end of the file, the check of the sources fails and says WHAT.
finds() {
    cp "$self/$2" "$scratch/kept"
    printf '%s\n' "$3" >>"$self/$2"
    if said=$(sh "$here/layering.sh" "$self"); then echo "nothing is found in $2: $3" >"$scratch/found"
    elif ! echo "$said" | grep -q "$1"; then echo "$said" >"$scratch/found"
    else : >"$scratch/found"; fi
    cp "$scratch/kept" "$self/$2"
    verdict "it is found: $2: $3"
}

# A Makefile that leaves out a file is found: the program needs a function that none of its files has.
finds_a_missing_file() {
    echo 'void left_out(void); void (*needed)(void) = left_out;' >>"$1/main.c"
    : >"$scratch/found"
    processor_seconds make -C "$1" CC="$scratch/cc" >/dev/null
    if grep -q left_out "$scratch/log" && [ -s "$scratch/found" ]; then : >"$scratch/found"
    else echo "the chapter builds all the same" >"$scratch/found"; fi
    verdict "it is found: a chapter's Makefile leaves out a file"
}

check_itself() {
    self=$scratch/self
    copy "$self"
    rm -f "$self/chapters/chapter.mk" # only the sources are checked there
    lower=$(cd "$self" && echo chapters/01_*/main.c)
    finds "main.c:[0-9]*: it includes 08_" "$lower" '#include "08_flash_attention/flash_attention.h"'
    finds "error.c:[0-9]*: it includes 01_" common/error.c '#include "01_normalization/normalization.h"'
    finds "rms_norm() is defined in" common/error.c 'void rms_norm(void) {}'
    finds "rms_norm() is defined in" common/error.c 'static int rms_norm(int a) { return a; }'
    finds "in a circle: common/error" common/error.c 'static void close(SafeTensors *f) { safetensors_close(f); }'
    higher=../08_flash_attention/flash_attention.c
    finds "Makefile:[0-9]*: it names 08_" "$(dirname "$lower")/Makefile" "NEEDS += $higher"
    if [ -e "$root/chapters/chapter.mk" ]; then finds_a_missing_file "$(echo "$scratch"/copy/chapters/01_*)"; fi
}

if [ "$alone" ]; then
    check_alone
else
    check_sources
    if [ -e "$root/chapters/chapter.mk" ]; then check_builds; fi
    if [ $# -eq 0 ]; then check_itself; fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
