# Left, the five units at up = 1: how far a gate opens. Right, SwiGLU for five values of up, and what swapping does.
height = 440
load "figures/style.gp"
file = data . "/03_gates.dat"
set multiplot layout 1, 2 margins 0.05, 0.91, 0.18, 0.8 spacing 0.08 \
    title "The gate decides how much of up goes through" font ",18"
set xlabel "gate"
set xrange [-4:4]; set xtics 1; set xzeroaxis linecolor rgb grey
set title "what up = 1 becomes, in five units" font ",16"
set yrange [-1.5:4]; set ytics 1
set label 1 "ReGLU" at 3.1, 3.55 right textcolor rgb black
set label 2 "GLU" at 3.0, 0.62 left textcolor rgb green
set label 3 "bilinear" at -1.35, -1.0 right textcolor rgb purple
set label 4 "SwiGLU" at -2, -0.5 center textcolor rgb blue
set label 5 "GEGLU" at 0.95, 0.45 left textcolor rgb vermillion
plot file using 1:3 with lines linetype 4, file using 1:2 with lines linetype 3, file using 1:4 with lines linetype 7, \
     file using 1:5 with lines linetype 2, file using 1:6 with lines linetype 1
unset label
set title "SwiGLU, for five values of up" font ",16"
set yrange [-8:8]; set ytics 4
array colour[5] = ["#004d78", "#5aa5d0", "#8a8a8a", "#ea9459", "#963f00"]
array value[5] = ["−2", "−1", "0", "1", "2"]
do for [i = 1:5] { set label i "up = ".value[i] at 4.1, (i - 3) * 3.93 left textcolor rgb colour[i] }
set label 10 "(2, −1)" at 2, -1.7616 front point pointtype 7 pointsize 0.8 linecolor rgb black offset 0.7, 0.35 left textcolor rgb black
set label 11 "swapped: (−1, 2)" at -1, -0.5379 front point pointtype 7 pointsize 0.8 linecolor rgb black offset -0.3, -1.1 right textcolor rgb black
plot for [i = 1:5] file using 1:((i - 3) * $6) with lines linecolor rgb colour[i] linewidth 2.4
unset multiplot
