# The Swish family, from the straight line x/2 to ReLU; every lowest point lies on one ray from the origin.
height = 520
load "figures/style.gp"
file = data . "/02_activation.dat"

set title "Swish goes from x/2 at β = 0 through SiLU at β = 1 to ReLU at β = ∞"
set xlabel "x"; set ylabel "output"
set xrange [-4:1]; set xtics 1
set yrange [-0.7:0.5]; set ytics 0.1
set xzeroaxis linecolor rgb grey

low = 1.27846; depth = 0.27846 # SiLU's lowest point is (-low, -depth), as the program prints; Swish's is that / β
set object 1 circle at -low * 2, -depth * 2 size 0.03 fillstyle solid fillcolor rgb sky front
set object 2 circle at -low, -depth size 0.03 fillstyle solid fillcolor rgb blue front
set object 3 circle at -low / 2, -depth / 2 size 0.03 fillstyle solid fillcolor rgb vermillion front
set object 4 circle at -low / 4, -depth / 4 size 0.03 fillstyle solid fillcolor rgb orange front
set arrow from 0, 0 to -0.7 * low / depth, -0.7 nohead dashtype 3 linecolor rgb grey

set label "β = 0, x/2" at -1.28, -0.66 left textcolor rgb purple
set label "β = 0.5" at -3.45, -0.57 center textcolor rgb sky
set label "SiLU, lowest at (−1.278, −0.278)" at -1.8, -0.32 right textcolor rgb blue
set label "β = 2" at -1.25, -0.17 center textcolor rgb vermillion
set label "β = 4" at -0.4, 0.035 center textcolor rgb orange
set label "β = 64, ReLU to the eye" at 0.36, 0.42 right textcolor rgb black
set label "the lowest points: one ray" at -2.85, -0.66 left textcolor rgb grey
plot file using 1:10 with lines linetype 4, \
     file using 1:14 with lines linetype 7, \
     file using 1:13 with lines linetype 5, \
     file using 1:12 with lines linetype 2, \
     file using 1:11 with lines linetype 6, \
     file using 1:8 with lines linetype 1 linewidth 4
