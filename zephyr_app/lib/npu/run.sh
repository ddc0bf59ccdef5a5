# What Zephyr's "run" calls instead of QEMU: QEMU with the NPU's model beside it, fed with an input
# whose output is checked. "debugserver" gets QEMU itself. Twister reads the verdict from the pipes
# that QEMU would have its console on: path=PIPE. It calls it a crash if they end within two seconds.
#
# SPDX-License-Identifier: Apache-2.0
project=$1 build=$2
shift 2
case " $* " in
*" -S "*) exec qemu-system-arm "$@" ;;
esac
for argument; do
    case $argument in
    *pipe,*path=*)
        pipe=${argument##*path=}
        pipe=${pipe%%,*}
        exec <"$pipe.in" >"$pipe.out" 2>&1
        "${ETHOSGEN:-ethosgen}" run "$project" --build "$build" </dev/null
        status=$?
        sleep 3
        exit $status
        ;;
    esac
done
exec "${ETHOSGEN:-ethosgen}" run "$project" --build "$build"
