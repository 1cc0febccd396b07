#pragma once

/// Starts a kernel that traps: the GPU is lost to this process, as after a fault.
void launch_trap();
