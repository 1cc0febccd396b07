// All parsing and printing of JSON: the one file that includes the whole of nlohmann/json.hpp.
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>

namespace natten_sim {
namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

/// This project's files do not nest deeply, and writing a deep value would take as much stack as reading it.
constexpr std::size_t kDeepest = 64;

std::string twice(const std::string& key) { return "key '" + key + "' appears twice in one object"; }
std::string too_deep() { return "nested more than " + std::to_string(kDeepest) + " levels deep"; }

enum class Keys { kLastCounts, kUnique };

/// Builds a value.
class JsonBuilder : public Sax {
 public:
  explicit JsonBuilder(std::size_t max_depth, Keys keys = Keys::kLastCounts)
      : max_depth_(max_depth), keys_(keys) {}

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool key(string_t& name) override {
    if (keys_ == Keys::kUnique && open_.back()->contains(name)) {
      problem = twice(name);
      return false;
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem = "not JSON, at byte " + std::to_string(position);
    return false;
  }

  Json root;
  std::string problem;
  bool stopped = false;

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  template <typename T>
  bool scalar(T value) {
    place(Json(std::move(value)));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == max_depth_) {
      stopped = true;
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::size_t max_depth_;    ///< reading stops at a value below it
  Keys keys_;
  std::vector<Json*> open_;  ///< a parent does not change while a child is open
  std::string key_;
};

/// Keeps the keys of the objects that are open.
class KeyChecker : public Sax {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return descend(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool start_object(std::size_t) override {
    open_.emplace_back();
    return descend();
  }
  bool end_object() override {
    open_.pop_back();
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (open_.back().insert(name).second) return true;
    problem = twice(name);
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem = "not JSON, at byte " + std::to_string(position);
    return false;
  }

  std::string problem;

 private:
  bool descend() {
    if (++depth_ <= kDeepest) return true;
    problem = too_deep();
    return false;
  }

  std::size_t depth_ = 0;
  std::vector<std::set<std::string>> open_;
};

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\') return false;
  }
  return true;
}

void append_text(const std::string& value, std::string& text) {
  if (is_plain(value)) {
    text += '"';
    text += value;
    text += '"';
    return;
  }
  text += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <typename T>
void append_integer(T value, std::string& text) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_scalar(const Json& value, std::string& text) {
  if (value.is_string()) {
    append_text(value.text(), text);
  } else if (value.is_digits()) {
    text += value.digits();
  } else if (value.is_number_unsigned()) {
    append_integer(value.get<std::uint64_t>(), text);
  } else if (value.is_number_integer()) {
    append_integer(value.get<std::int64_t>(), text);
  } else if (value.is_number_float()) {
    char digits[kMaxNumberText];
    text.append(digits, write_number(digits, value.get<double>()));
  } else if (value.is_boolean()) {
    text += value.get<bool>() ? "true" : "false";
  } else {
    text += value.is_array() ? "[]" : value.is_object() ? "{}" : "null";
  }
}

void append(const Json& value, bool indented, int depth, std::string& text) {
  if ((!value.is_array() && !value.is_object()) || value.empty()) {
    append_scalar(value, text);
    return;
  }
  const auto line = [&](int level) {
    if (indented) text += "\n" + std::string(2 * static_cast<std::size_t>(level), ' ');
  };
  const bool object = value.is_object();
  text += object ? '{' : '[';
  bool first = true;
  for (auto element = value.begin(); element != value.end(); ++element) {
    if (!first) text += ',';
    first = false;
    line(depth + 1);
    if (object) {
      append_text(element.key(), text);
      text += indented ? ": " : ":";
    }
    append(*element, indented, depth + 1, text);
  }
  line(depth);
  text += object ? '}' : ']';
}

Json parsed(std::string_view text, std::size_t max_depth) {
  JsonBuilder builder(max_depth);
  if (!nlohmann::json::sax_parse(text, &builder) && !builder.stopped)
    throw MalformedData("JSON text", builder.problem, "JSON");
  return std::move(builder.root);
}

}  // namespace

std::string json_text(const Json& value, JsonLayout layout) {
  std::string text;
  append(value, layout == JsonLayout::kIndented, 0, text);
  return text;
}

char* write_number(char* place, double value) {
  if (std::isfinite(value)) return nlohmann::detail::to_chars(place, place + kMaxNumberText, value);
  constexpr std::string_view kNull = "null";
  return place + kNull.copy(place, kNull.size());
}

Json parse_json(std::string_view text) { return parsed(text, std::numeric_limits<std::size_t>::max()); }

Json parse_leading_scalars(std::string_view text) { return parsed(text, 1); }

namespace {

void refuse_nul(std::string_view json, const std::string& where) {  // the parser would stop there
  if (json.find('\0') != std::string_view::npos) throw MalformedData(where, "holds a NUL byte", "JSON text");
}

[[noreturn]] void refuse_keys(const std::string& where, const std::string& problem) {
  throw MalformedData(where, problem, "JSON whose objects name each key once");
}

}  // namespace

void require_unique_keys(std::string_view json, const std::string& where) {
  refuse_nul(json, where);
  KeyChecker checker;
  if (!nlohmann::json::sax_parse(json, &checker)) refuse_keys(where, checker.problem);
}

Json parse_unique_json(std::string_view json, const std::string& where) {
  refuse_nul(json, where);
  JsonBuilder builder(kDeepest, Keys::kUnique);
  if (!nlohmann::json::sax_parse(json, &builder))
    refuse_keys(where, builder.stopped ? too_deep() : builder.problem);
  return std::move(builder.root);
}

}  // namespace natten_sim
