# The text's 29 tokens: the RMS of each hidden state, step by step, and of the copy that a norm makes of it. Token 11 is "a".
figure = "01_growth"; height = 420
load "figures/style.gp"
file = data."/01_growth.dat"
stats file using 2 nooutput name "SIZE"
set title "Hidden states grow from layer to layer; each layer reads a copy with RMS 1"
set ylabel "RMS of a hidden state"
set logscale y
set yrange [SIZE_min / 1.5:SIZE_max * 2]
set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1000" 1000)
set xrange [-0.25:10.4]
set xtics ("embedding" 0, "after layer 0" 2, "after layer 1" 4, "after layer 2" 6, "after layer 3" 8)
plot for [t = 1:28] file using 1:2 every :::t::t with lines linecolor rgb "#b8b8b8" linewidth 1, \
     file using 1:2 every :::11::11 with lines linecolor rgb black linewidth 1.5, \
     file using 1:2 every :::0::0 with lines linetype 2, \
     file using 1:3 every :::0::0 with linespoints linetype 1, \
     file using ($1 + 0.15):2:("<s>") every ::8:0:8:0 with labels left offset 0, -0.2 textcolor rgb vermillion, \
     file using ($1 + 0.15):2:("a") every ::8:11:8:11 with labels left offset 0, 0.5 textcolor rgb black, \
     file using ($1 + 0.15):2:("the other tokens") every ::8:1:8:1 with labels left textcolor rgb grey, \
     file using ($1 + 0.15):3:("their normalized copies") every ::8:0:8:0 with labels left textcolor rgb blue


# One layer: each half reads a normed copy of the stream, and adds to the stream.
figure = "01_copy"; height = 240
load "figures/style.gp"
eval sheet("Each half of a layer reads a normalized copy of the stream and adds to the stream")
set xrange [0:100]; set yrange [0:27.4286]
n = 0
box(x, y, w, text, colour) = sprintf( \
    "n = n + 1; set object n rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'", \
    x, y, x + w, y + 5, colour eq "" ? "#ffffff" : colour, colour eq "" ? grey : colour, text, x + w / 2., y + 2.5, colour eq "" ? black : "#ffffff")
set arrow from 3, 17 to 97, 17 linewidth 4 linecolor rgb orange size 1.5, 25 filled
set label "the residual stream" at 3, 20 left textcolor rgb "#a66f00"
array left[2] = [12, 55]
array part[2] = ["attention", "feed-forward"]
do for [i = 1:2] {
    x = left[i]
    set arrow from x, 17 to x, 5.5 nohead linewidth 1.5 linecolor rgb grey
    set arrow from x, 5.5 to x + 3, 5.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    eval box(x + 3, 3, 11, "norm", blue)
    set arrow from x + 14, 5.5 to x + 17, 5.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    eval box(x + 17, 3, 14, part[i], "")
    set arrow from x + 31, 5.5 to x + 34, 5.5 nohead linewidth 1.5 linecolor rgb grey
    set arrow from x + 34, 5.5 to x + 34, 15.3 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    set object 900 + i circle at x + 34, 17 size 1.4 front fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb orange linewidth 2
    set label "+" at x + 34, 17 center front font ",18"
    set label "a copy" at x + 1, 11.5 left textcolor rgb black font ",14"
}
plot NaN


# Which numbers share a mean: along the token in LayerNorm, along the feature in BatchNorm.
figure = "01_axis"; height = 320
load "figures/style.gp"
unset border; unset tics; unset grid
set xrange [-1.5:4.9]
set yrange [3.55:-1.1]
set style fill solid 1 border rgb "#ffffff"
set for [t = 0:2] label t + 1 sprintf("token %d", t) at -0.6, t right textcolor rgb black font ",14"
set for [i = 0:3] label i + 4 sprintf("feature %d", i) at i, -0.75 center textcolor rgb black font ",12"
file = data . "/01_axis.dat"
set multiplot layout 1, 2 margins 0.01, 0.99, 0.02, 0.78 spacing 0.03 \
    title "LayerNorm averages over the features of a token, BatchNorm over tokens" font ",18"
set label 10 "mean" at 4.25, -0.75 center textcolor rgb blue font ",14"
set title "LayerNorm" offset 0, -1.2 textcolor rgb blue
plot file index 0 using 2:1:(0.46):(0.42):($1 == 1 ? 0x9CC9E8 : 0xEEEEEE) with boxxyerror linecolor rgb variable, \
     file index 0 using 2:1:(gprintf("%g", $3)) with labels font ",20", \
     file index 1 using (4.25):1:(gprintf("%g", $3)) with labels font ",20" textcolor rgb blue
set label 10 "mean" at -0.6, 3 right textcolor rgb vermillion font ",14"
set title "BatchNorm" offset 0, -1.2 textcolor rgb vermillion
plot file index 0 using 2:1:(0.46):(0.42):($2 == 0 ? 0xF2B48A : 0xEEEEEE) with boxxyerror linecolor rgb variable, \
     file index 0 using 2:1:(gprintf("%g", $3)) with labels font ",20", \
     file index 2 using 2:1:(gprintf("%g", $3)) with labels font ",20" textcolor rgb vermillion
unset multiplot


# One synthetic token of 64 features, before and after.
figure = "01_token"; height = 400
load "figures/style.gp"
set yrange [-3:11]
set xrange [-1:64]
set xtics ("0" 0, "20" 20, "63" 63)
set style fill solid 1 noborder
set boxwidth 0.8
file = data . "/01_token.dat"
set multiplot layout 1, 4 margins 0.05, 0.99, 0.19, 0.78 spacing 0.025 \
    title "RMSNorm scales the token, LayerNorm also shifts it, DyT flattens its outlier" font ",18"
set xlabel "feature"
set title "x" offset 0, -0.3 font ",16"
plot file using 1:2 with boxes linecolor rgb grey
set format y ""
set title "RMSNorm"
plot file using 1:3 with boxes linecolor rgb blue
set title "LayerNorm"
plot file using 1:4 with boxes linecolor rgb green
set title "DyT"
plot file using 1:5 with boxes linecolor rgb vermillion
unset multiplot


# The size with which a row of a given size leaves RMSNorm, for the ways that epsilon is written.
figure = "01_epsilon"; height = 400
load "figures/style.gp"
set title "Only with ε under the root does a small vector stay small"
set logscale x
set xrange [1e-4:1]
set yrange [0:2.5]
set format x "10^{%L}"
set xlabel "RMS of a vector"
set ylabel "its RMS after RMSNorm"
set arrow 1 from sqrt(1e-5), 0 to sqrt(1e-5), 2.5 nohead linecolor rgb grey dashtype 2 linewidth 1.2
set label 1 "√ε, with ε = 10^{-5}" at 2.9e-3, 2.3 right textcolor rgb black
set label 2 "minus ε, and NaN left of the dashes" at 4.6e-3, 1.6 left textcolor rgb vermillion
set label 3 "ε under the root" at 3.8e-3, 0.6 left textcolor rgb blue
set label 4 "ε outside the root" at 1.1e-4, 0.78 left textcolor rgb green
plot data . "/01_epsilon.dat" using 1:2 with lines linetype 1, \
     "" using 1:4 with lines linetype 3, \
     "" using 1:3 with lines linetype 2


# LayerNorm's outputs over its inputs for four synthetic tokens of different RMS, and DyT's one curve.
figure = "01_dyt"; height = 440
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
