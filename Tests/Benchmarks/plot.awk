# Draws lines of "X<TAB>SERIES<TAB>Y" as an SVG picture: a line for each series, both axes logarithmic.
# usage: awk -F '\t' -v title=TEXT -v across=TEXT -f plot.awk
function log10(v) { return log(v) / log(10) }
function px(v) { return left + (log10(v) - x0) / (x1 - x0) * width }
function py(v) { return top + height - (log10(v) - y0) / (y1 - y0) * height }
function ceiling(v) { return v > int(v) ? int(v) + 1 : int(v) }
function ground(v) { return v < int(v) ? int(v) - 1 : int(v) }
function label(v) {
    if (v >= 1000000) return v / 1000000 "M"
    if (v >= 1000) return v / 1000 "k"
    return v
}
$1 > 0 && $3 > 0 {
    if (!($2 in points)) order[++series] = $2
    points[$2]++
    x[$2, points[$2]] = $1
    y[$2, points[$2]] = $3
    if (!n++ || $1 < xmin) xmin = $1
    if ($1 > xmax) xmax = $1
    if (ymin == "" || $3 < ymin) ymin = $3
    if ($3 > ymax) ymax = $3
    xs[$1]
}
END {
    if (!n) exit 1
    left = 60; top = 40; width = 560; height = 300
    x0 = log10(xmin); x1 = log10(xmax); if (x1 <= x0) x1 = x0 + 1
    y0 = ground(log10(ymin)); y1 = ceiling(log10(ymax)); if (y1 <= y0) y1 = y0 + 1
    split("#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #000000", colour, " ")
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"400\" font-family=\"sans-serif\" font-size=\"12\">"
    print "<rect width=\"900\" height=\"400\" fill=\"white\"/>"
    printf "<text x=\"%d\" y=\"20\" font-size=\"14\">%s</text>\n", left, title
    printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", left + width / 2, top + height + 40, across
    for (e = y0; e <= y1; e++) {
        printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", left, left + width, py(10 ^ e), py(10 ^ e)
        printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left - 6, py(10 ^ e) + 4, label(10 ^ e)
    }
    for (v in xs)
        printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", px(v), top + height + 18, label(v)
    for (s = 1; s <= series; s++) {
        name = order[s]; line = ""
        for (i = 1; i <= points[name]; i++) line = line sprintf("%.1f,%.1f ", px(x[name, i]), py(y[name, i]))
        c = colour[(s - 1) % 7 + 1]
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"%s\"/>\n", c, line
        printf "<text x=\"%d\" y=\"%.1f\" fill=\"%s\">%s</text>\n", left + width + 10, top + 14 * s, c, name
    }
    print "</svg>"
}
