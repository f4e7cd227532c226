# How a reader's files become a shared library: sh build/compile.sh FILE.so [FLAG …] FILE.c …, or a folder with C files. The
# Makefile writes the functions above this: compiler, reader (with all that guards a reader's memory), messages.
library=$1
shift
for word; do
    shift
    if [ ! -d "$word" ]; then set -- "$@" "$word"; continue; fi
    set -- "$@" "$word"/*.c
    ls "$word"/*.c >/dev/null 2>&1 || { echo "there is no C file in the folder" >&2; exit 1; }
done
if [ "$PLAINLY" ]; then # FILE.so.again, below, asks for it
    reader "$@" -O1 -fno-strict-aliasing -fwrapv -shared -fPIC -o "$library"
    exit
fi
quoted() { for word; do printf "'%s' " "$(printf %s "$word" | sed "s/'/'\\\\''/g")"; done; }
# How to compile the same once more with few optimizations, for verify, where an answer is wrong: whose fault is it?
echo "cd $(quoted "$PWD")&& PLAINLY=1 sh $(quoted "$0" "$library.plain.so" "$@")" >"$library.again"
compiler "$@" -w -E >"$library.i" 2>/dev/null # comments and macros are gone: exercises.c looks for calls there
reader "$@" -shared -fPIC -o "$library" || exit

# Once more, for what the compiler says of the kernels beside the course's own: signature.c.
for word; do
    shift
    case $word in -w | -Wfatal-errors | -Werror) ;; *) set -- "$@" "$word" ;; esac
done
messages "$@" >"$library.said" 2>&1
exit 0
