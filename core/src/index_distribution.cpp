#include <charconv>
#include <type_traits>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/core/index_stream.hpp>

namespace natten_sim {
namespace {

/// The number that is all of `text`, else an error of from_chars.
template <typename T>
std::errc read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return error;
  return end == text.data() + text.size() ? std::errc() : std::errc::invalid_argument;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

ZipfRows parse_zipf(std::string_view text, const std::string& parameter) {
  ZipfRows zipf;
  const bool number = read_number(text, zipf.exponent) == std::errc();
  if (!number || !(zipf.exponent >= 0 && zipf.exponent <= kMaxZipfExponent))
    throw InvalidParameter(parameter, quoted(text), "zipf:S with an exponent S in 0..16");
  return zipf;
}

HotRows parse_hot(std::string_view text, const std::string& parameter) {
  HotRows hot;
  const std::errc error = read_number(text, hot.count);
  const bool whole = error == std::errc();
  if (whole && hot.count >= 1 && hot.count <= kMaxRows) return hot;
  const bool low = whole ? hot.count < 1 : text.starts_with('-');
  const bool number = whole || error == std::errc::result_out_of_range;
  throw InvalidParameter(parameter, quoted(text), "integers in 1.." + std::to_string(kMaxRows),
                         number ? std::to_string(low ? 1 : kMaxRows) : "");
}

}  // namespace

IndexDistribution parse_index_distribution(std::string_view text, const std::string& parameter,
                                           const char* accepted) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_value = colon != std::string_view::npos;
  if (kind == "uniform" && !has_value) return UniformRows{};
  if (kind == "zipf" && has_value) return parse_zipf(text.substr(colon + 1), parameter);
  if (kind == "hot" && has_value) return parse_hot(text.substr(colon + 1), parameter);
  throw InvalidParameter(parameter, quoted(text), accepted);
}

std::string to_string(const IndexDistribution& distribution) {
  if (const auto* hot = std::get_if<HotRows>(&distribution)) return "hot:" + std::to_string(hot->count);
  if (const auto* zipf = std::get_if<ZipfRows>(&distribution)) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, zipf->exponent);
    return "zipf:" + std::string(digits, end);
  }
  return "uniform";
}

}  // namespace natten_sim
