// natten-sim diff: what differs between two documents, by how much, and what that makes the exit code.
#include "catch.hpp"
#include "program.hpp"

namespace diff_test {

using namespace natten_sim::test;

/// The arguments of a diff of two texts.
std::string files(const std::string& a, const std::string& b) {
  const std::string folder = scratch_folder();
  write_text(folder + "/a", a);
  write_text(folder + "/b", b);
  return "diff '" + folder + "/a' '" + folder + "/b' ";
}

Json result(const std::string& line) { return Json::parse(run(line + "--json").out).at("result"); }

TEST_CASE("numbers that differ have a relative difference, and count beyond the tolerance") {
  const std::string line = files(R"({"x": 100, "y": {"z": 8.0}, "w": "same"})", R"({"x": 103, "y": {"z": 6.0}, "w": "same"})");
  const Json all = result(line);
  CHECK(all.at("values") == 3);
  CHECK(all.at("different") == 2);
  CHECK(all.at("beyond") == 2);
  CHECK(all.at("largest_relative") == -0.25);  // (6 - 8) / 8
  CHECK(all.at("differences")[0] ==
        Json::parse(R"({"place": "x", "a": 100, "b": 103, "relative": 0.03, "beyond": true})"));
  CHECK(all.at("differences")[1].at("place") == "y.z");
  CHECK(run(line).exit_code == 3);
  // 3 of 103, the larger of the two, is 2.91%; 2 of 8 is 25%.
  CHECK(result(line + "--tolerance 3% ").at("beyond") == 1);
  CHECK(run(line + "--tolerance 0.24").exit_code == 3);
  CHECK(run(line + "--tolerance 25%").exit_code == 0);
  CHECK(run(line + "--tolerance 25%").out.starts_with("0 of 3 values differ by more than 25%. 2 more by less."));
}

TEST_CASE("equal documents agree, whatever the order of their members, and 1 is 1.0") {
  CHECK(run(files(R"({"a": 1, "b": [1, null]})", R"({"b": [1, null], "a": 1.0})")).exit_code == 0);
  CHECK(run(files(R"({"version": "1", "a": 1})", R"({"version": "2", "a": 1})")).exit_code == 0);
  CHECK(run(files(R"({"version": "1"})", R"({"version": "2"})") + "--ignore commit").exit_code == 3);
}

TEST_CASE("rows are matched by what names them, and else by their place") {
  const Json moved = result(files(R"({"rows": [{"name": "p", "t": 1}, {"name": "q", "t": 2}]})",
                                  R"({"rows": [{"name": "q", "t": 2}, {"name": "r", "t": 3}]})"));
  REQUIRE(moved.at("different") == 4);  // name and t of p, and of r
  CHECK(moved.at("differences")[0].at("place") == R"(rows[name="p"].name)");
  CHECK(moved.at("differences")[1] ==
        Json::parse(R"({"place": "rows[name=\"p\"].t", "a": 1, "b": null, "relative": null, "beyond": true})"));
  const Json twice = result(files(R"([{"name": "p", "t": 1}, {"name": "p", "t": 2}])", R"([{"name": "p", "t": 1}])"));
  CHECK(twice.at("differences")[0].at("place") == "[1].name");
}

TEST_CASE("JSON Lines are compared by id, results by their members") {
  const std::string lines = "{\"id\": 1, \"x\": 5}\n{\"id\": 2, \"x\": 6}\n";
  CHECK(run(files(lines, "{\"id\": 2, \"x\": 6}\n{\"id\": 1, \"x\": 5}\n")).exit_code == 0);
  const std::string folder = scratch_folder();
  REQUIRE(run("reuse -i 4096 --json --output '" + folder + "/a'").exit_code == 0);
  REQUIRE(run("reuse -i 8192 --json --output '" + folder + "/b'").exit_code == 0);
  const Run text = run("diff '" + folder + "/a' '" + folder + "/b'");
  CHECK(text.exit_code == 3);
  CHECK(text.out.find("result.cold_sectors") != std::string::npos);
  CHECK(text.out.find("+100%") != std::string::npos);
  CHECK(run("diff '" + folder + "/a' '" + folder + "/b' --csv").out.starts_with("place,a,b,relative,beyond\n"));
}

TEST_CASE("a diff of no files, one or no JSON is refused") {
  check_refused("diff", {"files", "two files"});
  check_refused(files("{}", "not json"), {"JSON"});
  const std::string table = scratch_folder() + "/table.csv";
  write_text(table, "a,b\n1,2\n");
  check_refused("diff " + table + " " + table, {"file " + table});
  check_refused("diff /no/such/file /no/such/file", {"/no/such/file"});
}

}  // namespace diff_test
