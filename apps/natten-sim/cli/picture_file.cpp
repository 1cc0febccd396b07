#include "cli/picture_file.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include <unistd.h>

#include <natten_sim/core/error.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

namespace fs = std::filesystem;

struct Converter {
  const char* program;
  const char* before;  ///< the file: what comes before it on the command line
  const char* after;
};

/// Each writes the PNG to standard output.
constexpr std::array<Converter, 4> kConverters = {{{"rsvg-convert", "-f png -z 2 ", ""},
                                                   {"resvg", "--zoom 2 ", " -c"},
                                                   {"inkscape",
                                                    "--export-type=png --export-dpi=192 "
                                                    "--export-filename=- ",
                                                    ""},
                                                   {"magick", "-density 192 ", " png:-"}}};

bool on_path(std::string_view program) {
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const std::size_t colon = folders.find(':');
    const fs::path file = fs::path(folders.substr(0, colon)) / program;
    if (::access(file.c_str(), X_OK) == 0) return true;
    folders.remove_prefix(colon == std::string_view::npos ? folders.size() : colon + 1);
  }
  return false;
}

/// TMPDIR, or /tmp where that is no folder.
fs::path temporary_folder() {
  std::error_code none;
  const fs::path folder = fs::temp_directory_path(none);
  return none ? fs::path("/tmp") : folder;
}

/// A file of its own, gone with the object.
class TemporaryPicture {
 public:
  explicit TemporaryPicture(const std::string& svg)
      : path_((temporary_folder() / "natten-sim-XXXXXX").string()) {
    const int file = ::mkstemp(path_.data());
    if (file < 0) throw WriteError(path_ + ": cannot write");
    const bool whole = ::write(file, svg.data(), svg.size()) == static_cast<ssize_t>(svg.size());
    ::close(file);
    if (!whole) {
      ::unlink(path_.c_str());
      throw WriteError(path_ + ": cannot write");
    }
  }
  ~TemporaryPicture() { ::unlink(path_.c_str()); }
  TemporaryPicture(const TemporaryPicture&) = delete;
  TemporaryPicture& operator=(const TemporaryPicture&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string output_of_converter(const std::string& command) {
  const auto close = [](std::FILE* pipe) { (void)::pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(::popen(command.c_str(), "r"), close);
  std::string bytes;
  std::array<char, 65536> chunk{};
  while (pipe != nullptr) {
    const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe.get());
    if (got == 0) break;
    bytes.append(chunk.data(), got);
  }
  return bytes;
}

std::string as_png(const std::string& path, const std::string& svg) {
  std::string tried;
  for (const Converter& converter : kConverters) {
    tried += (tried.empty() ? "" : ", ") + std::string(converter.program);
    if (!on_path(converter.program)) continue;
    const TemporaryPicture picture(svg);
    std::string png = output_of_converter(std::string(converter.program) + " " + converter.before + "'" +
                                          picture.path() + "'" + converter.after);
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
