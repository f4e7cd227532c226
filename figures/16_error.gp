# How far a nudged slope is from the gradient, for nudges of every size: too large, and the curve bends; too small, and the
# loss has no digits left for so small a change.
height = 420
load "figures/style.gp"
set title "A nudge too large errs by the bend of the curve, one too small by rounding"
set logscale xy
set xrange [2.5e-6:4]
set yrange [5e-7:1]
set mxtics 1
set mytics 1
set format x "10^{%L}"
set format y "10^{%L}"
set xlabel "the nudge, h"
set ylabel "error, as a share of the gradient"
set key bottom left
set label "rounding" at 2.5e-5, 0.15 center textcolor rgb black
set label "the bend" at 0.12, 4e-4 center textcolor rgb black
file = data . "/16_error.dat"
plot file using 1:2 with linespoints linetype 2 title "(f(x + h) − f(x)) / h", \
     "" using 1:3 with linespoints linetype 1 title "(f(x + h) − f(x − h)) / 2h"
