# A Llama from the token ids up to the logits, with the shapes of the course's model and its 29 tokens; beside it the decoder of 2017.
figure = "09_architecture"; height = 940
load "figures/style.gp"
eval sheet("From token ids to logits: a Llama, and the Transformer decoder of 2017")
set xrange [0:100]; set yrange [0:108.622]

# box(x, y, width, text, colour): its centre is at x, y; without a color it is white. plus(x, y): an addition to the stream at x.
n = 0
box(x, y, w, text, colour) = sprintf( \
    "n = n + 1; set object n rectangle center %g,%g size %g,3.6 front fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',13'", \
    x, y, w, colour eq "" ? "#ffffff" : colour, colour eq "" ? grey : colour, text, x, y, colour eq "" ? black : "#ffffff")
plus(x, y) = sprintf( \
    "n = n + 1; set object n circle at %g,%g size 1.3 front fillcolor rgb '#ffffff' fillstyle solid border linecolor rgb orange linewidth 2; set label '+' at %g,%g center front font ',16'", x, y, x, y)
line(x, y, to_x, to_y) = sprintf("set arrow from %g,%g to %g,%g nohead linewidth 1.5 linecolor rgb grey", x, y, to_x, to_y)
go(x, y, to_x, to_y) = sprintf("set arrow from %g,%g to %g,%g linewidth 1.5 linecolor rgb grey size 0.9,25 filled", x, y, to_x, to_y)
flow(x, y, to_y) = sprintf("set arrow from %g,%g to %g,%g linewidth 4 linecolor rgb orange size 1.4,25 filled", x, y, x, to_y)
shape(y, text) = sprintf("set label '%s' at 63, %g right textcolor rgb grey font ',12'", text, y)
name(x, y, text) = sprintf("set label '%s' at %g, %g left textcolor rgb grey font ',13'", text, x, y)

# ---- Llama: the norms are in the branches.
s = 9; m = 33
set label "Llama" at 32, 101.5 center font ",18"
set object 801 rectangle from 0.7, 15 to 64, 84.5 behind fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "one layer: here there are 4, in Llama 3 8B 32" at 62.8, 16.6 right textcolor rgb grey font ",12"
set label "token ids [29]" at s, 2 center font ",13"
eval go(s, 3.6, s, 6)
eval box(s, 8, 15, "embedding", "")
eval flow(s, 10, 52.8)
eval flow(s, 56.2, 79.3)
eval flow(s, 82.7, 87.2)
set label "[29, 192]" at s + 1.2, 12.6 left textcolor rgb "#a66f00" font ",12"
set label "residual stream: blocks only add to it" at s + 2, 56.2 left textcolor rgb "#a66f00" font ",13"

eval line(s, 18, m, 18); eval go(m, 18, m, 19.9)
eval box(m, 21.8, 22, "RMSNorm", blue)
array at[3] = [m - 12, m, m + 12]
array weight[3] = ["W_q", "W_k", "W_v"]
eval line(at[1], 25.3, at[3], 25.3); eval line(m, 23.6, m, 25.3)
do for [i = 1:3] { eval go(at[i], 25.3, at[i], 26.9); eval box(at[i], 28.7, 8, weight[i], "") }
eval go(at[1], 30.5, at[1], 33.1); eval name(at[1] + 0.7, 31.8, "q")
eval go(at[2], 30.5, at[2], 33.1); eval name(at[2] + 0.7, 31.8, "k")
eval box(m - 6, 35, 20, "RoPE", blue)
eval go(at[2], 36.8, at[2], 39.4); eval go(at[3], 30.5, at[3], 39.4); eval name(at[3] + 0.7, 31.8, "v")
eval box(m + 6, 41.2, 20, "KV cache", blue)
eval go(at[1], 36.8, at[1], 45.6); eval go(at[2], 43, at[2], 45.6); eval go(at[3], 43, at[3], 45.6)
eval name(at[2] + 0.7, 44.3, "all k so far"); eval name(at[3] + 0.7, 44.3, "all v")
eval box(m, 47.4, 32, "grouped-query attention", blue)
eval go(m, 49.2, m, 50.3)
eval box(m, 52.1, 8, "W_o", "")
eval line(m, 53.9, m, 54.5); eval go(m, 54.5, s + 1.5, 54.5); eval plus(s, 54.5)
eval shape(21.8, "[29, 192]")
eval shape(29.8, "q [29, 6, 32]"); eval shape(27.6, "k, v [29, 2, 32]")
eval shape(47.4, "[29, 6, 32]")
eval shape(52.1, "[29, 192]")

eval line(s, 58, m, 58); eval go(m, 58, m, 59.4)
eval box(m, 61.2, 22, "RMSNorm", blue)
eval line(m - 8, 64.5, m + 8, 64.5); eval line(m, 63, m, 64.5)
eval go(m - 8, 64.5, m - 8, 66); eval box(m - 8, 67.8, 11, "W_{gate}", "")
eval go(m + 8, 64.5, m + 8, 66); eval box(m + 8, 67.8, 11, "W_{up}", "")
eval go(m - 8, 69.6, m - 8, 71.7); eval go(m + 8, 69.6, m + 8, 71.7)
eval box(m, 73.5, 27, "silu(gate) · up", blue)
eval go(m, 75.3, m, 76.5)
eval box(m, 78.3, 11, "W_{down}", "")
eval line(m, 80.1, m, 81); eval go(m, 81, s + 1.5, 81); eval plus(s, 81)
eval shape(61.2, "[29, 192]"); eval shape(67.8, "[29, 512] each"); eval shape(73.5, "[29, 512]"); eval shape(78.3, "[29, 192]")

eval box(s, 89, 15, "RMSNorm", blue)
eval go(s, 90.8, s, 92.4)
eval box(s, 94.2, 15, "W_{out}", "")
eval go(s, 96, s, 97.8)
set label "logits" at s, 99 center font ",13"
set label "of the last token: [1024]" at s + 8.5, 94.2 left textcolor rgb grey font ",12"

# ---- 2017: the norms are on the stream, which is grey here, because it is not only added to.
flow(x, y, to_y) = sprintf("set arrow from %g,%g to %g,%g linewidth 4 linecolor rgb '#b0b0b0' size 1.4,25 filled", x, y, x, to_y)
plus(x, y) = sprintf( \
    "n = n + 1; set object n circle at %g,%g size 1.3 front fillcolor rgb '#ffffff' fillstyle solid border linecolor rgb '#b0b0b0' linewidth 2; set label '+' at %g,%g center front font ',16'", x, y, x, y)
s = 74; m = 90
set label "Transformer, 2017 (its decoder)" at 83, 101.5 center font ",16"
set object 800 rectangle from 66, 15 to 99.5, 88 behind fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "6 layers" at 98.5, 86.2 right textcolor rgb grey font ",12"
set label "token ids" at s, 2 center font ",13"
eval go(s, 3.6, s, 6)
eval box(s, 8, 15, "embedding", "")
eval flow(s, 10, 90.5)
eval plus(s, 12.4); set label "sine and cosine" at s + 2.2, 12.4 left textcolor rgb vermillion font ",12"
array parts[3] = ["attention", "cross-attention", "linear, ReLU, linear"]
do for [i = 0:2] {
    y = 19 + 23 * i
    eval line(s, y, m, y); eval go(m, y, m, y + 4.1)
    eval box(m, y + 6, 18, parts[i + 1], vermillion)
    eval line(m, y + 7.8, m, y + 12); eval go(m, y + 12, s + 1.5, y + 12); eval plus(s, y + 12)
    eval box(s, y + 17, 14, "LayerNorm", vermillion)
}
set label "(q, k, v, W_{o})" at m + 0.7, 28.8 left textcolor rgb grey font ",11"
eval box(s, 92.5, 15, "linear", "")
eval go(s, 94.3, s, 97.8)
set label "logits" at s, 99 center font ",13"
plot NaN


# The cosine between the residual stream and what each block adds to it, for each token of the sentence.
figure = "09_residual"; height = 470
load "figures/style.gp"

file = data."/09_residual.dat"
set title "Blocks write across the residual stream, and attention often against it"
set ylabel "cosine of contribution and stream"
set xrange [0.5:8.5]
set yrange [-1.3:1]
set ytics -1, 0.5, 1
set xtics ("attention\nlayer 0" 1, "feed-forward\nlayer 0" 2, "attention\nlayer 1" 3, "feed-forward\nlayer 1" 4, "attention\nlayer 2" 5, "feed-forward\nlayer 2" 6, \
           "attention\nlayer 3" 7, "feed-forward\nlayer 3" 8) font ",14"
set grid noxtics
do for [y in "-0.7071 0.7071"] { set arrow from graph 0, first real(y) to graph 1, first real(y) nohead linecolor rgb black linewidth 1.2 dashtype 2 }
set arrow from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb grey linewidth 1
set label "cosine 0.71: an angle of 45°; above it, more along the stream than across" at 0.6, 0.82 left font ",14"
set label "cosine −0.71: 135°" at 0.6, -0.83 left font ",14"
do for [n = 1:4] { set object rectangle from 2 * n - 1.5, graph 0 to 2 * n - 0.5, graph 1 behind fillcolor rgb sky fillstyle solid 0.09 noborder }
set bmargin 4
set key at graph 0.99, graph 0.01 right bottom
plot file using ($1 + 0.3 * ($2 / 28.0 - 0.5)):($2 == 28 ? NaN : $4) with points pointtype 7 pointsize 0.45 linecolor rgb blue title "one token of the sentence", \
     file using ($1 + 0.15):($2 == 28 ? $4 : NaN) with points pointtype 5 pointsize 0.7 linecolor rgb vermillion title "the last token, which predicts Anna"


# The heads of the trained model: what each attends to from the last token, and what is left without a layer's heads.
figure = "09_head"; height = 460
load "figures/style.gp"

file = data."/09_head.dat"
set title "What each head attends to: only heads of the last layer find Anna"
set xlabel "head" offset -5.5
set bmargin 5.5
set label 2 "in each box: the token with the largest attention weight, and this weight; the more orange, the more weight on Anna" at screen 0.5, screen 0.045 center font ",14"
set ylabel "layer"
set xrange [-0.5:6.9]
set yrange [-0.5:3.75]
set xtics 0,1,5
set ytics 0,1,3
unset border; unset grid
set tics scale 0
set cbrange [0:1]
set palette defined (0 "#f4f4f4", 1 "#ee8a3c")
unset colorbox
set style fill solid border linecolor rgb "#ffffff"
unset key
set termoption noenhanced
set label 1 "without this\nlayer's heads:" at 6.2, 4.02 center font ",13"
end_of_line(name) = name eq "\n" ? "↵" : name # it would begin a new line of the label
first_of_layer(head, x) = head == 0 ? x : NaN
plot file using 2:1:(0.47):(0.46):4 with boxxyerror linewidth 1 fillcolor palette, \
     file using 2:($1 + 0.12):(end_of_line(strcol(6))) with labels font ",15", \
     file using 2:($1 - 0.2):(sprintf("%.2f", $3)) with labels font ",13", \
     file using (first_of_layer($2, 6.2)):1:(sprintf("Anna %.2f", $5)) with labels font ",15" textcolor rgb vermillion


# The loss of the course's model during training: word lists and look-ups, then stories on a scale of their own.
figure = "09_training"; height = 440
load "figures/style.gp"

file = "common/stories/train.log"
lists = 1400
lookups = 2900
unmasked = 9200
set multiplot title "Copying is learned within fifty steps, stories over thousands" font ",18"
set title font ",15" offset 0, -0.6
unset key

set size 0.52, 0.94
set origin 0, 0
set lmargin 8; set rmargin 1
set title "exercises (logarithmic)"
set xlabel "step"
set ylabel "loss"
set logscale y
set yrange [0.001:30]
set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1)
set xrange [0:lookups + 100]
set xtics 0, 1000
set object 1 rectangle from 0, graph 0 to lists, graph 1 behind fillcolor rgb orange fillstyle solid 0.12 noborder
set object 2 rectangle from lists, graph 0 to lookups, graph 1 behind fillcolor rgb sky fillstyle solid 0.16 noborder
set label 1 "copy word lists" at 60, 14 left font ",14"
set label 2 "look up facts:\n20 kinds of texts" at lists + 60, 14 left font ",14"
set label 3 "step 1200: 2.10\nstep 1250: 0.04" at 60, 0.11 left font ",14"
set arrow 1 from 900, 0.16 to 1190, 0.4 linewidth 1.2 linecolor rgb grey size screen 0.01, 25 filled
plot file using ($1 <= lookups ? $1 : NaN):2 with lines linetype 1

unset object 1; unset object 2; unset label 1; unset label 2; unset label 3; unset arrow 1
set size 0.48, 0.94
set origin 0.52, 0
set title "stories (linear, from 0.3 to 0.6)"
unset logscale y
unset ylabel
set lmargin 6; set rmargin 2
set yrange [0.3:0.6]
set ytics 0.3, 0.1
set format y "%.1f"
set xrange [3000:10300]
set xtics 4000, 2000
set object 3 rectangle from unmasked, graph 0 to 10300, graph 1 behind fillcolor rgb green fillstyle solid 0.12 noborder
set label 4 "masked: each token sees\nonly its own story" at 3400, 0.57 left font ",14"
set label 5 "no\nmask" at unmasked + 80, 0.57 left font ",14"
plot file using ($1 >= 3000 ? $1 : NaN):2 with lines linetype 1
unset multiplot


# Perplexity by position, past the trained length of 512: plain, and with each scaling of chapter 5 by 8.
figure = "09_beyond"; height = 460
load "figures/style.gp"

# The last section of a committed run.
rows = "< sed '1,/^# middle/d' tests/studies/extrapolation.txt"

# From the highest curve to the lowest: the column of each, its colour, its name, and how far up it stands, for room.
array columns[5] = [3, 2, 4, 6, 5]
array colours[5] = [3, 2, 4, 1, 7]
array names[5] = ["linear", "plain", "dynamic", "llama3", "yarn"]
array up[5] = [0, 0, 0.5, 0, -0.5]

set title "Far past the trained length plain RoPE fails; three of four scalings hold on"
set xlabel "position in the text"
set ylabel "perplexity, 128 tokens at a time"
set logscale y
set xrange [0:4096]
set yrange [1:200]
set xtics (0, 512, 1024, 2048, 3072, 4096)
set ytics (1, 2, 5, 10, 20, 50, 100)
set object rectangle from 0, graph 0 to 512, graph 1 behind fillcolor rgb sky fillstyle solid 0.16 noborder
set label "trained\nlength" at 256, graph 0.96 center textcolor rgb grey
set rmargin 11
unset key
plot for [n = 1:5] rows using 1:(column(columns[n])) with lines linetype colours[n], \
     for [n = 1:5] rows using ($1 > 4000 ? $1 : NaN):(column(columns[n])):(names[n]) with labels left offset 1, up[n] textcolor linetype colours[n]
