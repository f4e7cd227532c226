# The weights of a matrix as a histogram, and the values that 4 bits can have for them.
figure = "13_levels"; height = 460
load "figures/style.gp"
file = data."/13_levels.dat"
stats file index 0 using 2 nooutput; highest = STATS_max
stats file index 1 using (abs($1)) nooutput; farthest = STATS_max # of the levels
set label "Sixteen values for a whole matrix are far apart; for 32 of its weights they are close" at screen 0.5, screen 0.92 center font ",18" textcolor rgb black
set xlabel "weight of down\\_proj in layer 3"
set ylabel "percentage of the weights"
set xrange [-1.03 * farthest:1.03 * farthest]
set yrange [0:1.8 * highest]
set ytics 0, 2, highest
set style fill solid
set rmargin 24; set tmargin 3.4
set label "one scale per tensor" at graph 1.01, first 1.72 * highest left textcolor rgb vermillion
set label "one scale per block" at graph 1.01, first 1.55 * highest left textcolor rgb blue
set label "the block's 32 weights" at graph 1.01, first 1.38 * highest left textcolor rgb black
plot file index 0 using 1:2:(0.009) with boxes linecolor rgb "#cfcfcf", \
     file index 1 using 1:(1.69 * highest):(0):(0.07 * highest) with vectors nohead linetype 2, \
     file index 2 using 1:(1.52 * highest):(0):(0.07 * highest) with vectors nohead linetype 1, \
     file index 3 using 1:(1.35 * highest):(0):(0.07 * highest) with vectors nohead linecolor rgb black linewidth 1


# A block of Q4_0, of Q8_0 and of Q5_0, byte by byte.
figure = "13_block"; height = 330
load "figures/style.gp"
set title "The bytes of a block: 32 numbers and their scale d"
unset border
unset tics
unset grid
unset xlabel
set xrange [-3.2:34.4]
set yrange [-0.8:7.0]
set style textbox opaque noborder
box(n, x, y, w, h, c) = sprintf("set object %d rectangle from %g, %g to %g, %g fillcolor rgb '%s' fillstyle solid 0.25 border linecolor rgb '%s'", n, x, y, x + w, y + h, c, c)
n = 1
# Q8_0
eval box(n, 0, 5.2, 2, 1.4, vermillion); n = n + 1
do for [j = 0:31] { eval box(n, 2 + j, 5.2, 1, 1.4, blue); n = n + 1 }
set label "Q8\\_0" at -0.4, 5.9 right
set label "d" at 1, 5.9 center
do for [j = 0:31] { set label sprintf("%d", j) at 2.5 + j, 5.9 center font ",12" }
# Q5_0
eval box(n, 0, 2.6, 2, 1.4, vermillion); n = n + 1
eval box(n, 2, 2.6, 4, 1.4, green); n = n + 1
do for [j = 0:15] { eval box(n, 6 + j, 3.3, 1, 0.7, sky); n = n + 1; eval box(n, 6 + j, 2.6, 1, 0.7, blue); n = n + 1 }
set label "Q5\\_0" at -0.4, 3.3 right
set label "d" at 1, 3.3 center
set label "fifth bits" at 4, 3.3 center font ",13"
do for [j = 0:15] { set label sprintf("%d", j + 16) at 6.5 + j, 3.65 center font ",12"; set label sprintf("%d", j) at 6.5 + j, 2.95 center font ",12" }
# Q4_0
eval box(n, 0, 0, 2, 1.4, vermillion); n = n + 1
do for [j = 0:15] { eval box(n, 2 + j, 0.7, 1, 0.7, sky); n = n + 1; eval box(n, 2 + j, 0, 1, 0.7, blue); n = n + 1 }
set label "Q4\\_0" at -0.4, 0.7 right
set label "d" at 1, 0.7 center
do for [j = 0:15] { set label sprintf("%d", j + 16) at 2.5 + j, 1.05 center font ",12"; set label sprintf("%d", j) at 2.5 + j, 0.35 center font ",12" }
set label "34 bytes: 8.5 bits per number" at 34, 4.8 right textcolor rgb grey
set label "22 bytes: 5.5 bits" at 22.4, 3.3 left textcolor rgb grey
set label "18 bytes: 4.5 bits" at 18.4, 0.7 left textcolor rgb grey
set label "each blue column is a byte; where two numbers share a byte, the upper one has the high half" at 0, -0.75 left textcolor rgb grey
plot NaN


# The error of the weights of one matrix, by the bits per weight.
figure = "13_error"; height = 440
load "figures/style.gp"
file = data."/13_error.dat"

# The names are at the ends of their curves, at 8 bits.
array height_at[3]
do for [i = 1:3] { stats file index (i - 1) using 2 every ::6::6 nooutput; height_at[i] = 1.06 * STATS_max }

set title "The finer the granularity, the smaller the error; each bit soon halves it"
set xlabel "bits per weight, with its part of the scale"
set ylabel "error of the weights of down\\_proj"
set logscale y 2
set xrange [1.8:10.6]
set xtics 2, 1, 8
set yrange [0.3:128]
set ytics ("0.5 %%" 0.5, "1 %%" 1, "2 %%" 2, "4 %%" 4, "8 %%" 8, "16 %%" 16, "32 %%" 32, "64 %%" 64)
set label "per tensor" at 8.15, height_at[3] left textcolor linetype 2
set label "per row (channel)" at 8.15, height_at[2] left textcolor linetype 3
set label "per group of 32" at 8.65, height_at[1] left textcolor linetype 1
plot file index 2 using 1:2 with linespoints linetype 2, \
     file index 1 using 1:2 with linespoints linetype 3, \
     file index 0 using 1:2 with linespoints linetype 1, \
     file index 3 using 1:2 with points pointtype 6 pointsize 1.1 linecolor rgb black linewidth 1.5, \
     file index 3 using (strcol(3)[4:] eq "0" ? $1 - 0.06 : NaN):($2 / 1.35):(strcol(3)) with labels right noenhanced textcolor rgb black, \
     file index 3 using (strcol(3)[4:] eq "1" ? $1 + 0.1 : NaN):($2 * 1.22):(strcol(3)) with labels left noenhanced textcolor rgb black


# The activations of the last token, as down_proj receives them, and half a step of 8 bits for each granularity: a number that is
# smaller becomes 0.
figure = "13_outliers"; height = 500
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


# The committed run: how far the trained model's probabilities move, and how many questions it answers, by bits.
figure = "13_answers"; height = 460
load "figures/style.gp"
rows = "< sed -n '/^== Who shares/,$p' tests/studies/quantized.txt | grep '^  [2-8] '"
set xlabel "bits per quantized value"
set xrange [1.8:8.2]
set xtics 2, 1, 8
set multiplot layout 1, 2 title "Down to 4 bits the answers hold; below that the granularity decides" font ",18"
set ylabel "KL divergence to BF16"
set logscale y
set yrange [3e-6:20]
set format y "10^{%T}"
set ytics 1e-5, 10, 10
set mytics 1
set key off
set label 1 "per tensor" at 3.6, 6 left textcolor linetype 2
set label 2 "per row" at 3.6, 2 left textcolor linetype 3
set label 3 "per group of 32" at 3.6, 0.7 left textcolor linetype 1
plot rows using 1:4 with linespoints linetype 2, \
     rows using 1:3 with linespoints linetype 3, \
     rows using 1:2 with linespoints linetype 1
unset logscale y
set format y "%g %%"
set ylabel "questions answered correctly"
set yrange [0:100]
set ytics 0, 20, 100
unset label
plot rows using 1:9 with linespoints linetype 2, \
     rows using 1:7 with linespoints linetype 3, \
     rows using 1:5 with linespoints linetype 1
unset multiplot
