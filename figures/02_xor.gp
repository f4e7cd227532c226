# XOR in the plane: the four inputs before the hidden layer, and their hidden units after ReLU.
height = 440
load "figures/style.gp"
file = data . "/02_xor.dat"
set multiplot layout 1, 2 margins 0.09, 0.97, 0.2, 0.8 spacing 0.12 \
    title "No line separates XOR's inputs; after ReLU, one line separates the hidden units" font ",18"
set title font ",16" offset 0, -0.3
set size ratio -1
set xrange [-0.5:1.8]; set yrange [-0.5:1.5]
set xtics 1; set ytics 1
set border 3
set title "the inputs"
set xlabel "x_0"; set ylabel "x_1"
set label 1 "XOR is 1" at 1.1, 0.16 left textcolor rgb vermillion
set label 2 "XOR is 1" at 0.1, 1.16 left textcolor rgb vermillion
set label 3 "XOR is 0" at 0.1, 0.16 left textcolor rgb blue
set label 4 "XOR is 0" at 1.1, 1.16 left textcolor rgb blue
plot file using ($5 == 1 ? $1 : NaN):2 with points pointtype 7 pointsize 2 linecolor rgb vermillion, \
     file using ($5 == 1 ? NaN : $1):2 with points pointtype 7 pointsize 2 linecolor rgb blue
unset label
set title "the hidden units, ReLU(x W_1)"
set xlabel "hidden unit 0"; set ylabel "hidden unit 1"
set label 1 "from (1, 0)" at 1.1, 0.16 left textcolor rgb vermillion
set label 2 "from (0, 1)" at 0.1, 1.16 left textcolor rgb vermillion
set label 3 "from (0, 0) and (1, 1)" at -0.4, -0.36 left textcolor rgb blue
set label 4 "their sum is 1/2" at 0.22, 0.42 left textcolor rgb black
set arrow from -0.4, 0.9 to 0.66, -0.16 nohead linecolor rgb black linewidth 1.5 dashtype 2
plot file using ($5 == 1 ? $3 : NaN):4 with points pointtype 7 pointsize 2 linecolor rgb vermillion, \
     file using ($5 == 1 ? NaN : $3):4 with points pointtype 7 pointsize 2 linecolor rgb blue
unset multiplot
