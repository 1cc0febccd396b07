#pragma once

/// Runs instructions that only sm_90a has, then writes 90 to device memory.
void launch_warpgroup(int* out);
