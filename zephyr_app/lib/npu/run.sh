# What Zephyr's "run" calls instead of QEMU: QEMU with the NPU's model beside it, fed with an input
# whose output is checked. "debugserver" gets QEMU itself.
#
# SPDX-License-Identifier: Apache-2.0
project=$1 build=$2
shift 2
case " $* " in
*" -S "*) exec qemu-system-arm "$@" ;;
esac
exec "${ETHOSGEN:-ethosgen}" run "$project" --build "$build"
