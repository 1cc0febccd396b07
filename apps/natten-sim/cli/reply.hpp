#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <natten_sim/io/json.hpp>
#include <natten_sim/report/draw/svg.hpp>
#include <natten_sim/report/rows.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {

/// A `result`: as values, or written as text at once.
class ResultFields {
 public:
  ResultFields() = default;
  ResultFields(const ResultFields&) = delete;
  ResultFields& operator=(const ResultFields&) = delete;
  virtual ~ResultFields() = default;
  [[nodiscard]] virtual Json tree() const = 0;
  /// The text of the object on one line.
  [[nodiscard]] virtual std::string text() const = 0;
};

/// What --json prints, as values: who asks a subcommand within the program takes it as it is.
class JsonAnswer {
 public:
  JsonAnswer(std::string subcommand, Json input, Json result);
  JsonAnswer(std::string subcommand, Json input, std::shared_ptr<const ResultFields> result);

  [[nodiscard]] const Json& input() const { return input_; }
  [[nodiscard]] Json result() const { return result_->tree(); }
  /// The object of the result on one line.
  [[nodiscard]] std::string result_text() const { return result_->text(); }
  /// As --json prints it, in lines.
  [[nodiscard]] std::string text() const;
  /// On one line with its end; first the `id`, unless its text is empty.
  [[nodiscard]] std::string line(const std::string& id) const;

 private:
  std::string subcommand_;
  Json input_;
  std::shared_ptr<const ResultFields> result_;
};

/// What a run answers: values for --json, rows for --csv, else text.
using AnswerBody = std::variant<std::string, report::Rows, JsonAnswer>;

/// What it writes beside its answer, where --picture and --table ask for that.
struct Exhibits {
  std::optional<draw::Picture> picture = {};
  std::optional<report::Rows> table = {};
};

/// Where a run's answer goes: it is printed, or kept for who asked.
class Reply {
 public:
  enum class Mode { kPrinted, kKept };

  explicit Reply(Mode mode) : mode_(mode) {}
  [[nodiscard]] bool is_kept() const { return mode_ == Mode::kKept; }
  /// Of a text nothing is kept: who asks wants values.
  void keep(AnswerBody body);
  /// What was kept. @throws InvalidParameter where a run answered in text
  [[nodiscard]] JsonAnswer take();

 private:
  Mode mode_;
  std::optional<JsonAnswer> kept_;
};

/// Takes the one answer of a run. A file of --output is opened at once, so that one that is refused leaves no
/// picture behind either.
class AnswerSink {
 public:
  AnswerSink(const OutputFlags& flags, Reply& reply);
  /// The exhibits are written before the answer. @throws InvalidParameter for a table that the answer does not have
  void put(AnswerBody body, const Exhibits& exhibits = {});

 private:
  const OutputFlags& flags_;
  Reply& reply_;
  std::optional<OutputSink> sink_;
};

void put_answer(const OutputFlags& flags, Reply& reply, AnswerBody body,
                const Exhibits& exhibits = {});

}  // namespace natten_sim::cli
