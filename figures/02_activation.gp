# XOR in the plane: the four inputs before the hidden layer, and their hidden units after ReLU.
figure = "02_xor"; height = 440
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


# Four activations.
figure = "02_activations"; height = 460
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


# The numbers that one layer gives to its activation for the sentence, and what SiLU makes of them.
figure = "02_sentence"; height = 480
load "figures/style.gp"
file = data . "/02_sentence.dat"
unset key
set style fill solid 1 noborder
set boxwidth 0.1
set xrange [-6:6]; set xtics 2
set border 1; unset ytics; set grid noytics
set multiplot layout 2, 1 margins 0.06, 0.98, 0.1, 0.9 spacing 0.09 \
    title "About half of the inputs are negative, and SiLU turns them into nearly 0" font ",18"
set ylabel "how many" offset 1
set label 1 "before: x" at -5.9, graph 0.85 left textcolor rgb black
plot file using 1:($1 < 0 ? $2 : 0) with boxes linecolor rgb vermillion, file using 1:($1 > 0 ? $2 : 0) with boxes linecolor rgb blue
set label 1 "after: silu(x)" at -5.9, graph 0.85 left textcolor rgb black
set label 2 "every negative input\nends between −0.28 and 0" at -0.5, graph 0.85 right textcolor rgb vermillion
plot file using 1:($1 < 0 ? $3 : 0) with boxes linecolor rgb vermillion, file using 1:($1 > 0 ? $3 : 0) with boxes linecolor rgb blue
unset multiplot


# How steep the activations are: what training multiplies by.
figure = "02_slopes"; height = 400
load "figures/style.gp"
file = data . "/02_activation.dat"
set xrange [-5:3]; set xtics 1; set xzeroaxis linecolor rgb grey
set title "ReLU's slope is 0 for every negative x; SiLU's and GELU's only at one point"
set xlabel "x"; set ylabel "slope"
set yrange [-0.2:1.2]; set ytics 0.2
set label 1 "ReLU" at -0.1, 0.93 right textcolor rgb black
set label 2 "sigmoid" at -2.2, 0.19 right textcolor rgb green
set label 3 "SiLU" at 0.62, 0.74 left textcolor rgb blue
set label 4 "GELU" at 0.75, 1.1 right textcolor rgb vermillion
plot file using 1:5 with lines linetype 3, \
     file using 1:3 with fsteps linetype 7, \
     file using 1:7 with lines linetype 2, \
     file using 1:9 with lines linetype 1


# What the two approximations of GELU, and SiLU, are off by.
figure = "02_gelu"; height = 440
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


# The Swish family, from the straight line x/2 to ReLU; every lowest point lies on one ray from the origin.
figure = "02_swish"; height = 520
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
