# What the last matrix of a layer's feed-forward reads: the magnitude of every feature, of <s> and of the other tokens.
height = 440
load "figures/style.gp"
file = data."/13_outliers.dat"
set title "A few numbers are hundreds of times as large as most"
set xlabel "feature of silu(gate) up, layer 3"
set ylabel "magnitude"
set logscale y
set xrange [0:511]
set yrange [0.0001:100000]
set xtics (0, 128, 256, 384, 511)
set ytics ("0.0001" 0.0001, "0.001" 0.001, "0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1000" 1000)
set arrow from 0, 1.479 to 511, 1.479 nohead linecolor rgb black linewidth 1 dashtype 2 front
set label "below the dashed line, 8 bits make 0 of a number, if all share one scale" at 8, 40000 left textcolor rgb black
set label "dots: the token <s>" at 8, 5000 left textcolor rgb vermillion
set label "grey: the other tokens, from their median to the largest" at 160, 5000 left textcolor rgb grey front
plot file using 1:3:4 with filledcurves linecolor rgb "#d8d8d8", \
     file using 1:2 with points pointtype 7 pointsize 0.35 linecolor rgb vermillion
