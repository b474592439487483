#!/usr/bin/env bash
# Checks that what the documents point at is there: every test, benchmark and
# fuzz target that a page names or runs, every file that it links to, and every section
# of a page that a link or a doc comment names; and that Dependabot has every module.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0
complain() { echo "$*" >&2; failed=1; }

if git grep -nE '^(<{7}|>{7}) '; then complain "a merge was not finished"; fi

pages=$(git ls-files '*.md')
functions=$(git ls-files '*_test.go' | xargs grep -hoE '^func (Test|Benchmark|Fuzz|Example)[A-Za-z0-9_]*' | sed 's/^func //' | sort -u)
for page in $pages; do
	for name in $(grep -oE '`(Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9_]*`' "$page" | tr -d '`' | sort -u); do
		grep -qx "$name" <<<"$functions" || complain "$page: there is no $name"
	done
done

# What a page runs with -run, -bench or -fuzz: each alternative of the pattern matches something.
while IFS=: read -r page command; do
	folders=$(grep -oE ' \./[^ ]+' <<<"$command" | sed -E 's|^ \./||; s|(/?\.\.\.)?$|/*_test.go|' || true)
	for pattern in $(grep -oE -- " -(run|bench|fuzz)[ =]('[^']+'|[^ ']+)" <<<"$command" | sed -E "s/^ -[a-z]+[ =]//; s/'//g; s|/.*||; s/\|/ /g"); do
		case $pattern in '^$' | .) continue ;; esac
		git grep -hoE '^func (Test|Benchmark|Fuzz|Example)[A-Za-z0-9_]*' -- "${folders:-*_test.go}" | sed 's/^func //' | grep -E -- "$pattern" >/dev/null ||
			complain "$page: nothing matches $pattern: $command"
	done
done < <(grep -HoE 'go test [^`]*' $pages || true)

# The anchor of a heading, as code hosting sites make it.
anchors() { grep -E '^#+ ' "$1" | sed -E 's/^#+ //' | tr '[:upper:]' '[:lower:]' | sed -E "s/[^a-z0-9 _-]//g; s/ /-/g"; }
check() { # file that points, target relative to the repository, anchor
	if [ ! -e "$2" ]; then
		complain "$1: there is no $2"
	elif [ -n "$3" ] && ! anchors "$2" | grep -qxF -- "$3"; then
		complain "$1: $2 has no section #$3"
	fi
}
for page in $pages; do
	while read -r link; do
		target=${link%%#*} anchor=
		case $link in *'#'*) anchor=${link#*#} ;; esac
		case $link in http:* | https:* | mailto:*) continue ;; esac
		if [ -z "$target" ]; then target=$page; else target=$(dirname "$page")/$target; fi
		check "$page" "$target" "$anchor"
	done < <(awk '/^```/ { code = !code } !code' "$page" | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\(//; s/\)$//')
done
while IFS=: read -r file link; do
	link=${link#*/blob/main/}
	anchor=
	case $link in *'#'*) anchor=${link#*#} ;; esac
	check "$file" "${link%%#*}" "$anchor"
done < <(git ls-files '*.go' '*.md' | xargs grep -oE 'https://github.com/horseracing-go/horseracing/blob/main/[A-Za-z0-9_./#-]*[A-Za-z0-9]')

# Dependabot updates the modules that its configuration lists, and no others.
for module in $(git ls-files '*go.mod'); do
	dir=$(dirname "/$module")
	grep -qx "      - $dir" .github/dependabot.yml || complain ".github/dependabot.yml does not list $dir"
done
exit $failed
