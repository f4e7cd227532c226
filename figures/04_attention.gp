# One head opened: from the hidden states through query, keys and scores to the output of the last token, with the numbers of the lesson.
figure = "04_head"; height = 470
load "figures/style.gp"
eval sheet("Inside one head: a query is compared with every key, and the weights mix the values")
file = data."/04_steps.dat"
h = 42; step = 84 # a box, and from one token to the next
array at[6] = [20, 168, 300, 436, 570, 720]  # hidden state, key, score, weight, value, product
array wide[6] = [96, 84, 74, 74, 92, 120]
y(t) = 318 - step * t
# The numbers of the last query, from the file.
array q[2]; array key[6]; array score[3]; array weight[3]; array value[6]; array out[2]
keep(name, r, c, v) = name eq "q" && r == 2 ? (q[c + 1] = v) : name eq "k" ? (key[2 * r + c + 1] = v) : \
    name eq "scores" && r == 2 ? (score[c + 1] = v) : name eq "weights" && r == 2 ? (weight[c + 1] = v) : \
    name eq "v" ? (value[2 * r + c + 1] = v) : name eq "output" && r == 2 ? (out[c + 1] = v) : 0
set table $unused
plot file using (keep(strcol(1), $2, $3, $4)):(0)
unset table

text(x, w, y, what, colour) = sprintf("set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'", what, x + w / 2., y + h / 2., colour)
head(i, what) = sprintf("set label '%s' at %g,%g center front textcolor rgb black font ',14'", what, at[i] + wide[i] / 2., y(0) + h + 18)
eval head(1, "hidden states")
eval head(2, "keys")
eval head(3, "scores")
eval head(4, "weights")
eval head(5, "values")
eval head(6, "weight · value")
do for [t = 0:2] {
    eval box(at[1], y(t), wide[1], h, pale, grey)
    eval text(at[1], wide[1], y(t), sprintf("token %d", t), black)
    eval box(at[2], y(t), wide[2], h, "#ffffff", blue)
    eval text(at[2], wide[2], y(t), sprintf("(%g, %g)", key[2 * t + 1], key[2 * t + 2]), blue)
    eval box(at[3], y(t), wide[3], h, "#ffffff", grey)
    eval text(at[3], wide[3], y(t), sprintf("%.2f", score[t + 1]), black)
    eval box(at[4], y(t), wide[4], h, "#c5e3f6", grey)
    eval text(at[4], wide[4], y(t), sprintf("%.2f", weight[t + 1]), black)
    eval box(at[5], y(t), wide[5], h, "#ffffff", green)
    eval text(at[5], wide[5], y(t), sprintf("(%g, %g)", value[2 * t + 1], value[2 * t + 2]), green)
    eval box(at[6], y(t), wide[6], h, "#ffffff", green)
    eval text(at[6], wide[6], y(t), sprintf("(%.2f, %.2f)", weight[t + 1] * value[2 * t + 1], weight[t + 1] * value[2 * t + 2]), green)
    eval go(at[1] + wide[1] + 3, y(t) + h / 2., at[2] - 3, y(t) + h / 2., blue)
    eval go(at[2] + wide[2] + 3, y(t) + h / 2., at[3] - 3, y(t) + h / 2., grey)
    eval go(at[3] + wide[3] + 3, y(t) + h / 2., at[4] - 3, y(t) + h / 2., grey)
    eval text(at[4] + wide[4], at[5] - at[4] - wide[4], y(t), '×', black)
    eval text(at[5] + wide[5], at[6] - at[5] - wide[5], y(t), '=', black)
}
small(what, x, y, colour) = sprintf("set label '%s' at %g,%g center front textcolor rgb '%s' font ',14'", what, x, y, colour)
eval small("× W_k", (at[1] + wide[1] + at[2]) / 2., y(0) + h / 2. + 18, blue)
eval small("softmax", (at[3] + wide[3] + at[4]) / 2., y(0) + h + 40, black)
eval small("each value is the hidden state × W_v", at[5] + wide[5] / 2., y(0) + h + 40, green)
# The query, below the last token, and its way to the scores.
bottom = 40
eval box(at[2], bottom, wide[2], h, vermillion, vermillion)
eval text(at[2], wide[2], bottom, sprintf("(%g, %g)", q[1], q[2]), "#ffffff")
set arrow from at[1] + wide[1] / 2., y(2) - 3 to at[1] + wide[1] / 2., bottom + h / 2. nohead linecolor rgb vermillion linewidth 1.5
eval go(at[1] + wide[1] / 2., bottom + h / 2., at[2] - 3, bottom + h / 2., vermillion)
eval small("× W_q", (at[1] + wide[1] + at[2]) / 2., bottom + h / 2. + 18, vermillion)
eval small("query of token 2", at[2] + wide[2] / 2., bottom - 14, vermillion)
set arrow from at[2] + wide[2] + 3, bottom + h / 2. to at[3] + wide[3] / 2., bottom + h / 2. nohead linecolor rgb vermillion linewidth 1.5
eval go(at[3] + wide[3] / 2., bottom + h / 2., at[3] + wide[3] / 2., y(2) - 4, vermillion)
set label "query · key / √2, with every key" at at[3] + wide[3] / 2. + 8, bottom + h / 2. left front textcolor rgb vermillion font ",14"
# The output.
eval box(at[6], bottom, wide[6], h, green, green)
eval text(at[6], wide[6], bottom, sprintf("(%.2f, %.2f)", out[1], out[2]), "#ffffff")
eval go(at[6] + wide[6] / 2., y(2) - 3, at[6] + wide[6] / 2., bottom + h + 4, green)
set label "sum" at at[6] + wide[6] / 2. + 8, (y(2) + bottom + h) / 2. left front textcolor rgb green font ",14"
eval small("output of token 2", at[6] + wide[6] / 2., bottom - 14, green)
plot NaN


# One head as matrices, with the numbers of the lesson: Q K^T, the mask, softmax, and the sum of values.
figure = "04_steps"; height = 300
load "figures/style.gp"
eval sheet("One head as matrices: scores, mask, softmax, weighted sum of the values")
file = data."/04_steps.dat"
w = 36; h = 32; top = 205 # a cell, and where the matrices begin
T = 3; D = 2
array at[7] = [26, 116, 262, 408, 568, 694, 784]
array columns[7] = [2, 3, 3, 3, 3, 2, 2]
array name[7] = ["Q", "Kᵀ", "scores", "masked", "weights", "V", "output"]
array shape[7] = ["[T, D]", "[D, T]", "[T, T]", "[T, T]", "[T, T]", "[T, D]", "[T, D]"]
rows(m) = m == 2 ? D : T
do for [m = 1:7] {
    middle = at[m] + columns[m] * w / 2.
    set label name[m] at middle, top + 18 center front textcolor rgb black font ",16"
    set label shape[m] at middle, top - rows(m) * h - 18 center front textcolor rgb grey font ",14"
}
between(m, text, more) = sprintf("set label '%s' at %g,%g center front textcolor rgb black font ',13'", \
    text, (at[m] + columns[m] * w + at[m + 1]) / 2., top - T * h / 2. + more)
eval between(1, "×", 0)
eval between(2, "÷√2", 9)
eval between(2, "=", -9)
eval between(5, "×", 0)
eval between(6, "=", 0)
eval go(at[3] + 3 * w + 5, top - T * h / 2., at[4] - 5, top - T * h / 2., grey)
eval between(3, "mask", 14)
eval go(at[4] + 3 * w + 5, top - T * h / 2., at[5] - 5, top - T * h / 2., grey)
eval between(4, "softmax", 14)
do for [t = 0:T - 1] { set label sprintf("%d", t) at at[1] - 12, top - (t + 0.5) * h center front textcolor rgb grey font ",14" }
set label "scores, masked, weights: a row is a query, a column is a key; query t attends to keys 0 to t" at 430, 40 center front textcolor rgb black font ",15"

# Which matrix a line of the file belongs to; K is written transposed.
m(name) = name eq "q" ? 1 : name eq "k" ? 2 : name eq "scores" ? 3 : name eq "masked" ? 4 : name eq "weights" ? 5 : name eq "v" ? 6 : 7
cx(m, r, c) = at[m] + ((m == 2 ? r : c) + 0.5) * w
cy(m, r, c) = top - ((m == 2 ? c : r) + 0.5) * h
blues(weight) = int(255 - 110 * weight) * 65536 + int(255 - 60 * weight) * 256 + 255 # white to sky blue
colour(m, text, value) = m == 5 ? blues(value) : text eq "-inf" ? 0xdddddd : 0xffffff
plot file using (cx(m(strcol(1)), $2, $3)):(cy(m(strcol(1)), $2, $3)):(w / 2.):(h / 2.):(colour(m(strcol(1)), strcol(5), $4)) \
         with boxxyerror fillstyle solid border rgb grey linewidth 0.7 linecolor rgb variable, \
     file using (cx(m(strcol(1)), $2, $3)):(cy(m(strcol(1)), $2, $3)):(strcol(5) eq "-inf" ? "−∞" : strcol(5)) \
         with labels font ",13" textcolor rgb black


# How sharp the weights are: the mean of the largest of 64, for normal queries and keys of width D.
figure = "04_scale"; height = 440
load "figures/style.gp"

file = data."/04_scale.dat"
set title "Without 1/√D, a larger head dimension gives nearly all the weight to one key"
set xlabel "head dimension D"
set ylabel "largest of 64 weights (mean)"
set logscale x 2
set logscale y
set xrange [1:1024]
set yrange [0.012:1.3]
set xtics (1, 4, 16, 64, 128, 256, 1024)
set ytics ("1/64" 1.0 / 64, "0.1" 0.1, "1" 1)
set label "q·k as it is: one key takes all" at 22, 0.36 left textcolor rgb vermillion
set label "q·k / √D: as in every Llama" at 900, 0.137 right textcolor rgb blue
set label "q·k / √(32 D), the model's width: all nearly equal" at 900, 0.029 right textcolor rgb green
plot file using 1:2 with linespoints linetype 2, \
     file using 1:3 with linespoints linetype 1, \
     file using 1:4 with linespoints linetype 3


# The head on paper: its values are the corners of a triangle, its outputs lie within.
figure = "04_mean"; height = 440
load "figures/style.gp"

file = data."/04_mean.dat"
set title "An output is a weighted mean: it lies among the values that it attends to"
set size ratio -1
set xlabel "first number"
set ylabel "second number"
set xrange [-2.5:19]
set yrange [-1.5:12]
unset grid
set xtics 0, 5, 10
set ytics 0, 5, 10
set object 1 polygon from 10, 0 to 0, 10 to 10, 10 to 10, 0 behind fillcolor rgb "#e2eff7" fillstyle solid noborder
set label "value 0" at 9.5, -0.6 right textcolor rgb blue
set label "value 1" at 0, 10.9 center textcolor rgb blue
set label "value 2" at 10.6, 10 left textcolor rgb blue
set label "output 0: attends to value 0 alone" at 10.6, 0 left textcolor rgb vermillion
set label "output 1: between values 0 and 1" at 10.6, 1.95 left textcolor rgb vermillion
set label "output 2: among the three" at 10.6, 8.6 left textcolor rgb vermillion
set arrow from 10.5, 1.95 to 8.2, 1.95 nohead linecolor rgb vermillion linewidth 0.7
set arrow from 10.5, 8.6 to 7.3, 8.6 nohead linecolor rgb vermillion linewidth 0.7
plot file using 1:2 with points linetype 1 pointtype 7 pointsize 1.6, \
     file using 3:4 with points linetype 2 pointtype 7 pointsize 0.8


# One head of the course's model reads the sentence: the weight that each token gives to each token up to itself.
figure = "04_matrices"; height = 620
load "figures/style.gp"

file = data."/04_matrices.dat"
set label 2 "Each token attends to earlier tokens: the last “:” to “Anna”, who has the ball" at screen 0.5, 0.965 center font ",18"
set lmargin at screen 0.16
set rmargin at screen 0.84
set bmargin at screen 0.03
set tmargin at screen 0.83
set size ratio -1
set xrange [-0.5:28.5]
set yrange [28.5:-0.5]
set border 15 linecolor rgb faint
set tics scale 0
unset xtics
set x2range [-0.5:28.5]
set x2tics rotate by 90 left offset 0, 0 noenhanced font ",13"
set ytics offset 0.7, 0 noenhanced font ",13"
unset grid
set palette defined (0 "#ffffff", 0.5 sky, 1 "#00304f") maxcolors 20
set cbrange [0:1]
set cbtics font ",13" offset -0.6, 0
set cblabel "attention weight; each row sums to 1" font ",14"
token(n) = stringcolumn(n) eq "\n" ? "↵" : stringcolumn(n)
set label "the future:\nweight 0" at 20.5, 7 center textcolor rgb grey
set object 1 rectangle from 6.4, 27.4 to 7.6, 28.6 front fillstyle empty border linecolor rgb black linewidth 1.5
# A weight below 0.05 is as white as none.
plot file using 2:1:($4 < 0.05 ? NaN : $4) with image pixels, \
     file using 1:1:x2tic(token(5)):ytic(token(5)) every 29 axes x2y1 with points pointtype -1


# One layer of attention as shapes, to scale: T hidden states of C features, six heads whose outputs have D numbers, and C features again.
figure = "04_layer"; height = 410
load "figures/style.gp"
eval sheet("The outputs of six heads are concatenated and mixed by W_o")
H = 6; wide = 20; high = 34 # of a head's output: D numbers for T tokens
middle = 190 # where the stream lies
step = 48
x_left = 14; head_left = 210; brings = 440; beside = 540; out_left = 726

eval box(x_left, middle - high / 2, H * wide, high, pale, grey)
set label "x" at x_left + H * wide / 2, middle center front
do for [h = 0:H - 1] {
    y = middle + (2.5 - h) * step
    eval go(x_left + H * wide + 4, middle, head_left - 4, y, grey)
    eval box(head_left, y - high / 2, 160, high, "#ffffff", blue)
    set label sprintf("head %d", h) at head_left + 80, y center front textcolor rgb blue
    eval go(head_left + 164, y, brings - 4, y, grey)
    eval box(brings, y - high / 2, wide, high, blue, blue)
    set label sprintf("%d", h) at brings + wide / 2, y center front textcolor rgb "#ffffff" font ",14"
    eval go(brings + wide + 4, y, beside - 4, middle, grey)
    eval box(beside + h * wide, middle - high / 2, wide, high, blue, "#ffffff")
    set label sprintf("%d", h) at beside + (h + 0.5) * wide, middle center front textcolor rgb "#ffffff" font ",14"
}
eval go(beside + H * wide + 4, middle, out_left - 4, middle, grey)
set label "W_o" at (beside + H * wide + out_left) / 2, middle + 18 center front
eval box(out_left, middle - high / 2, H * wide, high, pale, grey)
set label "out" at out_left + H * wide / 2, middle center front

above(x, text) = sprintf("set label '%s' at %g, %g center front font ',14'", text, x, middle + 36)
below(x, y, text) = sprintf("set label '%s' at %g, %g center front textcolor rgb grey font ',14'", text, x, y)
eval above(x_left + H * wide / 2, "normalized states")
eval above(beside + H * wide / 2, "concatenated")
eval above(out_left + H * wide / 2, "added to the stream")
set label "each attends in its own way" at head_left + 80, middle + 2.5 * step + 34 center front font ",14"
eval below(x_left + H * wide / 2, middle - 36, "[T, C]")
eval below(brings + wide / 2, middle - 2.5 * step - 36, "[T, D] each")
eval below(beside + H * wide / 2, middle - 36, "[T, H·D]")
eval below(out_left + H * wide / 2, middle - 36, "[T, C]")
plot NaN


# What the softmax of x, x - 1, x - 2 gives for its first weight if the maximum is not subtracted.
figure = "04_softmax"; height = 400
load "figures/style.gp"

file = data."/04_softmax.dat"
set title "Without subtracting the maximum, softmax breaks above 88 and below −100"
set xlabel "largest of three scores"
set ylabel "its weight"
set xrange [-120:120]
set yrange [0:1.05]
set xtics 40
set ytics ("0" 0, "0.5" 0.5, "0.6652" 0.6652, "1" 1)
set object 1 rectangle from -120, 0 to -104, 1.05 behind fillcolor rgb "#fbe3d3" fillstyle solid noborder
set object 2 rectangle from 88.7, 0 to 120, 1.05 behind fillcolor rgb "#fbe3d3" fillstyle solid noborder
set label "0 / 0\nNaN" at -112, 0.35 center textcolor rgb vermillion
set label "∞ / ∞\nNaN" at 104.5, 0.35 center textcolor rgb vermillion
set label "with the maximum subtracted: the same everywhere" at 0, 0.72 center textcolor rgb blue
set label "e^x  runs out of digits" at -99, 0.95 left textcolor rgb vermillion
set label "the sum is ∞" at 85, 0.12 right textcolor rgb vermillion
plot 0.66524 with lines linetype 1 linewidth 6 linecolor rgb "#a9cfe6", \
     file using 1:2 with lines linetype 2
