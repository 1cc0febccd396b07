#include "cli/batch.hpp"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>
#include <natten_sim/report/text_table.hpp>

#include "cli/line_source.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kLine = "batch line";
constexpr const char* kAccepted = "a JSON object a line";

Json checked_value(std::string_view json) { return parse_unique_json(json, kLine); }

/// Answers lines in order.
class Answers {
 public:
  Answers(const OutputFlags& flags, const std::function<void(BatchLine&)>& answer)
      : sink_(flags.output, OutputSink::Mode::kStreamed), answer_(answer) {}

  /// `wrong`: why the line has no text.
  void take(std::string_view text, const std::optional<InvalidParameter>& wrong) {
    ++lines_;
    if (!wrong && text.find_first_not_of(" \t\r") == std::string_view::npos) {
      ++blank_;
      return;
    }
    for (; blank_ > 0; --blank_) {
      line_.id.clear();
      refuse(MalformedData(kLine, "blank", kAccepted), lines_ - blank_);
    }
    line_.text = text;
    line_.id.clear();
    line_.answer.clear();
    if (wrong) return refuse(*wrong, lines_);
    try {
      answer_(line_);
      write();
    } catch (const Error& error) {
      refuse(error, lines_);
    } catch (const std::bad_alloc&) {
      refuse(InvalidParameter(kLine, "too large for this machine's memory", "smaller problems"), lines_);
    }
  }

  void flush() {
    sink_.write(out_);
    out_.clear();
    sink_.flush();
  }

  /// Only blank lines at the very end go unanswered.
  int finish(const Notes& notes) {
    sink_.write(out_);
    sink_.commit();
    if (bad_ == 0) return kExitDone;
    notes.note(fmt::format("{} of {} bad; each bad line has an error object in its place", bad_,
                           report::counted(lines_, "line")));
    return kExitBadInput;
  }

 private:
  void write() {
    out_ += '{';
    if (!line_.id.empty()) {
      out_ += "\"id\":";
      out_ += line_.id;
      if (!line_.answer.empty()) out_ += ',';
    }
    out_ += line_.answer;
    out_ += "}\n";
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    if (out_.size() < kPiece) return;
    sink_.write(out_);
    out_.clear();
  }

  void refuse(const Error& error, std::int64_t number) {
    ++bad_;
    Json object = {{"line", number}};
    const Json fields = error_fields(error);
    for (const auto& [key, value] : fields.items()) object[key] = value;
    line_.answer = "\"error\":" + json_text(object);
    write();
  }

  OutputSink sink_;
  const std::function<void(BatchLine&)>& answer_;
  BatchLine line_;
  std::string out_;
  std::int64_t lines_ = 0, bad_ = 0, blank_ = 0;
};

}  // namespace

void LineKeys::add(Key key) {
  key.slot = keys_.size();
  keys_.push_back(std::move(key));
}

void LineKeys::add_spellings(std::size_t row, const std::vector<std::string>& names) {
  const auto own = std::find_if(keys_.begin(), keys_.end(), [&](const Key& key) {
    return key.meaning == Meaning::kRow && key.row == row;
  });
  Key spelling = *own;
  for (const std::string& name : names) {
    if (named(name) != nullptr) continue;
    spelling.name = name;
    keys_.push_back(spelling);
  }
}

void LineKeys::pass_over(const std::string& name) {
  for (Key& key : keys_) {
    if (key.name != name) continue;
    key.of_results = true;
    return;
  }
  add({.name = name, .meaning = Meaning::kPassedOver});
}

const LineKeys::Key* LineKeys::find(std::string_view name, std::size_t guess) const {
  if (guess < keys_.size() && keys_[guess].name == name) return &keys_[guess];
  const Key* const key = named(name);
  if (key != nullptr || name.find('-') == std::string_view::npos) return key;
  std::string underscored(name);
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  return named(underscored);
}

const LineKeys::Key* LineKeys::named(std::string_view name) const {
  for (const Key& key : keys_) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::vector<std::string> LineKeys::settable() const {
  std::vector<std::string> names;
  for (const Key& key : keys_) {
    const bool own = key.slot == static_cast<std::size_t>(&key - keys_.data());
    if (own && (key.meaning == Meaning::kRow || key.meaning == Meaning::kId)) names.push_back(key.name);
  }
  return names;
}

Json parse_line(std::string_view line) {
  Json object = parse_unique_json(line, kLine);
  if (!object.is_object()) throw MalformedData(kLine, "not an object", kAccepted);
  return object;
}

void require_structure(std::string_view json) { require_unique_keys(json, kLine); }

Json json_of(const LineMember& member) {
  return member.kind == LineMember::Kind::kText ? Json(std::string(member.value))
                                                : checked_value(member.value);
}

std::string id_text(const LineMember& member) {
  if (member.kind == LineMember::Kind::kNumber) return json_text(checked_value(member.value));
  return member.kind == LineMember::Kind::kText ? '"' + std::string(member.value) + '"'
                                                : std::string(member.value);
}

Json value_within(Json value, const std::string& name) {
  if (name.empty() || !value.is_object() || !value.contains(name)) return value;
  return value[name];
}

void refuse_key(const std::string& name, const LineKeys& keys) {
  const std::vector<std::string> known = keys.settable();
  throw UnknownName("key", name, closest_name(name, known), joined(known));
}

void refuse_twice(const std::string& name) { throw InvalidParameter(name, "given twice", "each option once"); }

void for_each_member(const Json& object, const std::function<void(const std::string&, const Json&)>& read) {
  for (const auto& [key, value] : object.items()) read(key, value);
}

bool is_object(const Json& value) { return value.is_object(); }

std::string value_text(const Json& value) { return json_text(value); }

int answer_batch(const std::string& path, const OutputFlags& flags,
                 const std::function<void(BatchLine&)>& answer) {
  LineSource source("batch", path, "; the batch size is " + mention("batch-size"));
  Answers answers(flags, answer);
  ProgressBar bar("answering", flags.quiet);
  const auto before_read = [&] { answers.flush(); };
  for (std::string_view line; source.next(line, before_read);) {
    answers.take(line, source.refused());
    bar.show(source.share_taken());
  }
  bar.clear();
  return answers.finish(Notes(flags));
}

}  // namespace natten_sim::cli
