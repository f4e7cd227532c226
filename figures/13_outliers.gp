# What the last matrix of a layer's feed-forward reads: the magnitude of every feature, of <s> and of the other tokens.
height = 440
load "figures/style.gp"
file = data."/13_outliers.dat"
set title "A few numbers are hundreds of times as large as most"
set xlabel "feature of silu(gate) up, layer 3"
set ylabel "magnitude"
set logscale y
set xrange [0:511]
set yrange [0.001:10000]
set xtics (0, 128, 256, 384, 511)
set ytics ("0.001" 0.001, "0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1000" 1000)
set arrow from 0, 1.479 to 511, 1.479 nohead linecolor rgb black linewidth 1 dashtype 2 front
set label "below the dashed line, 8 bits make 0 of a number, if all share one scale" at 8, 3500 left textcolor rgb black
set label "<s>" at 259, 375 left textcolor rgb vermillion
set label "the other 28 tokens" at 505, 700 right textcolor rgb grey
plot for [t = 1:28] file index t using 1:2 with points pointtype 7 pointsize 0.18 linecolor rgb "#b8b8b8", \
     file index 0 using 1:2 with points pointtype 7 pointsize 0.4 linecolor rgb vermillion
