# The largest error of a direction so far, over the 64 pairs of a head of 128, theta 10000.
height = 440
load "figures/style.gp"

set title "Up to position 131071 a float32 table errs by half a degree, a bf16 table by any angle"
set xlabel "position"
set ylabel "largest error so far, degrees"
set logscale xy
set xrange [1:3e6]
set yrange [1e-7:1000]
set xtics ("1" 1, "10" 10, "100" 100, "1000" 1000, "10⁴" 1e4, "131071" 131071)
set ytics ("10⁻⁶" 1e-6, "10⁻⁴" 1e-4, "0.01" 0.01, "1°" 1, "180°" 180)
set grid noxtics
set label "table in bf16" at 1.7e5, 180 textcolor rgb orange
set label "table in float32" at 1.7e5, 0.55 textcolor rgb blue
set label "rotated step by step" at 1.7e5, 0.09 textcolor rgb vermillion
file = data."/05_error.dat"
plot file using 1:($3 > 0 ? $3 : NaN) with lines linetype 5, \
     file using 1:($2 > 0 ? $2 : NaN) with lines linetype 1, \
     file using 1:($4 > 0 ? $4 : NaN) with lines linetype 2
