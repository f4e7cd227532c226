# How sharp the weights are: the mean of the largest of 64, for normal queries and keys of width D.
height = 440
load "figures/style.gp"

file = data."/04_scale.dat"
set title "Without 1/√D, a larger head dimension gives nearly all the weight to one key"
set xlabel "head dimension D"
set ylabel "largest of 64 weights (mean)"
set logscale x 2
set logscale y
set xrange [1:1024]
set yrange [0.012:1.3]
set xtics (1, 4, 16, 64, 128, 256, 1024)
set ytics ("1/64" 1.0 / 64, "0.1" 0.1, "1" 1)
set label "q·k as it is: one key takes all" at 22, 0.36 left textcolor rgb vermillion
set label "q·k / √D: as in every Llama" at 900, 0.137 right textcolor rgb blue
set label "q·k / √(32 D), the model's width: all nearly equal" at 900, 0.029 right textcolor rgb green
plot file using 1:2 with linespoints linetype 2, \
     file using 1:3 with linespoints linetype 1, \
     file using 1:4 with linespoints linetype 3
