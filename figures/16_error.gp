# The error of finite differences against the step h: a large step errs by the curvature, a small one by rounding.
height = 420
load "figures/style.gp"
set title "Finite differences: a large step errs by the curvature, a small one by rounding"
set logscale xy
set xrange [2.5e-6:4]
set yrange [5e-7:1]
set mxtics 1
set mytics 1
set format x "10^{%L}"
set format y "10^{%L}"
set xlabel "step h"
set ylabel "relative error of the gradient"
set key bottom left
set label "rounding" at 2.5e-5, 0.15 center textcolor rgb black
set label "curvature" at 0.12, 4e-4 center textcolor rgb black
file = data . "/16_error.dat"
plot file using 1:2 with linespoints linetype 2 title "(f(x + h) − f(x)) / h", \
     "" using 1:3 with linespoints linetype 1 title "(f(x + h) − f(x − h)) / 2h"
