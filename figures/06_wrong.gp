# Two ways to hand 8 key/value heads to 32 query heads, as strips: each square is a query head, its number the head that it reads.
height = 250
load "figures/style.gp"

file = data."/06_wrong.dat"
stats file using ($2 != $3) nooutput
set title sprintf("Handed out in turn, %.0f of %.0f query heads read the wrong head", STATS_sum, STATS_records)
set xlabel "query head of Llama 3 8B" offset 0, -0.2
set xrange [-0.7:31.7]
set yrange [2.05:0.15]
set lmargin 19
set xtics 0, 4, 28 add ("31" 31) scale 0
set ytics ("right: h / (H / KV)" 0.6, "in turn: h %% KV" 1.5) scale 0
set border 0
unset grid
set style fill solid 1 border rgb "#ffffff"
shade(right, g) = !right ? 0xF7D9C4 : int(g) % 2 ? 0xA9CFEA : 0xCFE3F2 # groups are told apart
set label 1 "a number is the key/value head that is read; framed: the right one, by luck" at 16, 2.02 center textcolor rgb black font ",14"
plot file using 1:(0.6):(0.47):(0.3):(shade(1, $2)) with boxxyerror linecolor rgb variable, \
     file using 1:(1.5):(0.47):(0.3):(shade($2 == $3, $3)) with boxxyerror linecolor rgb variable, \
     file using 1:(0.6):(sprintf("%d", $2)) with labels font ",14", \
     file using 1:(1.5):(sprintf("%d", $3)) with labels font ",14", \
     file using ($2 == $3 ? $1 : NaN):(1.5):(0.47):(0.3) with boxxyerror linecolor rgb black linewidth 2 fillstyle empty border rgb black
