#include "kernel_name.hpp"

#include <array>
#include <cctype>
#include <charconv>

namespace natten_sim::study {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// C<128> and Int<128> become 128.
void unwrap_constants(std::string& text) {
  for (const std::string_view wrapper : {"C<", "Int<", "constant<int,"}) {
    for (std::size_t at = text.find(wrapper); at != std::string::npos; at = text.find(wrapper, at + 1)) {
      if (at > 0 && is_word(text[at - 1])) continue;
      std::size_t end = at + wrapper.size();
      while (end < text.size() && is_digit(text[end])) ++end;
      if (end == at + wrapper.size() || end == text.size() || text[end] != '>') continue;
      text = text.substr(0, at) + text.substr(at + wrapper.size(), end - at - wrapper.size()) +
             text.substr(end + 1);
    }
  }
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != ' ') text += c;
  }
  constexpr std::array<std::array<std::string_view, 2>, 9> kSpellings = {{{"(int)", ""},
                                                                          {"(bool)", ""},
                                                                          {"(unsignedint)", ""},
                                                                          {"cute::", ""},
                                                                          {"std::integral_", ""},
                                                                          {",true", ",1"},
                                                                          {",false", ",0"},
                                                                          {"<true", "<1"},
                                                                          {"<false", "<0"}}};
  for (const auto& [from, to] : kSpellings) replace_all(text, from, to);
  unwrap_constants(text);
  return text;
}

std::vector<std::string> template_arguments(std::string_view plain, std::string_view name) {
  const std::string opening = std::string(name) + "<";
  const std::size_t at = plain.find(opening);
  if (at == std::string_view::npos) return {};
  std::vector<std::string> arguments(1);
  int depth = 0;
  for (const char c : plain.substr(at + opening.size())) {
    if (c == '<' || c == '(') ++depth;
    if (c == '>' && depth == 0) return arguments;
    if (c == '>' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      arguments.emplace_back();
    } else {
      arguments.back() += c;
    }
  }
  return {};  // cut off
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::int64_t> shape_in(std::string_view text, std::size_t count) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && is_word(text[at - 1]) && text[at - 1] != '_')) continue;
    std::vector<std::int64_t> shape;
    std::size_t begin = at;
    while (shape.size() < count) {
      std::size_t end = begin;
      while (end < text.size() && is_digit(text[end])) ++end;
      const std::optional<std::int64_t> value = number_of(text.substr(begin, end - begin));
      if (!value) break;
      shape.push_back(*value);
      if (end == text.size() || text[end] != 'x') break;
      begin = end + 1;
    }
    if (shape.size() == count) return shape;
  }
  return {};
}

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view label) {
  for (std::size_t at = text.find(label); at != std::string_view::npos; at = text.find(label, at + 1)) {
    std::size_t end = at + label.size();
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end > at + label.size()) return number_of(text.substr(at + label.size(), end - at - label.size()));
  }
  return std::nullopt;
}

}  // namespace natten_sim::study
