#include "described.hpp"

#include <sstream>

#include <natten_sim/core/conflict.hpp>

namespace natten_sim::python {
namespace {

std::string as_it_is(const std::string& member) { return keyword_of(member); }

/// Where a docstring says that the names are listed.
const char* listed(study::NamesOfCatalog names) {
  switch (names) {
    case study::NamesOfCatalog::kPresets:
      return ", see presets()";
    case study::NamesOfCatalog::kDevices:
      return ", see devices()";
    case study::NamesOfCatalog::kBackends:
      return ", see backends()";
    case study::NamesOfCatalog::kKernels:
      return ", see kernels()";
    case study::NamesOfCatalog::kNatten:
    case study::NamesOfCatalog::kNone:
      break;
  }
  return "";
}

/// The choices, unless the help names them all.
std::string one_of(const std::string& choices, const std::string& help) {
  std::istringstream names(choices);
  std::string all;
  bool named = true;
  for (std::string name; names >> name;) {
    all += (all.empty() ? "; one of " : ", ") + name;
    named = named && help.find(name) != std::string::npos;
  }
  return named ? "" : all;
}

}  // namespace

std::string keyword_of(const std::string& member) { return member == "for" ? "for_" : member; }

std::string doc_of(const study::About& about, const char* value, const char* otherwise) {
  std::string doc =
      study::before_default(about.help, listed(about.names) + one_of(about.choices, about.help) + value);
  if (!doc.ends_with("]")) doc += otherwise;
  for (const auto& [theirs, ours] : {std::pair{" [true]", " [True]"}, std::pair{" [false]", " [False]"}}) {
    if (doc.ends_with(theirs)) doc.replace(doc.size() - std::string(theirs).size(), std::string::npos, ours);
  }
  return study::with_members(doc, as_it_is);
}

Accepts accepts_of(const study::About& about) {
  return {.lo = about.range.lo,
          .hi = about.range.hi,
          .least = about.interval.lo,
          .most = about.interval.hi,
          .accepted = about.accepted,
          .factor = about.value == "X" && about.interval.hi > 1,
          .choices = about.choices};
}

bool is_given(const nb::kwargs& given, const std::string& name) {
  if (!given.contains(name.c_str())) return false;
  const nb::object value = given[name.c_str()];
  return !value.is_none() && value.ptr() != Py_False;
}

void check_company(const std::string& name, const std::vector<std::string>& excludes,
                   const std::vector<std::string>& needs, const study::RuledOut& rules_out,
                   const nb::kwargs& given) {
  for (const std::string& other : excludes) {
    if (is_given(given, other)) throw Conflict(name, other);
  }
  for (const std::string& other : rules_out.options) {
    if (is_given(given, other))
      throw Conflict(other, name, study::with_members(rules_out.accepted, as_it_is));
  }
  for (const std::string& other : needs) {
    if (!is_given(given, other)) throw Missing(name, other);
  }
}

}  // namespace natten_sim::python
