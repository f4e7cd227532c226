# The residual stream of the trained model, from stage to stage.
height = 420
load "figures/style.gp"

file = data."/09_residual.dat"
set title "Each layer adds to the stream, and the last norm undoes the growth"
set ylabel "root mean square of the 192 numbers"
set xrange [-0.3:5.6]
set logscale y
set xtics ("embedding" 0, "layer 0" 1, "layer 1" 2, "layer 2" 3, "layer 3" 4, "last norm" 5)
set key left top
plot file using ($1 + 0.12 * ($2 / 28.0 - 0.5)):($2 > 0 ? $3 : NaN) with points pointtype 7 pointsize 0.4 linecolor rgb sky title "each token of the story", \
     file using ($2 == 0 ? $1 : NaN):3 with linespoints linetype 2 title "the first token, <s>"
