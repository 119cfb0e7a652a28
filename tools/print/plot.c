/* SPDX-License-Identifier: MIT */
/* plot.c: the page, its primitives, and axes. */
#include "plot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "new_file.h"
#include "output.h"

#define BOTTOM_MARGIN 24.0

bool plot_begin(plot *p) {
    *p = (plot){.y = 0};
    p->body = open_memstream(&p->text, &p->bytes);
    return p->body != NULL;
}

/* Writes text with XML's special characters escaped. Control characters, which XML forbids, are
 * left out. */
static void put_escaped(FILE *file, const char *text) {
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", file);
        else if (c == '<')
            fputs("&lt;", file);
        else if (c == '>')
            fputs("&gt;", file);
        else if (c == '"')
            fputs("&quot;", file);
        else if (c >= ' ' && c != 127)
            fputc(c, file);
    }
}

bool plot_is_svg(const char *file) {
    const char *extension = strrchr(file, '.');
    return extension && strcasecmp(extension, ".svg") == 0;
}

/* Writes the page around the charts. */
static void put_page(const plot *p, FILE *page, const char *title) {
    const double height = p->y + BOTTOM_MARGIN;
    fprintf(page,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title>",
            PLOT_WIDTH, height, PLOT_WIDTH, height);
    put_escaped(page, title);
    fprintf(page, "</title>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", PLOT_WIDTH, height);
    fwrite(p->text, 1, p->bytes, page);
    fputs("</svg>\n", page);
}

static const char *write_file(const char *path, const char *text, size_t bytes) {
    new_file file;
    const char *wrong = new_file_open(&file, path);
    if (wrong) return wrong;
    if (output_write(file.fd, text, bytes)) return new_file_close(&file);
    wrong = strerror(errno);
    new_file_abandon(&file);
    return wrong;
}

const char *plot_end(plot *p, const char *path, const char *title) {
    char *text = NULL;
    size_t bytes;
    bool good = fclose(p->body) == 0;
    FILE *page = good ? open_memstream(&text, &bytes) : NULL;
    if (page) put_page(p, page, title);
    good = page && fclose(page) == 0;
    free(p->text);
    const char *wrong = good ? write_file(path, text, bytes) : "out of memory";
    free(text);
    return wrong;
}

static void put_text(plot *p, plot_style style, const char *text) {
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(p->body, " font-size=\"%.0f\" fill=\"%s\" text-anchor=\"%s\"", style.size, style.colour, anchors[style.anchor]);
    if (style.bold) fputs(" font-weight=\"bold\"", p->body);
    if (style.halo) fputs(" paint-order=\"stroke\" stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\"", p->body);
    fputc('>', p->body);
    put_escaped(p->body, text);
    fputs("</text>\n", p->body);
}

void plot_text(plot *p, double x, double y, plot_style style, const char *text) {
    fprintf(p->body, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
    put_text(p, style, text);
}

void plot_text_upwards(plot *p, double x, double y, plot_style style, const char *text) {
    fprintf(p->body, "<text transform=\"translate(%.1f %.1f) rotate(-90)\"", x, y);
    put_text(p, style, text);
}

void plot_line(plot *p, double x1, double y1, double x2, double y2, plot_style style) {
    fprintf(p->body,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\" "
            "stroke-linecap=\"%s\"%s/>\n",
            x1, y1, x2, y2, style.colour, style.size, style.dashed ? "butt" : "round",
            style.dashed ? " stroke-dasharray=\"8 5\"" : "");
}

void plot_box(plot *p, double x, double y, double width, double height, const char *colour) {
    fprintf(p->body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" fill=\"%s\"/>\n", x, y,
            width > 1 ? width : 1, height, colour);
}

void plot_marker(plot *p, double x, double y, double radius, unsigned shape, const char *colour) {
    const double r = radius;
    switch (shape % 4) {
    case 0:
        fprintf(p->body, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y, r);
        break;
    case 1:
        fprintf(p->body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", x - 0.9 * r, y - 0.9 * r, 1.8 * r,
                1.8 * r);
        break;
    case 2:
        fprintf(p->body, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"", x, y - 1.3 * r, x + 1.2 * r, y + 0.9 * r,
                x - 1.2 * r, y + 0.9 * r);
        break;
    default:
        fprintf(p->body, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\"", x, y - 1.35 * r, x + 1.35 * r, y, x,
                y + 1.35 * r, x - 1.35 * r, y);
        break;
    }
    fprintf(p->body, " fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"1\"/>\n", colour);
}

const char *plot_colour(size_t index) {
    static const char *const colours[] = {"#b0343c", "#e8743b", "#8c6d31", "#e0a500", "#7a9a01", "#3d8b37",
                                          "#13a89e", "#2e86c1", "#1f4e9c", "#7d5fc4", "#a64ca6", "#e0559a",
                                          "#00b3e6", "#6b7280", "#c2410c", "#111827"};
    return colours[index % (sizeof(colours) / sizeof(colours[0]))];
}

const char *plot_broad_colour(size_t index) {
    static const char *const colours[] = {"#2e6fb7", "#e07b39", "#3f9142", "#8e5bb5", "#b0343c", "#13888e"};
    return colours[index % (sizeof(colours) / sizeof(colours[0]))];
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Returns 1, 2 or 5 times a power of ten, for about six ticks. */
static double round_step(double most) {
    const double rough = most / 6, decade = pow(10, floor(log10(rough)));
    return rough / decade > 5 ? 10 * decade : rough / decade > 2 ? 5 * decade : rough / decade > 1 ? 2 * decade : decade;
}

plot_axis plot_axis_over(double least, double most, bool logarithmic, double from, double to) {
    plot_axis axis = {.from = from, .to = to, .logarithmic = logarithmic};
    if (!(most > 0)) most = 1;
    if (!(least > 0) || least > most) least = most;
    if (logarithmic) {
        axis.least = pow(10, floor(log10(least * 0.98)));
        axis.most = pow(10, floor(log10(most)));
        axis.most *= most * 1.02 <= axis.most ? 1 : most * 1.02 <= 2 * axis.most ? 2 : most * 1.02 <= 5 * axis.most ? 5 : 10;
    } else {
        const double step = round_step(most);
        axis.most = step * ceil(most / step);
    }
    return axis;
}

double plot_at(const plot_axis *axis, double value) {
    const double share = axis->logarithmic ? log(value / axis->least) / log(axis->most / axis->least)
                                           : (value - axis->least) / (axis->most - axis->least);
    return axis->from + share * (axis->to - axis->from);
}

static size_t add_tick(plot_tick *ticks, size_t count, double value, bool major) {
    if (count == PLOT_MAX_TICKS) return count;
    ticks[count] = (plot_tick){.value = value, .major = major};
    snprintf(ticks[count].label, sizeof(ticks[count].label), "%.7g", value);
    return count + 1;
}

size_t plot_axis_ticks(const plot_axis *axis, plot_tick *ticks) {
    size_t count = 0;
    if (axis->logarithmic) {
        const bool few = axis->most / axis->least < 500;
        for (double decade = axis->least; decade < axis->most * 1.001; decade *= 10)
            for (int digit = 1; digit < 10 && decade * digit < axis->most * 1.001; digit++)
                count = add_tick(ticks, count, decade * digit, digit == 1 || (few && (digit == 2 || digit == 5)));
    } else {
        const double step = round_step(axis->most);
        for (int i = 0; i * step < axis->most * 1.001; i++) count = add_tick(ticks, count, i * step, true);
    }
    return count;
}

void plot_write_size(char *text, size_t bytes, uint64_t n) {
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    unsigned power = 0;
    while (power < 63 && UINT64_C(1) << power < n) power++;
    if (UINT64_C(1) << power != n)
        snprintf(text, bytes, "%" PRIu64, n);
    else
        snprintf(text, bytes, "2%s%s", power > 9 ? digits[power / 10] : "", digits[power % 10]);
}
