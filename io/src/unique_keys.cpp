#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/unique_keys.hpp>

namespace natten_sim {
namespace {

/// Keeps the keys of the objects that are open.
class KeyChecker : public nlohmann::json_sax<nlohmann::json> {
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
    problem = "key '" + name + "' appears twice in one object";
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    problem = "not JSON, at byte " + std::to_string(position);
    return false;
  }

  std::string problem;

 private:
  /// This project's files do not nest deeply, and writing a deep value would take as much stack as reading
  /// it.
  bool descend() {
    constexpr int kDeepest = 64;
    if (++depth_ <= kDeepest) return true;
    problem = "nested more than 64 levels deep";
    return false;
  }

  int depth_ = 0;
  std::vector<std::set<std::string>> open_;
};

}  // namespace

void require_unique_keys(std::string_view json, const std::string& where) {
  if (json.find('\0') != std::string_view::npos) {  // the parser would stop there
    throw MalformedData(where, "holds a NUL byte", "JSON text");
  }
  KeyChecker checker;
  if (!nlohmann::json::sax_parse(json, &checker)) {
    throw MalformedData(where, checker.problem, "JSON whose objects name each key once");
  }
}

}  // namespace natten_sim
