// A member that a question describes once is an option, a key of files and requests, and a key of a batch's
// line.
#include "cli/described.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/conflict.hpp>

#include "catch.hpp"
#include "cli/batch.hpp"
#include "cli/command.hpp"
#include "cli/sources.hpp"

namespace described_test {

using namespace natten_sim;
using namespace natten_sim::cli;

/// The part of a question that others share.
struct Paint {
  std::optional<std::string> device;
  double share = 0.5;
};

/// A question that the program does not have. Its description is all that the tests below add.
struct Wall {
  Extents bricks;
  PerAxis<bool> wet;
  std::int64_t coat_count = 2;
  bool dry = false;
  Paint paint;
};

template <typename Members>
void describe(Members& members, const Paint&) {
  members.group("Paint");
  members.add("device", &Paint::device,
              {.help = "Brush [the thumb]", .names = study::NamesOfCatalog::kDevices});
  members.add("share", &Paint::share, {.value = "P", .help = "Share [default]", .accepted = "a share"});
}

template <typename Members>
void describe(Members& members, const Wall& wall) {
  using Q = Wall;
  members.group("Wall");
  members.add("bricks", &Q::bricks, {.flags = "-i,--bricks", .help = "Bricks per axis", .range = {1, 64}});
  members.add("wet", &Q::wet, {.help = "Wet axes [false]"});
  members.add(
      "coat_count", &Q::coat_count,
      {.flags = "-c,--coats", .help = "Coats, beside {bricks} and {coat_count} [default]", .range = {1, 9}});
  members.add("dry", &Q::dry,
              {.help = "No paint",
               .needs = {"bricks"},
               .rules_out = {{"coat_count"}, "{bricks} alone"}});
  members.part(&Q::paint, [&](auto& paint) { describe(paint, wall.paint); });
}

int paint_wall(const Wall&) { return kExitDone; }

Command wall_command() {
  Command command{.name = "wall"};
  bind(command, options_of<Wall>(), paint_wall);
  return command;
}

const OptionSpec& option(const Command& command, const std::string& name) {
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [&](const OptionSpec& spec) { return spec.name() == name; });
  REQUIRE(found != command.options.end());
  return *found;
}

std::string conflict(const std::vector<std::string>& given) {
  const Command command = wall_command();
  Sources sources(command);
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    if (std::find(given.begin(), given.end(), command.options[i].name()) != given.end())
      sources[i].words = std::vector<std::string>{"1"};
  }
  try {
    check_company(sources);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a described member has a flag, a key, a value's name, its group and its default in help") {
  const Command command = wall_command();
  CHECK(option(command, "bricks").flags == "-i,--bricks");
  CHECK(option(command, "bricks").value_name == "N");
  CHECK(option(command, "bricks").group == "Wall");
  CHECK(option(command, "wet").value_name == "BOOL");
  CHECK(option(command, "wet").help == "Wet axes; without a value, all [false]");
  CHECK(option(command, "coats").key == "coat_count");
  CHECK(option(command, "coats").help == "Coats, beside --bricks and --coat-count [2]");
  CHECK(option(command, "dry").value_name.empty());
  CHECK(option(command, "device").help == "Brush (see list devices) [the thumb]");
  CHECK(option(command, "device").suggestions != nullptr);
  CHECK(option(command, "share").group == "Paint");
}

TEST_CASE("a batch's line sets a described member by its key and by its flags, in parts too") {
  LineReader<Wall> reader(options_of<Wall>(), Wall{}, {});
  std::string id;
  const Wall wall = reader.read(R"({"bricks": [3, 4], "coats": 5, "share": 0.25})", id);
  CHECK(wall.bricks == Extents{3, 4});
  CHECK(wall.coat_count == 5);
  CHECK(wall.paint.share == 0.25);
  CHECK(reader.read(R"({"coat_count": 5})", id).coat_count == 5);
  CHECK_THROWS_AS(reader.read(R"({"coats": 10})", id), InvalidParameter);
}

TEST_CASE("input echoes described members in their order") {
  Wall wall;
  wall.bricks = {3, 4};
  const Json input = options_of<Wall>().echo(wall);
  CHECK(input.dump() ==
        R"({"bricks":[3,4],"wet":null,"coat_count":2,"dry":false,"device":null,"share":0.5})");
}

TEST_CASE("members that a description excludes, needs or rules out are named as options") {
  CHECK(conflict({"dry"}) == "--dry needs --bricks");
  CHECK(conflict({"dry", "bricks"}).empty());
  CHECK(conflict({"dry", "bricks", "coats"}) ==
        "--coats cannot be combined with --dry; accepted: --bricks alone");
}

TEST_CASE("a member that another one lacks says which") {
  const Missing missing(mention("ways"), mention("l2-bytes") + " or " + mention("device"));
  CHECK(missing.sentence("--") == "--ways needs --l2-bytes or --device");
  CHECK(std::string(missing.what()) == "ways needs l2-bytes or device");
  CHECK(missing.parameter() == "ways");
  CHECK(missing.value() == "without l2-bytes or device");
  CHECK(missing.accepted() == "l2-bytes or device");
}

TEST_CASE("a conflict ends after the other parameter unless something else is accepted") {
  const Conflict plain(mention("speedup"), mention("sparsity"));
  CHECK(plain.sentence("--") == "--speedup cannot be combined with --sparsity");
  CHECK(std::string(plain.what()) == "speedup cannot be combined with sparsity");
  CHECK(plain.parameter() == "speedup");
  CHECK(plain.accepted() == "one of the two");
  CHECK(std::string(Conflict("dim", "table", "costs only").what()) ==
        "dim cannot be combined with table; accepted: costs only");
}

TEST_CASE("only() keeps rows in their order, and refuses a key that no row has") {
  const Options<Wall> some = options_of<Wall>().only({"wet", "bricks"});
  REQUIRE(some.rows().size() == 2);
  CHECK(some.rows().front().spec.key == "bricks");
  CHECK_THROWS_AS(options_of<Wall>().only({"brick"}), std::logic_error);
}

}  // namespace described_test
