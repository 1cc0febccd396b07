#include "row_source.hpp"

#include <algorithm>
#include <memory>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <natten_sim/core/error.hpp>

namespace natten_sim::python {
namespace {

constexpr const char* kSources = "uniform, zipf:S, hot:K, file:PATH, or an array or list of integers";

/// Rows in memory of the caller's.
template <typename T>
class ArrayStream final : public IndexStream {
 public:
  ArrayStream(const T* values, std::size_t size, std::int64_t rows)
      : values_(values), size_(size), rows_(rows) {}

  [[nodiscard]] std::size_t read(std::span<std::int64_t> rows) override {
    const std::size_t count = std::min(rows.size(), size_ - next_);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<std::int64_t>(values_[next_ + i]);
      if (row < 0 || row >= rows_)
        throw MalformedData("distribution, position " + std::to_string(next_ + i),
                            "row " + std::to_string(row), "rows in 0.." + std::to_string(rows_ - 1));
      rows[i] = row;
    }
    next_ += count;
    return count;
  }

 private:
  const T* values_;
  std::size_t size_, next_ = 0;
  std::int64_t rows_;
};

using ReadOnlyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

template <typename T>
std::unique_ptr<IndexStream> stream_of(const void* data, std::size_t size, std::int64_t rows) {
  return std::make_unique<ArrayStream<T>>(static_cast<const T*>(data), size, rows);
}

/// Keeps the array alive; its last copy may go in any thread.
study::RowSource rows_of(const std::string& name, nb::handle value) {
  ReadOnlyArray array;
  nb::object listed;
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    listed = nb::module_::import_("numpy").attr("asarray")(value);
    const auto kind = nb::cast<std::string>(nb::str(listed.attr("dtype").attr("kind")));
    if (kind == "i") value = listed;  // what is no whole number is refused below
  }
  if (!nb::try_cast(value, array)) refuse(name, value, kSources);
  const nb::dlpack::dtype type = array.dtype();
  std::unique_ptr<IndexStream> (*open)(const void*, std::size_t, std::int64_t) = nullptr;
  if (type == nb::dtype<std::int64_t>()) open = stream_of<std::int64_t>;
  if (type == nb::dtype<std::int32_t>()) open = stream_of<std::int32_t>;
  if (type == nb::dtype<std::uint32_t>()) open = stream_of<std::uint32_t>;
  if (open == nullptr) refuse(name, value, "an array of int32, uint32 or int64");
  const std::shared_ptr<const ReadOnlyArray> kept(new ReadOnlyArray(array), [](const ReadOnlyArray* last) {
    nb::gil_scoped_acquire gil;
    delete last;
  });
  return study::GivenRows{"array", [=](std::int64_t rows) { return open(kept->data(), kept->size(), rows); }};
}

}  // namespace

study::RowSource PythonValue<study::RowSource>::read(const std::string& name, nb::handle value,
                                                     const Accepts&) {
  if (!PyUnicode_Check(value.ptr())) return rows_of(name, value);
  return study::parse_row_source(name, nb::borrow<nb::str>(value).c_str(), kSources);
}

bool PythonValue<study::RowSource>::write(const study::RowSource& source, Json& out) {
  out = study::name_of(source);
  return true;
}

}  // namespace natten_sim::python
