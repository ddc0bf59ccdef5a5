# SPDX-FileCopyrightText: The ethosgen authors
# SPDX-License-Identifier: Apache-2.0
#
# Zephyr's "run" calls this instead of QEMU. It starts QEMU with the NPU model beside it, sends an
# input, and checks the output. "debugserver" gets QEMU itself. Twister reads the verdict from the pipes
# of QEMU's console (path=PIPE), and reports a crash if they close within two seconds.
project=$1 build=$2
shift 2
which=
if grep -qs '^ETHOSGEN_APPLICATION:BOOL=OFF' "$build/CMakeCache.txt"; then
    which=--harness # the build has the server, although the project has an application too
fi
case " $* " in
*" -S "*) exec qemu-system-arm "$@" ;;
esac
for argument; do
    case $argument in
    *pipe,*path=*)
        pipe=${argument##*path=}
        pipe=${pipe%%,*}
        exec <"$pipe.in" >"$pipe.out" 2>&1
        "${ETHOSGEN:-ethosgen}" run "$project" --build "$build" $which </dev/null
        status=$?
        sleep 3
        exit $status
        ;;
    esac
done
exec "${ETHOSGEN:-ethosgen}" run "$project" --build "$build" $which
