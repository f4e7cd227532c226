# What the two approximations of GELU, and SiLU, are off by.
load "figures/style.gp"
file = data . "/02_gelu.dat"
set title "The tanh formula misses GELU by 0.0005, quick GELU by 0.02, SiLU by 0.2"
set xlabel "|x|"; set ylabel "distance from GELU"
set xrange [0:6]; set xtics 1
set logscale y; set yrange [1e-6:1]
set ytics ("1" 1, "0.1" 0.1, "0.01" 0.01, "0.001" 0.001, "0.0001" 0.0001, "0.00001" 0.00001, "0.000001" 0.000001)
set label "SiLU" at 4.2, 0.12 left textcolor rgb green
set label "quick GELU, x σ(1.702 x)" at 4.2, 0.008 left textcolor rgb vermillion
set label "tanh formula" at 2.85, 0.00015 center textcolor rgb blue
plot file using 1:4 with lines linetype 3, file using 1:3 with lines linetype 2, file using 1:2 with lines linetype 1
