#include <cmath>

#include <natten_sim/report/json_sink.hpp>

namespace natten_sim::report {

void JsonMembers::put_raw(std::string_view key, std::string_view json) {
  Piece piece;
  begin(key, piece);
  append(piece);
  text_ += json;
}

void JsonMembers::put(std::string_view key, Int128 value) {
  if (value == static_cast<std::int64_t>(value)) {
    put(key, static_cast<std::int64_t>(value));
  } else {
    put_raw(key, decimal(value));
  }
}

void JsonMembers::put(std::string_view key, double value) {
  Piece piece;
  begin(key, piece);
  // As the object of --json has it: shortest, with a fraction.
  piece.end = write_number(piece.end, value);
  append(piece);
}

void JsonMembers::put(std::string_view key, const char* name) {
  Piece piece;
  begin(key, piece);
  *piece.end++ = '"';
  while (*name != '\0') *piece.end++ = *name++;
  *piece.end++ = '"';
  append(piece);
}

void JsonMembers::put(std::string_view key, const std::string& any) { put_raw(key, json_text(Json(any))); }

void JsonMembers::put(std::string_view key, const Extents& value) {
  Piece piece;
  begin(key, piece);
  *piece.end++ = '[';
  for (std::size_t axis = 0; axis < value.rank(); ++axis) {
    if (axis > 0) *piece.end++ = ',';
    piece.end = std::to_chars(piece.end, piece.text + sizeof piece.text, value[axis]).ptr;
  }
  *piece.end++ = ']';
  append(piece);
}

}  // namespace natten_sim::report
