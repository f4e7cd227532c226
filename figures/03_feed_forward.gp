# Where the weights of each Llama are.
figure = "03_share"; height = 460
load "figures/style.gp"

set title "Most weights of a Llama are in its feed-forward layers"
set xrange [0:100]
set yrange [9.7:-0.7]
set xtics format "%g %%" 0, 25, 100
set ytics scale 0
set border 1
set grid noytics
set lmargin 18
set style fill solid
set boxwidth 0.7
file = data."/03_llamas.dat"
share(part) = 100.0 * part / (column(3) + column(4) + column(5))
set label "feed-forward" at 2, 0 front textcolor rgb "#ffffff"
set label "attention" at 80, 0 center front textcolor rgb black
set label "embeddings" at 89, 8 center front textcolor rgb black
plot file using (50):0:(0):(100):($0 - 0.35):($0 + 0.35):ytic(6) with boxxyerror linecolor rgb faint, \
     file using (50):0:(0):(share($3 + $4)):($0 - 0.35):($0 + 0.35) with boxxyerror linecolor rgb sky, \
     file using (50):0:(0):(share($3)):($0 - 0.35):($0 + 0.35) with boxxyerror linecolor rgb blue, \
     file using (share($3) - 1):0:(sprintf("%.0f %%", share($3))) with labels right textcolor rgb "#ffffff"


# The feed-forward layer of 2017 and that of a Llama: one hidden state goes through, and keeps its width.
figure = "03_layer"; height = 440
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


# SwiGLU over the gate, for two values of up.
figure = "03_gates"; height = 400
load "figures/style.gp"
file = data . "/03_gates.dat"
set title "A gate far below 0 lets next to nothing of up through; a gate above 0 multiplies up"
set xlabel "gate"; set ylabel "SiLU(gate) · up"
set xrange [-6:4.6]; set xtics 1; set xzeroaxis linecolor rgb grey
set yrange [-8.5:8.5]; set ytics 4
set arrow from 0, -8.5 to 0, 8.5 nohead linecolor rgb grey dashtype 2
set label 1 "up = 2" at 4.1, 7.7 left textcolor rgb blue
set label 2 "up = −2" at 4.1, -7.7 left textcolor rgb vermillion
set label 3 "gate shut" at -3, 4 center textcolor rgb black font ",18"
set label 4 "gate open" at 1.1, 6.5 center textcolor rgb black font ",18"
plot file using 1:(2 * $2) with lines linetype 1, \
     file using 1:(-2 * $2) with lines linetype 2


# The hidden layer of one token of the sentence: gate, up and their product.
figure = "03_sentence"; height = 560
load "figures/style.gp"
file = data . "/03_sentence.dat"
stats file using (abs($2) > abs($3) ? abs($2) : abs($3)) nooutput name "FACTOR" # of gates and ups, the largest
stats file using (abs($4)) nooutput name "PRODUCT"
unset key
set xrange [-4:515]; set border 2; unset xtics; set grid noxtics
set xzeroaxis linecolor rgb grey linetype 1 linewidth 0.8
set multiplot layout 3, 1 margins 0.08, 0.98, 0.07, 0.9 spacing 0.07 \
    title "The 512 hidden units of the token “red”: only a few products are large" font ",18"
set ylabel "gate" offset 1; set yrange [-FACTOR_max:FACTOR_max]; set ytics autofreq
plot file using 1:2 with impulses linewidth 1.3 linecolor rgb vermillion
set ylabel "up"
plot file using 1:3 with impulses linewidth 1.3 linecolor rgb blue
set ylabel "silu(gate) · up"; set yrange [*:*]; set ytics 10 * ceil(PRODUCT_max / 25.0)
set xlabel "hidden unit, from 0 to 511"
plot file using 1:4 with impulses linewidth 1.3 linecolor rgb purple
unset multiplot


# Weights of one feed-forward layer against its hidden width, both in units of the model width C.
figure = "03_width"; height = 480
load "figures/style.gp"

set title "A third matrix costs half as much again, so the width is cut to two thirds"
set xlabel "hidden width / C"
set ylabel "weights / C²"
set xrange [0:4.7]
set yrange [0:14]
set xtics ("1" 1, "2" 2, "8/3" 8.0 / 3, "3.25" 3.25, "3.5" 3.5, "4" 4)
set ytics 4
set label "a Llama: three matrices" at 1.45, 5.2 right textcolor rgb vermillion
set label "2017: two matrices" at 1.25, 1.6 left textcolor rgb blue
set label "the original layer's weights: 8 C²" at 0.06, 7.5 textcolor rgb grey
set label "ReLU, 4 C" at 4.08, 7.4 left textcolor rgb blue
set label "Llama 1, Llama 2 7B, 13B,\nLlama 3.2 3B" at 2.55, 9.7 right textcolor rgb black
set label "Llama 3.1 405B" at 3.33, 9.5 left textcolor rgb black
set label "Llama 2 70B, Llama 3 8B, 70B" at 3.42, 11.3 right textcolor rgb black
set label "Llama 3.2 1B" at 3.92, 12.6 right textcolor rgb black
set arrow from 8.0 / 3, 0 to 8.0 / 3, 8 nohead linecolor rgb grey dashtype 2
set arrow from 4, 0 to 4, 8 nohead linecolor rgb grey dashtype 2
plot 8 with lines linecolor rgb grey linewidth 1.5 dashtype 2, \
     2 * x with lines linetype 1, 3 * x with lines linetype 2, \
     "+" using (4):(8) every ::0::0 with points linetype 1 pointsize 1.2, \
     data."/03_llamas.dat" using 1:2 with points linetype 2 pointtype 7 pointsize 1
