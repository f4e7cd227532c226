# Two ways to hand 8 key/value heads to 32 query heads, as strips: each square is a query head, its number the head that it reads.
height = 250
load "figures/style.gp"

file = data."/06_wrong.dat"
stats file using ($2 != $3) nooutput
set title sprintf("Handed out in turn, %.0f of %.0f query heads read the wrong head", STATS_sum, STATS_records)
set xlabel "query head of Llama 3 8B" offset 0, -0.2
set xrange [-0.7:31.7]
set yrange [2.05:0.15]
set lmargin 17
set xtics 0, 4, 28 add ("31" 31) scale 0
set ytics ("h / (H / KV)" 0.6, "h %% KV" 1.5) scale 0
set border 0
unset grid
set style fill solid 1 border rgb "#ffffff"
array colour[8] = [0xCFE3F2, 0xF7D9C4, 0xCDEBDF, 0xF3DDE9, 0xFAE7BF, 0xD6EEFB, 0xDDDDDD, 0xF2EFC7]
shade(g) = colour[int(g) + 1]
set label 1 "framed: the right head, by luck" at 16, 2.02 center textcolor rgb black font ",14"
plot file using 1:(0.6):(0.47):(0.3):(shade($2)) with boxxyerror linecolor rgb variable, \
     file using 1:(1.5):(0.47):(0.3):(shade($3)) with boxxyerror linecolor rgb variable, \
     file using 1:(0.6):(sprintf("%d", $2)) with labels font ",14", \
     file using 1:(1.5):(sprintf("%d", $3)) with labels font ",14", \
     file using ($2 == $3 ? $1 : NaN):(1.5):(0.47):(0.3) with boxxyerror fillstyle empty border linecolor rgb black linewidth 2
