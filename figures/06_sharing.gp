# Which key/value head each of 8 query heads reads, as the kernel does it.
height = 330
load "figures/style.gp"

set title font ",16"
set multiplot layout 1, 3 margins 0.185, 0.99, 0.17, 0.70 spacing 0.03 \
    title "The query heads stay, their keys and values are shared" font ",18"
unset tics
unset border
unset grid
set xrange [-0.6:7.6]
set yrange [-0.4:1.4]
array heads[3] = [8, 2, 1]
array name[3] = ["MHA: each its own", "GQA: four share one", "MQA: all share one"]
array who[3] = ["Llama 1, Llama 2 to 13B", "Llama 2 70B, Llama 3", "no Llama"]
first(n, h) = int(h) % (8 / heads[n]) == 0 # of its group
place(n, g) = (g + 0.5) * 8.0 / heads[n] - 0.5 # below the middle of its group
set label 1 "query heads" at -0.9, 1 right textcolor rgb blue
set label 2 "key/value heads" at -0.9, 0 right textcolor rgb vermillion
file = data."/06_sharing.dat"
do for [n = 1:3] {
    set title name[n]
    set label 3 who[n] at 3.5, -0.65 center textcolor rgb grey
    plot file using 1:(1):(place(n, column(n + 1)) - $1):(-1) with vectors nohead linecolor rgb grey linewidth 1.4, \
         file using 1:(1) with points pointtype 7 pointsize 1.75 linecolor rgb blue, \
         file using 1:(1):(sprintf("%d", $1)) with labels textcolor rgb "#ffffff" font ",12", \
         file using (first(n, $1) ? place(n, column(n + 1)) : NaN):(0) \
             with points pointtype 5 pointsize 1.75 linecolor rgb vermillion, \
         file using (first(n, $1) ? place(n, column(n + 1)) : NaN):(0):(sprintf("%d", column(n + 1))) \
             with labels textcolor rgb "#ffffff" font ",12"
    unset label 1
    unset label 2
}
unset multiplot
