#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>

namespace natten_sim::report {

/// JSON Schema of an object with named members and no others.
class ObjectSchema {
 public:
  /// A member with its meaning, to which the unit of its name is added: "ms" of `total_ms`. `always`: every
  /// object has it. Alternatives may have a member in common. @throws std::logic_error where they describe it
  /// differently.
  void add(const std::string& name, Json schema, const std::string& meaning, bool always);
  [[nodiscard]] Json json() const;

 private:
  Json properties_ = Json::object(), required_ = Json::array();
};

/// Names of the members that the schema of an object has.
[[nodiscard]] std::vector<std::string> member_names(const Json& schema);
/// An object with these members, all null: the header of a table of such objects.
[[nodiscard]] Json header_of(const Json& schema);

/// Of an object that has the members of one of these.
[[nodiscard]] Json one_of(std::initializer_list<Json> schemas);

/// Of a value that may be null instead.
[[nodiscard]] Json or_null(Json schema);

}  // namespace natten_sim::report
