// Rows of options: what each type accepts on the command line and in JSON, and what it echoes.
#include "cli/options.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/error.hpp>

#include "catch.hpp"
#include "property/holds.hpp"
#include "cli/batch.hpp"
#include "cli/reply.hpp"
#include "cli/sources.hpp"

namespace options_test {

using namespace natten_sim;
using namespace natten_sim::cli;

struct Inner {
  std::optional<std::int64_t> heads;
};

struct Question {
  bool flag = false;
  std::int64_t whole = 7;
  std::int32_t small = 1;
  std::uint64_t seed = 0;
  double number = 0.5;
  std::string text;
  Dtype dtype = Dtype::kFp16;
  std::optional<Dtype> other;
  Extents shape;
  PerAxis<bool> causal;
  PerAxis<IntRange> ranges;
  std::optional<SparsityRange> sparsity;
  Inner inner;
};

Options<Question> rows() {
  Options<Question> rows;
  rows.add("--flag", &Question::flag, {.help = "A flag"});
  rows.add("-w,--whole,--whole-number", &Question::whole,
           {.value = "N", .help = "An integer", .range = {2, 9}});
  rows.add("--small", &Question::small, {.value = "N", .help = "32 bits"});
  rows.add("--seed", &Question::seed,
           {.value = "N", .help = "64 bits", .range = {-5, std::numeric_limits<std::int64_t>::max()}});
  rows.add("--number", &Question::number,
           {.value = "X", .help = "A number", .interval = {0, 2}, .accepted = "a number in 0..2"});
  rows.add("--text", &Question::text, {.value = "T", .help = "A text", .choices = "one two"});
  rows.add("--dtype", &Question::dtype, {.value = "TYPE", .help = "A name"});
  rows.add("--other", &Question::other,
           {.value = "TYPE", .help = "A name", .choices = "bf16 fp32", .echo = Echo::kWhenSet});
  rows.add("--shape", &Question::shape, {.value = "N", .help = "Sizes", .batch = true});
  rows.add("--causal", &Question::causal, {.value = "BOOL", .help = "One an axis"});
  rows.add("--ranges", &Question::ranges, {.value = "LO:HI", .help = "Ranges"});
  rows.add("--sparsity", &Question::sparsity, {.value = "LO:HI", .help = "Fractions"});
  rows.add("--heads", within(&Question::inner, &Inner::heads), {.value = "N", .help = "Nested"});
  return rows;
}

using Row = Options<Question>::Row;

/// The row of this name reads with `read`.
template <typename Read>
Question with_row(const std::string& name, Read read) {
  const Options<Question> options = rows();
  const auto row = std::find_if(options.rows().begin(), options.rows().end(),
                                [&](const Row& each) { return each.spec.name() == name; });
  REQUIRE(row != options.rows().end());
  Question question;
  read(*row, question);
  return question;
}

Question read(const std::string& name, const std::vector<std::string>& words) {
  return with_row(name, [&](const Row& row, Question& question) { row.read_words(question, words); });
}

/// As from a file of options, a request or a line.
Question read_json(const std::string& name, const Json& value) {
  return with_row(name, [&](const Row& row, Question& question) { row.read_json(question, name, value); });
}

/// The error that reading throws.
template <typename Read>
std::string refusal(Read read) {
  try {
    (void)read();
  } catch (const Error& error) {
    return error.what() + (error.hint().empty() ? "" : "; nearest " + error.hint());
  }
  return "nothing was refused";
}

std::string refused(const std::string& name, const std::vector<std::string>& words) {
  return refusal([&] { return read(name, words); });
}

std::string refused_json(const std::string& name, const Json& value) {
  return refusal([&] { return read_json(name, value); });
}

/// The question of a line.
Question read_line(const std::string& line) {
  std::string id;
  return LineReader<Question>(rows(), {}, {}).read(line, id);
}

std::string refused_line(const std::string& line) {
  return refusal([&] { return read_line(line); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("words become values of the member's type") {
  CHECK(read("flag", {}).flag);
  CHECK(read("whole", {"2"}).whole == 2);
  CHECK(read("whole", {"9"}).whole == 9);
  CHECK(read("small", {"2147483647"}).small == 2147483647);
  CHECK(read("seed", {"9223372036854775807"}).seed == 9223372036854775807U);
  CHECK(read("number", {"1.25"}).number == 1.25);
  CHECK(read("text", {"two"}).text == "two");
  CHECK(read("dtype", {"e4m3"}).dtype == Dtype::kE4m3);
  CHECK(read("other", {"bf16"}).other == Dtype::kBf16);
  CHECK(read("shape", {"30", "48", "80"}).shape == Extents{30, 48, 80});
  CHECK(read("shape", {"30x48x80"}).shape == Extents{30, 48, 80});
  CHECK(read("shape", {"30,48,80"}).shape == Extents{30, 48, 80});
  CHECK(read("causal", {"true", "0"}).causal == PerAxis<bool>{true, false});
  CHECK(read("ranges", {"1:4", "2:2"}).ranges == PerAxis<IntRange>{{1, 4}, {2, 2}});
  CHECK(read("sparsity", {"0.25:0.5"}).sparsity->hi == 0.5);
  CHECK(read("heads", {"24"}).inner.heads == 24);
}

TEST_CASE("what is not given keeps the default of the struct") {
  const Question question = read("heads", {"24"});
  CHECK(question.whole == 7);
  CHECK(question.number == 0.5);
  CHECK_FALSE(question.other.has_value());
  CHECK_FALSE(question.sparsity.has_value());
}

TEST_CASE("a value of JSON is read as the command line reads it, whatever its kind") {
  for (const char* nine : {"9", "9.0", "\"9\"", "[9]", "[\"9\"]", "9e0"}) {
    INFO(nine);
    CHECK(read_json("whole", Json::parse(nine)).whole == 9);
  }
  for (const char* shape : {"[4, 5]", "[4.0, 5]", "\"4x5\"", "\"4,5\"", "[\"4\", 5]", "[\"4x5\"]"}) {
    INFO(shape);
    CHECK(read_json("shape", Json::parse(shape)).shape == Extents{4, 5});
  }
  CHECK(read_json("shape", Json(4)).shape == Extents{4});
  CHECK(read_json("number", Json(2)).number == 2);
  CHECK(read_json("number", Json("1.5")).number == 1.5);
  // The sum of 0.1 and 0.2 has 17 digits and keeps them all.
  CHECK(read_json("number", Json(0.1 + 0.2)).number == 0.1 + 0.2);
  CHECK(read_json("causal", Json::parse("[true, 0]")).causal == PerAxis<bool>{true, false});
  CHECK(read_json("causal", Json(true)).causal == PerAxis<bool>{true});
  for (const char* ranges : {"[[1, 4], [2, 2]]", "[\"1:4\", \"2:2\"]", "[[1, \"4\"], \"2:2\"]"})
    CHECK(read_json("ranges", Json::parse(ranges)).ranges == PerAxis<IntRange>{{1, 4}, {2, 2}});
  for (const char* range : {"[1, 4]", "\"1:4\"", "[[1, 4]]"})
    CHECK(read_json("ranges", Json::parse(range)).ranges == PerAxis<IntRange>{{1, 4}});
  for (const char* shares : {"[0.25, 0.5]", "[25, 50]", "\"25%:50%\"", "[\"25%\", \"50%\"]"})
    CHECK(read_json("sparsity", Json::parse(shares)).sparsity->hi == 0.5);
  CHECK(read_json("dtype", Json("e4m3")).dtype == Dtype::kE4m3);
  CHECK(read_json("heads", Json(24)).inner.heads == 24);
  for (const char* on : {"true", "1", "\"true\"", "\"1\"", "[true]"}) {
    INFO(on);
    CHECK(read_json("flag", Json::parse(on)).flag);
  }
  for (const char* off : {"false", "0", "\"false\"", "\"0\""}) CHECK_FALSE(read_json("flag", Json::parse(off)).flag);
}

TEST_CASE("null is the default of the struct, also in place of another value") {
  LineReader<Question> reader(rows(), Question{.flag = true, .whole = 4, .shape = {8}, .inner = {24}}, {});
  std::string id;
  const Question question = reader.read(R"({"flag": null, "whole": null, "shape": null, "heads": null})", id);
  CHECK_FALSE(question.flag);
  CHECK(question.whole == 7);
  CHECK(question.shape.empty());
  CHECK_FALSE(question.inner.heads.has_value());
}

TEST_CASE("what a type refuses in JSON it refuses as on the command line") {
  const std::vector<std::pair<std::string, std::string>> kSame = {
      {"whole", "10"},  {"whole", "2.5"},   {"whole", "true"},   {"whole", "\"nine\""},
      {"whole", "-1"},  {"shape", "0"},     {"shape", "true"},   {"number", "2.0001"},
      {"number", "true"}, {"dtype", "16"},  {"text", "\"twoo\""}, {"causal", "2"},
      {"flag", "2"},    {"flag", "\"yes\""}, {"seed", "18446744073709551615"},
      {"seed", "9223372036854775808"}};
  for (const auto& [name, text] : kSame) {
    INFO(name << " " << text);
    const Json value = Json::parse(text);
    CHECK(refused_json(name, value) == refused(name, Words{value.is_string() ? value.text() : text}));
  }
  CHECK(refused_json("shape", Json::parse("[1, 2, 3, 4, 5]")) == refused("shape", Words{"1", "2", "3", "4", "5"}));
  CHECK(refused_json("causal", Json::parse("[1, 1, 1, 1, 1]")) == refused("causal", Words{"1", "1", "1", "1", "1"}));
  CHECK(refused_json("ranges", Json::parse("[[4, 1]]")) == refused("ranges", Words{"4:1"}));
  CHECK(contains(refused_json("whole", Json::parse("123456789012345678901234567890")), "integers in 2..9"));
  CHECK(contains(refused_json("whole", Json(2.5)), "'2.5' is not valid"));
  CHECK(contains(refused_json("whole", Json::parse("[1, 2]")), "2 values is not valid; accepted: one value"));
  CHECK(contains(refused_json("shape", Json::parse("[]")), "0 values"));
  CHECK(contains(refused_json("shape", Json::parse("{}")), "accepted: a text, a number, true, false"));
  CHECK(contains(refused_json("shape", Json::parse("[[1, 2, 3]]")), "accepted: a text, a number, true, false"));
}

TEST_CASE("integers are bounded by the row's range and by their type, with the nearest as a hint") {
  CHECK(contains(refused("whole", {"1"}), "whole: '1' is not valid; accepted: integers in 2..9; nearest 2"));
  CHECK(contains(refused("whole", {"10"}), "integers in 2..9; nearest 9"));
  CHECK(contains(refused("whole", {"99999999999999999999"}), "nearest 9"));
  CHECK(contains(refused("whole", {"2.5"}), "integers in 2..9"));
  CHECK(contains(refused("whole", {""}), "integers in 2..9"));
  CHECK(contains(refused("small", {"2147483648"}), "integers in 1..2147483647; nearest 2147483647"));
  CHECK(contains(refused("small", {"0"}), "nearest 1"));
  CHECK(contains(refused("seed", {"-1"}), "integers in 0.."));
}

TEST_CASE("numbers, names, shapes and ranges name what they accept") {
  CHECK(contains(refused("number", {"2.0001"}), "number: '2.0001' is not valid; accepted: a number in 0..2"));
  CHECK(contains(refused("number", {"nan"}), "a number in 0..2"));
  CHECK(contains(refused("text", {"twoo"}), "nearest two"));
  CHECK(contains(refused("dtype", {"bf61"}), "nearest bf16"));
  CHECK(contains(refused("other", {"fp16"}), "bf16 fp32"));  // a dtype, but not one of this option's
  CHECK(contains(refused("shape", {"1", "2", "3", "4", "5"}), "5 values"));
  CHECK(contains(refused("shape", {"0"}), "nearest 1"));
  CHECK(contains(refused("shape", {"3xx4"}), "30x48x80"));
  CHECK(contains(refused("causal", {"maybe"}), "true, false, 1 or 0"));
  CHECK(contains(refused("ranges", {"5:4"}), "LO <= HI"));
  CHECK(contains(refused("ranges", {"5"}), "LO:HI"));
  CHECK(contains(refused("sparsity", {"0.5:1.5"}), "two fractions or two in per cent"));
}

TEST_CASE("the echo has every key in the order of the rows, and reads back as the same question") {
  Question question;
  question.flag = true;
  question.whole = 3;
  question.number = 0.25;
  question.text = "one";
  question.shape = {8, 4};
  question.causal = {true, false};
  question.ranges = {{1, 4}};
  question.sparsity = SparsityRange{0.5, 0.75};
  const Json echo = rows().echo(question);
  CHECK(echo.dump() ==
        R"({"flag":true,"whole":3,"small":1,"seed":0,"number":0.25,"text":"one","dtype":"fp16",)"
        R"("shape":[8,4],"causal":[true,false],"ranges":[[1,4]],"sparsity":[0.5,0.75],"heads":null})");
  CHECK(rows().echo(read_line(echo.dump())) == echo);
}

TEST_CASE("keys that no row has are refused with the closest one") {
  CHECK(contains(refused_line(R"({"widht": 1})"), "accepted: flag, whole, small"));
  CHECK(contains(refused_line(R"({"shpae": [1]})"), "nearest shape"));
}

TEST_CASE("a key is an option's key, a flag of it with - or _, its letter or another spelling, once") {
  Options<Question> options = rows();
  options.add("-x,--extra-size,--more", &Question::small, {.value = "N", .help = "Spelled", .key = "size"});
  LineReader<Question> reader(options, {}, {"more"});
  std::string id;
  for (const char* key : {"size", "extra-size", "extra_size", "x"})
    CHECK(reader.read(std::string("{\"") + key + "\": 5}", id).small == 5);
  CHECK(reader.read(R"({"more": 5})", id).small == 1);  // a key of results
  for (const char* twice : {R"({"size": 5, "x": 5})", R"({"extra-size": 5, "extra_size": 5})"})
    CHECK(contains(refusal([&] { return reader.read(twice, id); }), "given twice"));
}

TEST_CASE("a line may set what input has, and the rows that say so besides") {
  Options<Question> options = rows();
  options.add("--hidden", &Question::small, {.value = "N", .help = "Not echoed", .echo = Echo::kNever});
  options.add("--open", &Question::seed,
              {.value = "N", .help = "Not echoed, but set", .echo = Echo::kNever, .batch = true});
  LineReader<Question> reader(options, {}, {});
  std::string id;
  CHECK(reader.read(R"({"open": 5})", id).seed == 5);
  CHECK(contains(refusal([&] { return reader.read(R"({"hidden": 5})", id); }), "hidden"));
}

TEST_CASE("lines in a plain spelling and in any other are read alike") {
  LineReader<Question> reader(rows(), Question{.whole = 4}, {"visited", "flops"});
  std::string id;
  const auto check = [&](const std::string& line, const auto& holds, const std::string& expected_id) {
    INFO(line);
    CHECK(holds(reader.read(line, id)));
    CHECK(id == expected_id);
  };
  // An escaped key makes a line odd: the second of each pair takes the slow way.
  for (const std::string shape : {R"("shape")", R"("\u0073hape")"}) {
    check(
        "{" + shape + ": [4, 5]}",
        [](const Question& q) {
          return q.shape == Extents{4, 5} && q.whole == 4;
        },
        "");
    check(R"({"id": 17, )" + shape + R"(: [4], "causal": [true, false], "dtype": "bf16", "flag": true})",
          [](const Question& q) {
            return q.shape == Extents{4} && q.causal == PerAxis<bool>{true, false} &&
                   q.dtype == Dtype::kBf16 && q.flag;
          },
          "17");
    check(R"({"visited": 12, "flops": {"mma": [1, {"x": null}]}, "number": 1.5, )" + shape +
              R"(:[6],"id":"a"})",
          [](const Question& q) { return q.shape == Extents{6} && q.number == 1.5; }, R"("a")");
  }
  for (const char* line :
       {R"({"shape": [4], "shape": [5]})", R"({"shape": [4],})", R"({"shape": [04]})", R"({"shape": [4]} 5)",
        R"({"number": 1.5.5})", R"({"flops": {]}})", R"({"shape": [4)", R"({"nothing": 1})", "[]", ""}) {
    INFO(line);
    CHECK(refusal([&] { return reader.read(line, id); }) != "nothing was refused");
  }
}

TEST_CASE("values that are refused are refused alike in plain lines and in odd ones") {
  LineReader<Question> reader(rows(), Question{}, {});
  std::string id;
  for (const char* text :
       {R"({"whole": 10})", R"({"whole": 3.5})", R"({"shape": []})", R"({"shape": [1, 0]})",
        R"({"causal": [2]})", R"({"shape": [1, 2, 3, 4, 5]})", R"({"shape": [1, true]})", R"({"seed": -1})",
        R"({"flag": 2})", R"({"seed": 18446744073709551615})"}) {
    INFO(text);
    std::string odd = text;  // an escaped key makes a line odd
    odd.replace(2, 1, fmt::format("\\u{:04x}", odd[2]));
    CHECK(refusal([&] { return reader.read(text, id); }) == refusal([&] { return reader.read(odd, id); }));
    CHECK(refusal([&] { return reader.read(text, id); }) != "nothing was refused");
  }
}

TEST_CASE("[default] in help is the value that the struct gives to the member") {
  Options<Question> options;
  const auto help = [&](auto member) {
    options.add("--option", member, {.value = "X", .help = "What it is [default], and more"});
    return options.rows().back().spec.help;
  };
  CHECK(help(&Question::whole) == "What it is [7], and more");
  CHECK(help(&Question::number) == "What it is [0.5], and more");
  CHECK(help(&Question::dtype) == "What it is [fp16], and more");
  CHECK(help(&Question::flag) == "What it is [false], and more");
  CHECK_THROWS_AS(help(within(&Question::inner, &Inner::heads)), std::logic_error);  // none
}

TEST_CASE("a command has the rows' flags, choices and rules, and runs with what they read") {
  Options<Question> options = rows();
  options.choose("--half", &Question::number, 0.5, {.help = "Half", .excludes = {"number"}});
  Command command{.name = "ask"};
  bind(command, options, [](const Question& question) { return static_cast<int>(question.whole); });
  REQUIRE(command.options.size() == 14);
  CHECK(command.options[1].name() == "whole");
  CHECK(command.options[1].has_flag("--whole-number"));
  CHECK(command.options[0].value_name.empty());
  CHECK(command.options[6].choices == "fp16 bf16 fp32 e4m3 e5m2");
  CHECK(command.options[7].choices == "bf16 fp32");
  CHECK(command.options[8].max_values == 4);
  CHECK(command.options[13].excludes == std::vector<std::string>{"number"});
  const std::unique_ptr<Form> form = command.begin();
  form->take(1, Words{"5"});
  const Sources none(command);
  Reply reply(Reply::Mode::kPrinted);
  CHECK(form->answer(Given(none), reply) == 5);
  CHECK(command.begin()->answer(Given(none), reply) == 7);  // one run's form is not another's
}

}  // namespace options_test
