#include "catch.hpp"
#include "program.hpp"

namespace picture_test {

using namespace natten_sim::test;

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

/// The picture without its two lines of legend.
std::string picture(const std::string& line) {
  const auto done = run(line + " --ascii");
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  const std::size_t first = done.out.find('\n'), second = done.out.find('\n', first + 1);
  return done.out.substr(second + 1);
}

TEST_CASE("figure 4.5, stride 8, as drawn: blocks of two Q tiles' width, shifted inwards at the borders") {
  CHECK(picture("count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4") ==
        "####............\n"
        ".####...........\n"
        "...####.........\n"
        ".....####.......\n"
        ".......####.....\n"
        ".........####...\n"
        "...........####.\n"
        "............####\n");
}

TEST_CASE("the picture shows as many full and partial tiles as are counted") {
  for (const std::string line :
       {"count -i 64 -w 16 -s 3 --q-tile 8 --kv-tile 4", "count -i 50 -w 13 -s 5 --q-tile 7 --kv-tile 3 -c 1",
        "count -i 9 8 -w 4 5 --q-tile 5 --kv-tile 6 --tiling single"}) {
    INFO(line);
    const std::string shown = picture(line);
    const auto result = natten_sim::test::result_of(line);
    CHECK(occurrences(shown, "#") == result["full_tiles"].get<std::size_t>());
    CHECK(occurrences(shown, "+") == result["partial_tiles"].get<std::size_t>());
  }
}

TEST_CASE("on a cyclic axis the picture goes on at the other end") {
  // 16 tokens in tiles of 4, window 5: each query attends to two tokens on both sides, across the seam too.
  CHECK(picture("count -i 16 -w 5 --q-tile 4 --kv-tile 4 --cyclic") ==
        "++.+\n"
        "+++.\n"
        ".+++\n"
        "+.++\n");
}

TEST_CASE("2-D and 3-D pictures show the KV tiles of one Q tile") {
  CHECK(picture("count -i 8 8 -w 4 4 -s 4 4 --q-tile 4 4 --kv-tile 2 2 --at-q-tile 0 1") ==
        "..##\n"
        "..##\n"
        "....\n"
        "....\n");
  const std::string volume =
      picture("count -i 4 4 4 -w 2 2 2 -s 2 2 2 --q-tile 2 2 2 --kv-tile 2 2 2 --at-q-tile 1 0 0");
  CHECK(volume == "\naxis 0 from token 0\n..\n..\n\naxis 0 from token 2\n#.\n..\n");
}

TEST_CASE("dynamic tiles are drawn where they lie, token by token") {
  // Q tile 1 (tokens 4..7), window 5: keys 2..9, two tiles of four tokens from key 2 on.
  const std::string shown = picture("count -i 12 -w 5 --q-tile 4 --kv-tile 4 --kv-tiling dynamic");
  CHECK(shown.substr(13, 13) == "..++++++++..\n");
}

TEST_CASE("an SVG is written whole, with the problem and the coverage of its tiles") {
  const std::string path = scratch_folder() + "/mask.svg";
  const auto done = run("count -i 64 -w 16 -s 4 --q-tile 8 --kv-tile 4 --picture " + path);
  CHECK(done.exit_code == 0);
  CHECK_FALSE(done.out.empty());
  const std::string svg = read_text(path);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  for (const char* part : {"Tiles visited", "input 64, window 16, stride 4", "Q tile 8", "KV tile 4",
                           ">full<", ">partial<", ">skipped<", "prefers-color-scheme"}) {
    INFO(part);
    CHECK(svg.find(part) != std::string::npos);
  }
}

TEST_CASE("titles say mask and costs, an index as an index, and what ticks and panels count") {
  const auto svg_of = [](const std::string& line) {
    const std::string path = scratch_folder() + "/title.svg";
    REQUIRE(run(line + " --quiet --picture " + path).exit_code == 0);
    return read_text(path);
  };
  const std::string schedule =
      "schedule --q-tiles 4 --algorithm ascending --compute 7 --reduce 2 --handoff 1 --mask ";
  CHECK(svg_of(schedule + "full")
            .find("4 Q x 4 KV tiles, mask full, 1 head, 4 workers; compute 7, reduce 2, handoff 1") !=
        std::string::npos);
  CHECK(svg_of(schedule + "causal").find("mask causal") != std::string::npos);
  const std::string plane =
      svg_of("count -i 64 64 -w 16 16 --q-tile 16 16 --kv-tile 16 8 --causal --at-q-tile 2 3");
  CHECK(plane.find("causal on axis 0 and 1") != std::string::npos);
  CHECK(plane.find("Q tile at (2, 3)") != std::string::npos);
  CHECK(plane.find("edges are numbered in KV tiles") != std::string::npos);
  const std::string volume =
      svg_of("count -i 4 64 64 -w 2 32 32 --q-tile 2 8 8 --kv-tile 2 4 4 --at-q-tile 1 0 0");
  CHECK(volume.find("axis 0 from token 2") != std::string::npos);
  CHECK(volume.find("edges are numbered in KV tiles") != std::string::npos);
  CHECK(svg_of("count -i 64 -w 16 --causal 1 --q-tile 8 --kv-tile 4").find("causal on axis 0,") !=
        std::string::npos);
}

TEST_CASE("pictures that cannot be drawn are refused") {
  CHECK(run("count -i 115200 -w 100 --q-tile 64 --kv-tile 64 --ascii").exit_code == 2);
  CHECK(run("count -i 8 8 -w 4 4 --q-tile 4 4 --kv-tile 2 2 --ascii --at-q-tile 0 2").exit_code == 2);
  CHECK(run("count -i 8 8 -w 4 4 --q-tile 4 4 --kv-tile 2 2 --ascii --at-q-tile 0").exit_code == 2);
  CHECK(run("count -i 8 -w 4 --q-tile 4 --kv-tile 2 --ascii --at-q-tile 0").exit_code == 2);
  CHECK(run("count -i 2 2 2 2 -w 1 1 1 1 --q-tile 1 1 1 1 --kv-tile 1 1 1 1 --ascii").exit_code == 2);
  CHECK(run("count -i 64 -w 4 --q-tile 4 --kv-tile 2 --picture /nonexistent/x.svg").exit_code == 2);
}

}  // namespace picture_test
