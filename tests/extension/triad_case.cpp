// A kernel of somebody else: STREAM's triad on the CPU. One file, no edit elsewhere.
#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/cases/registry.hpp>

namespace {

using namespace natten_sim;
using namespace natten_sim::validate;

struct Vectors {
  std::vector<std::uint64_t> a, b, c;
};

/// The kernel: a[i] = b[i] + 3 c[i] modulo 2^64.
void triad(Vectors& v) {
  for (std::size_t i = 0; i < v.a.size(); ++i) v.a[i] = v.b[i] + 3 * v.c[i];
}

Vectors random_vectors(std::int64_t elements, std::uint64_t seed) {
  Vectors v;
  for (std::int64_t i = 0; i < elements; ++i) {
    v.a.push_back(~std::uint64_t{0});
    v.b.push_back(hashed_bits(seed + static_cast<std::uint64_t>(2 * i)));
    v.c.push_back(hashed_bits(seed + static_cast<std::uint64_t>(2 * i + 1)));
  }
  return v;
}

struct TriadCase final : Case {
  std::int64_t elements = 0;

  [[nodiscard]] std::string key() const override { return "triad " + std::to_string(elements); }
  [[nodiscard]] std::string group() const override { return "triad"; }
  [[nodiscard]] std::vector<Parameter> parameters() const override {
    return {{"kernel", "triad"}, {"elements", elements}};
  }
  /// b and c are read once, 8 bytes an element in sectors of 32.
  [[nodiscard]] std::vector<Prediction> predict(const Device&, Fidelity) const override {
    return {{"l2_read_sectors", "every element once", static_cast<double>(2 * elements / 4), false},
            {"dram_read_bytes", "every element once", static_cast<double>(2 * elements * 8), false}};
  }
  [[nodiscard]] Launch prepare(Bench&, std::uint64_t seed) const override {
    return [v = random_vectors(elements, seed)]() mutable { triad(v); };
  }
  /// The oracle adds c three times.
  [[nodiscard]] CheckedPoint check(Bench&, std::uint64_t seed) const override {
    Vectors v = random_vectors(elements, seed);
    triad(v);
    CheckedPoint checked;
    checked.ran = checked.passed = true;
    for (std::size_t i = 0; i < v.a.size(); ++i)
      checked.passed = checked.passed && v.a[i] - v.c[i] - v.c[i] - v.c[i] == v.b[i];
    return checked;
  }
  [[nodiscard]] std::vector<Point> to_check(CheckLengths) const override { return {*this}; }
};

Point read_triad(const StrictObject& fields) {
  TriadCase triad;
  triad.elements = fields.integer("elements", {1, 1 << 20});
  return triad;
}

const RegisteredCase kTriad({"triad", {"elements"}, read_triad});
const RegisteredSuite kTriadSuite(R"({
  "schema": "natten-sim.suite/1",
  "name": "triad",
  "title": "STREAM's triad on the CPU",
  "counters": ["dram_read_bytes", "l2_read_sectors"],
  "sweeps": [{"kernel": "triad", "elements": [1024, 4096, 65536]}],
  "tolerances": [{"counter": "dram_read_bytes", "relative": 0.05}]
})",
                                  "triad_case.cpp");

}  // namespace
