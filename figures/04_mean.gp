# The head on paper: its values are the corners of a triangle, its outputs lie within.
height = 440
load "figures/style.gp"

file = data."/04_mean.dat"
set title "An output is a weighted mean: it lies among the values that it attends to"
set size ratio -1
set xlabel "first number"
set ylabel "second number"
set xrange [-2.5:19]
set yrange [-1.5:12]
unset grid
set xtics 0, 5, 10
set ytics 0, 5, 10
set object 1 polygon from 10, 0 to 0, 10 to 10, 10 to 10, 0 behind fillcolor rgb "#e2eff7" fillstyle solid noborder
set label "value 0" at 9.5, -0.6 right textcolor rgb blue
set label "value 1" at 0, 10.9 center textcolor rgb blue
set label "value 2" at 10.6, 10 left textcolor rgb blue
set label "output 0: attends to value 0 alone" at 10.6, 0 left textcolor rgb vermillion
set label "output 1: between values 0 and 1" at 10.6, 1.95 left textcolor rgb vermillion
set label "output 2: among the three" at 10.6, 8.6 left textcolor rgb vermillion
set arrow from 10.5, 1.95 to 8.2, 1.95 nohead linecolor rgb vermillion linewidth 0.7
set arrow from 10.5, 8.6 to 7.3, 8.6 nohead linecolor rgb vermillion linewidth 0.7
plot file using 1:2 with points linetype 1 pointtype 7 pointsize 1.6, \
     file using 3:4 with points linetype 2 pointtype 7 pointsize 0.8
