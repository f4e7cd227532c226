# One layer: each half reads a normed copy of the stream, and adds to the stream.
height = 240
load "figures/style.gp"
eval sheet("Each half of a layer reads a normalized copy of the stream and adds to the stream")
set xrange [0:100]; set yrange [0:27.4286]
n = 0
box(x, y, w, text, colour) = sprintf( \
    "n = n + 1; set object n rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'", \
    x, y, x + w, y + 5, colour eq "" ? "#ffffff" : colour, colour eq "" ? grey : colour, text, x + w / 2., y + 2.5, colour eq "" ? black : "#ffffff")
set arrow from 3, 17 to 97, 17 linewidth 4 linecolor rgb orange size 1.5, 25 filled
set label "the residual stream" at 3, 20 left textcolor rgb "#a66f00"
array left[2] = [12, 55]
array part[2] = ["attention", "feed-forward"]
do for [i = 1:2] {
    x = left[i]
    set arrow from x, 17 to x, 5.5 nohead linewidth 1.5 linecolor rgb grey
    set arrow from x, 5.5 to x + 3, 5.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    eval box(x + 3, 3, 11, "norm", blue)
    set arrow from x + 14, 5.5 to x + 17, 5.5 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    eval box(x + 17, 3, 14, part[i], "")
    set arrow from x + 31, 5.5 to x + 34, 5.5 nohead linewidth 1.5 linecolor rgb grey
    set arrow from x + 34, 5.5 to x + 34, 15.3 linewidth 1.5 linecolor rgb grey size 1, 25 filled
    set object 900 + i circle at x + 34, 17 size 1.4 front fillcolor rgb "#ffffff" fillstyle solid border linecolor rgb orange linewidth 2
    set label "+" at x + 34, 17 center front font ",18"
    set label "a copy" at x + 1, 11.5 left textcolor rgb black font ",14"
}
plot NaN
