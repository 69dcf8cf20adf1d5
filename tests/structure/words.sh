#!/usr/bin/env bash
# `./run test WORD` finds each test that has a program of its own, and the words that scripts/ asks for are such.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/common.sh

checked=0
for file in tests/{core,driver,expr,kernel,simd,driver/*,catalogue/tests}/*.cpp; do
    word=$(basename "$file" .cpp)
    files_of_test "$word" | grep -qxF "$file" || fail "'./run test $word' does not find $file"
    checked=$((checked + 1))
done
[ "$checked" -gt 50 ] || fail "only $checked tests were looked for"
for word in $(grep -ohE '^ *scripts/test [a-z_ ]+$' scripts/* | sed 's/.*scripts.test//'); do
    [ -d "tests/$word" ] || files_of_test "$word" | grep -q . || fail "there is no test '$word', which scripts/ ask for"
done
printf '%s tests are found by their words\n' "$checked"
