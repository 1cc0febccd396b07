#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/option_range.hpp"
#include "cli/option_value.hpp"

namespace natten_sim::cli {

/// The options of a subcommand as rows, each bound to a member of a struct. A row gives the parsing of the
/// command line and of TOML, help with the struct's default, completion, and the JSON of `input`, in both
/// directions. Rows stand in the
/// order of help, which is also the order of the JSON keys. About (option_value.hpp) lists what a row can
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
///       rows.add("-n,--heads", path(&Question::sizes, &Sizes::heads), {.value = "N", .help = "Heads
///       [default]"}); rows.choose("--hashed", &Question::index, SetIndex::kHashed, {.help = "Sets by a
///       hash"}); return rows;
///     }
///     int run_reuse(const ReuseFlags& flags);  // echo: question_rows().echo(answer.question)
///     Command reuse_command() {
///       Options<ReuseFlags> rows;
///       rows.include(question_rows(), &ReuseFlags::question);
///       rows.add("--svg", &ReuseFlags::svg, {.value = "FILE", .help = "Draw", .echo = Echo::kNever});
///       rows.include(output_rows(), &ReuseFlags::output);
///       Command command{.name = "reuse", .summary = "...", .examples = {"..."}};
///       bind(command, rows, run_reuse);
///       return command;
///     }
template <typename Q>
class Options {
 public:
  /// `flags` as CLI11 takes them: "-w,--window,--window-size"; the first long one names the option. `access`:
  /// a pointer to a member, path(...), or a function from Q& to a reference.
  template <typename Access>
  Options& add(const std::string& flags, Access access, const About& about) {
    using T = std::remove_cvref_t<std::invoke_result_t<Access, Q&>>;
    Row row{.spec = make_spec<T>(flags, about), .key = json_key(flags, about), .about = about};
    row.spec.range = range_of<T>(about);
    const std::string name = row.spec.name();
    row.spec.help = with_default(about.help, [&](Json& out) {
      Q question{};
      return write_value<T>(std::invoke(access, question), out);
    });
    row.read_words = [=](Q& question, const std::vector<std::string>& words) {
      std::invoke(access, question) = OptionValue<T>::from_words(name, words, about);
    };
    row.read_file = [=](Q& question, const FileValue& value) {
      read_file_value<T>(name, value, about, std::invoke(access, question));
    };
    row.read_json = [=, key = row.key](Q& question, const Json& value) {
      std::invoke(access, question) = OptionValue<T>::from_json(key, value, about);
    };
    row.write_json = [=](Q& question, Json& out) {
      return write_value<T>(std::invoke(access, question), out);
    };
    row.schema = [=, help = row.spec.help] {
      return member_schema(schema_of<T>(about), kMayBeAbsent<T> && about.echo == Echo::kAlways, help);
    };
    if constexpr (requires(T value) { OptionValue<T>::from_plain(PlainValue{}, about, value); }) {
      row.read_plain = [=](Q& question, const PlainValue& value) {
        return OptionValue<T>::from_plain(value, about, std::invoke(access, question));
      };
    }
    rows_.push_back(std::move(row));
    return *this;
  }

  /// A flag that sets its member to `value`; true or false in JSON. Where several flags set one member, they
  /// say Echo::kNever and a key of its own echoes it.
  template <typename Access, typename T>
  Options& choose(const std::string& flags, Access access, T value, const About& about) {
    Row row{.spec = make_spec<bool>(flags, about), .key = json_key(flags, about), .about = about};
    row.read_words = [=](Q& question, const std::vector<std::string>&) {
      std::invoke(access, question) = value;
    };
    row.read_file = [=](Q& question, const FileValue&) { std::invoke(access, question) = value; };
    row.read_json = [=, key = row.key](Q& question, const Json& given) {
      if (OptionValue<bool>::from_json(key, given, about)) std::invoke(access, question) = value;
    };
    row.write_json = [=](Q& question, Json& out) {
      return OptionValue<bool>::to_json(std::invoke(access, question) == value, out);
    };
    row.schema = [help = about.help] { return member_schema(plain_schema("boolean"), false, help); };
    rows_.push_back(std::move(row));
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
    for (const typename Options<P>::Row& from : part.rows()) {
      Row row{.spec = from.spec, .key = from.key, .about = from.about, .positional = from.positional};
      row.read_words = [=, read = from.read_words](Q& question, const std::vector<std::string>& words) {
        read(std::invoke(access, question), words);
      };
      row.read_file = [=, read = from.read_file](Q& question, const FileValue& value) {
        read(std::invoke(access, question), value);
      };
      row.schema = from.schema;
      if (from.read_json) {
        row.read_json = [=, read = from.read_json](Q& question, const Json& value) {
          read(std::invoke(access, question), value);
        };
        row.write_json = [=, write = from.write_json](Q& question, Json& out) {
          return write(std::invoke(access, question), out);
        };
      }
      if (from.read_plain) {
        row.read_plain = [=, read = from.read_plain](Q& question, const PlainValue& value) {
          return read(std::invoke(access, question), value);
        };
      }
      rows_.push_back(std::move(row));
    }
    return *this;
  }

  /// `question` with the keys of `object` in place of its own: those of `input`, and of rows with
  /// About::batch.
  /// @throws UnknownName, InvalidParameter
  [[nodiscard]] Q read_json(const Json& object, Q question = {}) const {
    std::vector<std::string> known;
    for (const Row& row : rows_) {
      if (row.has_key()) known.push_back(row.key);
    }
    for_each_key(object, known, [&](const std::string& key, const Json& value) {
      for (const Row& row : rows_) {
        if (row.read_json && row.key == key) return row.read_json(question, value);
      }
    });
    return question;
  }

  /// `input`: the question with all defaults, such that the object alone reproduces it.
  [[nodiscard]] Json echo(Q question) const {
    Json object = Json::object();
    for (const Row& row : rows_) {
      if (row.about.echo == Echo::kNever || !row.write_json) continue;
      echo_value(
          row.key, row.about.echo, [&](Json& out) { return row.write_json(question, out); }, object);
    }
    return object;
  }

  /// Puts the rows added so far that stand under no heading of help under this one.
  Options& group(const std::string& title) {
    for (Row& row : rows_) {
      if (row.spec.group.empty()) row.spec.group = title;
    }
    return *this;
  }

  /// The options with which a first question is asked: -h shows these alone.
  /// @throws std::logic_error for a name that no row has
  Options& essentials(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) {
        return !each.spec.flags.empty() && each.spec.name() == name;
      });
      if (row == rows_.end()) throw std::logic_error("no option is named " + name);
      row->spec.essential = true;
    }
    return *this;
  }

  /// JSON Schema of what echo() returns, for any question.
  [[nodiscard]] Json input_schema() const {
    Json properties = Json::object();
    for (const Row& row : rows_) {
      if (row.about.echo != Echo::kNever && row.schema) put_member(properties, row.key, row.schema());
    }
    return object_schema(std::move(properties));
  }

  struct Row {
    OptionSpec spec;  ///< without flags: JSON only
    std::string key;  ///< of JSON
    About about;
    bool positional = false;
    std::function<void(Q&, const std::vector<std::string>&)> read_words;
    std::function<void(Q&, const FileValue&)> read_file;
    std::function<void(Q&, const Json&)> read_json;
    std::function<bool(Q&, Json&)> write_json;              ///< false: there is no value
    std::function<Json()> schema;                           ///< of the value in JSON
    std::function<bool(Q&, const PlainValue&)> read_plain;  ///< none: the type has no plain values

    /// Whether JSON may set it.
    [[nodiscard]] bool has_key() const { return read_json && (about.echo != Echo::kNever || about.batch); }
  };
  [[nodiscard]] const std::vector<Row>& rows() const& { return rows_; }
  [[nodiscard]] std::vector<Row> rows() && { return std::move(rows_); }

 private:
  std::vector<Row> rows_;
};

/// The member of a member: path(&Q::setting, &Setting::heads).
template <typename First, typename Second>
[[nodiscard]] auto path(First first, Second second) {
  return [=](auto& question) -> auto& { return std::invoke(second, std::invoke(first, question)); };
}

/// The form of a subcommand whose rows read into a Q.
template <typename Q, typename Run>
class RowsForm : public Form {
 public:
  using Rows = std::vector<typename Options<Q>::Row>;

  RowsForm(std::shared_ptr<const Rows> rows, Run run) : rows_(std::move(rows)), run_(std::move(run)) {}
  void take(std::size_t option, const Words& words) override {
    (*rows_)[option].read_words(question_, words);
  }
  void take(std::size_t option, const FileValue& value) override {
    (*rows_)[option].read_file(question_, value);
  }
  int answer(const Given& given) override {
    if constexpr (std::is_invocable_v<Run&, const Q&, const Given&>) {
      return run_(question_, given);
    } else {
      return run_(question_);
    }
  }

 private:
  std::shared_ptr<const Rows> rows_;
  Run run_;
  Q question_{};
};

/// Gives `command` its options and lets `run` answer the question that they ask. `run` may take a Given too.
template <typename Q, typename Run>
void bind(Command& command, Options<Q> options, Run run) {
  if (!command.input_schema) command.input_schema = [options] { return options.input_schema(); };
  auto rows = std::make_shared<std::vector<typename Options<Q>::Row>>(std::move(options).rows());
  std::erase_if(*rows, [](const auto& row) { return row.spec.flags.empty(); });
  std::stable_partition(rows->begin(), rows->end(), [](const auto& row) { return !row.positional; });
  for (const typename Options<Q>::Row& row : *rows) {
    if (!row.positional) {
      command.options.push_back(row.spec);
      continue;
    }
    command.positional = row.spec.name();
    command.positional_help = row.spec.help;
    command.positional_choices = row.spec.choices;
    command.max_positional = row.spec.max_values;
  }
  command.begin = [rows, run]() -> std::unique_ptr<Form> {
    return std::make_unique<RowsForm<Q, Run>>(rows, run);
  };
}

}  // namespace natten_sim::cli
