# One head opened: from the hidden states through query, keys and scores to the output of the last token, with the numbers of the lesson.
height = 470
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
