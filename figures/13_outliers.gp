# The activations of the last token, as down_proj receives them, and half a step of 8 bits for each granularity: a number that is
# smaller becomes 0.
height = 500
load "figures/style.gp"
file = data."/13_outliers.dat"
count(column) = system(sprintf("awk '$1 + 0 == $1 && $2 < $%d { n++ } END { printf \"%%d\", n }' %s", column, file))
step(column) = real(system(sprintf("awk '$1 == 0 { print $%d }' %s", column, file)))
stats file using 2 nooutput; largest = STATS_max
set label "An outlier of another token turns most activations into zeros; groups of 32 keep them" \
    at screen 0.5, screen 0.93 center font ",18" textcolor rgb black
set tmargin 3.6
set xlabel "feature: the 512 activations of the last token, “:”, before down\\_proj"
set ylabel "magnitude"
set logscale y
set xrange [0:511]
set yrange [1e-3:1.6 * largest]
set format y "%g"
set xtics (0, 128, 256, 384, 511)
set rmargin 24
set label "below: 0 with one scale\nper tensor (".count(3)." of 512)" at graph 1.01, first 1.25 * step(3) left textcolor rgb vermillion
set label "per token (".count(4).")" at graph 1.01, first step(4) left textcolor rgb green
set label "per group of 32 (".count(5).")" at graph 1.01, first 0.25 * step(4) left textcolor rgb blue
plot file using 1:2 with points pointtype 7 pointsize 0.4 linecolor rgb "#808080", \
     file using 1:3 with lines linetype 2 linewidth 2, \
     file using 1:4 with lines linetype 3 linewidth 2, \
     file using 1:5 with steps linetype 1 linewidth 2
