# The feed-forward layer of 2017 and that of a Llama: one hidden state goes through, and keeps its width.
height = 440
load "figures/style.gp"
eval sheet("The original feed-forward layer has two matrices; a Llama has three, and multiplies")
set xrange [0:100]; set yrange [0:52.8]
n = 0
# A row of numbers, w wide; and an arrow with what is done to it.
row(x, y, w, text, colour) = sprintf( \
    'n = n + 1; set object n rectangle from %g,%g to %g,%g fillcolor rgb "%s" fillstyle solid border linecolor rgb "%s"; set label "%s" at %g,%g center front textcolor rgb "#ffffff" font ",15"', \
    x - w / 2., y, x + w / 2., y + 4, colour, colour, text, x, y + 2)
down(x0, y0, x1, y1, text, where) = sprintf( \
    "set arrow from %g,%g to %g,%g linewidth 1.5 linecolor rgb grey size 1, 25 filled; set label '%s' at %g,%g %s front textcolor rgb black font ',15'", \
    x0, y0, x1, y1, text, (x0 + x1) / 2. + (where eq "left" ? 1 : -1), (y0 + y1) / 2., where)
set label 1000 "original, 2017: one matrix to F units, one back" at 22, 46 center font ",17"
eval row(22, 38, 16, "C features", grey)
eval down(22, 38, 22, 32, "× W_1ᵀ", "left")
eval row(22, 27, 38, "F hidden units", blue)
eval down(22, 27, 22, 21, "ReLU", "left")
eval row(22, 16, 38, "F hidden units, none below 0", blue)
eval down(22, 16, 22, 10, "× W_2ᵀ", "left")
eval row(22, 5, 16, "C features", grey)
set label 1001 "Llama, SwiGLU: two matrices to F units, one back" at 72, 46 center font ",17"
eval row(72, 38, 16, "C features", grey)
eval down(68, 38, 59, 32, "", "left")
set label 1002 "× W_{gate}ᵀ" at 54.5, 35.5 left front textcolor rgb black font ",15"
eval down(76, 38, 85, 32, "  × W_{up}ᵀ", "left")
eval row(58, 27, 25, "F values of gate", vermillion)
eval row(86, 27, 25, "F values of up", blue)
eval down(59, 27, 68, 21, "SiLU  ", "right")
eval down(85, 27, 76, 21, "", "left")
eval row(72, 16, 25, "SiLU(gate) · up", purple)
eval down(72, 16, 72, 10, "× W_{down}ᵀ", "left")
eval row(72, 5, 16, "C features", grey)
plot NaN
