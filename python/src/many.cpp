#include "many.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

namespace natten_sim::python {
namespace {

/// A NumPy array that keeps the numbers, and cannot be written.
template <typename T>
nb::object owned_array(std::vector<T> numbers) {
  auto kept = std::make_unique<std::vector<T>>(std::move(numbers));
  const T* data = kept->data();
  const std::size_t size = kept->size();
  nb::capsule owner(kept.release(), [](void* vector) noexcept { delete static_cast<std::vector<T>*>(vector); });
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(data, {size}, owner));
}

template <typename T>
std::vector<T> of_rows(const std::vector<T>& of_groups, const RowGroups* groups) {
  if (groups == nullptr || groups->of_row.empty()) return of_groups;
  std::vector<T> rows(groups->of_row.size());
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = of_groups[groups->of_row[row]];
  return rows;
}

nb::object flags_array(const std::vector<std::uint8_t>& flags) {
  return owned_array(flags).attr("view")("bool");
}

}  // namespace

bool ManyOptions::read(const std::string& name, nb::handle value) {
  if (name == "errors") {
    const std::string errors = value.is_none() ? "raise" : text_of(name, value, "raise or skip");
    if (errors != "raise" && errors != "skip") throw UnknownName(name, errors, "", "raise, skip");
    skip = errors == "skip";
  } else if (name == "threads") {
    if (!value.is_none()) threads = static_cast<unsigned>(integer_of(name, value, 1, 1024));
  } else if (name == "members") {
    if (!value.is_none()) members = PythonValue<std::vector<std::string>>::read(name, value, {});
  } else {
    return false;
  }
  return true;
}

bool ManyOptions::wants(const std::string& member) const {
  return members.empty() || std::find(members.begin(), members.end(), member) != members.end();
}

void ManyOptions::require_known(const std::vector<std::string>& known) const {
  for (const std::string& member : members) {
    if (std::find(known.begin(), known.end(), member) == known.end())
      throw UnknownName("members", member, closest_name(member, known), joined(known));
  }
}

unsigned ManyOptions::threads_for(std::size_t tasks) const {
  const unsigned most = threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<std::size_t>(tasks, 1, most));
}

void rethrow_of_row(const Error& error, std::size_t row) {
  throw InvalidParameter(error.parameter() + "[" + std::to_string(row) + "]", error.value(), error.accepted(),
                         error.hint());
}

MemberArrays::Member& MemberArrays::member(const std::string& name, std::size_t first) {
  const auto [entry, is_new] = places_.emplace(name, members_.size());
  if (is_new) members_.emplace_back(name, std::make_unique<Member>());
  Member& found = *members_[entry->second].second;
  found.first = is_new ? first : std::min(found.first, first);
  return found;
}

std::int64_t* MemberArrays::integers(const std::string& name) {
  Member& made = member(name, members_.size());
  made.kind = Member::Kind::kInteger;
  made.integers.assign(rows_, 0);
  return made.integers.data();
}

double* MemberArrays::reals(const std::string& name) {
  Member& made = member(name, members_.size());
  made.kind = Member::Kind::kReal;
  made.reals.assign(rows_, std::numeric_limits<double>::quiet_NaN());
  return made.reals.data();
}

void MemberArrays::take_scalar(std::size_t row, const Json& value, Member& member) const {
  using Kind = Member::Kind;
  const Kind is = value.is_number_float() ? Kind::kReal
                  : value.is_number()     ? Kind::kInteger
                  : value.is_boolean()    ? Kind::kFlag
                                          : Kind::kText;
  if (member.kind == Kind::kNone) {
    member.kind = is;
    (is == Kind::kReal ? (member.reals.assign(rows_, std::numeric_limits<double>::quiet_NaN()), 0)
                       : (member.integers.assign(rows_, 0), member.known.assign(rows_, 0), 0));
  }
  if (member.kind == Kind::kInteger && is == Kind::kReal) {  // whole numbers in some answers
    member.kind = Kind::kReal;
    member.reals.assign(rows_, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t known = 0; known < rows_; ++known) {
      if (member.known[known] != 0) member.reals[known] = static_cast<double>(member.integers[known]);
    }
    member.integers = {};
  }
  if (member.kind == Kind::kReal) {
    if (value.is_number()) member.reals[row] = value.get<double>();
    return;
  }
  if (member.kind != is) return;
  member.known[row] = 1;
  if (is == Kind::kInteger) {
    member.integers[row] = value.get<std::int64_t>();
  } else if (is == Kind::kFlag) {
    member.integers[row] = value.get<bool>() ? 1 : 0;
  } else {
    const auto text = value.get<std::string>();
    const auto found = std::find(member.texts.begin(), member.texts.end(), text);
    member.integers[row] = found - member.texts.begin();
    if (found == member.texts.end()) member.texts.push_back(text);
  }
}

void MemberArrays::take_member(std::size_t row, const std::string& name, const Json& value, const ManyOptions& options,
                               std::size_t& place) {
  if (value.is_object()) {
    for (const auto& [inner, nested] : value.items()) take_member(row, name + "_" + inner, nested, options, place);
  } else if (!value.is_array() && options.wants(name)) {
    Member& made = member(name, place++);
    if (!value.is_null()) take_scalar(row, value, made);
  }
}

void MemberArrays::take(std::size_t row, const Json& answer, const ManyOptions& options) {
  constexpr std::size_t kMostMembers = std::size_t{1} << 16;
  std::size_t place = row * kMostMembers;
  for (const auto& [name, value] : answer.items()) take_member(row, name, value, options, place);
}

nb::object MemberArrays::array_of(const Member& member, const RowGroups* groups) const {
  using Kind = Member::Kind;
  const bool complete = std::find(member.known.begin(), member.known.end(), 0) == member.known.end();
  if (member.kind == Kind::kReal) return owned_array(of_rows(member.reals, groups));
  if (member.kind == Kind::kNone)
    return owned_array(of_rows(std::vector<double>(rows_, std::numeric_limits<double>::quiet_NaN()), groups));
  if (member.kind == Kind::kText) {
    nb::list words;
    words.append("");
    for (const std::string& text : member.texts) words.append(text);
    std::vector<std::int64_t> places = member.integers;
    for (std::size_t row = 0; row < places.size(); ++row) places[row] = member.known[row] != 0 ? places[row] + 1 : 0;
    const nb::object array = nb::module_::import_("numpy").attr("array")(words)[owned_array(of_rows(places, groups))];
    array.attr("setflags")(nb::arg("write") = false);
    return array;
  }
  if (complete) {
    if (member.kind == Kind::kInteger) return owned_array(of_rows(member.integers, groups));
    std::vector<std::uint8_t> flags(member.integers.begin(), member.integers.end());
    return flags_array(of_rows(flags, groups));
  }
  std::vector<double> reals(rows_, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t row = 0; row < rows_; ++row) {
    if (member.known[row] != 0) reals[row] = static_cast<double>(member.integers[row]);
  }
  return owned_array(of_rows(reals, groups));
}

nb::object MemberArrays::finish(const std::vector<std::uint8_t>& valid, const RowGroups* groups,
                                const ManyOptions& options) {
  std::sort(members_.begin(), members_.end(), [](const auto& a, const auto& b) { return a.second->first < b.second->first; });
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  if (std::find(valid.begin(), valid.end(), 1) != valid.end()) options.require_known(names);
  nb::dict arrays;
  for (auto& [name, member] : members_) {
    arrays[name.c_str()] = groups == nullptr && member->kind == Member::Kind::kReal ? owned_array(std::move(member->reals))
                           : groups == nullptr && member->kind == Member::Kind::kInteger && member->known.empty()
                               ? owned_array(std::move(member->integers))
                               : array_of(*member, groups);
    member.reset();
  }
  arrays["valid"] = flags_array(of_rows(valid, groups));
  return nb::module_::import_("natten_sim._many").attr("Columns")(arrays);
}

void answer_groups(const RowGroups& groups, const ManyOptions& options, const ProgressFunction& progress,
                   std::vector<std::uint8_t>& valid, const std::function<void(std::size_t, std::size_t)>& answer) {
  const std::size_t count = groups.first_rows.size();
  run_tasks(count, {options.threads_for(count), progress}, [&](std::size_t group, std::size_t) {
    const std::size_t row = groups.first_rows[group];
    try {
      answer(group, row);
    } catch (const Error& error) {  // only to say which row
      if (!options.skip) rethrow_of_row(error, row);
      valid[group] = 0;
    }
  });
}

}  // namespace natten_sim::python
