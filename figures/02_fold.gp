# What the lesson's two matrices make of two features, without and with ReLU between them: a straight line, and a folded one.
height = 430
load "figures/style.gp"
file = data . "/02_fold.dat"
set title "Without ReLU the first output is a straight line, with ReLU a folded one"
set xlabel "first feature − second feature"
set ylabel "first output"
set xrange [-1.4:1.4]; set yrange [-0.5:1.5]
set xtics ("−1" -1, "0" 0, "1" 1); set ytics 1
set label 1 "without ReLU" at -0.52, -0.13 right textcolor rgb blue
set label 2 "with ReLU" at 0, 1.1 center textcolor rgb vermillion
set label 3 "the first hidden number" at 0.56, 0.3 left textcolor rgb vermillion
set label 4 "the second hidden number" at -0.56, 0.3 right textcolor rgb vermillion
set label 5 "(0, 1)" at -1, 1 center offset 0, 1 front textcolor rgb black
set label 6 "(1, 0)" at 1, 1 center offset 0, 1 front textcolor rgb black
set label 7 "(0, 0) and (1, 1)" at 0.04, -0.13 left front textcolor rgb black
plot file using 1:2 with lines linetype 1 linewidth 4, \
     file using 1:3 with lines linetype 2 linewidth 4, \
     file using 1:(abs(abs($1) - 0.5) == 0.5 ? $3 : NaN) with points linetype 7 pointtype 7 pointsize 1
