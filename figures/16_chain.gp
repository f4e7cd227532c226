# The chain rule: forward values run to the right, gradients to the left, and each step multiplies by its own slope.
height = 260
load "figures/style.gp"
eval sheet("Values run forward, gradients back")
set xrange [0:100]; set yrange [0:29.3913]
array name[3] = ["times 2", "squared", "minus 31"]
array there[4] = ["x = 3", "6", "36", "loss = 5"]
array comes[4] = ["2 · 12 = 24", "12 · 1 = 12", "1", "1"]
array slope[3] = ["slope 2", "slope 2 · 6 = 12", "slope 1"]
do for [i = 1:3] {
    x = 17 + (i - 1) * 27
    set object i rectangle from x, 9 to x + 14, 17 fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb grey linewidth 1.5
    set label name[i] at x + 7, 14.6 center font ",16"
    set label slope[i] at x + 7, 11.2 center font ",13" textcolor rgb "#666666"
}
do for [i = 1:4] {
    x = 4 + (i - 1) * 27
    set arrow from x - (i == 1 ? 2 : 0), 15.5 to x + (i == 4 ? 9 : 12.6), 15.5 linewidth 2 linecolor rgb blue size 1, 25 filled
    set arrow from x + (i == 4 ? 9 : 12.6), 10.5 to x - (i == 1 ? 2 : 0), 10.5 linewidth 2 linecolor rgb vermillion size 1, 25 filled
    set label there[i] at x + 5.5, 18.5 center textcolor rgb blue font ",16"
    set label comes[i] at x + 5.5, 7 center textcolor rgb vermillion font ",16"
}
set label "forward: the values" at 2, 23.5 left textcolor rgb blue
set label "backward: what comes in from above, times the slope that is here" at 98, 2.5 right textcolor rgb vermillion
plot NaN
