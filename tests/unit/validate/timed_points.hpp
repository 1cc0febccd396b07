#pragma once

#include <array>
#include <cstddef>

namespace natten_sim::test {

/// A point of a suite, and the most that the timed model misses what was measured there, relative to it.
struct TimedPoint {
  const char* suite;
  const char* point;
  double deviation;
};

/// Three of each suite that the timed model answers, of those that it answers in 30 to 400 ms: at a third, at two
/// thirds and at the end of them. Deviations are rounded up to four decimals; none may grow.
inline constexpr std::size_t kPointsOfSuite = 3;
inline constexpr std::array kTimedPoints = {
    TimedPoint{"second-gpu-fresh", "attention b1 h1/1 s94208 d128 bf16 causal 128x64x2 2 CTAs grid descending", 0.1041},
    TimedPoint{"second-gpu-fresh", "attention b1 h1/1 s118784 d128 bf16 causal 128x64x2 2 CTAs grid sawtooth", 0.3696},
    TimedPoint{"second-gpu-fresh", "attention b1 h1/1 s94208 d128 bf16 full 128x64x2 2 CTAs persistent cyclic", 0.0176},
    TimedPoint{"second-gpu-gna", "gna h32 d128 bf16 16x44x80 window 16x24x16 stride 1x8x1 tiles 4x4x8/4x4x8 ticket", 0.0283},
    TimedPoint{"second-gpu-gna", "gna h32 d128 bf16 16x44x80 window 16x24x16 stride 1x8x16 tiles 4x4x8/4x4x8 ticket", 0.0368},
    TimedPoint{"second-gpu-gna", "gna h8 d128 bf16 35622 window 28443 stride 1 causal 1 tiles 128/128 static", 0.1262},
    TimedPoint{"second-gpu", "attention b1 h1/1 s106496 d128 bf16 causal 128x64x2 1 CTAs persistent descending last first", 0.1819},
    TimedPoint{"second-gpu", "attention b1 h1/1 s147456 d64 bf16 causal 128x128x1 2 CTAs grid sawtooth", 0.2767},
    TimedPoint{"second-gpu", "attention b1 h1/1 s65536 d160 bf16 full 64x64x1 2 CTAs grid descending", 0.0073},
    TimedPoint{"active-sms", "attention b1 h1/1 s98304 d128 bf16 full 128x64x2 1 CTAs persistent cyclic 4 in all", 0.0004},
    TimedPoint{"active-sms", "attention b1 h1/1 s98304 d128 bf16 full 128x64x2 1 CTAs persistent cyclic 66 in all", 0.0011},
    TimedPoint{"active-sms", "attention b1 h1/1 s98304 d128 bf16 full 128x64x2 1 CTAs persistent cyclic 99 in all", 0.0015},
    TimedPoint{"forward", "attention b1 h1/1 s131072 d128 bf16 causal wgmma 128x128x2 1 CTAs persistent sawtooth", 0.3231},
    TimedPoint{"forward", "attention b1 h1/1 s49152 d160 bf16 full wgmma 128x112x2 1 CTAs persistent cyclic", 0.2536},
    TimedPoint{"forward", "attention b1 h1/1 s98304 d160 bf16 full wgmma 128x112x2 1 CTAs persistent cyclic", 0.4700},
    TimedPoint{"fresh-clocks", "attention b1 h1/1 s93184 d128 bf16 causal 128x64x2 2 CTAs persistent sawtooth", 0.0955},
    TimedPoint{"fresh-clocks", "attention b1 h1/1 s126976 d128 bf16 causal 128x64x2 2 CTAs persistent sawtooth", 0.1017},
    TimedPoint{"fresh-clocks", "attention b1 h1/1 s119808 d128 bf16 causal 128x64x2 2 CTAs persistent descending last first", 0.0902},
    TimedPoint{"fresh-latency", "attention b1 h1/1 s118784 d128 bf16 causal 128x64x2 2 CTAs grid cyclic", 0.2648},
    TimedPoint{"fresh-latency", "attention b1 h1/1 s104448 d128 bf16 causal 128x64x2 2 CTAs persistent descending last first", 0.0656},
    TimedPoint{"fresh-latency", "attention b1 h1/1 s102400 d128 bf16 full 128x64x2 2 CTAs grid sawtooth", 0.0538},
    TimedPoint{"fresh-ways", "attention b1 h1/1 s129024 d128 bf16 causal 128x64x2 2 CTAs persistent descending", 0.2663},
    TimedPoint{"fresh-ways", "attention b1 h1/1 s108544 d128 bf16 causal 128x64x2 2 CTAs persistent descending last first", 0.0031},
    TimedPoint{"fresh-ways", "attention b1 h1/1 s108544 d128 bf16 full 128x64x2 2 CTAs persistent sawtooth", 0.0279},
    TimedPoint{"fresh", "attention b1 h1/1 s90112 d128 bf16 causal 128x32x2 1 CTAs persistent cyclic last first", 0.0360},
    TimedPoint{"fresh", "attention b1 h1/1 s90112 d128 bf16 causal 64x64x1 2 CTAs grid descending", 0.1056},
    TimedPoint{"fresh", "attention b1 h1/1 s180224 d64 bf16 causal 128x128x1 2 CTAs grid descending", 0.1077},
    TimedPoint{"gna-extra", "gna h24 d128 bf16 256x256 window 80x80 stride 16x16 add_kv 512 tiles 16x8/16x8 ticket", 0.0480},
    TimedPoint{"gna-extra", "gna h32 d128 bf16 16x44x80 window 16x24x16 stride 1x1x1 add_kv 300 tiles 4x4x8/4x4x8 ticket", 0.0178},
    TimedPoint{"gna-extra", "gna h32 d128 bf16 16x44x80 window 16x24x16 stride 1x8x16 add_kv 300 tiles 4x4x8/4x4x8 ticket", 0.0343},
    TimedPoint{"gna", "gna h32 d128 bf16 16x44x80 window 16x24x16 stride 1x1x16 tiles 4x4x8/4x4x8 ticket", 0.0304},
    TimedPoint{"gna", "gna h16 d128 bf16 43x21x57 window 11x3x46 stride 1x3x1 tiles 4x4x8/4x4x8 ticket", 0.1388},
    TimedPoint{"gna", "gna h8 d128 bf16 14x52x25 window 9x36x13 stride 1x1x1 tiles 4x4x8/4x4x8 ticket", 0.0753},
    TimedPoint{"held-out", "attention b1 h1/1 s106496 d128 bf16 causal 128x64x2 2 CTAs persistent cyclic", 0.0202},
    TimedPoint{"held-out", "attention b1 h1/1 s106496 d128 bf16 causal 128x64x2 2 CTAs persistent sawtooth", 0.0978},
    TimedPoint{"held-out", "attention b1 h1/1 s122880 d128 bf16 causal 128x64x2 2 CTAs persistent sawtooth", 0.3477},
    TimedPoint{"reuse", "attention b1 h1/1 s57344 d128 bf16 full 128x64x2 2 CTAs persistent descending", 0.0264},
    TimedPoint{"reuse", "attention b1 h1/1 s65536 d128 bf16 full 64x64x1 2 CTAs persistent cyclic", 0.0015},
    TimedPoint{"reuse", "attention b1 h1/1 s98304 d128 bf16 causal 128x64x2 2 CTAs grid cyclic", 0.1287},
    TimedPoint{"sawtooth", "attention b1 h1/1 s101376 d128 bf16 full 128x64x2 1 CTAs persistent sawtooth", 0.0092},
    TimedPoint{"sawtooth", "attention b2 h1/1 s50688 d128 bf16 full 128x64x2 1 CTAs persistent cyclic", 0.0496},
    TimedPoint{"sawtooth", "attention b1 h1/1 s135168 d64 fp16 full 128x128x1 1 CTAs persistent sawtooth", 0.0271},
    TimedPoint{"sdpa-reads", "sdpa fa2 h1 s131072 d64 bf16 full", 0.0135},
    TimedPoint{"sdpa-reads", "sdpa fa2 h4 s32768 d128 bf16 full", 0.0147},
    TimedPoint{"sdpa-reads", "sdpa cudnn h1 s65536 d64 bf16 causal", 0.0019},
    TimedPoint{"sdpa-times", "sdpa fa2 h1 s98304 d64 bf16 full", 0.0377},
    TimedPoint{"sdpa-times", "sdpa fa2 h1 s98304 d128 bf16 full", 0.0668},
    TimedPoint{"sdpa-times", "sdpa cudnn h4 s32768 d64 bf16 full", 0.0137},
};

}  // namespace natten_sim::test
