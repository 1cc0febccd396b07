#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/report/answer_words.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/json_sink.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/path.hpp>

namespace natten_sim::report {

// An answer is described once. A description lists the members of a type in the order in which they are
// printed, each with its name, where its value comes from and what it means. Units are in the names.
//
//     template <typename Members>
//     void describe(Members& m, Of<study::PlanMemory>) {
//       using M = study::PlanMemory;
//       m.put("tensors_bytes", &M::tensors, "Q, K, V and O of one layer, in training of all");
//       // std::optional: null without a value
//       m.put("weights_bytes", &M::weights, "The model's parameters");
//       m.put("total_bytes", &M::total, "All of them");
//     }
//
//     json_of(memory)            {"tensors_bytes": 402653184, "weights_bytes": null, ...}
//     schema_of<PlanMemory>()    {"type": "object", "properties": {"tensors_bytes": {"type": "integer",
//     ...}}, ...}
//
// A schema is made from the types of the values alone: no function of a description is called, so that each
// may rely on what its member promises. The words of answer_words.hpp mean the same in all answers, and need
// no meaning:
//
//     m.put("q_tile", &BlockCount::q_tile);
//     m.optional("add_kv", &CountedTiles::extra_kv, "...", [](auto& extra) { ... });  // left out without it
//     m.when(&Row::is_timed, [](auto& some) { some.put(...); });  // members that some answers have
//     m.object("row", "KV tiles per Q tile", [](auto& row) { row.put("mean", &BlockCount::mean_row); });
//     m.include(&Row::tiles);                                     // the members of another described value
//     m.put("values", &values_of, "...");                         // Keyed or OpenObject: names that are data

/// What describe() is called with: the members of a T follow.
template <typename T>
struct Of {};

/// An object whose members are data: any names, any values.
struct OpenObject {
  Json members = Json::object();
};

/// An object whose names are data, and whose values are all of one type.
template <typename V>
struct Keyed {
  std::vector<std::pair<std::string, V>> members;
};

namespace described {

template <typename T>
inline constexpr bool kKeyed = false;
template <typename V>
inline constexpr bool kKeyed<Keyed<V>> = true;

/// Null without a value: an optional, or a pointer that is no text.
template <typename V>
concept Nullable = kOptional<V> ||(std::is_pointer_v<V> && !std::same_as<V, const char*>);

template <typename V>
concept Plain = std::is_arithmetic_v<V> || std::same_as<V, Int128> || std::same_as<V, Json> ||
    std::convertible_to<V, std::string_view>;

/// A list of values.
template <typename V>
concept List = !Plain<V> && requires(const V& values) {
  values.begin();
  values.end();
};

/// Asks describe() of the type.
struct ByType {
  template <typename Members>
  void operator()(Members& members) const {
    describe(members, Of<typename Members::Value>{});
  }
};

template <typename Get, typename T>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<const Get&, const T&>>;

template <typename V, typename Describe>
[[nodiscard]] Json value_json(const V& value, const Describe& describe);

}  // namespace described

/// As path() from what `find` points to; none where that is null.
template <typename Find, typename... Members>
[[nodiscard]] auto found(Find find, Members... members) {
  return [=](const auto& value) {
    const auto* at = std::invoke(find, value);
    using Found = std::remove_cvref_t<decltype(path(members...)(*at))>;
    using Result = std::conditional_t<described::kOptional<Found>, Found, std::optional<Found>>;
    return at != nullptr ? Result(path(members...)(*at)) : Result();
  };
}

/// The member of a value, or null where it is empty.
template <typename T, typename V>
[[nodiscard]] auto unless_empty(V T::*member) {
  return
      [member](const T& value) -> const V* { return (value.*member).empty() ? nullptr : &(value.*member); };
}

/// Writes the members of a value into a sink of json_sink.hpp.
template <typename T, typename Sink>
class MemberWriter {
 public:
  using Value = T;

  MemberWriter(const T& value, Sink& sink) : value_(value), sink_(sink) {}

  template <typename Get, typename Describe = described::ByType>
  void put(const char* name, const Get& get, const char*, const Describe& describe = {}) {
    write(name, std::invoke(get, value_), describe);
  }
  template <typename Get>
  void put(Word word, const Get& get) {
    write(word.name, std::invoke(get, value_), described::ByType());
  }

  template <typename Get, typename Describe = described::ByType>
  void optional(const char* name, const Get& get, const char*, const Describe& describe = {}) {
    const auto& value = std::invoke(get, value_);
    if (value) write(name, *value, describe);
  }
  template <typename Get>
  void optional(Word word, const Get& get) {
    optional(word.name, get, "");
  }

  template <typename Describe>
  void object(const char* name, const char*, const Describe& describe) {
    write(name, value_, describe);
  }
  template <typename Condition, typename Describe>
  void when(const Condition& condition, const Describe& describe) {
    if (std::invoke(condition, value_)) describe(*this);
  }
  template <typename Get, typename Describe = described::ByType>
  void include(const Get& get, const Describe& describe = {}) {
    const auto& value = std::invoke(get, value_);
    if constexpr (described::Nullable<std::remove_cvref_t<decltype(value)>>) {
      if (value) write_members(*value, describe);
    } else {
      write_members(value, describe);
    }
  }

 private:
  template <typename V, typename Describe>
  void write_members(const V& value, const Describe& describe) {
    MemberWriter<V, Sink> members(value, sink_);
    describe(members);
  }
  template <typename V, typename Describe>
  void write(const char* name, const V& value, const Describe& describe) {
    using namespace described;
    if constexpr (Nullable<V>) {
      if (value) {
        write(name, *value, describe);
      } else {
        sink_.null(name);
      }
    } else if constexpr (std::is_enum_v<V>) {
      sink_.put(name, to_string(value));
    } else if constexpr (std::same_as<V, Json>) {
      sink_.put_json(name, value);
    } else if constexpr (Plain<V> || std::same_as<V, Extents>) {
      sink_.put(name, value);
    } else if constexpr (List<V> || std::same_as<V, OpenObject> || kKeyed<V>) {
      sink_.put_json(name, value_json(value, describe));
    } else {
      sink_.object(name, [&](Sink& inner) {
        MemberWriter<V, Sink> members(value, inner);
        describe(members);
      });
    }
  }

  const T& value_;
  Sink& sink_;
};

namespace described {

template <typename V, typename Describe>
[[nodiscard]] Json value_schema(const Describe& describe);

}  // namespace described

/// Writes the members of all values of a type into a JSON Schema.
template <typename T>
class MemberSchemas {
 public:
  using Value = T;

  /// `always`: every object has them.
  explicit MemberSchemas(ObjectSchema& into, bool always = true) : into_(into), always_(always) {}

  template <typename Get, typename Describe = described::ByType>
  void put(const char* name, const Get&, const char* meaning, const Describe& describe = {}) {
    into_.add(name, described::value_schema<described::ValueOf<Get, T>>(describe), meaning, always_);
  }
  template <typename Get>
  void put(Word word, const Get& get) {
    put(word.name, get, word.meaning);
  }

  template <typename Get, typename Describe = described::ByType>
  void optional(const char* name, const Get&, const char* meaning, const Describe& describe = {}) {
    using Held = std::remove_cvref_t<decltype(*std::declval<described::ValueOf<Get, T>>())>;
    into_.add(name, described::value_schema<Held>(describe), meaning, false);
  }
  template <typename Get>
  void optional(Word word, const Get& get) {
    optional(word.name, get, word.meaning);
  }

  template <typename Describe>
  void object(const char* name, const char* meaning, const Describe& describe) {
    into_.add(name, described::value_schema<T>(describe), meaning, always_);
  }
  template <typename Condition, typename Describe>
  void when(const Condition&, const Describe& describe) {
    MemberSchemas<T> some(into_, false);
    describe(some);
  }
  template <typename Get, typename Describe = described::ByType>
  void include(const Get&, const Describe& describe = {}) {
    using V = described::ValueOf<Get, T>;
    if constexpr (described::Nullable<V>) {
      MemberSchemas<std::remove_cvref_t<decltype(*std::declval<V>())>> members(into_, false);
      describe(members);
    } else {
      MemberSchemas<V> members(into_, always_);
      describe(members);
    }
  }

 private:
  ObjectSchema& into_;
  bool always_;
};

namespace described {

template <typename V, typename Describe>
Json value_json(const V& value, const Describe& describe) {
  if constexpr (Nullable<V>) {
    return value ? value_json(*value, describe) : Json();
  } else if constexpr (std::is_enum_v<V>) {
    return to_string(value);
  } else if constexpr (std::same_as<V, Int128>) {
    return wide_integer(value);
  } else if constexpr (std::convertible_to<V, std::string_view>) {
    return Json(std::string_view(value));
  } else if constexpr (Plain<V>) {
    return value;
  } else if constexpr (List<V>) {
    Json array = Json::array();
    for (const auto& element : value) {
      poll();  // an answer may have thousands
      array.push_back(value_json(element, describe));
    }
    return array;
  } else if constexpr (std::same_as<V, OpenObject>) {
    return value.members;
  } else if constexpr (kKeyed<V>) {
    Json object = Json::object();
    for (const auto& [name, member] : value.members) object[name] = value_json(member, describe);
    return object;
  } else {
    Json object = Json::object();
    JsonTree sink(object);
    MemberWriter<V, JsonTree> members(value, sink);
    describe(members);
    return object;
  }
}

template <typename V, typename Describe>
Json value_schema(const Describe& describe) {
  if constexpr (Nullable<V>) {
    return or_null(value_schema<std::remove_cvref_t<decltype(*std::declval<V>())>>(describe));
  } else if constexpr (Named<V>) {
    return {{"type", "string"}, {"enum", names_of<V>()}};
  } else if constexpr (std::is_enum_v<V> || std::convertible_to<V, std::string_view>) {
    return Json{{"type", "string"}};
  } else if constexpr (std::same_as<V, Json>) {
    return Json::object();  // any value
  } else if constexpr (std::same_as<V, bool>) {
    return Json{{"type", "boolean"}};
  } else if constexpr (std::floating_point<V>) {
    return Json{{"type", "number"}};
  } else if constexpr (Plain<V>) {
    return Json{{"type", "integer"}};
  } else if constexpr (List<V>) {
    // Elements that are pointers point to something.
    using Element = std::remove_cvref_t<decltype(*std::declval<const V&>().begin())>;
    constexpr bool kPointers = std::is_pointer_v<Element> && Nullable<Element>;  // to something, all of them
    using Held = std::conditional_t<kPointers, std::remove_cv_t<std::remove_pointer_t<Element>>, Element>;
    return {{"type", "array"}, {"items", value_schema<Held>(describe)}};
  } else if constexpr (std::same_as<V, OpenObject>) {
    return Json{{"type", "object"}};
  } else if constexpr (kKeyed<V>) {
    using Member = typename decltype(V::members)::value_type::second_type;
    return {{"type", "object"}, {"additionalProperties", value_schema<Member>(describe)}};
  } else {
    ObjectSchema object;
    MemberSchemas<V> members(object);
    describe(members);
    return object.json();
  }
}

}  // namespace described

/// The members of a value, or a list of such, as they are printed.
template <typename T>
[[nodiscard]] Json json_of(const T& value) {
  return described::value_json(value, described::ByType());
}

/// An element of json_of(values) each.
template <typename T>
[[nodiscard]] std::vector<Json> rows_of(const std::vector<T>& values) {
  std::vector<Json> rows;
  for (const T& value : values) rows.push_back(json_of(value));
  return rows;
}

/// Adds the members of `value` to a sink of json_sink.hpp.
template <typename T, typename Sink>
void write_members(const T& value, Sink& sink) {
  MemberWriter<T, Sink> members(value, sink);
  described::ByType()(members);
}

/// JSON Schema of json_of(T).
template <typename T>
[[nodiscard]] Json schema_of() {
  return described::value_schema<T>(described::ByType());
}

}  // namespace natten_sim::report
