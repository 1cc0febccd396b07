#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/report/picture_kind.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {

/// --picture FILE, --picture-kind KIND where a subcommand draws several, and --table FILE. A subcommand in
/// commands/<name>.cpp:
///
///     rows.include(picture_rows(report::mask_pictures()), &MaskFlags::output);
///     ...
///     put_answer(flags.output, reply, render(flags, answer),
///                {drawn(flags.output, report::mask_pictures(), answer, context),
///                 tabled(flags.output, [&] { return report::mask_rows(answer); })});
///
/// Where the picture goes, by the name that it is given:
///
///     picture.svg  the picture as it is
///     picture.png  a PNG at twice the size, by rsvg-convert, resvg, inkscape or magick, whichever is there
///     picture.pdf  a PDF whose text is text, by rsvg-convert or inkscape
///     picture      no ending, such as /dev/stdout: an SVG
///     -            standard output, in place of the answer
///
/// The bytes of the file `path` for the picture.
/// @throws InvalidParameter for a PNG or PDF when no converter is on PATH or the one that is there fails.
[[nodiscard]] std::string picture_bytes(const std::string& path, const draw::Picture& picture);

/// --picture, for a row of a subcommand that draws one picture; `draws` is what, after "Draw".
[[nodiscard]] About about_picture(const std::string& draws);
[[nodiscard]] Options<OutputFlags> picture_rows(const std::string& draws);
/// --picture-width, --picture-font and --picture-scheme.
[[nodiscard]] Options<OutputFlags> picture_size_rows();
/// The picture as these ask for it: a chart is drawn anew in its width, others are scaled.
[[nodiscard]] draw::Picture fitted(const OutputFlags& flags, draw::Picture picture);
/// Of several kinds, as their names and what they draw. `also`: what else the kind chooses, and then it may stand alone.
[[nodiscard]] Options<OutputFlags> picture_rows(const std::vector<std::pair<std::string, std::string>>& kinds,
                                                const std::string& also = "");

template <typename A>
[[nodiscard]] Options<OutputFlags> picture_rows(const report::PictureKinds<A>& kinds) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const report::PictureKind<A>& kind : kinds) names.emplace_back(kind.name, kind.what);
  return names.size() == 1 ? picture_rows(names.front().second) : picture_rows(names);
}

/// The picture of the answer that is asked for; none: none is. @throws as report::picture_kind
template <typename A>
[[nodiscard]] std::optional<draw::Picture> drawn(const OutputFlags& flags, const report::PictureKinds<A>& kinds,
                                                 const A& answer, const study::Context& context) {
  if (kJsonAlone || !flags.picture) return std::nullopt;
  return report::picture_kind(kinds, answer, flags.picture_kind).draw(answer, context);
}

/// Writes the picture; with "-", the answer of this run is not printed, unless it goes to a file.
void write_picture(const std::string& path, const draw::Picture& picture);

}  // namespace natten_sim::cli
