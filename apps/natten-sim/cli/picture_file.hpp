#pragma once

#include <string>

namespace natten_sim::cli {

/// Where --svg goes, by the name that it is given:
///
///     picture.svg    the picture as it is
///     picture.png    a PNG at twice the size, by rsvg-convert, resvg, inkscape or magick, whichever is there
///     -              standard output, in place of the answer
///
/// The bytes of the file `path` for the picture `svg`.
/// @throws InvalidParameter for a PNG when no converter is on PATH or the one that is there fails.
[[nodiscard]] std::string picture_bytes(const std::string& path, const std::string& svg);

/// Writes the picture; with "-", the answer of this run is not printed, unless it goes to a file.
void write_picture(const std::string& path, const std::string& svg);

}  // namespace natten_sim::cli
