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
  REQUIRE(moved.at("different") == 2);  // p, and r
  CHECK(moved.at("differences")[0] == Json::parse(R"({"place": "rows[name=\"p\"]", "a": {"name": "p", "t": 1},
                                                      "b": null, "relative": null, "beyond": true})"));
  CHECK(moved.at("differences")[1].at("place") == R"(rows[name="r"])");
  const Json twice = result(files(R"([{"name": "p", "t": 1}, {"name": "p", "t": 2}])", R"([{"name": "p", "t": 1}])"));
  CHECK(twice.at("differences")[0].at("place") == "[1]");
}

/// Lines of answers with two members, in this order.
std::string answers(const std::vector<int>& ids) {
  std::string text;
  for (const int id : ids)
    text += R"({"id": )" + std::to_string(id) + R"(, "result": {"visited": )" + std::to_string(7 * id) + R"(, "full": [1, 2]}})" + "\n";
  return text;
}

TEST_CASE("a line that only one file has is one difference, whatever it holds and wherever it stands") {
  const Json diff = result(files(answers({1, 2, 3, 4}), answers({4, 2, 5, 1})));
  REQUIRE(diff.at("different") == 2);
  CHECK(diff.at("differences")[0].at("place") == "[id=3]");
  CHECK(diff.at("differences")[0].at("b").is_null());
  CHECK(diff.at("differences")[1].at("place") == "[id=5]");
  CHECK(diff.at("differences")[1].at("a").is_null());
  CHECK(diff.at("values") == 3 * 4 + 2);  // three lines of four values that both have, and two that one has
}

TEST_CASE("lines with the same name are matched in order, and lines without any by their place") {
  const std::string line = R"({"name": "p", "t": )";
  const Json same = result(files(line + "1}\n" + line + "2}\n" + line + "3}\n", line + "1}\n" + line + "5}\n"));
  REQUIRE(same.at("different") == 2);
  CHECK(same.at("differences")[0].at("place") == R"([name="p"][1].t)");
  CHECK(same.at("differences")[1].at("place") == R"([name="p"][2])");
  const Json nameless = result(files("{\"t\": 1}\n{\"t\": 2}\n", "{\"t\": 1}\n{\"t\": 4}\n"));
  REQUIRE(nameless.at("different") == 1);
  CHECK(nameless.at("differences")[0].at("place") == "[1].t");
  CHECK(nameless.at("differences")[0].at("relative") == 1.0);
}

TEST_CASE("differences stand in the order of the first file, however the second one is ordered") {
  std::vector<int> ascending, descending;
  for (int id = 0; id < 3'000; ++id) ascending.push_back(id), descending.push_back(2'999 - id);
  std::string changed = answers(descending);
  for (const char* id : {"2500", "17", "1024"}) {
    const std::size_t at = changed.find(R"("id": )" + std::string(id) + ",");
    changed.replace(changed.find("[1, 2]", at), 6, "[1, 3]");
  }
  const Json diff = result(files(answers(ascending), changed));
  REQUIRE(diff.at("different") == 3);
  CHECK(diff.at("differences")[0].at("place") == "[id=17].result.full[1]");
  CHECK(diff.at("differences")[1].at("place") == "[id=1024].result.full[1]");
  CHECK(diff.at("differences")[2].at("place") == "[id=2500].result.full[1]");
}

TEST_CASE("tables of a sweep are compared by the options that were swept") {
  const std::string folder = scratch_folder(), sweep = "sweep count -i 64 --q-tile 8 --kv-tile 4 --quiet ";
  REQUIRE(run(sweep + "--over window=16,24,32 causal=false,true --output '" + folder + "/a'").exit_code == 0);
  REQUIRE(run(sweep + "--over window=32,16 causal=true,false --output '" + folder + "/b'").exit_code == 0);
  const std::string line = "diff '" + folder + "/a' '" + folder + "/b' ";
  CHECK(run(line).exit_code == 3);
  const Json diff = result(line);
  REQUIRE(diff.at("different") == 2);
  CHECK(diff.at("differences")[0].at("place") == "[window=24, causal=0]");
  CHECK(diff.at("differences")[1].at("place") == "[window=24, causal=1]");
  CHECK(run("diff '" + folder + "/a' '" + folder + "/a'").exit_code == 0);

  std::string other = read_text(folder + "/a");
  const std::size_t row = other.find("\n24,0,"), cell = other.find(",64,", row);
  REQUIRE(cell != std::string::npos);
  other.replace(cell, 4, ",80,");
  write_text(folder + "/c", other);
  const Json changed = result("diff '" + folder + "/a' '" + folder + "/c' ");
  REQUIRE(changed.at("different") == 1);
  CHECK(changed.at("differences")[0].at("relative") == 0.25);  // 80 over 64
}

TEST_CASE("a table of one row a configuration, as --csv prints it, is compared by places") {
  const std::string folder = scratch_folder();
  for (const char* window : {"16", "24"})
    REQUIRE(run("count -i 64 -w " + std::string(window) + " --csv --output '" + folder + "/" + window + "'").exit_code == 0);
  const Json diff = result("diff '" + folder + "/16' '" + folder + "/24' ");
  CHECK(diff.at("differences")[0].at("place") == "[0].window");
  CHECK(diff.at("differences")[0].at("relative") == 0.5);
}

TEST_CASE("10,000 lines that all differ are compared line by line") {
  std::string a, b;
  for (int id = 0; id < 10'000; ++id) {
    const std::string begin = R"({"id": )" + std::to_string(id) + R"(, "result": {"time_ms": )";
    a += begin + std::to_string(id + 1) + "}}\n";
    b += begin + std::to_string(2 * (id + 1)) + "}}\n";
  }
  const Json diff = result(files(a, b) + "--quiet ");
  CHECK(diff.at("different") == 10'000);
  CHECK(diff.at("largest_relative") == 1.0);
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
  const std::string table = scratch_folder() + "/table.csv", lines = scratch_folder() + "/lines.jsonl";
  write_text(table, "a,b\n1,2\n");
  write_text(lines, "{\"a\": 1}\n{\"a\": 2}\n");
  check_refused("diff " + table + " " + lines, {"two kinds", "two tables"});
  const std::string torn = scratch_folder() + "/torn.csv";
  write_text(torn, "a,b\n1,3,4\n");
  check_refused("diff " + table + " " + torn, {torn + ", line 2", "3 cells", "2, as the header has"});
  check_refused("diff /no/such/file /no/such/file", {"/no/such/file"});
}

}  // namespace diff_test
