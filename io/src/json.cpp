#include <algorithm>
#include <stdexcept>

#include <natten_sim/io/json.hpp>
#include <natten_sim/io/json_text.hpp>

namespace natten_sim {
namespace {

[[noreturn]] void refuse(const Json& value, const char* wanted) {
  throw std::logic_error(std::string("not ") + wanted + ": " + value.dump());
}

bool is_member(const Json& value) { return value.is_array() && value.size() == 2 && value[0].is_string(); }

}  // namespace

Json::Json() noexcept : value_(nullptr) {}
Json::Json(std::nullptr_t) noexcept : value_(nullptr) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept : value_(std::move(other.value_)) { other.value_ = nullptr; }
Json& Json::operator=(const Json& other) {
  if (this != &other) *this = Json(other);
  return *this;
}
Json& Json::operator=(Json&& other) noexcept {
  Value taken = std::move(other.value_);  // `other` may be a part of this value
  other.value_ = nullptr;
  value_ = std::move(taken);
  return *this;
}
Json::~Json() = default;

Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(Array&& values) : value_(std::move(values)) {}
Json::Json(std::initializer_list<Json> elements) {
  if (!std::all_of(elements.begin(), elements.end(), is_member)) {
    value_ = Array(elements);
    return;
  }
  value_ = Object();
  for (const Json& element : elements) (*this)[element[0].text()] = element[1];
}

Json Json::array() { return Json(Array()); }
Json Json::array(std::initializer_list<Json> elements) { return Json(Array(elements)); }
Json Json::object() {
  Json value;
  value.value_ = Object();
  return value;
}
Json Json::of_digits(std::string digits) {
  Json value;
  value.value_ = Digits{std::move(digits)};
  return value;
}
Json Json::parse(std::string_view text) { return parse_json(text); }

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_number() const { return is_number_integer() || is_number_float(); }
bool Json::is_number_integer() const {
  return std::holds_alternative<std::int64_t>(value_) || is_number_unsigned();
}
bool Json::is_number_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
bool Json::is_number_float() const { return std::holds_alternative<double>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_digits() const { return std::holds_alternative<Digits>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

bool Json::boolean() const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  refuse(*this, "a boolean");
}
std::int64_t Json::integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<std::int64_t>(*value);
  if (const auto* value = std::get_if<double>(&value_)) return static_cast<std::int64_t>(*value);
  refuse(*this, "a number");
}
std::uint64_t Json::unsigned_integer() const {
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return *value;
  return static_cast<std::uint64_t>(integer());
}
double Json::number() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  return static_cast<double>(integer());
}
const std::string& Json::text() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  refuse(*this, "a text");
}
const std::string& Json::digits() const {
  if (const auto* value = std::get_if<Digits>(&value_)) return value->text;
  refuse(*this, "digits");
}

std::size_t Json::size() const {
  if (const auto* elements = std::get_if<Array>(&value_)) return elements->size();
  if (const auto* members = std::get_if<Object>(&value_)) return members->size();
  return is_null() ? 0 : 1;
}

Json& Json::operator[](std::size_t element) {
  return const_cast<Json&>(static_cast<const Json&>(*this)[element]);
}
const Json& Json::operator[](std::size_t element) const {
  const auto* elements = std::get_if<Array>(&value_);
  if (elements == nullptr || element >= elements->size()) refuse(*this, "an array that is long enough");
  return (*elements)[element];
}
void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  auto* elements = std::get_if<Array>(&value_);
  if (elements == nullptr) refuse(*this, "an array");
  elements->push_back(std::move(value));
}

const JsonMember* Json::member(std::string_view key) const {
  const auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const JsonMember& member) { return member.key == key; });
  return found == members->end() ? nullptr : &*found;
}
Json::Object& Json::members() {
  if (is_null()) value_ = Object();
  auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) refuse(*this, "an object");
  return *members;
}
Json& Json::operator[](std::string_view key) {
  Object& all = members();
  if (const JsonMember* found = member(key)) return const_cast<JsonMember*>(found)->value;
  return all.emplace_back(JsonMember{std::string(key), Json()}).value;
}
const Json& Json::at(std::string_view key) const {
  if (const JsonMember* found = member(key)) return found->value;
  refuse(*this, ("an object with '" + std::string(key) + "'").c_str());
}
bool Json::contains(std::string_view key) const { return member(key) != nullptr; }
std::size_t Json::erase(std::string_view key) {
  return std::erase_if(members(), [&](const JsonMember& member) { return member.key == key; });
}
void Json::update(const Json& other) {
  for (const auto& [key, value] : other.items()) (*this)[key] = value;
}
const Json::Object& Json::items() const {
  static const Object kNone;
  if (is_null()) return kNone;
  if (const auto* members = std::get_if<Object>(&value_)) return *members;
  refuse(*this, "an object");
}

Json::iterator Json::begin() {
  if (auto* members = std::get_if<Object>(&value_)) return iterator(members->data());
  auto* elements = std::get_if<Array>(&value_);
  return elements == nullptr ? iterator() : iterator(elements->data());
}
Json::iterator Json::end() {
  if (auto* members = std::get_if<Object>(&value_)) return iterator(members->data() + members->size());
  auto* elements = std::get_if<Array>(&value_);
  return elements == nullptr ? iterator() : iterator(elements->data() + elements->size());
}
Json::const_iterator Json::begin() const {
  if (const auto* members = std::get_if<Object>(&value_)) return const_iterator(members->data());
  const auto* elements = std::get_if<Array>(&value_);
  return elements == nullptr ? const_iterator() : const_iterator(elements->data());
}
Json::const_iterator Json::end() const {
  if (const auto* members = std::get_if<Object>(&value_))
    return const_iterator(members->data() + members->size());
  const auto* elements = std::get_if<Array>(&value_);
  return elements == nullptr ? const_iterator() : const_iterator(elements->data() + elements->size());
}
Json::const_iterator Json::find(std::string_view key) const {
  const JsonMember* found = member(key);
  return found == nullptr ? end() : const_iterator(found);
}

std::string Json::dump() const { return json_text(*this); }

bool operator==(const Json& left, const Json& right) {
  if (left.is_number() && right.is_number()) return (left <=> right) == 0;
  if (left.value_.index() != right.value_.index()) return false;
  return left.value_ == right.value_;
}

std::partial_ordering operator<=>(const Json& left, const Json& right) {
  if (!left.is_number_integer() || !right.is_number_integer()) return left.number() <=> right.number();
  const auto negative = [](const Json& value) { return !value.is_number_unsigned() && value.integer() < 0; };
  if (negative(left) || negative(right)) {
    if (negative(left) != negative(right))
      return negative(left) ? std::partial_ordering::less : std::partial_ordering::greater;
    return left.integer() <=> right.integer();
  }
  return left.unsigned_integer() <=> right.unsigned_integer();
}

}  // namespace natten_sim
