#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// What files add by themselves, one entry a file: schedule algorithms, pictures, views, tables. An `Entry`
/// has a `name` and a `position`. A room starts its registry with its own entries (natten_sim_registry() in
/// CMake lists them), code outside adds more before main; help, completion and tests read the list.
///
///     Registry<View> views("view", built_in_views());
///     views.add({.name = "mine", .position = 35});
///     views.find("mine").position;  // 35
///
/// Not for use by several threads while entries are added.
template <typename Entry>
class Registry {
 public:
  /// `what` an entry is, as errors name it.
  Registry(std::string what, std::vector<Entry> built_in) : what_(std::move(what)) {
    for (Entry& entry : built_in) add(std::move(entry));
  }

  /// The reference stays valid. @throws InvalidParameter on a name that is taken, or is not one of lower-case
  /// letters, digits and dashes.
  const Entry& add(Entry entry) {
    require_name(entry.name);
    owned_.push_back(std::make_unique<const Entry>(std::move(entry)));
    const Entry* added = owned_.back().get();
    const auto before = [](const Entry* a, const Entry* b) {
      return std::tie(a->position, a->name) < std::tie(b->position, b->name);
    };
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), added, before), added);
    return *added;
  }

  /// By position, then by name.
  [[nodiscard]] const std::vector<const Entry*>& sorted() const { return sorted_; }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Entry* entry : sorted_) names.push_back(entry->name);
    return names;
  }

  /// @throws UnknownName with the closest name.
  [[nodiscard]] const Entry& find(std::string_view name) const {
    for (const Entry* entry : sorted_) {
      if (entry->name == name) return *entry;
    }
    throw UnknownName(what_, std::string(name), closest_name(name, names()), joined(names()));
  }

 private:
  void require_name(const std::string& name) const {
    const auto in_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    if (name.empty() || name.front() == '-' || !std::all_of(name.begin(), name.end(), in_name))
      throw InvalidParameter(what_, "'" + name + "'", "a name of lower-case letters, digits and dashes");
    if (std::any_of(sorted_.begin(), sorted_.end(), [&](const Entry* known) { return known->name == name; }))
      throw InvalidParameter(what_, name + " twice", "each name once");
  }

  std::string what_;
  std::vector<std::unique_ptr<const Entry>> owned_;
  std::vector<const Entry*> sorted_;
};

}  // namespace natten_sim
