# Which numbers share a mean: along the token in LayerNorm, along the feature in BatchNorm.
height = 320
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
