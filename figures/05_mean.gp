# The head on paper: its values are the corners of a triangle, its outputs lie within.
height = 440
load "figures/style.gp"

file = data."/05_mean.dat"
set title "An output is a weighted mean: it never leaves the values it sees"
set size ratio -1
set xrange [-4:16]
set yrange [-1.3:11.3]
set xtics 0, 5, 10
set ytics 0, 5, 10
set border 0
set tics scale 0
set object 1 polygon from 10, 0 to 0, 10 to 10, 10 to 10, 0 behind fillcolor rgb "#e2eff7" fillstyle solid noborder
set label "value 0" at 10, -0.8 center textcolor rgb blue
set label "value 1" at -0.4, 10 right textcolor rgb blue
set label "value 2" at 10.4, 10 left textcolor rgb blue
set label "output 0: all it sees" at 10.5, 0.1 left textcolor rgb vermillion
set label "output 1: between the two it sees" at 7.7, 1.4 right textcolor rgb vermillion
set label "output 2: among the three" at 7, 7.9 center textcolor rgb vermillion
plot file using 1:2 with points linetype 1 pointtype 7 pointsize 1.5, \
     file using 3:4 with points linetype 2 pointtype 7 pointsize 0.8
