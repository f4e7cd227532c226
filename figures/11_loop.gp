# The loop: the prompt is read; a token is chosen, shown and read, and so on.
height = 260
load "figures/style.gp"
eval sheet("A token is chosen, shown and read, and the next is chosen")
set xrange [0:100]; set yrange [0:30.5217]
n = 0
box(x, y, w, text, colour) = sprintf( \
    "n = n + 1; set object n rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.5; set label '%s' at %g,%g center front textcolor rgb '%s' font ',15'", \
    x, y, x + w, y + 6, colour eq "" ? "#ffffff" : colour, colour eq "" ? grey : colour, text, x + w / 2., y + 3, colour eq "" ? black : "#ffffff")
eval box(2, 14, 14, "the prompt", "")
eval box(24, 14, 15, "read", blue)
eval box(54, 14, 15, "choose", vermillion)
eval box(83, 14, 15, "show", green)
set arrow from 16, 17 to 23.6, 17 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 39, 17 to 53.6, 17 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set arrow from 69, 17 to 82.6, 17 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set label "V logits" at 46.3, 19.3 center font ",14"
set label "one token" at 75.8, 19.3 center font ",14"
set label "chapters 1 to 9" at 31.5, 22.3 center textcolor rgb blue font ",14"
set label "this chapter" at 61.5, 22.3 center textcolor rgb vermillion font ",14"
set label "chapter 10" at 90.5, 22.3 center textcolor rgb green font ",14"
set arrow from 90.5, 14 to 90.5, 6 nohead linewidth 1.5 linecolor rgb grey
set arrow from 90.5, 6 to 31.5, 6 nohead linewidth 1.5 linecolor rgb grey
set arrow from 31.5, 6 to 31.5, 13.4 linewidth 1.5 linecolor rgb grey size 1, 25 filled
set label "the same token, read as if somebody had written it" at 61, 3.6 center font ",14"
plot NaN
