#include "cli/picture_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/child_process.hpp>
#include <natten_sim/io/temporary_file.hpp>
#include <natten_sim/io/value_text.hpp>

#include "cli/table_file.hpp"

namespace natten_sim::cli {
namespace {

namespace fs = std::filesystem;

/// What a converter makes of an SVG.
struct Format {
  const char* name;
  const char* ending;  ///< of the file's name
  const char* begins;  ///< what such a file begins with
};
constexpr std::array<Format, 2> kFormats = {{{"PNG", ".png", "\x89PNG"}, {"PDF", ".pdf", "%PDF"}}};

/// Widths of columns and pages of templates, in points.
constexpr std::pair<const char*, double> kWidths[] = {
    {"acm-column", 241.1},  {"acm-page", 506.3},  {"icml-column", 234.9}, {"icml-page", 487.8},
    {"ieee-column", 252.0}, {"ieee-page", 516.0}, {"neurips-page", 397.5}};
constexpr std::pair<const char*, double> kLengths[] = {{"pt", 1}, {"mm", 72 / 25.4}, {"cm", 72 / 2.54}, {"in", 72}};
/// Size of most text in a picture, and the narrowest width that every chart can have.
constexpr double kTextPixels = 12, kLeastPixels = 360;

/// @throws InvalidParameter
double points_of(const std::string& width) {
  std::string accepted;
  for (const auto& [name, points] : kWidths) {
    if (width == name) return points;
    accepted += std::string(name) + ", ";
  }
  for (const auto& [unit, points] : kLengths) {
    if (!width.ends_with(unit)) continue;
    return points * parse_number("picture-width", width.substr(0, width.size() - 2), 72 / points, 2880 / points,
                                 accepted + "or 1in to 40in as pt, mm, cm or in");
  }
  throw InvalidParameter("picture-width", "'" + width + "'", accepted + "or 1in to 40in as pt, mm, cm or in");
}

/// Leaves one of the two sets of colours.
void choose_scheme(PictureScheme scheme, std::string& svg) {
  constexpr std::string_view kDark = "@media (prefers-color-scheme:dark){\n";
  for (std::size_t at = 0; (at = svg.find(kDark, at)) != std::string::npos;) {
    const std::size_t end = svg.find("\n}\n</style>", at);
    const std::string rules = svg.substr(at + kDark.size(), end - at - kDark.size());
    svg.replace(at, end + 2 - at, scheme == PictureScheme::kDark ? rules : "");
  }
}

/// A program that writes a picture of a format to standard output; "%" stands for the file with the SVG.
struct Converter {
  const char* ending;
  const char* program;
  std::vector<std::string> words;
};

/// In a PDF text stays text: programs that draw it as pixels are not among them.
const std::vector<Converter>& converters() {
  static const std::vector<Converter> all = {
      {".png", "rsvg-convert", {"-f", "png", "-z", "2", "%"}},
      {".png", "resvg", {"--zoom", "2", "%", "-c"}},
      {".png", "inkscape", {"--export-type=png", "--export-dpi=192", "--export-filename=-", "%"}},
      {".png", "magick", {"-density", "192", "%", "png:-"}},
      {".pdf", "rsvg-convert", {"-f", "pdf", "%"}},
      {".pdf", "inkscape", {"--export-type=pdf", "--export-filename=-", "%"}}};
  return all;
}

/// TMPDIR, or /tmp where that is no folder.
std::string temporary_folder() {
  std::error_code none;
  const fs::path folder = fs::temp_directory_path(none);
  return none ? "/tmp" : folder.string();
}

std::unique_ptr<TemporaryFile> temporary_picture(const std::string& svg) {
  const std::string folder = temporary_folder();
  std::unique_ptr<TemporaryFile> file = TemporaryFile::create(folder, ".svg");
  if (!file || ::fchmod(file->descriptor(), 0600) != 0 || ::write(file->descriptor(), svg.data(), svg.size()) != static_cast<ssize_t>(svg.size()))
    throw WriteError(folder + ": cannot write");
  return file;
}

std::string converted(const Converter& converter, const std::string& program, const std::string& svg) {
  const std::unique_ptr<TemporaryFile> picture = temporary_picture(svg);
  std::vector<std::string> words = converter.words;
  std::replace(words.begin(), words.end(), std::string("%"), picture->path());
  return output_of_program(program, words);
}

std::string as_format(const Format& format, const std::string& path, const std::string& svg) {
  std::string tried;
  for (const Converter& converter : converters()) {
    if (converter.ending != std::string_view(format.ending)) continue;
    tried += (tried.empty() ? "" : ", ") + std::string(converter.program);
    const std::string program = find_program(converter.program);
    if (program.empty()) continue;
    std::string made = converted(converter, program, svg);
    if (made.starts_with(format.begins)) return made;
    throw InvalidParameter("picture", path, std::string("a name that ends in .svg: ") + converter.program + " made no " +
                                                format.name + " of it");
  }
  throw InvalidParameter("picture", path,
                         "a name that ends in .svg, or one of these programs on PATH: " + tried);
}

}  // namespace

About about_picture(const std::string& draws) {
  return {.value = "FILE",
          .help = "Draw " + draws + ": FILE.svg, .png or .pdf; -: an SVG on stdout",
          .echo = Echo::kNever,
          .spellings = {{.flag = "--svg"}}};
}

Options<OutputFlags> picture_rows(const std::string& draws) {
  Options<OutputFlags> rows;
  rows.add("--picture", &OutputFlags::picture, about_picture(draws));
  return rows.include(picture_size_rows()).group(kPictureGroup).include(table_rows());
}

Options<OutputFlags> picture_rows(const std::vector<std::pair<std::string, std::string>>& kinds, const std::string& also) {
  std::string help, names;
  for (const auto& [name, draws] : kinds) {
    help += (help.empty() ? "" : "; ") + name + ": " + draws;
    names += (names.empty() ? "" : " ") + name;
  }
  Options<OutputFlags> rows;
  rows.add("--picture", &OutputFlags::picture, about_picture("the picture of --picture-kind"));
  rows.add("--picture-kind", &OutputFlags::picture_kind,
           {.value = "KIND",
            .help = also + help + "; by default the first that the answer has",
            .choices = names,
            .echo = Echo::kNever,
            .needs = also.empty() ? std::vector<std::string>{"picture"} : std::vector<std::string>{}});
  return rows.include(picture_size_rows()).group(kPictureGroup).include(table_rows());
}

Options<OutputFlags> picture_size_rows() {
  Options<OutputFlags> rows;
  std::string widths;
  for (const auto& [name, points] : kWidths) widths += std::string(name) + ", ";
  rows.add("--picture-width", &OutputFlags::picture_width,
           {.value = "SIZE",
            .help = "Width on paper: " + widths + "or a length such as 84mm, 8.5cm, 3.3in or 240pt; by default in pixels, for a screen",
            .echo = Echo::kNever,
            .needs = {"picture"}});
  rows.add("--picture-font", &OutputFlags::picture_font_pt,
           {.value = "PT",
            .help = "Size of most text on paper in points, 4 to 24; 8 by default",
            .interval = {4, 24},
            .accepted = "4 to 24",
            .echo = Echo::kNever,
            .needs = {"picture-width"}});
  rows.add("--picture-scheme", &OutputFlags::picture_scheme,
           {.value = "SCHEME",
            .help = "Colours: reader (light or dark, as the reader has it), light or dark; reader by default",
            .echo = Echo::kNever,
            .needs = {"picture"}});
  return rows;
}

draw::Picture fitted(const OutputFlags& flags, draw::Picture picture) {
  if (flags.picture_width) {
    const double points = points_of(*flags.picture_width);
    if (picture.at_width) picture = picture.at_width(std::max(kLeastPixels, points * kTextPixels / flags.picture_font_pt));
    const std::size_t begin = picture.svg.find(" width="), end = picture.svg.find(" viewBox=");
    picture.svg.replace(begin, end - begin,
                        fmt::format(" width=\"{:.2f}pt\" height=\"{:.2f}pt\"", points, points * picture.height / picture.width));
  }
  if (flags.picture_scheme != PictureScheme::kReader) choose_scheme(flags.picture_scheme, picture.svg);
  return picture;
}

std::string picture_bytes(const std::string& path, const draw::Picture& picture) {
  const std::string ending = fs::path(path).extension().string();
  for (const Format& format : kFormats) {
    if (ending == format.ending) return as_format(format, path, picture.svg);
  }
  if (!ending.empty() && ending != ".svg")
    throw InvalidParameter("picture", path, "a name that ends in .svg, .png or .pdf, or -");
  return picture.svg;
}

void write_picture(const std::string& path, const draw::Picture& picture) {
  if (path == "-") {
    write_in_place_of_answer(picture.svg);
  } else {
    write_file(path, picture_bytes(path, picture));
  }
}

}  // namespace natten_sim::cli
