// Where --picture puts a picture: a file, standard output, or a PNG by a converter.
#include <filesystem>
#include <string>

#include "catch.hpp"
#include "program.hpp"

namespace picture_file_test {

using namespace natten_sim::test;

const std::string kCount = "count -i 64 -w 16 -s 4 --q-tile 8 --kv-tile 4";

/// A folder with a program of this name, which prints `text`.
std::string folder_with(const std::string& program, const std::string& text) {
  std::string folder = scratch_folder();
  const std::string path = folder + "/" + program;
  write_text(path, "#!/bin/sh\nprintf '" + text + "'\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return folder;
}

TEST_CASE("'-' puts the picture on standard output in place of the answer, whatever draws it") {
  const std::string path = scratch_folder() + "/picture.svg";
  for (const std::string& line :
       {kCount, std::string("reuse -i 4096 --device h200 --order cyclic"),
        std::string("schedule --q-tiles 4 --kv-tiles 4 --workers 4 --mask causal --algorithm descending"),
        std::string("reproduce gna --figure 4.5"),
        std::string("search -i 24 24 -n 8 -d 128 --device h200 --pareto"),
        "validate --recorded '" + shipped_recordings({"nvidia-h200-sawtooth"}) + "' --view misses"}) {
    INFO(line);
    const Run shown = run(line + " --quiet --picture -");
    INFO(shown.err);
    REQUIRE(shown.exit_code == 0);
    REQUIRE(run(line + " --quiet --picture '" + path + "'").exit_code == 0);
    CHECK(shown.out == read_text(path));
    CHECK(shown.out.starts_with("<svg "));
    CHECK(shown.out.ends_with("</svg>\n"));
  }
  const Run scatter = run("atomics --quiet --picture-kind remedies --svg -");  // the short name
  CHECK(scatter.out.starts_with("<svg "));
  CHECK(scatter.out.find("Remedies") != std::string::npos);
  CHECK(scatter.out.ends_with("</svg>\n"));
}

TEST_CASE("with --output the answer is in the file and the picture on standard output") {
  const std::string path = scratch_folder() + "/answer.json";
  const Run shown = run(kCount + " --json --output '" + path + "' --picture -");
  REQUIRE(shown.exit_code == 0);
  CHECK(shown.out.starts_with("<svg "));
  CHECK(Json::parse(read_text(path))["result"]["visited_tiles"] == 44);  // the dissertation's figure 4.5
}

TEST_CASE("a picture and JSON or CSV do not fit on standard output together") {
  for (const std::string& format : {std::string("--json"), std::string("--csv")}) {
    for (const std::string& line : {kCount + " --picture -", std::string("atomics --picture -")}) {
      const Run done = run(line + " " + format);
      CHECK(done.exit_code == 2);
      CHECK(done.out.empty());
      CHECK(done.err.find("cannot be combined with " + format) != std::string::npos);
      CHECK(done.err.find("--output FILE") != std::string::npos);
    }
  }
}

TEST_CASE("a name that ends in .png takes a converter, and without one says which would do") {
  const std::string target = scratch_folder() + "/picture.png";
  const std::string line = "\"$PROGRAM\" " + kCount + " --picture '" + target + "'";
  CHECK(shell_exit_code("PATH='" + folder_with("rsvg-convert", "\\211PNG and more") + "' " + line) == 0);
  CHECK(read_text(target) == "\x89PNG and more");
  CHECK(shell_exit_code("PATH='" + folder_with("resvg", "\\211PNG by another") + "' " + line) == 0);
  CHECK(read_text(target) == "\x89PNG by another");
  CHECK(shell_exit_code("TMPDIR=/nonexistent PATH='" + folder_with("resvg", "\\211PNG again") + "' " +
                        line) == 0);
  CHECK(read_text(target) == "\x89PNG again");

  const std::string said = scratch_folder() + "/said";
  CHECK(shell_exit_code("PATH='" + scratch_folder() + "' " + line + " 2> '" + said + "'") == 2);
  for (const char* word : {".svg", "rsvg-convert", "resvg", "inkscape", "magick"})
    CHECK(read_text(said).find(word) != std::string::npos);
  CHECK(shell_exit_code("PATH='" + folder_with("rsvg-convert", "no picture") + "' " + line + " 2> '" + said +
                        "'") == 2);
  CHECK(read_text(said).find("rsvg-convert made no PNG") != std::string::npos);
  CHECK(read_text(target) == "\x89PNG again");  // what was there stays
}

TEST_CASE("a name that ends in .pdf takes a converter that keeps text as text, and without one says which would do") {
  const std::string target = scratch_folder() + "/picture.pdf";
  const std::string line = "\"$PROGRAM\" " + kCount + " --picture '" + target + "'";
  CHECK(shell_exit_code("PATH='" + folder_with("rsvg-convert", "%%PDF-1.7") + "' " + line) == 0);
  CHECK(read_text(target) == "%PDF-1.7");
  CHECK(shell_exit_code("PATH='" + folder_with("inkscape", "%%PDF-1.5") + "' " + line) == 0);
  CHECK(read_text(target) == "%PDF-1.5");
  const std::string said = scratch_folder() + "/said";
  for (const char* other : {"magick", "resvg"}) {  // one draws pixels, one writes no PDF
    CHECK(shell_exit_code("PATH='" + folder_with(other, "%%PDF-1.7") + "' " + line + " 2> '" + said + "'") == 2);
    CHECK(read_text(said).find("rsvg-convert, inkscape") != std::string::npos);
  }
  CHECK(shell_exit_code("PATH='" + folder_with("rsvg-convert", "\\211PNG") + "' " + line + " 2> '" + said + "'") == 2);
  CHECK(read_text(said).find("rsvg-convert made no PDF") != std::string::npos);
}

TEST_CASE("a quote in the name of the folder for temporary files starts no command") {
  const std::string folder = scratch_folder();
  std::filesystem::create_directory(folder + "/a';touch pwned;'");
  const std::string target = folder + "/picture.png";
  CHECK(shell_exit_code("cd '" + folder + "' && TMPDIR=\"$PWD/a';touch pwned;'\" PATH='" +
                        folder_with("rsvg-convert", "\\211PNG") + ":'\"$PATH\" \"$PROGRAM\" " + kCount + " --picture '" + target +
                        "'") == 0);
  CHECK_FALSE(std::filesystem::exists(folder + "/pwned"));
  CHECK(std::filesystem::is_empty(folder + "/a';touch pwned;'"));
  CHECK(read_text(target) == "\x89PNG");
}

TEST_CASE("a signal while a picture is converted leaves no temporary file") {
  const std::string folder = scratch_folder();
  const std::string programs = folder_with("rsvg-convert", "");
  write_text(programs + "/rsvg-convert", "#!/bin/sh\nkill -TERM $PPID\nsleep 5\n");
  CHECK(shell_exit_code("TMPDIR='" + folder + "' PATH='" + programs + ":'\"$PATH\" \"$PROGRAM\" " + kCount +
                        " --picture '" + folder + "/picture.png'") > 128);
  CHECK(std::filesystem::is_empty(folder));
}

TEST_CASE("a picture has the width of a template's column, with text of the size that is asked for") {
  const std::string path = scratch_folder() + "/column.svg";
  const std::string line = "atomics --updates 900 --picture-kind remedies --picture '" + path + "' --quiet --picture-width ";
  REQUIRE(run(line + "acm-page").exit_code == 0);
  // 506.3 points of 8 point text are as many pixels of 12 pixel text as 506.3 * 12 / 8.
  const std::string page = read_text(path);
  CHECK(page.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"506.30pt\""));
  CHECK(page.find("viewBox=\"0 0 760 ") != std::string::npos);
  REQUIRE(run(line + "8.4cm --picture-font 7").exit_code == 0);
  const std::string column = read_text(path);  // 84 mm are 238.11 points, 409 pixels beside 7 points
  CHECK(column.find("width=\"238.11pt\"") != std::string::npos);
  CHECK(column.find("viewBox=\"0 0 409 ") != std::string::npos);
  check_refused(line + "wide", {"picture-width", "acm-column", "pt, mm, cm or in"});
  check_refused(line + "4mm", {"picture-width"});
}

TEST_CASE("a picture can be light or dark whatever the reader's scheme is") {
  const std::string path = scratch_folder() + "/scheme.svg", line = kCount + " --quiet --picture '" + path + "'";
  REQUIRE(run(line).exit_code == 0);
  const std::string both = read_text(path);
  CHECK(both.find("prefers-color-scheme:dark") != std::string::npos);
  for (const std::string scheme : {"light", "dark"}) {
    REQUIRE(run(line + " --picture-scheme " + scheme).exit_code == 0);
    const std::string one = read_text(path);
    CHECK(one.find("prefers-color-scheme") == std::string::npos);
    CHECK(one.find("<style>\n.") != std::string::npos);
    CHECK(one.size() < both.size());
  }
}

}  // namespace picture_file_test
