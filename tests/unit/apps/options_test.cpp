// Rows of options: what each type accepts on the command line and in JSON, and what it echoes.
#include "cli/options.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/error.hpp>

#include "catch.hpp"
#include "property/holds.hpp"
#include "cli/batch.hpp"

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
  rows.add("--heads", path(&Question::inner, &Inner::heads), {.value = "N", .help = "Nested"});
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

/// As from a file of options.
Question read_file_value(const std::string& name, const FileValue& value) {
  return with_row(name, [&](const Row& row, Question& question) { row.read_file(question, value); });
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

std::string refused_json(const char* text) {
  return refusal([&] { return rows().read_json(Json::parse(text)); });
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

TEST_CASE("a value of a file reaches a type as what it is: a number, a list, a boolean, a text") {
  using Scalars = std::vector<FileValue::Scalar>;
  const auto given = [](const std::string& name, Scalars scalars) {
    return read_file_value(name, FileValue(std::move(scalars)));
  };
  CHECK(given("whole", {std::int64_t{9}}).whole == 9);
  CHECK(given("whole", {9.0}).whole == 9);               // no fraction
  CHECK(given("whole", {std::string("9")}).whole == 9);  // the grammar of the command line
  CHECK(given("number", {std::int64_t{2}}).number == 2);
  // The sum of 0.1 and 0.2 has 17 digits and keeps them all.
  CHECK(given("number", {0.1 + 0.2}).number == 0.1 + 0.2);
  CHECK(given("shape", {std::int64_t{4}}).shape == Extents{4});
  CHECK(given("shape", {std::int64_t{4}, std::int64_t{5}}).shape == Extents{4, 5});
  CHECK(given("shape", {std::string("4x5")}).shape == Extents{4, 5});
  CHECK(given("causal", {true, std::int64_t{0}}).causal == PerAxis<bool>{true, false});
  CHECK(given("ranges", {std::string("1:4")}).ranges == PerAxis<IntRange>{{1, 4}});
  CHECK(given("dtype", {std::string("e4m3")}).dtype == Dtype::kE4m3);
  CHECK(given("heads", {std::int64_t{24}}).inner.heads == 24);
}

TEST_CASE("what a type refuses from a file it refuses as on the command line") {
  const auto refused_value = [](const std::string& name, FileValue::Scalar scalar) {
    return refusal([&] { return read_file_value(name, FileValue({std::move(scalar)})); });
  };
  CHECK(refused_value("whole", std::int64_t{10}) == refused("whole", {"10"}));
  CHECK(refused_value("whole", 2.5) == refused("whole", {"2.5"}));
  CHECK(refused_value("whole", true) == refused("whole", {"true"}));
  CHECK(refused_value("shape", std::int64_t{0}) == refused("shape", {"0"}));
  CHECK(refused_value("shape", true) == refused("shape", {"true"}));
  CHECK(refused_value("number", 2.0001) == refused("number", {"2.0001"}));
  CHECK(refused_value("number", true) == refused("number", {"true"}));
  CHECK(refused_value("dtype", std::int64_t{16}) == refused("dtype", {"16"}));
  CHECK(refused_value("text", std::string("twoo")) == refused("text", {"twoo"}));
  CHECK(contains(refused("whole", {"2.5"}), "'2.5' is not valid"));
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
  CHECK(rows().echo(rows().read_json(echo)) == echo);
}

TEST_CASE("values in JSON are checked as strictly as words") {
  CHECK(contains(refused_json(R"({"flag": 1})"), "flag: 1 is not valid; accepted: true or false"));
  CHECK(contains(refused_json(R"({"whole": 1})"), "whole: 1 is not valid; accepted: integers in 2..9"));
  CHECK(contains(refused_json(R"({"whole": 3.5})"), "integers in 2..9"));
  CHECK(contains(refused_json(R"({"whole": "3"})"), "integers in 2..9"));
  CHECK(contains(refused_json(R"({"seed": 18446744073709551615})"), "integers in 0.."));
  CHECK(contains(refused_json(R"({"number": 3})"), "a number in 0..2"));
  CHECK(contains(refused_json(R"({"text": "three"})"), "one or two"));
  CHECK(contains(refused_json(R"({"dtype": 16})"), "fp16, bf16"));
  CHECK(contains(refused_json(R"({"shape": []})"), "1 to 4 positive integers"));
  CHECK(contains(refused_json(R"({"shape": [1, 0]})"), "1 to 4 positive integers"));
  CHECK(contains(refused_json(R"({"causal": [2]})"), "true, false, 1 or 0"));
  CHECK(contains(refused_json(R"({"ranges": [[4, 1]]})"), "lo <= hi"));
  CHECK(contains(refused_json(R"({"sparsity": [0.5]})"), "lo <= hi"));
  CHECK(contains(refused_json(R"({"widht": 1})"), "accepted: flag, whole, small"));
  CHECK(contains(refused_json(R"({"shpae": [1]})"), "nearest shape"));
}

TEST_CASE("a line may set what input has, and the rows that say so besides") {
  Options<Question> options = rows();
  options.add("--hidden", &Question::small, {.value = "N", .help = "Not echoed", .echo = Echo::kNever});
  options.add("--open", &Question::seed,
              {.value = "N", .help = "Not echoed, but set", .echo = Echo::kNever, .batch = true});
  CHECK(options.read_json(Json::parse(R"({"open": 5})")).seed == 5);
  CHECK(contains(refusal([&] { return options.read_json(Json::parse(R"({"hidden": 5})")); }), "hidden"));
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

TEST_CASE("values that are refused are refused alike in lines and in whole objects") {
  LineReader<Question> reader(rows(), Question{}, {});
  std::string id;
  for (const char* text :
       {R"({"whole": 10})", R"({"whole": 3.5})", R"({"shape": []})", R"({"shape": [1, 0]})",
        R"({"causal": [2]})", R"({"shape": [1, 2, 3, 4, 5]})", R"({"shape": [1, true]})", R"({"seed": -1})",
        R"({"flag": 1})", R"({"shape": null})"}) {
    INFO(text);
    CHECK(refusal([&] { return reader.read(text, id); }) == refused_json(text));
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
  CHECK_THROWS_AS(help(path(&Question::inner, &Inner::heads)), std::logic_error);  // none
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
  CHECK(form->answer({}) == 5);
  CHECK(command.begin()->answer({}) == 7);  // one run's form is not another's
}

}  // namespace options_test
