#include <algorithm>
#include <cmath>

#include <natten_sim/report/json_sink.hpp>

namespace natten_sim::report {

void JsonMembers::put_raw(std::string_view key, std::string_view json) {
  begin(key);
  if (json.size() <= room()) {
    append(json);
  } else {
    flush();
    text_ += json;
  }
}

void JsonMembers::put(std::string_view key, Int128 value) {
  if (value == static_cast<std::int64_t>(value)) {
    put(key, static_cast<std::int64_t>(value));
  } else {
    put_raw(key, decimal(value));
  }
}

void JsonMembers::put(std::string_view key, double value) {
  begin(key);
  for (std::size_t i = 0; i < numbers_; ++i) {
    if (written_[i].value != value || std::signbit(written_[i].value) != std::signbit(value)) continue;
    append({buffer_ + written_[i].at, written_[i].size});
    return;
  }
  const char* number = end_;
  // As the object of --json has it: shortest, with a fraction.
  end_ = write_number(end_, value);
  if (numbers_ < written_.size()) {
    written_[numbers_++] = {value, static_cast<std::uint16_t>(number - buffer_),
                            static_cast<std::uint16_t>(end_ - number)};
  }
}

void JsonMembers::put(std::string_view key, const char* name) {
  begin(key);
  *end_++ = '"';
  append(name);
  *end_++ = '"';
}

/// Names and sentences mostly are what they are between quotes.
void JsonMembers::append_text(const std::string& text) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  if (text.size() + 2 > room() || !std::all_of(text.begin(), text.end(), plain)) {
    flush();
    text_ += json_text(Json(text));
    return;
  }
  *end_++ = '"';
  append(text);
  *end_++ = '"';
}

void JsonMembers::put(std::string_view key, const std::string& any) {
  begin(key);
  append_text(any);
}

void JsonMembers::put(std::string_view key, const std::vector<std::string>& texts) {
  begin(key);
  *end_++ = '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (room() < 2) flush();
    if (i > 0) *end_++ = ',';
    append_text(texts[i]);
  }
  if (room() == 0) flush();
  *end_++ = ']';
}

void JsonMembers::put(std::string_view key, const Extents& value) {
  begin(key);
  *end_++ = '[';
  for (std::size_t axis = 0; axis < value.rank(); ++axis) {
    if (axis > 0) *end_++ = ',';
    end_ = std::to_chars(end_, buffer_ + sizeof buffer_, value[axis]).ptr;
  }
  *end_++ = ']';
}

}  // namespace natten_sim::report
