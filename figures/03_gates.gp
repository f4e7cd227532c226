# SwiGLU over the gate, for two values of up.
height = 400
load "figures/style.gp"
file = data . "/03_gates.dat"
set title "A gate far below 0 lets next to nothing of up through; a gate above 0 multiplies up"
set xlabel "gate"; set ylabel "SiLU(gate) · up"
set xrange [-6:4.6]; set xtics 1; set xzeroaxis linecolor rgb grey
set yrange [-8.5:8.5]; set ytics 4
set arrow from 0, -8.5 to 0, 8.5 nohead linecolor rgb grey dashtype 2
set label 1 "up = 2" at 4.1, 7.7 left textcolor rgb blue
set label 2 "up = −2" at 4.1, -7.7 left textcolor rgb vermillion
set label 3 "gate shut" at -3, 4 center textcolor rgb black font ",18"
set label 4 "gate open" at 1.1, 6.5 center textcolor rgb black font ",18"
plot file using 1:(2 * $2) with lines linetype 1, \
     file using 1:(-2 * $2) with lines linetype 2
