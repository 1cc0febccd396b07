#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace natten_sim {

class Json;
struct JsonMember;
template <typename Value, typename Member>
class JsonIterator;

/// What a Json becomes where one is asked for.
template <typename T>
concept JsonScalar = (std::is_arithmetic_v<T> && !std::same_as<T, char>) || std::same_as<T, std::string>;

/// A JSON value. Members of an object stay in the order in which they are set. This header is cheap to
/// include; parsing and printing are in json_text.hpp.
///
///     Json object = {{"view", "map"}, {"sizes", {1, 2}}};  // pairs that begin with a text are an object
///     object["rows"] = Json::array();                      // a null becomes an object
///     object["rows"].push_back({{"row", 1}});
///     for (const auto& [key, value] : object.items()) ...
///
/// Accessing the wrong type throws: std::logic_error from get, at, items and the like.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<JsonMember>;
  using iterator = JsonIterator<Json, JsonMember>;
  using const_iterator = JsonIterator<const Json, const JsonMember>;

  Json() noexcept;
  Json(std::nullptr_t) noexcept;
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  template <std::same_as<bool> T>
  Json(T value) : value_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(whole(value)) {}
  Json(double value);
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  /// Of values that a Json is made of.
  template <typename T>
  Json(const std::vector<T>& values) : Json(Array(values.begin(), values.end())) {}
  Json(Array&& values);
  /// An object if every element is a pair that begins with a text, else an array.
  Json(std::initializer_list<Json> elements);

  [[nodiscard]] static Json array();
  [[nodiscard]] static Json array(std::initializer_list<Json> elements);
  [[nodiscard]] static Json object();
  /// The digits of a number that no other kind holds, printed as they are.
  [[nodiscard]] static Json of_digits(std::string digits);
  /// As parse_json (json_text.hpp).
  [[nodiscard]] static Json parse(std::string_view text);

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_boolean() const;
  [[nodiscard]] bool is_number() const;
  [[nodiscard]] bool is_number_integer() const;   ///< without a fraction in its spelling
  [[nodiscard]] bool is_number_unsigned() const;  ///< of an unsigned type, as parsed ones without a sign are
  [[nodiscard]] bool is_number_float() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_digits() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_object() const;

  /// A number is converted to the type asked for.
  template <typename T>
  [[nodiscard]] T get() const {
    if constexpr (std::same_as<T, bool>) {
      return boolean();
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(std::is_unsigned_v<T> ? static_cast<std::int64_t>(unsigned_integer())
                                                  : integer());
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::same_as<T, std::string>) {
      return text();
    } else {  // a vector
      T values;
      for (std::size_t i = 0; i < size(); ++i) values.push_back((*this)[i].get<typename T::value_type>());
      return values;
    }
  }
  template <JsonScalar T>
  operator T() const {
    return get<T>();
  }
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const std::string& digits() const;

  /// Of an array or an object; of null 0, of anything else 1.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }

  [[nodiscard]] Json& operator[](std::size_t element);
  [[nodiscard]] const Json& operator[](std::size_t element) const;
  [[nodiscard]] Json& operator[](int element) { return (*this)[static_cast<std::size_t>(element)]; }
  [[nodiscard]] const Json& operator[](int element) const {
    return (*this)[static_cast<std::size_t>(element)];
  }
  [[nodiscard]] const Json& at(std::size_t element) const { return (*this)[element]; }
  void push_back(Json value);
  template <typename T>
  void emplace_back(T&& value) {
    push_back(Json(std::forward<T>(value)));
  }
  [[nodiscard]] Json& front() { return (*this)[std::size_t{0}]; }
  [[nodiscard]] const Json& front() const { return (*this)[std::size_t{0}]; }
  [[nodiscard]] Json& back() { return (*this)[size() - 1]; }
  [[nodiscard]] const Json& back() const { return (*this)[size() - 1]; }

  /// Adds the member if there is none.
  [[nodiscard]] Json& operator[](std::string_view key);
  [[nodiscard]] const Json& operator[](std::string_view key) const { return at(key); }
  [[nodiscard]] Json& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  [[nodiscard]] const Json& operator[](const char* key) const { return at(std::string_view(key)); }
  [[nodiscard]] Json& operator[](const std::string& key) { return (*this)[std::string_view(key)]; }
  [[nodiscard]] const Json& operator[](const std::string& key) const { return at(std::string_view(key)); }
  [[nodiscard]] const Json& at(std::string_view key) const;
  [[nodiscard]] const Json& at(const char* key) const { return at(std::string_view(key)); }
  [[nodiscard]] const Json& at(const std::string& key) const { return at(std::string_view(key)); }
  [[nodiscard]] bool contains(std::string_view key) const;
  /// The member, or `fallback`.
  template <typename T>
  [[nodiscard]] T value(std::string_view key, const T& fallback) const {
    return contains(key) ? at(key).get<T>() : fallback;
  }
  /// @return how many were erased
  std::size_t erase(std::string_view key);
  /// Takes over the members of another object.
  void update(const Json& other);
  /// The members of an object or of null.
  [[nodiscard]] const Object& items() const;

  /// Elements of an array, or values of an object; a scalar has none.
  [[nodiscard]] iterator begin();
  [[nodiscard]] iterator end();
  [[nodiscard]] const_iterator begin() const;
  [[nodiscard]] const_iterator end() const;
  [[nodiscard]] const_iterator find(std::string_view key) const;

  /// As json_text writes it on one line.
  [[nodiscard]] std::string dump() const;

  /// Numbers are equal by value; objects, if they have the same members in the same order.
  friend bool operator==(const Json& left, const Json& right);
  template <typename T>
  requires std::is_arithmetic_v<T>
  friend bool operator==(const Json& left, T right) { return left == Json(right); }
  /// Numbers alone.
  friend std::partial_ordering operator<=>(const Json& left, const Json& right);
  template <typename T>
  requires std::is_arithmetic_v<T>
  friend std::partial_ordering operator<=>(const Json& left, T right) { return left <=> Json(right); }

 private:
  struct Digits {
    std::string text;
    friend bool operator==(const Digits&, const Digits&) = default;
  };
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Digits,
                             Array, Object>;

  template <typename T>
  static auto whole(T value) {
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<std::uint64_t>(value);
    } else {
      return static_cast<std::int64_t>(value);
    }
  }
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] std::uint64_t unsigned_integer() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const JsonMember* member(std::string_view key) const;
  [[nodiscard]] Object& members();

  Value value_;
};

struct JsonMember {
  std::string key;
  Json value;
  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

inline Json::Json(double value) : value_(value) {}

/// Over the elements of an array or the members of an object.
template <typename Value, typename Member>
class JsonIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = std::remove_const_t<Value>;
  using pointer = Value*;
  using reference = Value&;
  using iterator_category = std::forward_iterator_tag;

  JsonIterator() = default;
  explicit JsonIterator(Value* element) : element_(element) {}
  explicit JsonIterator(Member* member) : member_(member) {}

  [[nodiscard]] Value& operator*() const { return member_ != nullptr ? member_->value : *element_; }
  [[nodiscard]] Value* operator->() const { return &**this; }
  [[nodiscard]] const std::string& key() const { return member_->key; }
  [[nodiscard]] Value& value() const { return **this; }
  JsonIterator& operator++() {
    if (member_ != nullptr) {
      ++member_;
    } else {
      ++element_;
    }
    return *this;
  }
  JsonIterator operator++(int) {
    const JsonIterator before = *this;
    ++*this;
    return before;
  }
  friend std::ptrdiff_t operator-(const JsonIterator& left, const JsonIterator& right) {
    return left.member_ != nullptr ? left.member_ - right.member_ : left.element_ - right.element_;
  }
  friend bool operator==(const JsonIterator&, const JsonIterator&) = default;

 private:
  Value* element_ = nullptr;
  Member* member_ = nullptr;
};

}  // namespace natten_sim
