# LayerNorm's outputs over its inputs for four synthetic tokens of different RMS, and DyT's one curve.
height = 440
load "figures/style.gp"
set title "LayerNorm has a line of its own for each token; DyT has one curve for all"
set xlabel "input, one feature of a token"
set ylabel "output"
file = data . "/01_dyt_lines.dat"
array colour[4] = [sky, blue, "#004d78", "#002a44"]
array size[4]
do for [t = 1:4] {
    stats file using 3 index t - 1 name "token" nooutput
    size[t] = token_median
}
set label 1 sprintf("RMS %.1f", size[1]) at 0.6, 2.05 right textcolor rgb colour[1]
set label 2 sprintf("RMS %.1f", size[2]) at 2.1, 2.5 center textcolor rgb colour[2]
set label 3 sprintf("RMS %.1f", size[3]) at 5.5, 3.05 center textcolor rgb colour[3]
set label 4 sprintf("RMS %.1f", size[4]) at 7.1, 2.25 center textcolor rgb colour[4]
set label 5 "LayerNorm: four tokens of different RMS," at -7.8, 2.9 left textcolor rgb blue
set label 6 "64 features each" at -7.8, 2.5 left textcolor rgb blue
set label 7 "DyT: the same curve for every token" at 7.9, 0.4 right textcolor rgb vermillion
set xrange [-8:8]
set yrange [-3.2:3.4]
plot for [t = 1:4] file using 1:2 index t - 1 with points pointtype 7 pointsize 0.5 linecolor rgb colour[t], \
     data . "/01_dyt_curve.dat" using 1:2 with lines linecolor rgb vermillion linewidth 3.5
