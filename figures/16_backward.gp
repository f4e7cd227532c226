# The loss of the example text as one weight changes, and the gradient: the slope at the current weight.
figure = "16_slope"; height = 380
load "figures/style.gp"
set title "The gradient is the slope of the loss at the current weight"
set xlabel "weight"
set ylabel "loss of the example text"
set key top left
file = data . "/16_slope.dat"
plot file using 1:2 with lines linetype 1 title "loss, computed for each value", \
     "" using 1:3 with lines linetype 2 dashtype 2 title "tangent, whose slope is the gradient", \
     "" every ::60::60 using 1:2 with points pointtype 7 pointsize 1.2 linecolor rgb black title "current weight"


# A graph with fan-out: x is used twice, so two gradients come back to it, and they are added.
figure = "16_graph"; height = 400
load "figures/style.gp"
eval sheet("x is used twice, so its gradient is the sum of what comes back along both paths")
name(text, x, y, size, colour) = sprintf("set label '%s' at %g,%g center front textcolor rgb '%s' font ',%d'", text, x, y, colour, size)
node(x, y, text, slope) = sprintf("set object %d rectangle from %g,%g to %g,%g front fillcolor rgb '#ffffff' fillstyle solid border linecolor rgb '%s' linewidth 1.5;", \
    int(100 + x), x, y - 34, x + 150, y + 34, grey) . name(text, x + 75, y + (slope eq "" ? 0 : 11), 17, black) . ";" . name(slope, x + 75, y - 14, 13, grey)
forward(x, y, to_x, to_y) = sprintf("set arrow from %g,%g to %g,%g front linewidth 2 linecolor rgb '%s' size 9, 25 filled", x, y, to_x, to_y, blue)
back(x, y, to_x, to_y) = sprintf("set arrow from %g,%g to %g,%g front linewidth 2 linecolor rgb '%s' size 9, 25 filled", x, y, to_x, to_y, vermillion)
eval node(50, 205, "x = 3", "")
eval node(320, 290, "a = 2 x = 6", "slope 2")
set object 421 rectangle from 321, 86 to 471, 154 front fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb grey linewidth 1.5
eval name("b = x + 1 = 4", 396, 131, 17, black)
eval name("slope 1", 396, 106, 13, grey)
eval node(600, 205, "loss = a b = 24", "slopes: b = 4 and a = 6")
eval forward(203, 232, 316, 291)
eval forward(203, 190, 317, 137)
eval forward(474, 305, 596, 240)
eval forward(475, 119, 596, 184)
eval back(316, 267, 203, 209)
eval back(317, 110, 203, 167)
eval back(596, 214, 474, 277)
eval back(596, 160, 475, 95)
eval name("6", 545, 288, 16, blue)
eval name("4", 519, 167, 16, blue)
eval name("3", 250, 278, 16, blue)
eval name("3", 271, 173, 16, blue)
eval name("1 · 4 = 4", 520, 222, 15, vermillion)
eval name("1 · 6 = 6", 562, 108, 15, vermillion)
eval name("4 · 2 = 8", 282, 228, 15, vermillion)
eval name("6 · 1 = 6", 236, 116, 15, vermillion)
eval name("gradient 8 + 6 = 14", 125, 150, 16, vermillion)
set arrow from 860, 205 to 755, 205 front linewidth 2 linecolor rgb vermillion size 9, 25 filled
eval name("1", 812, 222, 16, vermillion)
set label "forward: values" at 50, 345 left front textcolor rgb blue
set label "backward: the gradient of the output, times the slope" at 50, 40 left front textcolor rgb vermillion
plot NaN


# The gradient of the loss for the answer Mia, with respect to every hidden state at every stage of the residual stream.
figure = "16_rows"; height = 460
load "figures/style.gp"
set title "Hidden states that decide the answer: from the last token back to those it attends to"
unset border; unset grid; unset key
set tics scale 0
set xrange [-0.5:28.5]
set yrange [-0.5:8.5]
set ytics ("embedding" 0, "layer 0 attention" 1, "layer 0 feed-forward" 2, "layer 1 attention" 3, "layer 1 feed-forward" 4, \
    "layer 2 attention" 5, "layer 2 feed-forward" 6, "layer 3 attention" 7, "layer 3 feed-forward" 8) font ",14"
set lmargin 18
set xtics rotate by 60 right font ",14"
set palette defined (0 "#ffffff", 0.35 "#f6c9a0", 1 "#D55E00")
set cblabel "largest change of the loss for a change of 1 %"
set style fill solid border linecolor rgb "#ffffff"
set bmargin 3.5
file = data . "/16_rows.dat"
token(n) = stringcolumn(n) eq "\n" ? "↵" : stringcolumn(n)
plot file using 2:1:(0.48):(0.48):3 with boxxyerror linewidth 1 fillcolor palette, \
     file every :::0::0 using 2:(-0.5):xticlabels(token(4)) with points pointtype 0 linecolor rgb "#ffffff"


# The error of finite differences against the step h: a large step errs by the curvature, a small one by rounding.
figure = "16_error"; height = 420
load "figures/style.gp"
set title "Finite differences: a large step errs by the curvature, a small one by rounding"
set logscale xy
set xrange [2.5e-6:4]
set yrange [5e-7:1]
set mxtics 1
set mytics 1
set format x "10^{%L}"
set format y "10^{%L}"
set xlabel "step h"
set ylabel "relative error of the gradient"
set key bottom left
set label "rounding" at 2.5e-5, 0.15 center textcolor rgb black
set label "curvature" at 0.12, 4e-4 center textcolor rgb black
file = data . "/16_error.dat"
plot file using 1:2 with linespoints linetype 2 title "(f(x + h) − f(x)) / h", \
     "" using 1:3 with linespoints linetype 1 title "(f(x + h) − f(x − h)) / 2h"


# The loss of the example text along the negative gradient: the prediction holds for small steps only.
figure = "16_step"; height = 380
load "figures/style.gp"
set title "Along the negative gradient, the prediction holds for small steps"
set xlabel "learning rate"
set ylabel "loss of the example text"
set yrange [0:*]
set key bottom left
file = data . "/16_step.dat"
plot file using 1:2 with lines linetype 1 title "loss after the step", \
     "" using 1:3 with lines linetype 2 dashtype 2 title "predicted loss"
