#include <natten_sim/validate/cases/registry.hpp>

#include <algorithm>
#include <stdexcept>

#include "registry/embedded_validation.hpp"
#include "registry/point_json.hpp"

namespace natten_sim::validate {

namespace cases {
/// Written by the build: one call a file of src/cases.
[[nodiscard]] std::vector<CaseKind> built_in_cases();
}  // namespace cases

namespace {

/// Local to a function, so that it exists when another file registers something before main.
std::vector<CaseKind>& mutable_kinds() {
  static std::vector<CaseKind> kinds = cases::built_in_cases();
  return kinds;
}

std::vector<SuiteText>& mutable_suites() {
  static std::vector<SuiteText> suites = embedded::suites();
  return suites;
}

bool before(const CaseKind& a, const CaseKind& b) { return a.kernel < b.kernel; }

std::string kernel_names() {
  std::vector<std::string> names;
  for (const CaseKind& kind : case_kinds()) names.push_back(kind.kernel);
  return joined(names);
}

/// A number where it reads as one, true or false, else text.
Json word_json(const std::string& value) {
  const bool digits =
      !value.empty() && value.size() < 16 && value.find_first_not_of("0123456789") == std::string::npos;
  if (digits) return std::stoll(value);
  if (value == "true" || value == "false") return value == "true";
  return value;
}

}  // namespace

const std::vector<CaseKind>& case_kinds() { return mutable_kinds(); }
const std::vector<SuiteText>& suite_texts() { return mutable_suites(); }

RegisteredCase::RegisteredCase(CaseKind kind) {
  std::vector<CaseKind>& kinds = mutable_kinds();
  const auto place = std::lower_bound(kinds.begin(), kinds.end(), kind, before);
  if (place != kinds.end() && place->kernel == kind.kernel)
    throw std::logic_error("two cases are called '" + kind.kernel + "'");
  kinds.insert(place, std::move(kind));
}

RegisteredSuite::RegisteredSuite(std::string_view json, std::string where) {
  mutable_suites().push_back({json, std::move(where)});
}

Json point_json(const Point& point) {
  Json json = Json::object();
  for (const Parameter& parameter : point->parameters())
    std::visit([&](const auto& value) { json[parameter.name] = value; }, parameter.value);
  return json;
}

Point parse_point(const Json& json, const std::string& where) {
  const StrictObject fields(json, where);
  const std::string kernel = fields.text("kernel");
  for (const CaseKind& kind : case_kinds()) {
    if (kind.kernel != kernel) continue;
    std::vector<std::string> keys = {"kernel"};
    keys.insert(keys.end(), kind.parameters.begin(), kind.parameters.end());
    return kind.read(StrictObject(json, where, keys));
  }
  fields.fail("kernel", kernel_names());
}

Point parse_recorded_point(const Json& json, const std::string& where) {
  try {
    return parse_point(json, where);
  } catch (const MalformedData&) {
    throw;
  } catch (const Error& error) {
    throw MalformedData(where, error.what(), "a point that a kernel can have");
  }
}

Point parse_point_words(const std::vector<std::string>& words) {
  Json json = Json::object();
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InvalidParameter("point", word, "name=value, as tokens=65536 or order=sawtooth");
    }
    const std::string name = word.substr(0, equals);
    if (json.contains(name)) throw InvalidParameter("point", word, "each name once");
    json[name] = word_json(word.substr(equals + 1));
  }
  if (!json.contains("kernel")) json["kernel"] = kDefaultKernel;
  return parse_point(json, "point");
}

}  // namespace natten_sim::validate
