# Bytes per token in the KV cache of all layers, for the published models.
height = 470
load "figures/style.gp"

set title "With grouped queries, 405B stores less per token than 7B without"
set xlabel "KiB of keys and values per token, in bf16"
set xrange [0:2900]
set yrange [9.7:-0.7]
set xtics 512
set ytics scale 0
set border 1
set grid noytics
set lmargin 18
set style fill solid
set label "each query head has its own keys and values" at 1080, 0.5 left textcolor rgb blue
set label "3 to 16 query heads share one" at 1080, 6 left textcolor rgb vermillion
set arrow from 512, -0.6 to 512, 9.7 nohead linecolor rgb black linewidth 0.8 dashtype 2 front
file = data."/07_cache.dat"
plot file using (0):0:(0):($2 == 1 ? $1 : NaN):($0 - 0.34):($0 + 0.34):ytic(3) with boxxyerror linecolor rgb blue, \
     file using (0):0:(0):($2 > 1 ? $1 : NaN):($0 - 0.34):($0 + 0.34) with boxxyerror linecolor rgb vermillion, \
     file using ($1 + 20):0:(sprintf("%g", $1)) with labels left textcolor rgb black
