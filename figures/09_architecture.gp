# The decoder of 2017 beside a Llama, from the bottom up: what differs is filled.
height = 620
load "figures/style.gp"
unset border; unset tics; unset key; unset grid
set xrange [0:100]; set yrange [0:72]; set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

# box(x, y, text, colour): a component, its centre at x. plus(x, y): what is added to the stream at x.
n = 0
box(x, y, text, colour) = sprintf( \
    "n = n + 1; set object n rectangle center %g,%g size 23,4.4 front fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',13'", \
    x, y, colour eq "" ? "#ffffff" : colour, colour eq "" ? grey : colour, text, x, y, colour eq "" ? black : "#ffffff")
plus(x, y) = sprintf( \
    "n = n + 1; set object n circle at %g,%g size 1.3 front fillcolor rgb '#ffffff' fillstyle solid border linecolor rgb orange linewidth 2; set label '+' at %g,%g center front font ',16'", x, y, x, y)
# branch(x, low, high): leaves the stream at x, goes up 22 to the right of it, and comes back to be added.
branch(x, low, high) = sprintf( \
    "set arrow from %g,%g to %g,%g nohead linewidth 1.5 linecolor rgb grey; set arrow from %g,%g to %g,%g nohead linewidth 1.5 linecolor rgb grey; set arrow from %g,%g to %g,%g linewidth 1.5 linecolor rgb grey size 1,25 filled; ", \
    x, low, x + 22, low, x + 22, low, x + 22, high, x + 22, high, x + 1.4, high) . plus(x, high)

set label "Transformer, 2017 (its decoder)" at 25, 69.5 center font ",18"
set label "Llama" at 76, 69.5 center font ",18"
left = 14; right = 65

# 2017: the norms stand on the stream.
set arrow from left, 3 to left, 63 linewidth 4 linecolor rgb orange nohead
set object 800 rectangle from 1.5, 11.4 to 48.5, 56 behind fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "6 times" at 47.5, 54 right textcolor rgb grey font ",13"
eval box(left, 4.5, "embedding", "")
eval plus(left, 9); set label "sine and cosine of the position" at left + 2.5, 9 left textcolor rgb vermillion font ",13"
array parts[3] = ["attention, every head", "cross-attention", "linear, ReLU, linear"]
do for [i = 0:2] {
    y = 13 + 14 * i
    eval branch(left, y, y + 7)
    eval box(left + 22, y + 3.5, parts[i + 1], vermillion)
    eval box(left, y + 10.8, "LayerNorm", vermillion)
}
eval box(left, 61.5, "linear: logits", "")

# Llama: the norms stand in the branches.
set arrow from right, 3 to right, 63 linewidth 4 linecolor rgb orange nohead
set object 801 rectangle from 52, 11.4 to 99, 53 behind fillstyle empty border linecolor rgb faint linewidth 2 dashtype 2
set label "32 times in an 8B" at 98, 51 right textcolor rgb grey font ",13"
eval box(right, 4.5, "embedding", "")
eval branch(right, 13, 32)
eval box(right + 22, 16.5, "RMSNorm", blue)
eval box(right + 22, 22.5, "RoPE on q and k", blue)
eval box(right + 22, 28.5, "attention, heads in groups", blue)
eval branch(right, 36, 49)
eval box(right + 22, 39.5, "RMSNorm", blue)
eval box(right + 22, 45.5, "SwiGLU", blue)
set label "the stream is only added to" at right + 2, 34 left textcolor rgb "#a66f00" font ",13"
eval box(right, 56, "RMSNorm", blue)
eval box(right, 61.5, "linear: logits", "")
plot NaN
