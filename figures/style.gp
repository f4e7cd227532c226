# One style for every figure: the colours of Okabe and Ito, which colour-blind readers can tell apart; text that
# is readable at README width; nothing that is not data. A figure sets `height` before it loads this, if it must.
if (!exists("height")) height = 440
if (exists("preview")) {
    set terminal dumb size 110, 32 aspect 2
} else {
    set terminal svg size 860, height font "Helvetica,16" background "#ffffff" rounded linewidth 1.2
    set output output
}

blue = "#0072B2"; vermillion = "#D55E00"; green = "#009E73"; purple = "#CC79A7"
orange = "#E69F00"; sky = "#56B4E9"; black = "#222222"; grey = "#8a8a8a"; faint = "#dddddd"
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
set palette defined (-1 blue, 0 "#ffffff", 1 vermillion)
