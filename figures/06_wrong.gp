# Two ways to hand 8 key/value heads to 32 query heads.
height = 420
load "figures/style.gp"

file = data."/06_wrong.dat"
stats file using ($2 != $3) nooutput
set title sprintf("Handed out in turn, %.0f of %.0f query heads read the wrong head", STATS_sum, STATS_records)
set xlabel "query head h of Llama 3 8B"
set ylabel "key/value head"
set xrange [-0.8:31.8]
set yrange [-0.5:9.2]
set xtics 0, 4, 28 add ("31" 31)
set ytics 0, 1, 7
set label "neighbours share: h / (H / KV)" at 0.5, 8.5 textcolor rgb blue point linetype 1 pointtype 7 pointsize 0.9 offset 1, 0
set label "in turn: h % KV" at 14, 8.5 textcolor rgb vermillion point linetype 2 pointtype 4 pointsize 0.9 offset 1, 0
set label "the same, by luck" at 22, 8.5 textcolor rgb black point pointtype 6 pointsize 2 linewidth 1.5 linecolor rgb black offset 1.5, 0
plot for [lap = 0:3] file using 1:3 every ::(8 * lap)::(8 * lap + 7) with lines linetype 2 linewidth 1, \
     file using 1:3 with points linetype 2 pointtype 4 pointsize 0.9, \
     file using 1:2 with points linetype 1 pointtype 7 pointsize 0.9, \
     file using 1:($2 == $3 ? $2 : NaN) with points pointtype 6 pointsize 2 linewidth 1.5 linecolor rgb black
