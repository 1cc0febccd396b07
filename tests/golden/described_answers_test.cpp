// What `schema` says of answers is their description: neither too narrow, since run() checks every answer of
// these tests against it, nor too wide, since each member that it has is shown by a line of answers.txt.
#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include <natten_sim/report/device_profile_report.hpp>
#include <natten_sim/report/validation_report.hpp>

#include "catch.hpp"
#include "cli/invocation.hpp"
#include "commands.hpp"
#include "json_schema.hpp"
#include "places.hpp"
#include "program.hpp"

namespace described_answers_test {

using namespace natten_sim::test;

/// A member's name, and what it means.
using Member = std::pair<std::string, std::string>;
using Members = std::set<Member>;

Member member_of(const std::string& name, const Json& schema) {
  return {name, schema.value("description", "")};
}

void add_described(const Json& schema, Members& members) {
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, member] : properties.items()) {
    members.insert(member_of(name, member));
    add_described(member, members);
  }
  for (const Json& option : schema.value("anyOf", Json::array())) add_described(option, members);
  for (const char* each : {"additionalProperties", "items"}) {
    if (schema.contains(each) && schema.at(each).is_object()) add_described(schema.at(each), members);
  }
}

void add_shown(const Json& value, const Json& schema, Members& members) {
  for (const Json& option : schema.value("anyOf", Json::array())) {
    if (schema_fault(value, option).empty()) add_shown(value, option, members);
  }
  if (value.is_array() && schema.contains("items")) {
    for (const Json& element : value) add_shown(element, schema.at("items"), members);
  }
  if (!value.is_object()) return;
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, member] : value.items()) {
    if (properties.contains(name)) {
      members.insert(member_of(name, properties.at(name)));
      add_shown(member, properties.at(name), members);
    } else if (schema.contains("additionalProperties") && schema.at("additionalProperties").is_object()) {
      add_shown(member, schema.at("additionalProperties"), members);
    }
  }
}

/// Lines of tests/data/answers.txt, with the folder of the sources before the files that they name.
std::vector<std::string> lines_of_answers() {
  const std::string root = std::string(kSourceDir) + "/";
  std::istringstream file(read_text(root + "tests/data/answers.txt"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    for (const char* folder : {" data/", " tests/", " docs/"}) {
      for (std::size_t at = 0; (at = line.find(folder, at)) != std::string::npos; at += root.size())
        line.insert(at + 1, root);
    }
    lines.push_back(line);
  }
  return lines;
}

/// What only runs on a GPU answers with, made up.
std::vector<std::pair<std::string, natten_sim::Json>> answers_of_gpus() {
  using namespace natten_sim;
  return {
      {"validate", report::checks_json({validate::CheckedPoint{.key = "a", .ran = true, .passed = true}})},
      {"validate", report::lowering_checks_json({validate::LoweringCheck{}})},
      {"validate", report::profile_json({})}};
}

/// The answer of `classroom` to a folder with one page.
Json classroom_answer() {
  const std::string pages = scratch_folder();
  write_text(pages + "/index.html", "<html></html>");
  return result_of("classroom --pages " + pages + " --out " + scratch_folder());
}

TEST_CASE("every member that answers are described with is shown by an answer") {
  Members shown;
  for (const std::string& line : lines_of_answers()) {
    const Run done = run(line + " --json");
    INFO(line << "\n" << done.err);
    REQUIRE((done.exit_code == 0 || done.exit_code == 3));
    const Json* const schema = answer_schema_of(line.substr(0, line.find(' ')));
    REQUIRE(schema != nullptr);
    add_shown(Json::parse(done.out).at("result"), *schema, shown);
  }
  for (const auto& [subcommand, answer] : answers_of_gpus()) {
    const Json result = Json::parse(answer.dump());
    CHECK(schema_fault(result, *answer_schema_of(subcommand)) == "");
    add_shown(result, *answer_schema_of(subcommand), shown);
  }
  add_shown(classroom_answer(), *answer_schema_of("classroom"), shown);
  CHECK(shown.size() > 700);
  for (const natten_sim::cli::Command& command : natten_sim::cli::commands()) {
    Members described;
    if (const Json* const schema = answer_schema_of(command.name)) add_described(*schema, described);
    for (const Member& member : described) {
      INFO(command.name << " " << member.first << ": " << member.second);
      CHECK(shown.contains(member));
    }
  }
}

TEST_CASE("every subcommand that prints JSON describes its answer, and each member has a meaning") {
  for (const natten_sim::cli::Command& command : natten_sim::cli::commands()) {
    INFO(command.name);
    const Json* const schema = answer_schema_of(command.name);
    CHECK((schema != nullptr) == natten_sim::cli::gives_json(command));
    Members described;
    if (schema != nullptr) add_described(*schema, described);
    for (const Member& member : described) {
      INFO(command.name << " " << member.first);
      CHECK_FALSE(member.second.empty());
    }
  }
}

}  // namespace described_answers_test
