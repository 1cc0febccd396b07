#pragma once

namespace natten_sim::bench {

/// Every path, dtype and a choice of widths, row counts and distributions against the oracle, with small
/// integers and with random values; `sorted` also twice, bit for bit. Prints what is wrong and a summary
/// line. 0 if all agree.
[[nodiscard]] int check_all();

}  // namespace natten_sim::bench
