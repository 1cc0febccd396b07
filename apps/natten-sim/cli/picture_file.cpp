#include "cli/picture_file.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/child_process.hpp>
#include <natten_sim/io/temporary_file.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

namespace fs = std::filesystem;

/// A program that writes a picture as a PNG to standard output; "%" stands for the file with the picture.
struct Converter {
  const char* program;
  std::vector<std::string> words;
};

const std::vector<Converter>& converters() {
  static const std::vector<Converter> all = {
      {"rsvg-convert", {"-f", "png", "-z", "2", "%"}},
      {"resvg", {"--zoom", "2", "%", "-c"}},
      {"inkscape", {"--export-type=png", "--export-dpi=192", "--export-filename=-", "%"}},
      {"magick", {"-density", "192", "%", "png:-"}}};
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

std::string as_png(const std::string& path, const std::string& svg) {
  std::string tried;
  for (const Converter& converter : converters()) {
    tried += (tried.empty() ? "" : ", ") + std::string(converter.program);
    const std::string program = find_program(converter.program);
    if (program.empty()) continue;
    std::string png = converted(converter, program, svg);
    if (png.starts_with("\x89PNG")) return png;
    throw InvalidParameter(
        "picture", path,
        std::string("a name that ends in .svg: ") + converter.program + " made no PNG of it");
  }
  throw InvalidParameter("picture", path,
                         "a name that ends in .svg, or one of these programs on PATH: " + tried);
}

}  // namespace

std::string picture_bytes(const std::string& path, const draw::Picture& picture) {
  if (path.ends_with(".vl.json")) {
    if (picture.specification.empty())
      throw InvalidParameter("picture", path, "a name that ends in .svg or .png: Vega-Lite does not draw this one");
    return picture.specification;
  }
  const std::string ending = fs::path(path).extension().string();
  if (!ending.empty() && ending != ".svg" && ending != ".png") {
    const std::string stem = path.substr(0, path.size() - ending.size());
    throw InvalidParameter("picture", path, "a name that ends in .svg, .png or .vl.json, or -",
                           ending == ".json" ? stem + ".vl.json" : "");
  }
  return path.ends_with(".png") ? as_png(path, picture.svg) : picture.svg;
}

void write_picture(const std::string& path, const draw::Picture& picture) {
  if (path == "-") {
    write_in_place_of_answer(picture.svg);
  } else {
    write_file(path, picture_bytes(path, picture));
  }
}

}  // namespace natten_sim::cli
