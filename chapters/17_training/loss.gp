# The loss of a run of build/train, from its log.csv: `data`, `style`, `validation` if there is any, and `output` or `preview`.
height = 420
load style

set datafile separator ","
set xlabel "step"
set ylabel "loss, the mean over tokens"
set key above left
if (exists("validation")) {
    plot data using 1:3 skip 1 with lines linetype 1 title "training", \
         data using 1:7 skip 1 with linespoints linetype 2 title "validation"
} else {
    plot data using 1:3 skip 1 with lines linetype 1 title "training"
}
