#pragma once

#include <string>

#include <natten_sim/report/draw/svg.hpp>

namespace natten_sim::cli {

/// Where --svg goes, by the name that it is given:
///
///     picture.svg    the picture as it is
///     picture.png    a PNG at twice the size, by rsvg-convert, resvg, inkscape or magick, whichever is there
///     picture.pdf    a PDF whose text is text, by rsvg-convert or inkscape
///     chart.vl.json  the same chart as a Vega-Lite specification, for curves, bars, histograms and heat maps
///     picture        no ending, such as /dev/stdout: an SVG
///     -              standard output, in place of the answer
///
/// The bytes of the file `path` for the picture.
/// @throws InvalidParameter for a PNG or PDF when no converter is on PATH or the one that is there fails, and for
/// the specification of a picture that has none.
[[nodiscard]] std::string picture_bytes(const std::string& path, const draw::Picture& picture);

/// Writes the picture; with "-", the answer of this run is not printed, unless it goes to a file.
void write_picture(const std::string& path, const draw::Picture& picture);

}  // namespace natten_sim::cli
