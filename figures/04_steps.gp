# One head as matrices, with the numbers of the lesson: Q K^T, the mask, softmax, and the sum of values.
height = 300
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
