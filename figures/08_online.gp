# The last query of the sentence reads its keys, four a tile: the scores with the largest so far; and under them the sum l.
height = 640
load "figures/style.gp"

file = data."/08_online.dat"
stats file index 0 using 2 nooutput name "SCORE" # the largest score, and the least
stats file index 1 using 6 nooutput name "SUM"   # the largest sum
span = SCORE_max - SCORE_min
set multiplot layout 2, 1 margins 0.105, 0.98, 0.15, 0.9 spacing 0, 0.05 \
    title "When a tile brings a larger score, the sums so far are scaled down" font ",18"
set xrange [-0.7:28.7]
unset key
do for [i = 0:3] { set object i + 1 rectangle from 8 * i - 0.5, graph 0 to 8 * i + 3.5, graph 1 fillcolor rgb "#f4f4f4" fillstyle solid noborder behind }
left(x) = x - 0.5

set xtics 4 format ""
set xtics scale 0
set yrange [SCORE_min - 0.08 * span:SCORE_max + 0.14 * span]
set ylabel "score" offset 1
set label 1 "m, the largest so far" at 28.4, SCORE_max + 0.07 * span right textcolor rgb blue
set label 2 "the score of each key" at 28.4, SCORE_max - 0.3 * span right textcolor rgb grey
plot file index 1 using (left($1)):3:($2):(0) with vectors nohead linetype 1, \
     file index 0 using 1:2 with points pointtype 7 pointsize 0.6 linecolor rgb grey, \
     file index 0 using 1:($0 == SCORE_index_max ? $2 + 0.07 * span : NaN):3 with labels textcolor rgb black

set xtics rotate by 60 right format "%s" font ",14"
set yrange [0:1.35 * SUM_max]
set ylabel "l, the sum so far" offset 1
set style fill solid noborder
set label 1 "kept" at 14, 1.17 * SUM_max left textcolor rgb grey
set label 2 "this tile's" at 17, 1.17 * SUM_max left textcolor rgb grey
set object 5 rectangle center 13.5, 1.17 * SUM_max size 0.5, 0.08 * SUM_max fillcolor rgb blue fillstyle solid noborder front
set object 6 rectangle center 16.5, 1.17 * SUM_max size 0.5, 0.08 * SUM_max fillcolor rgb sky fillstyle solid noborder front
plot file index 1 using (left($1) + $2 / 2.):($5 / 2):($2 / 2. - 0.25):($5 / 2) with boxxyerror linecolor rgb blue, \
     file index 1 using (left($1) + $2 / 2.):(($5 + $6) / 2):($2 / 2. - 0.25):(($6 - $5) / 2) with boxxyerror linecolor rgb sky, \
     file index 1 using (left($1) + 0.25):($4 > $5 + 0.1 ? $4 : NaN):($2 - 0.5):(0) with vectors nohead linecolor rgb vermillion linewidth 2 dashtype 2, \
     file index 1 using (left($1) + $2 / 2.):($4 > $5 + 0.1 ? ($4 > $6 ? $4 : $6) + 0.2 * SUM_max : NaN):(sprintf("%.2f rescaled\nto %.2f", $4, $5)) \
         with labels textcolor rgb vermillion, \
     file index 0 using 1:(NaN):xtic(3) with points
unset multiplot
