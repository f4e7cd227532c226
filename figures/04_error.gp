# The largest error of an angle so far, over the 64 pairs of a head of 128, theta 10000.
height = 500
load "figures/style.gp"

set title "Angles in float32 hold to position 131071, in bf16 they are lost"
set xlabel "position"
set ylabel "largest error of an angle so far, rad"
set logscale xy
set xrange [1:2.5e6]
set yrange [1e-8:1e4]
set xtics ("1" 1, "10" 10, "100" 100, "1000" 1000, "10⁴" 1e4, "131071" 131071)
set ytics ("10⁻⁸" 1e-8, "10⁻⁶" 1e-6, "10⁻⁴" 1e-4, "0.01" 0.01, "1" 1, "100" 100, "10⁴" 1e4)
set grid noxtics
set arrow from 1, 2 * pi to 131071, 2 * pi nohead linecolor rgb grey dashtype 2
set label "a whole turn" at 1.3, 18 textcolor rgb grey
set label "table in bf16" at 1.7e5, 420 textcolor rgb orange
set label "table in float32" at 1.7e5, 0.017 textcolor rgb blue
set label "R R R …, angle" at 1.7e5, 0.0010 textcolor rgb vermillion
set label "R R R …, length" at 1.7e5, 0.0043 textcolor rgb green
file = data."/04_error.dat"
plot file using 1:($3 > 0 ? $3 : NaN) with lines linetype 5, \
     file using 1:($2 > 0 ? $2 : NaN) with lines linetype 1, \
     file using 1:($5 > 0 ? $5 : NaN) with lines linetype 3, \
     file using 1:($4 > 0 ? $4 : NaN) with lines linetype 2
