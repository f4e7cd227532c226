# Four activations.
height = 460
load "figures/style.gp"
file = data . "/02_activation.dat"
set xrange [-5:3]; set xtics 1; set xzeroaxis linecolor rgb grey
set title "SiLU and GELU are ReLU with a rounded corner and a dip to its left"
set xlabel "x"; set ylabel "output"
set yrange [-0.5:3]; set ytics 0.5
set label 1 "ReLU" at 1.55, 1.85 right textcolor rgb black
set label 2 "sigmoid" at -2.2, 0.27 right textcolor rgb green
set label 3 "SiLU" at -2.2, -0.4 center textcolor rgb blue
set label 4 "GELU" at -0.35, -0.33 center textcolor rgb vermillion
plot file using 1:4 with lines linetype 3, \
     file using 1:2 with lines linetype 7, \
     file using 1:6 with lines linetype 2, \
     file using 1:8 with lines linetype 1
