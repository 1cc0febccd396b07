#pragma once

#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <natten_sim/study/describe/members.hpp>

#include "cli/command.hpp"
#include "cli/option_row.hpp"

namespace natten_sim::cli {

/// The options of a subcommand as rows, each bound to a member of a struct. A row reads the words of the
/// command line and the values of files, requests and lines, gives help with the struct's default and
/// completion, and writes the JSON of `input`. Rows stand in the order of help, which is also the order of
/// the JSON keys. About (option_value.hpp) lists what a row can
/// say: ranges, choices, which options exclude, need or rule out each other.
///
/// A subcommand in commands/<name>.cpp:
///
///     struct ReuseFlags {
///       study::ReuseQuestion question;
///       std::optional<std::string> svg;
///       OutputFlags output;
///     };
///     Options<study::ReuseQuestion> question_rows() {
///       using Question = study::ReuseQuestion;
///       Options<Question> rows;
///       rows.add("-w,--window", &Question::window, {.value = "N", .help = "Window [dense]"});
///       rows.add("--sms", &Question::sms, {.value = "N", .help = "SMs", .range = {1, 1 << 20}});
///       rows.add("-n,--heads", within(&Question::sizes, &Sizes::heads), {.value = "N", .help = "Heads
///       [default]"}); rows.choose("--hashed", &Question::index, SetIndex::kHashed, {.help = "Sets by a
///       hash"}); return rows;
///     }
///     int run_reuse(const ReuseFlags& flags, Reply& reply);  // echo: question_rows().echo(answer.question)
///     Command reuse_command() {
///       Options<ReuseFlags> rows;
///       rows.include(question_rows(), &ReuseFlags::question);
///       rows.add("--picture", &ReuseFlags::svg, {.value = "FILE", .help = "Draw", .echo = Echo::kNever});
///       rows.include(output_rows(), &ReuseFlags::output);
///       Command command{.name = "reuse", .summary = "...", .examples = {"..."}};
///       bind(command, rows, run_reuse);
///       return command;
///     }
template <typename Q>
class Options : public OptionRows {
 public:
  using Row = OptionRow;

  /// `flags` as CLI11 takes them: "-w,--window,--window-size"; the first long one names the option. `access`:
  /// a pointer to a member, within(...), or a function from Q& to a reference.
  template <typename Access>
  Options& add(const std::string& flags, Access access, const About& about) {
    rows_.push_back(
        make_row(flags, about, kind_of<Member<Access>>(), Place::of<Q>(access), fresh_question<Q>));
    return *this;
  }

  /// A flag that sets its member to `value`; true or false in JSON. Where several flags set one member, they
  /// say Echo::kNever and a key of its own echoes it.
  template <typename Access, typename T>
  Options& choose(const std::string& flags, Access access, T value, const About& about) {
    using M = Member<Access>;
    rows_.push_back(make_choice(flags, about, std::make_shared<ChoiceOf<M>>(M(std::move(value))),
                                Place::of<Q>(access)));
    return *this;
  }

  /// A key of JSON's `input` that no flag sets by itself.
  template <typename Access>
  Options& add_key(const std::string& key, Access access, About about = {}) {
    about.key = key;
    add("--" + key, std::move(access), about);
    rows_.back().spec.flags.clear();
    return *this;
  }

  /// The one positional argument.
  template <typename Access>
  Options& positional(const std::string& name, Access access, const About& about, int max_values = 1) {
    add("--" + name, std::move(access), about);
    rows_.back().spec.max_values = max_values;
    rows_.back().positional = true;
    return *this;
  }

  /// Adds more rows at this place.
  Options& include(Options part) {
    std::move(part.rows_.begin(), part.rows_.end(), std::back_inserter(rows_));
    return *this;
  }

  /// Adds the rows of a member of Q at this place.
  template <typename P, typename Access>
  Options& include(const Options<P>& part, Access access) {
    static_assert(std::is_same_v<P, Member<Access>>, "rows of the member's type");
    const Place at = Place::of<Q>(access);
    for (const OptionRow& row : part.rows()) rows_.push_back(row_within(row, at));
    return *this;
  }

  /// The rows of these keys of `input`, in the order of the rows.
  [[nodiscard]] Options only(const std::vector<std::string>& keys) const {
    Options some;
    some.rows_ = rows_of(keys);
    return some;
  }

  /// `input`: the question with all defaults, such that the object alone reproduces it.
  [[nodiscard]] Json echo(Q question) const { return echo_of(&question); }

  /// Puts the rows added so far that stand under no heading of help under this one.
  Options& group(const std::string& title) {
    set_group(title);
    return *this;
  }

  /// The options with which a first question is asked: -h shows these alone.
  /// @throws std::logic_error for a name that no row has
  Options& essentials(const std::vector<std::string>& names) {
    set_essentials(names);
    return *this;
  }

 private:
  template <typename Access>
  using Member = std::remove_cvref_t<std::invoke_result_t<Access, Q&>>;
};

using study::within;

/// The form of a subcommand whose rows read into a Q.
template <typename Q, typename Run>
class RowsForm : public Form {
 public:
  using Rows = std::vector<OptionRow>;

  RowsForm(std::shared_ptr<const Rows> rows, Run run) : rows_(std::move(rows)), run_(std::move(run)) {}
  void take(std::size_t option, const Words& words) override {
    (*rows_)[option].read_words(question_, words);
  }
  void take(std::size_t option, const std::string& spelled, const Json& value) override {
    (*rows_)[option].read_json(question_, spelled, value);
  }
  int answer(const Given& given, Reply& reply) override {
    if constexpr (std::is_invocable_v<Run&, const Q&, const Given&, Reply&>) {
      return run_(question_, given, reply);
    } else if constexpr (std::is_invocable_v<Run&, const Q&, Reply&>) {
      return run_(question_, reply);
    } else {
      return run_(question_);
    }
  }

 private:
  std::shared_ptr<const Rows> rows_;
  Run run_;
  Q question_{};
};

/// Gives `command` its options and lets `run` answer the question that they ask. One with --json takes a Reply
/// too, and before it, if it likes, a Given.
template <typename Q, typename Run>
void bind(Command& command, Options<Q> options, Run run) {
  command.begin = [rows = declare_rows(command, std::move(options)), run]() -> std::unique_ptr<Form> {
    return std::make_unique<RowsForm<Q, Run>>(rows, run);
  };
}

}  // namespace natten_sim::cli
