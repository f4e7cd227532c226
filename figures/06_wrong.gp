# Two ways to assign 8 key/value heads to 32 query heads, as strips: each square is a query head, its number the head that it reads.
height = 270
load "figures/style.gp"

file = data."/06_wrong.dat"
stats file using ($2 != $3) nooutput
set title sprintf("With h %% KV, %.0f of %.0f query heads read the wrong key/value head", STATS_sum, STATS_records)
set xrange [-0.7:31.7]
set yrange [2.5:-0.4]
set lmargin 19
set bmargin 1
unset xtics
set ytics ("query head h" 0, "right: h / (H / KV)" 0.75, "wrong: h %% KV" 1.5) scale 0
set border 0
unset grid
set style fill solid 1 border rgb "#ffffff"
shade(right, g) = !right ? 0xF7D9C4 : int(g) % 2 ? 0xA9CFEA : 0xCFE3F2 # groups are told apart
set label 1 "In a square: the key/value head that is read. Framed: right by luck." at 15.5, 2.15 center textcolor rgb black font ",14"
plot file using 1:(0.75):(0.47):(0.3):(shade(1, $2)) with boxxyerror linecolor rgb variable, \
     file using 1:(1.5):(0.47):(0.3):(shade($2 == $3, $3)) with boxxyerror linecolor rgb variable, \
     file using 1:(0):(sprintf("%d", $1)) with labels textcolor rgb grey font ",13", \
     file using 1:(0.75):(sprintf("%d", $2)) with labels font ",14", \
     file using 1:(1.5):(sprintf("%d", $3)) with labels font ",14", \
     file using ($2 == $3 ? $1 : NaN):(1.5):(0.47):(0.3) with boxxyerror linecolor rgb black linewidth 2 fillstyle empty border rgb black
