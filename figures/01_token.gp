# One synthetic token of 64 features, before and after.
height = 400
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
