#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/core/random_bits.hpp>

namespace natten_sim {
namespace {

constexpr std::int64_t kSector = 32;

class UniformStream final : public IndexStream {
 public:
  explicit UniformStream(const GeneratedIndices& request) : request_(request) {}
  std::size_t read(std::span<std::int64_t> rows) override {
    const std::size_t count = std::min(rows.size(), static_cast<std::size_t>(request_.updates - next_));
    for (std::size_t i = 0; i < count; ++i)
      rows[i] = random_below(random_bits(request_.seed, static_cast<std::uint64_t>(next_++)), request_.rows);
    return count;
  }

 private:
  GeneratedIndices request_;
  std::int64_t next_ = 0;
};

/// Inversion of the cumulative distribution, with a guide to where each of `rows` equal parts of the unit
/// interval begins (Chen and Asau, 1974): less than two steps a sample on average.
class ZipfStream final : public IndexStream {
 public:
  ZipfStream(const GeneratedIndices& request, double exponent) : request_(request) {
    const auto rows = static_cast<std::size_t>(request.rows);
    cumulative_.reserve(rows);  // touched by and by, between polls: up to 2 GiB
    double total = 0;
    for (std::size_t k = 0; k < rows; ++k) {
      poll();
      total += std::pow(static_cast<double>(k + 1), -exponent);
      cumulative_.push_back(total);
    }
    for (double& value : cumulative_) {
      poll();
      value /= total;
    }
    guide_.reserve(rows);
    std::uint32_t row = 0;
    for (std::size_t part = 0; part < rows; ++part) {
      poll();
      const double begin = static_cast<double>(part) / static_cast<double>(rows);
      while (cumulative_[row] <= begin) ++row;  // ends: the last value is 1
      guide_.push_back(row);
    }
  }
  std::size_t read(std::span<std::int64_t> rows) override {
    const std::size_t count = std::min(rows.size(), static_cast<std::size_t>(request_.updates - next_));
    // In two steps with the tables' lines fetched early: they may be larger than any cache.
    for (std::size_t first = 0; first < count; first += kBatch) {
      const std::size_t batch = std::min(kBatch, count - first);
      std::array<double, kBatch> unit;
      std::array<std::uint32_t, kBatch> row;
      for (std::size_t i = 0; i < batch; ++i) {
        unit[i] = random_unit(random_bits(request_.seed, static_cast<std::uint64_t>(next_++)));
        __builtin_prefetch(&guide_[part_of(unit[i])]);
      }
      for (std::size_t i = 0; i < batch; ++i) {
        row[i] = guide_[part_of(unit[i])];
        __builtin_prefetch(&cumulative_[row[i]]);
      }
      for (std::size_t i = 0; i < batch; ++i) {
        while (cumulative_[row[i]] <= unit[i]) ++row[i];
        rows[first + i] = row[i];
      }
    }
    return count;
  }

 private:
  static constexpr std::size_t kBatch = 64;
  [[nodiscard]] std::size_t part_of(double unit) const {
    return static_cast<std::size_t>(unit * static_cast<double>(cumulative_.size()));
  }

  GeneratedIndices request_;
  std::vector<double> cumulative_;
  std::vector<std::uint32_t> guide_;
  std::int64_t next_ = 0;
};

class HotStream final : public IndexStream {
 public:
  HotStream(const GeneratedIndices& request, std::int64_t count, std::int64_t spacing)
      : updates_(request.updates), count_(count), spacing_(spacing) {}
  std::size_t read(std::span<std::int64_t> rows) override {
    const std::size_t count = std::min(rows.size(), static_cast<std::size_t>(updates_ - next_));
    for (std::size_t i = 0; i < count; ++i, ++next_) rows[i] = next_ % count_ * spacing_;
    return count;
  }

 private:
  std::int64_t updates_, count_, spacing_, next_ = 0;
};

void require_range(const char* name, std::int64_t value, std::int64_t lo, std::int64_t hi) {
  if (value >= lo && value <= hi) return;
  throw InvalidParameter(name, std::to_string(value), std::to_string(lo) + ".." + std::to_string(hi),
                         std::to_string(value < lo ? lo : hi));
}

}  // namespace

std::unique_ptr<IndexStream> generate_indices(const GeneratedIndices& request) {
  require_range("updates", request.updates, 0, kMaxUpdates);
  require_range("rows", request.rows, 1, kMaxRows);
  require_range("row_bytes", request.row_bytes, 1, std::int64_t{1} << 40);
  if (const auto* zipf = std::get_if<ZipfRows>(&request.distribution)) {
    if (!(zipf->exponent >= 0 && zipf->exponent <= kMaxZipfExponent))
      throw InvalidParameter("zipf exponent", std::to_string(zipf->exponent), "0..16");
    return std::make_unique<ZipfStream>(request, zipf->exponent);
  }
  if (const auto* hot = std::get_if<HotRows>(&request.distribution)) {
    const std::int64_t spacing = ceil_divide(kSector, request.row_bytes);
    require_range("hot rows", hot->count, 1, ceil_divide(request.rows, spacing));
    return std::make_unique<HotStream>(request, hot->count, spacing);
  }
  return std::make_unique<UniformStream>(request);
}

}  // namespace natten_sim
