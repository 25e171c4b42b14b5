# Cross-compiles for 64-bit ARM Linux with the GNU compiler that Debian and Ubuntu package as
# g++-aarch64-linux-gnu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
