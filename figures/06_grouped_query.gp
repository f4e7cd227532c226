# Which key/value head each of 6 query heads reads, as the kernel does it.
figure = "06_sharing"; height = 345
load "figures/style.gp"

set title font ",16"
set multiplot layout 1, 3 margins 0.185, 0.985, 0.22, 0.70 spacing 0.03 \
    title "Query heads keep their own queries and share keys and values" font ",18"
unset tics
unset border
unset grid
set xrange [-0.6:5.6]
set yrange [-0.4:1.4]
array heads[3] = [6, 2, 1]
array name[3] = ["MHA: each its own", "GQA: neighbours share", "MQA: all share one"]
array who[3] = ["Llama 1, Llama 2 7B and 13B", "the course's model: 3 share one\nLlama 3 8B: 4,  Llama 2 70B: 8\nLlama 3.1 405B: 16", "no Llama"]
first(n, h) = int(h) % (6 / heads[n]) == 0 # of its group
place(n, g) = (g + 0.5) * 6.0 / heads[n] - 0.5 # below the middle of its group
set label 1 "query heads" at -0.8, 1 right textcolor rgb blue
set label 2 "key/value heads" at -0.8, 0 right textcolor rgb vermillion
file = data."/06_sharing.dat"
do for [n = 1:3] {
    set title name[n]
    set label 3 who[n] at 2.5, -0.6 center textcolor rgb grey font ",14"
    plot file using 1:(1):(place(n, column(n + 1)) - $1):(-1) with vectors nohead linecolor rgb grey linewidth 1.4, \
         file using 1:(1) with points pointtype 7 pointsize 1.9 linecolor rgb blue, \
         file using 1:(1):(sprintf("%d", $1)) with labels textcolor rgb "#ffffff" font ",12", \
         file using (first(n, $1) ? place(n, column(n + 1)) : NaN):(0) \
             with points pointtype 5 pointsize 1.9 linecolor rgb vermillion, \
         file using (first(n, $1) ? place(n, column(n + 1)) : NaN):(0):(sprintf("%d", column(n + 1))) \
             with labels textcolor rgb "#ffffff" font ",12"
    unset label 1
    unset label 2
}
unset multiplot


# Two ways to assign 8 key/value heads to 32 query heads, as strips: each square is a query head, its number the head that it reads.
figure = "06_wrong"; height = 270
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
