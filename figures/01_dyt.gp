# LayerNorm's inputs and outputs for 40 synthetic tokens of different sizes, and the tanh that fits them best.
height = 480
load "figures/style.gp"
set title "LayerNorm is a straight line for each token; together the lines bend like a tanh"
set xlabel "input, one feature of a token"
set ylabel "output"
set palette defined (0 sky, 1 blue, 2 "#002a44")
set cbrange [-1.2:1.2]
unset colorbox
set label 1 "light: small tokens, steep lines" at -7.8, 2.8 left textcolor rgb sky
set label 2 "dark: large tokens, flat lines" at -7.8, 2.4 left textcolor rgb "#002a44"
set label 3 "DyT: one curve for all" at 7.8, -1.2 right textcolor rgb vermillion font ",18"
file = data . "/01_dyt_lines.dat"
array size[40] # a token's line has the slope 1 / size
do for [t = 1:40] {
    stats file using ($1 / $2) every :::(t-1)::(t-1) name "slope" nooutput
    size[t] = log(slope_median)
}
set xrange [-8:8]
set yrange [-3.2:3.2]
plot for [t = 1:40] file using 1:2 every :::t-1::t-1 with lines linewidth 1.2 linecolor palette cb size[t], \
     data . "/01_dyt_curve.dat" using 1:2 with lines linecolor rgb vermillion linewidth 3.5
