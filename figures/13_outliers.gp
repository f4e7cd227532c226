# What the last matrix of a layer's feed-forward reads: the magnitude of every feature, of <s> and of the other tokens.
height = 440
load "figures/style.gp"
file = data."/13_outliers.dat"
set title "A few numbers are hundreds of times as large as most"
set xlabel "feature of silu(gate) up, layer 3"
set ylabel "magnitude"
set xrange [0:511]
set yrange [0:400]
set ytics 0, 100
set xtics (0, 128, 256, 384, 511)
set label 1 "feature 251 of <s>" at 258, 372 left textcolor rgb vermillion
set label 2 "the token <s>" at 8, 372 left textcolor rgb vermillion
set label 3 "the largest of the 28 other tokens" at 8, 340 left textcolor rgb grey
plot file using 1:2 with impulses linewidth 1.6 linecolor rgb vermillion, \
     file using 1:3 with impulses linewidth 1.6 linecolor rgb "#b0b0b0"
