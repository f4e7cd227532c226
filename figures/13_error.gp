# How far the weights of one matrix are from what they were, by the bits that each takes.
height = 440
load "figures/style.gp"
file = data."/13_error.dat"
set title "Each bit halves the error; so does a scale of its own for each row"
set xlabel "bits a weight, its part of the scale included"
set ylabel "error of down\\_proj, layer 3"
set logscale y 2
set xrange [1.8:10.6]
set xtics 2, 1, 8
set yrange [0.3:128]
set ytics ("0.5 %%" 0.5, "1 %%" 1, "2 %%" 2, "4 %%" 4, "8 %%" 8, "16 %%" 16, "32 %%" 32, "64 %%" 64)
set label "one scale for the matrix" at 8.15, 2.5 left textcolor linetype 2
set label "one for each row" at 8.15, 1.2 left textcolor linetype 3
set label "one for 32 numbers" at 8.65, 0.66 left textcolor linetype 1
plot file index 2 using 1:2 with linespoints linetype 2, \
     file index 1 using 1:2 with linespoints linetype 3, \
     file index 0 using 1:2 with linespoints linetype 1, \
     file index 3 using 1:2 with points pointtype 6 pointsize 1.1 linecolor rgb black linewidth 1.5, \
     file index 3 using (strcol(3)[4:] eq "0" ? $1 - 0.06 : NaN):($2 / 1.35):(strcol(3)) with labels right noenhanced textcolor rgb black, \
     file index 3 using (strcol(3)[4:] eq "1" ? $1 + 0.1 : NaN):($2 * 1.22):(strcol(3)) with labels left noenhanced textcolor rgb black
