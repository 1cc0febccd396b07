#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/line_scanner.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {

// --batch of any subcommand: JSON Lines in, one answer object a line out, in order. A line holds
//   * keys of `input`, or other spellings of the same options, which replace those of the command line; `id`,
//     which its answer repeats;
//   * or a whole object of --json: then its `input` is what counts;
//   * and whatever keys a `result` has: they are passed over.
// A line is parsed once; a line that is odd or bad is parsed again to say what is wrong with it.

/// Keys of lines: what each means.
class LineKeys {
 public:
  enum class Meaning { kUnknown, kRow, kPassedOver, kId, kInput };
  struct Key {
    std::string name;
    Meaning meaning = Meaning::kUnknown;
    std::size_t row = 0;
    std::size_t slot = 0;     ///< the same for all spellings of one key
    bool of_results = false;  ///< results have an object of this name, which is passed over
  };

  void add(Key key);
  /// Other spellings of a row, as far as nothing has these names.
  void add_spellings(std::size_t row, const std::vector<std::string>& names);
  /// Results have this key too.
  void pass_over(const std::string& name);
  /// The key of this name, with - or _, tried first at `guess`, since lines repeat the order of their keys;
  /// none: unknown.
  [[nodiscard]] const Key* find(std::string_view name, std::size_t guess) const;
  [[nodiscard]] std::size_t position(const Key& key) const {
    return static_cast<std::size_t>(&key - keys_.data());
  }
  /// Those that a line may set, for messages.
  [[nodiscard]] std::vector<std::string> settable() const;

 private:
  [[nodiscard]] const Key* named(std::string_view name) const;

  std::vector<Key> keys_;
};

/// Parses a whole line. @throws MalformedData for anything but an object whose keys are unique.
[[nodiscard]] Json parse_line(std::string_view line);

/// @throws MalformedData when a structure that is passed over is not JSON.
void require_structure(std::string_view json);

/// A member's value as a parser has it.
[[nodiscard]] Json json_of(const LineMember& member);

/// The JSON text of an `id`, as the answer repeats it.
[[nodiscard]] std::string id_text(const LineMember& member);

/// The member `name` of an object, else the value itself.
[[nodiscard]] Json value_within(Json value, const std::string& name);

void for_each_member(const Json& object, const std::function<void(const std::string&, const Json&)>& read);
[[noreturn]] void refuse_twice(const std::string& name);
[[nodiscard]] bool is_object(const Json& value);
[[nodiscard]] std::string value_text(const Json& value);

[[noreturn]] void refuse_key(const std::string& name, const LineKeys& keys);

/// Reads lines into questions.
template <typename Q>
class LineReader {
 public:
  /// Told each key that a line sets, before it does, and the keys that the same object has set: where options
  /// stand for each other, that of the line has to displace those of the command line.
  using Displace = std::function<void(Q&, const std::string& key, const std::vector<std::string>& before)>;

  /// `base` has what a line leaves out; `passed_over` are keys of results.
  LineReader(Options<Q> options, Q base, const std::vector<std::string>& passed_over, Displace displace = {})
      : options_(std::move(options)), base_(std::move(base)), displace_(std::move(displace)) {
    const auto& rows = options_.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].has_key()) keys_.add({rows[i].spec.key, LineKeys::Meaning::kRow, i});
    }
    keys_.add({"id", LineKeys::Meaning::kId});
    for (const char* name : {"schema", "version", "result"})
      keys_.add({name, LineKeys::Meaning::kPassedOver});
    for (const std::string& name : passed_over) keys_.pass_over(name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].has_key()) keys_.add_spellings(i, rows[i].spec.keys());
    }
  }

  /// `id` gets the text of the member of that name, empty without one. @throws Error
  [[nodiscard]] Q read(std::string_view line, std::string& id) {
    Q question = base_;
    id.clear();
    set_.clear();
    if (read_members(LineScanner(line), true, question, id)) return question;
    question = base_;
    set_.clear();
    read_object(parse_line(line), true, question, id);
    return question;
  }

 private:
  using Row = typename Options<Q>::Row;

  /// False: odd.
  bool read_members(LineScanner scanner, bool outermost, Q& question, std::string& id) {
    std::uint64_t seen[2] = {0, 0};  // more keys than bits have no business in a line
    std::vector<std::size_t>& guesses = guesses_[outermost ? 0 : 1];
    std::size_t number = 0;
    for (LineMember member; scanner.next(member); ++number) {
      if (number >= guesses.size()) guesses.push_back(0);
      const LineKeys::Key* key = keys_.find(member.key, guesses[number]);
      if (key == nullptr) return false;
      guesses[number] = keys_.position(*key);
      if (key->slot >= 128 || (seen[key->slot / 64] >> key->slot % 64 & 1) != 0) return false;
      seen[key->slot / 64] |= std::uint64_t{1} << key->slot % 64;
      if (!take(*key, member, outermost, question, id)) return false;
    }
    return !scanner.odd();
  }

  bool take(const LineKeys::Key& key, const LineMember& member, bool outermost, Q& question,
            std::string& id) {
    const bool structure = member.kind == LineMember::Kind::kStructure;
    if (key.meaning == LineKeys::Meaning::kId) {
      if (!outermost || structure) return false;
      id = id_text(member);
      return true;
    }
    if (key.meaning == LineKeys::Meaning::kPassedOver) {
      if (structure) require_structure(member.value);
      return true;
    }
    const Row& row = options_.rows()[key.row];
    if (structure && key.of_results && row.about.within.empty() && member.value.front() == '{') {
      require_structure(member.value);
      return true;
    }
    if (structure && member.value.front() == '{') {  // a whole object of --json
      if (!outermost || key.name != "input") return false;
      const std::vector<std::string> before = std::exchange(set_, {});
      const bool plain = read_members(LineScanner(member.value), false, question, id);
      set_ = before;
      return plain;
    }
    about_to_set(question, row.spec.key);
    if (member.kind == LineMember::Kind::kPlain && row.read_plain(question, member.plain)) return true;
    row.read_json(question, key.name, json_of(member));
    return true;
  }

  void read_object(const Json& object, bool outermost, Q& question, std::string& id) {
    std::set<std::size_t> seen;
    for_each_member(object, [&](const std::string& name, const Json& value) {
      const LineKeys::Key* key = keys_.find(name, 0);
      if (key == nullptr) refuse_key(name, keys_);
      if (!seen.insert(key->slot).second) refuse_twice(name);
      if (key->meaning == LineKeys::Meaning::kPassedOver) return;
      if (key->meaning == LineKeys::Meaning::kId) {
        if (outermost) id = value_text(value);
        return;
      }
      const Row& row = options_.rows()[key->row];
      if (outermost && name == "input" && is_object(value)) {
        const std::vector<std::string> before = std::exchange(set_, {});
        read_object(value, false, question, id);
        set_ = before;
      } else if (!(key->of_results && row.about.within.empty() && is_object(value))) {
        about_to_set(question, row.spec.key);
        row.read_json(question, name, value_within(value, row.about.within));
      }
    });
  }

  void about_to_set(Q& question, const std::string& key) {
    if (!displace_) return;
    displace_(question, key, set_);
    set_.push_back(key);
  }

  Options<Q> options_;
  Q base_;
  Displace displace_;
  std::vector<std::string> set_;  ///< by the object that is being read
  LineKeys keys_;
  std::vector<std::size_t> guesses_[2];  ///< where each member's key stood in the last line; of `input` apart
};

/// A line, and where its answer goes.
struct BatchLine {
  std::string_view text;
  std::string id;      ///< JSON text of its id, set by the reader
  std::string answer;  ///< the members of the object, set by the subcommand
};

/// Writes `{"id": .., <answer>}` for each line of the file (`-`: standard input) that `answer` does, and an
/// error object in its place where it throws. Answers are flushed whenever input runs dry, so that a program
/// can ask and wait. Blank lines are bad unless they end the input.
/// @return the exit code. @throws InvalidParameter when the file cannot be read.
int answer_batch(const std::string& path, const OutputFlags& flags,
                 const std::function<void(BatchLine&)>& answer);

}  // namespace natten_sim::cli
