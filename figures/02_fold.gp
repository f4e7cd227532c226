# What two matrices can make of two features, and what ReLU between them adds: a straight line, and a folded one.
height = 430
load "figures/style.gp"
file = data . "/02_fold.dat"
set title "Two matrices make a straight line; with ReLU between them it can be folded"
set xlabel "first feature − second feature"
set ylabel "output"
set xrange [-1.4:1.4]; set yrange [-1.4:1.8]
set xtics ("−1" -1, "0" 0, "1" 1); set ytics 1
set xzeroaxis linecolor rgb grey
set label 1 "two matrices" at 0.62, 1.55 right textcolor rgb blue
set label 2 "with ReLU between them" at -0.1, 1.15 center textcolor rgb vermillion
set label 3 "the first hidden number" at 0.6, 0.22 left textcolor rgb vermillion
set label 4 "the second hidden number" at -0.52, 0.22 right textcolor rgb vermillion
set label 5 "(0, 1)" at -1, 1 center offset 0, 1 front textcolor rgb black
set label 6 "(1, 0)" at 1, 1 center offset 0, 1 front textcolor rgb black
set label 7 "(0, 0) and (1, 1)" at 0.04, -0.22 left front textcolor rgb black
plot file using 1:2 with lines linetype 1, \
     file using 1:3 with lines linetype 2 linewidth 4, \
     file using 1:(abs(abs($1) - 0.5) == 0.5 ? $3 : NaN) with points linetype 7 pointtype 7 pointsize 1
