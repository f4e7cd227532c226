# One style for every figure: the colours of Okabe and Ito, which colour-blind readers can tell apart; text that
# is readable at README width; nothing that is not data. A figure sets its name, `figure`, and `height`, and loads this.
reset
if (exists("preview")) {
    set terminal dumb size 110, 32 aspect 2
    if (exists("figure")) { print "\n", figure }
} else {
    if (exists("folder")) { output = folder."/".figure.".svg" }
    set terminal svg size 860, height font "Helvetica,16" background "#ffffff" rounded linewidth 1.2
    set output output
}

blue = "#0072B2"; vermillion = "#D55E00"; green = "#009E73"; purple = "#CC79A7"
orange = "#E69F00"; sky = "#56B4E9"; black = "#222222"; grey = "#737373"; faint = "#dddddd"
set linetype 1 linecolor rgb blue       linewidth 2.4 pointtype 7 pointsize 0.6
set linetype 2 linecolor rgb vermillion linewidth 2.4 pointtype 5 pointsize 0.6
set linetype 3 linecolor rgb green      linewidth 2.4 pointtype 9 pointsize 0.7
set linetype 4 linecolor rgb purple     linewidth 2.4 pointtype 11 pointsize 0.7
set linetype 5 linecolor rgb orange     linewidth 2.4 pointtype 13 pointsize 0.7
set linetype 6 linecolor rgb sky        linewidth 2.4 pointtype 15 pointsize 0.7
set linetype 7 linecolor rgb black      linewidth 2.4 pointtype 1 pointsize 0.7

set border 3 linecolor rgb grey linewidth 1
set tics nomirror out scale 0.5 textcolor rgb black
set grid linecolor rgb faint linewidth 0.7
set key noautotitle left top Left reverse samplen 2 spacing 1.1 textcolor rgb black
set title font ",18" textcolor rgb black
# Where the locale has them, signs count as signs and not as bytes, and a minus is no hyphen; elsewhere gnuplot would warn of it.
if (system("locale charmap 2>&1") eq "UTF-8") {
    set encoding utf8
    if (GPVAL_VERSION >= 5.4) { set minussign }
}
set palette defined (-1 blue, 0 "#ffffff", 1 vermillion)

# A diagram has no axes: a sheet of 860 by `height`, with its title where the other figures have theirs, and on it boxes and arrows.
sheet(title) = sprintf("unset border; unset tics; unset key; unset grid; set margins 0, 0, 0, 0; set xrange [0:860]; set yrange [0:%g]; \
    set label '%s' at screen 0.5, screen %g center front textcolor rgb black font ',18'", height, title, 1 - 23.0 / height)
n = 0
box(x, y, w, h, fill, edge) = sprintf("n = n + 1; set object n rectangle from %g,%g to %g,%g front \
    fillcolor rgb '%s' fillstyle solid border linecolor rgb '%s' linewidth 1.2", x, y, x + w, y + h, fill, edge)
go(x, y, to_x, to_y, colour) = sprintf("set arrow from %g,%g to %g,%g linecolor rgb '%s' linewidth 1.5 size screen 0.01, 25 filled front", \
    x, y, to_x, to_y, colour)
pale = "#eeeeee"
