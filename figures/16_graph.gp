# A graph with fan-out: x is used twice, so two gradients come back to it, and they are added.
height = 400
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
