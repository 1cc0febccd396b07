#include <natten_sim/report/document_diff.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

using Elements = std::map<std::string, const Json*>;

/// The elements by the text of their member `name`; none unless each has one of its own.
std::optional<Elements> named_elements(const Json& array, const char* name) {
  Elements elements;
  for (const Json& element : array) {
    if (!element.is_object() || !element.contains(name)) return std::nullopt;
    if (!elements.emplace(json_text(element.at(name)), &element).second) return std::nullopt;
  }
  return elements;
}

bool holds_values(const Json& value) { return value.is_object() || value.is_array(); }

class Comparison {
 public:
  Comparison(const DiffRules& rules, std::string place, DocumentDiff& diff)
      : rules_(rules), place_(std::move(place)), diff_(diff) {}

  /// Null pointers: that document has nothing there.
  void compare(const Json* a, const Json* b) {
    if (a == nullptr || b == nullptr) return compare_values(a, b);
    if (a->is_object() && b->is_object()) return compare_objects(*a, *b);
    if (a->is_array() && b->is_array()) return compare_arrays(*a, *b);
    compare_values(a, b);
  }

 private:
  /// Compares what is at `step` from here.
  void compare_at(const std::string& step, const Json* a, const Json* b) {
    const std::size_t before = place_.size();
    if (before > 0 && step.front() != '[') place_ += '.';
    place_ += step;
    compare(a, b);
    place_.resize(before);
  }

  void compare_objects(const Json& a, const Json& b) {
    const Json::Object &lefts = a.items(), &rights = b.items();
    for (std::size_t i = 0; i < lefts.size(); ++i) {
      const auto& [key, value] = lefts[i];
      if (rules_.ignored.contains(key)) continue;
      const bool same_place = i < rights.size() && rights[i].key == key;
      const Json* other = same_place ? &rights[i].value : b.contains(key) ? &b.at(key) : nullptr;
      compare_at(key, &value, other);
    }
    for (std::size_t i = 0; i < rights.size(); ++i) {
      const auto& [key, value] = rights[i];
      if (rules_.ignored.contains(key) || (i < lefts.size() && lefts[i].key == key) || a.contains(key)) continue;
      compare_at(key, nullptr, &value);
    }
  }

  void compare_arrays(const Json& a, const Json& b) {
    for (const char* name : kNamingMembers) {
      const std::optional<Elements> lefts = named_elements(a, name), rights = named_elements(b, name);
      if (lefts && rights && !(lefts->empty() && rights->empty()))
        return compare_named(name, {a, *lefts}, {b, *rights});
    }
    const auto at = [](const Json& array, std::size_t i) { return i < array.size() ? &array[i] : nullptr; };
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      compare_at(fmt::format("[{}]", i), at(a, i), at(b, i));
  }

  struct Named {
    const Json& array;
    const Elements& elements;
  };

  void compare_named(const char* name, const Named& a, const Named& b) {
    const auto in = [](const Elements& elements, const std::string& key) {
      const auto found = elements.find(key);
      return found == elements.end() ? nullptr : found->second;
    };
    const auto step = [&](const std::string& key) { return fmt::format("[{}={}]", name, key); };
    for (const Json& element : a.array) {  // in the order of the document
      const std::string key = json_text(element.at(name));
      compare_at(step(key), &element, in(b.elements, key));
    }
    for (const Json& element : b.array) {
      const std::string key = json_text(element.at(name));
      if (in(a.elements, key) == nullptr) compare_at(step(key), nullptr, &element);
    }
  }

  void compare_values(const Json* a, const Json* b) {
    ++diff_.values;
    if (a != nullptr && b != nullptr && *a == *b) return;  // 1 is 1.0
    Difference difference{.place = place_};
    if (a != nullptr) difference.a = *a;
    if (b != nullptr) difference.b = *b;
    if (a != nullptr && b != nullptr && a->is_number() && b->is_number()) {
      const double before = a->get<double>(), after = b->get<double>();
      if (before != 0) difference.relative = (after - before) / std::abs(before);
      const double larger = std::max(std::abs(before), std::abs(after));
      difference.beyond = std::abs(after - before) > rules_.tolerance * larger;
    }
    diff_.differences.push_back(std::move(difference));
  }

  const DiffRules& rules_;
  std::string place_;
  DocumentDiff& diff_;
};

std::string value_cell(const std::optional<Json>& value) {
  if (!value) return "-";
  const std::string text = json_text(*value);
  constexpr std::size_t kMost = 24;
  return text.size() <= kMost ? text : text.substr(0, kMost - 2) + "..";
}

std::string relative_cell(const Difference& difference) {
  if (!difference.a) return "only in B";
  if (!difference.b) return "only in A";
  return difference.relative ? fmt::format("{:+.3g}%", *difference.relative * 100) : "";
}

}  // namespace

std::int64_t DocumentDiff::beyond() const {
  return std::count_if(differences.begin(), differences.end(), [](const Difference& each) { return each.beyond; });
}

const Difference* DocumentDiff::largest() const {
  const Difference* largest = nullptr;
  for (const Difference& each : differences) {
    if (each.relative && (largest == nullptr || std::abs(*each.relative) > std::abs(*largest->relative)))
      largest = &each;
  }
  return largest;
}

DocumentDiff document_diff(const Json& a, const Json& b, const DiffRules& rules) {
  return part_diff("", &a, &b, rules);
}

DocumentDiff part_diff(const std::string& place, const Json* a, const Json* b, const DiffRules& rules) {
  DocumentDiff diff;
  Comparison(rules, place, diff).compare(a, b);
  return diff;
}

template <typename Members>
void describe(Members& m, Of<Difference>) {
  m.put("place", &Difference::place, "Where the values stand: result.candidates[2].speedup.work");
  m.put("a", &Difference::a, "Value of the first file; null: it has none there");
  m.put("b", &Difference::b, "Value of the second file; null: it has none there");
  m.put("relative", &Difference::relative, "(b - a) / |a|; null unless both are numbers and a is not 0");
  m.put("beyond", &Difference::beyond, "Whether the values differ by more than the tolerance");
}

template <typename Members>
void describe(Members& m, Of<DocumentDiff>) {
  m.put("values", &DocumentDiff::values, "Places at which either file has a value");
  m.put(
      "different", [](const DocumentDiff& diff) { return diff.differences.size(); }, "Values that differ");
  m.put("beyond", &DocumentDiff::beyond, "Values that differ by more than the tolerance");
  m.put(
      "largest_relative",
      [](const DocumentDiff& diff) {
        const Difference* largest = diff.largest();
        return largest != nullptr ? largest->relative : std::nullopt;
      },
      "The largest relative difference; null without any");
  m.put("differences", &DocumentDiff::differences, "Every value that differs");
}

Json diff_result(const DocumentDiff& diff) { return json_of(diff); }

Json diff_schema() { return schema_of<DocumentDiff>(); }

Rows diff_rows(const DocumentDiff& diff) {
  std::vector<Json> rows;
  for (const Difference& difference : diff.differences) {
    Json row = json_of(difference);
    for (const char* side : {"a", "b"}) {
      if (holds_values(row[side])) row[side] = json_text(row[side]);
    }
    rows.push_back(std::move(row));
  }
  return {json_of(Difference{}), rows};
}

std::string diff_text(const DocumentDiff& diff, const DiffRules& rules) {
  std::vector<std::vector<std::string>> table = {{"place", "A", "B", "difference"}};
  for (const Difference& each : diff.differences) {
    if (each.beyond) table.push_back({each.place, value_cell(each.a), value_cell(each.b), relative_cell(each)});
  }
  std::string text = table.size() > 1 ? text_table(table, LastColumn::kRight) + "\n" : "";
  const std::string tolerance =
      rules.tolerance > 0 ? fmt::format(" by more than {:g}%", rules.tolerance * 100) : std::string();
  text += fmt::format("{} of {} {}{}.", diff.beyond(), counted(diff.values, "value"),
                      diff.beyond() == 1 ? "differs" : "differ", tolerance);
  const auto within = static_cast<std::int64_t>(diff.differences.size()) - diff.beyond();
  if (within > 0) text += fmt::format(" {} more by less.", within);
  if (const Difference* largest = diff.largest())
    text += fmt::format(" The largest difference is {:+.3g}%, of {}.", *largest->relative * 100, largest->place);
  return text + "\n";
}

}  // namespace natten_sim::report
