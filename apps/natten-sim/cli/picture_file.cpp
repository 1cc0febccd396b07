#include "cli/picture_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/child_process.hpp>
#include <natten_sim/io/temporary_file.hpp>

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
          .help = "Draw " + draws + ": FILE.svg, .png, .pdf, or of a chart .vl.json (Vega-Lite); -: an SVG on stdout",
          .echo = Echo::kNever,
          .spellings = {{.flag = "--svg"}}};
}

Options<OutputFlags> picture_rows(const std::string& draws) {
  Options<OutputFlags> rows;
  rows.add("--picture", &OutputFlags::picture, about_picture(draws));
  return rows.group(kPictureGroup).include(table_rows());
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
  return rows.group(kPictureGroup).include(table_rows());
}

std::string picture_bytes(const std::string& path, const draw::Picture& picture) {
  if (path.ends_with(".vl.json")) {
    if (picture.specification.empty())
      throw InvalidParameter("picture", path, "a name that ends in .svg, .png or .pdf: Vega-Lite does not draw this one");
    return picture.specification;
  }
  const std::string ending = fs::path(path).extension().string();
  for (const Format& format : kFormats) {
    if (ending == format.ending) return as_format(format, path, picture.svg);
  }
  if (!ending.empty() && ending != ".svg") {
    const std::string stem = path.substr(0, path.size() - ending.size());
    throw InvalidParameter("picture", path, "a name that ends in .svg, .png, .pdf or .vl.json, or -",
                           ending == ".json" ? stem + ".vl.json" : "");
  }
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
