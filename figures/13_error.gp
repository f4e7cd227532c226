# How far the weights of one matrix are from what they were, by the bits that each takes.
height = 440
load "figures/style.gp"
file = data."/13_error.dat"
set title "Each bit halves the error; so does a scale of its own for each row"
set xlabel "bits a weight, its part of the scale included"
set ylabel "error of down\\_proj, layer 3"
set logscale y 2
set xrange [1.8:9.4]
set yrange [0.4:128]
set ytics ("0.5 %%" 0.5, "1 %%" 1, "2 %%" 2, "4 %%" 4, "8 %%" 8, "16 %%" 16, "32 %%" 32, "64 %%" 64)
set label "a scale for the matrix" at 4.1, 46 left textcolor linetype 2
set label "for a row" at 3.35, 33 left textcolor linetype 3
set label "for 32" at 2.35, 27 right textcolor linetype 1
plot file index 2 using 1:2 with linespoints linetype 2, \
     file index 1 using 1:2 with linespoints linetype 3, \
     file index 0 using 1:2 with linespoints linetype 1, \
     file index 3 using 1:2 with points pointtype 6 pointsize 1.1 linecolor rgb black linewidth 1.5, \
     file index 3 using ($1 + 0.1):2:(stringcolumn(3)) with labels left offset 0, 0.6 noenhanced textcolor rgb black
