#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/offset_tables.hpp>

#include "file_bytes.hpp"
#include "npy_header.hpp"

namespace natten_sim {
namespace {

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

}  // namespace

OffsetTables::OffsetTables(const std::string& parameter, const std::string& path, const Extents& layout)
    : OffsetTables(open_bytes(parameter, path), layout, path) {}

OffsetTables::OffsetTables(ByteSource bytes, const Extents& layout, std::string where)
    : bytes_(std::move(bytes)), where_(std::move(where)) {
  const NpyHeader header = read_npy_header(bytes_, where_);
  std::vector<std::int64_t> whole, factors = {0};
  for (std::size_t axis = 0; axis < layout.rank(); ++axis) {
    whole.push_back(2 * layout[axis] - 1);
    factors.front() += whole.back();
  }
  const std::vector<std::int64_t>& shape = header.shape;
  const auto ends_with = [&](const std::vector<std::int64_t>& inner) {
    const std::size_t outer = shape.size() - std::min(shape.size(), inner.size());
    return (outer == 1 || outer == 2) &&
           std::equal(inner.begin(), inner.end(), shape.end() - static_cast<std::ptrdiff_t>(inner.size()));
  };
  product_ = !ends_with(whole);
  if ((product_ && !ends_with(factors)) || header.elements == 0) {
    throw MalformedData(where_, "of shape " + text_of(shape),
                        "heads, or layers and heads, before " + text_of(whole) + " or " + text_of(factors) +
                            ", the offsets of " + to_string(layout));
  }
  if (header.kind != 'f') throw MalformedData(where_, header.kind == 'b' ? "booleans" : "integers", "numbers of 32 or 64 bits with a fraction");
  const std::vector<std::int64_t>& inner = product_ ? factors : whole;
  heads_ = static_cast<std::size_t>(shape[shape.size() - inner.size() - 1]);
  if (shape.size() - inner.size() == 2) layers_ = static_cast<std::size_t>(shape.front());
  size_ = static_cast<std::size_t>(header.elements) / layers_ / heads_;
  element_bytes_ = header.bytes;
}

std::vector<double> OffsetTables::next() {
  const std::string head =
      "head " + std::to_string(read_ % heads_) + " of layer " + std::to_string(read_ / heads_);
  std::vector<char> buffer(size_ * element_bytes_);
  if (bytes_(buffer) != buffer.size())
    throw MalformedData(where_, "truncated within " + head, "as many values as promised");
  std::vector<double> values(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    if (element_bytes_ == sizeof(float)) {
      float value = 0;
      std::memcpy(&value, buffer.data() + i * sizeof value, sizeof value);
      values[i] = static_cast<double>(value);
    } else {
      std::memcpy(&values[i], buffer.data() + i * sizeof(double), sizeof(double));
    }
    if (!(values[i] >= 0) || std::isinf(values[i]))
      throw MalformedData(where_, head + " has " + std::to_string(values[i]),
                          "attention: 0 or more, and finite");
  }
  if (!(std::accumulate(values.begin(), values.end(), 0.0) > 0))
    throw MalformedData(where_, head + " has no attention", "attention at one offset or more");
  ++read_;
  return values;
}

}  // namespace natten_sim
