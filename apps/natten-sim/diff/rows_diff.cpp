#include "diff/rows_diff.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/parallel.hpp>
#include <natten_sim/io/json_text.hpp>

#include "diff/text_diff.hpp"

namespace natten_sim::cli {
namespace {

using Names = std::vector<std::string>;

Json members_of_line(const std::string& line, const Names& names) {
  Json leading = parse_leading_scalars(line);
  const bool all = std::all_of(names.begin(), names.end(),
                               [&](const std::string& name) { return leading.contains(name); });
  return all ? leading : parse_json(line);
}

/// What names the rows of both files; empty: nothing does.
Names common_names(const DiffFile& a, const DiffFile& b) {
  const auto has = [](const DiffFile& file, const std::string& name) {
    if (file.kind() == DiffFile::Kind::kTable)
      return std::find(file.columns().begin(), file.columns().end(), name) != file.columns().end();
    const Json object = file.coming() != nullptr ? parse_json(*file.coming()) : Json::object();
    return object.is_object() && object.contains(name);
  };
  if (a.kind() == DiffFile::Kind::kTable) {
    const auto error = std::find(a.columns().begin(), a.columns().end(), "error");
    Names swept(a.columns().begin(), error == a.columns().end() ? a.columns().begin() : error);
    if (!swept.empty() &&
        std::all_of(swept.begin(), swept.end(), [&](const std::string& name) { return has(b, name); }))
      return swept;
  }
  for (const char* name : report::kNamingMembers) {
    if (has(a, name) && has(b, name)) return {name};
  }
  return {};
}

struct Row {
  std::string text;
  std::int64_t number = 0;  // from 0
};

/// The rows of one file, each with the place that it has in messages, by which it is matched.
class NamedRows {
 public:
  NamedRows(DiffFile& file, const Names& names) : file_(file), names_(names) {
    for (const std::string& name : names) {
      const auto column = std::find(file.columns().begin(), file.columns().end(), name);
      columns_.push_back(static_cast<std::size_t>(column - file.columns().begin()));
    }
  }

  bool next(std::string& place, Row& row) {
    if (!file_.next(row.text)) return false;
    row.number = read_++;
    place = place_of(row);
    return true;
  }
  [[nodiscard]] Json parse(const Row& row) const {
    const std::int64_t header = file_.kind() == DiffFile::Kind::kTable ? 1 : 0;
    return file_.parse(row.text, row.number + 1 + header);
  }

 private:
  [[nodiscard]] std::string place_of(const Row& row) {
    const std::string name = names_.empty() ? "" : name_of(row);
    if (name.empty()) return fmt::format("[{}]", row.number);
    const std::int64_t before = seen_[name]++;
    return before == 0 ? "[" + name + "]" : fmt::format("[{}][{}]", name, before);
  }

  [[nodiscard]] std::string name_of(const Row& row) const {
    const bool table = file_.kind() == DiffFile::Kind::kTable;
    const Json members = table ? Json::object() : members_of_line(row.text, names_);
    const std::vector<std::string> cells =
        table ? file_.cells_of(row.text, row.number + 2) : std::vector<std::string>{};
    std::string name;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (table ? columns_[i] >= cells.size() : !members.contains(names_[i])) return "";
      name += (i == 0 ? "" : ", ") + names_[i] + "=" +
              (table ? cells[columns_[i]] : json_text(members.at(names_[i])));
    }
    return name;
  }

  DiffFile& file_;
  const Names& names_;
  std::vector<std::size_t> columns_;
  std::unordered_map<std::string, std::int64_t> seen_;
  std::int64_t read_ = 0;
};

struct Pair {
  std::string place;
  Row a, b;
};

class RowsDiff {
 public:
  RowsDiff(DiffFile& a, DiffFile& b, const report::DiffRules& rules)
      : names_(common_names(a, b)),
        a_(a, names_),
        b_(b, names_),
        lines_(a.kind() != DiffFile::Kind::kTable),
        rules_(rules) {}

  /// One row of each file; false when both have ended.
  bool step() {
    std::string place;
    Row row;
    const bool of_a = a_.next(place, row);
    if (of_a) match(place, row, only_a_, only_b_, true);
    const bool of_b = b_.next(place, row);
    if (of_b) match(place, row, only_b_, only_a_, false);
    if (pairs_.size() >= kBatch) compare_pairs();
    return of_a || of_b;
  }

  report::DocumentDiff finish() {
    compare_pairs();
    for (const auto& [place, row] : only_a_) keep(row.number, alone(place, row, true));
    const std::int64_t behind = std::int64_t{1} << 62;
    for (const auto& [place, row] : only_b_) keep(behind + row.number, alone(place, row, false));
    report::DocumentDiff all;
    all.values = values_;
    for (auto& [number, differences] : found_)
      std::move(differences.begin(), differences.end(), std::back_inserter(all.differences));
    return all;
  }

 private:
  using Waiting = std::unordered_map<std::string, Row>;
  static constexpr std::size_t kBatch = 1024;

  void match(const std::string& place, Row& row, Waiting& own, Waiting& others, bool of_a) {
    const auto other = others.find(place);
    if (other == others.end()) {
      own.emplace(place, std::move(row));
      return;
    }
    Row left = std::move(row), right = std::move(other->second);
    if (!of_a) std::swap(left, right);
    pairs_.push_back({place, std::move(left), std::move(right)});
    others.erase(other);
  }

  [[nodiscard]] report::DocumentDiff compare(const Pair& pair) const {
    if (lines_) {
      if (std::optional<report::DocumentDiff> diff = text_diff(pair.place, pair.a.text, pair.b.text, rules_))
        return *std::move(diff);
    }
    const Json left = a_.parse(pair.a), right = b_.parse(pair.b);
    return report::part_diff(pair.place, &left, &right, rules_);
  }

  void compare_pairs() {
    std::vector<report::DocumentDiff> diffs(pairs_.size());
    run_tasks(pairs_.size(), {.threads = std::max(1U, std::thread::hardware_concurrency())},
              [&](std::size_t index, std::size_t) { diffs[index] = compare(pairs_[index]); });
    for (std::size_t i = 0; i < pairs_.size(); ++i) keep(pairs_[i].a.number, std::move(diffs[i]));
    pairs_.clear();
  }

  [[nodiscard]] report::DocumentDiff alone(const std::string& place, const Row& row, bool of_a) const {
    const Json value = (of_a ? a_ : b_).parse(row);
    return report::part_diff(place, of_a ? &value : nullptr, of_a ? nullptr : &value, rules_);
  }

  void keep(std::int64_t number, report::DocumentDiff diff) {
    values_ += diff.values;
    if (!diff.differences.empty()) found_[number] = std::move(diff.differences);
  }

  Names names_;
  NamedRows a_, b_;
  bool lines_;  // of JSON
  const report::DiffRules& rules_;
  Waiting only_a_, only_b_;
  std::vector<Pair> pairs_;
  std::int64_t values_ = 0;
  std::map<std::int64_t, std::vector<report::Difference>> found_;  // by the row of A
};

}  // namespace

report::DocumentDiff rows_diff(DiffFile& a, DiffFile& b, const report::DiffRules& rules,
                               const std::function<void(double)>& progress) {
  RowsDiff diff(a, b, rules);
  while (diff.step()) {
    if (progress) progress((a.share_taken() + b.share_taken()) / 2);
  }
  return diff.finish();
}

}  // namespace natten_sim::cli
