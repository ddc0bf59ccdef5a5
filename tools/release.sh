#!/usr/bin/env bash
# Prepare a release: build sdist and wheel twice, compare them, and try the wheel in a bare environment of
# each Python that pyproject.toml allows and this machine has. It signs, tags and uploads nothing.
#
#     tools/release.sh            # into dist/
#     tools/release.sh --check    # the version and the changelog alone, as CI does
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    echo "release: $1" >&2
    exit 1
}

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
grep -qx "__version__ = \"$version\"" generator/ethosgen/version.py ||
    fail "pyproject.toml says $version, generator/ethosgen/version.py says another version"
grep -q "$version" CHANGELOG.md || fail "CHANGELOG.md does not mention $version"
if [[ ${1-} == --check ]]; then
    echo "release: $version"
    exit 0
fi
[[ $# -eq 0 ]] || fail "'$1' is unknown; the only option is --check"
grep -q "^## \[$version\] - [0-9-]*$" CHANGELOG.md ||
    fail "give the section Unreleased of CHANGELOG.md the title '## [$version] - DATE'"
[[ -z $(git status --porcelain) ]] || fail "commit your changes first; git status lists them"

scratch=$(mktemp -d -t ethosgen-release.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)

echo "release: building $version twice"
python3 -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install --quiet --disable-pip-version-check build twine
for place in first second; do
    git clone --quiet . "$scratch/$place"
    "$scratch/tools/bin/python" -m build --outdir "$scratch/$place.out" "$scratch/$place" >"$scratch/log" 2>&1 ||
        { cat "$scratch/log" >&2; fail "the build failed"; }
done
diff -r "$scratch/first.out" "$scratch/second.out" || fail "two builds of one commit differ"
"$scratch/tools/bin/twine" check --strict "$scratch/first.out"/*

mapfile -t pythons < <(for minor in 11 12 13; do command -v "python3.$minor" || true; done)
[[ ${#pythons[@]} -gt 0 ]] || fail "none of Python 3.11 to 3.13 is here; install one"
tried=0
for python in "${pythons[@]}"; do
    "$python" -c '' 2>/dev/null || continue # pyenv has a shim for each version, also for absent ones
    "$python" -m venv "$scratch/bare"
    echo "release: installing the wheel with $("$python" --version)"
    "$scratch/bare/bin/pip" install --quiet --disable-pip-version-check "$scratch/first.out"/*.whl
    (
        cd "$scratch"
        bare/bin/ethosgen doctor
        bare/bin/ethosgen demo digits -o digits
        bare/bin/ethosgen verify digits/digits_int8.tflite --board corstone300
    ) || fail "the wheel does not work with $("$python" --version)"
    rm -rf "$scratch/bare" "$scratch/digits"
    tried=$((tried + 1))
done
[[ $tried -gt 0 ]] || fail "no Python worked"

mkdir -p dist
cp "$scratch/first.out"/* dist/
(cd dist && sha256sum ./*"$version"*)
echo "release: next, by hand: git tag -s v$version, then twine upload dist/*$version*" >&2
