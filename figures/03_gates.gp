# SwiGLU over the gate, for five values of up, and what swapping the two does.
height = 440
load "figures/style.gp"
file = data . "/03_gates.dat"
set rmargin 12
set title "The gate decides how much of up goes through"
set xlabel "gate"; set ylabel "product"
set xrange [-4:4]; set xtics 1; set xzeroaxis linecolor rgb grey
set yrange [-8:8]; set ytics 4
array colour[5] = ["#004d78", "#5aa5d0", "#737373", "#ea9459", "#963f00"]
array value[5] = ["−2", "−1", "0", "1", "2"]
do for [i = 1:5] { set label i "up = ".value[i] at 4.1, (i - 3) * 3.93 left textcolor rgb colour[i] }
set label 10 "gate 2, up −1" at 2, -1.7616 front point pointtype 7 pointsize 0.8 linecolor rgb black offset 0.7, 0.5 left textcolor rgb black
set label 11 "swapped: gate −1, up 2" at -1, -0.5379 front point pointtype 7 pointsize 0.8 linecolor rgb black offset 0.5, -1.2 right textcolor rgb black
plot for [i = 1:5] file using 1:((i - 3) * $2) with lines linecolor rgb colour[i] linewidth 2.4
