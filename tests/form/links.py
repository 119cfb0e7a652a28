#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the links of the Markdown files: each relative one leads to a file of the tree, and its
anchor to a heading there.

links.py SOURCE. Each finding is a line, FILE:LINE: text. The exit status is 1 if there are any.
Outside a git repository it prints "skipped: ...".
"""
import pathlib
import re
import subprocess
import sys

LEAST_LINKS = 200  # a check of the check: there are more


def prose_lines(text):
    """Yields the numbers and texts of the lines that are no code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r" *```", line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def anchors(text):
    """Returns the anchors of the headings, as GitHub makes them."""
    found = {}
    for _, line in prose_lines(text):
        match = re.match(r"#+ +(.*)", line)
        if not match:
            continue
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match.group(1).strip())
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        if count:
            found[f"{name}-{count}"] = 1
    return found


def main(source):
    listed = subprocess.run(["git", "-C", source, "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.md"],
                            capture_output=True, text=True)
    if listed.returncode:
        print("skipped: no git repository")
        return 0
    texts = {path: (source / path).read_text() for path in listed.stdout.splitlines() if (source / path).exists()}
    known = {path: anchors(text) for path, text in texts.items()}
    links, findings = 0, []
    for path, text in texts.items():
        for match in re.finditer(r"\]\(([^)\s]+)\)", "\n".join(line for _, line in prose_lines(text))):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            to = (source / path).parent / target if target else source / path
            number = next((n for n, line in prose_lines(text) if match.group(1) in line), 0)
            if not to.exists():
                findings.append(f"{path}:{number}: no file {target}")
            elif anchor:
                name = str(to.resolve().relative_to(source.resolve()))
                if anchor not in known.get(name, {}):
                    findings.append(f"{path}:{number}: no heading #{anchor} in {name}")
    if links < LEAST_LINKS:
        findings.append(f"only {links} links were found")
    print("\n".join([*findings, f"{links} links, {len(findings)} findings"]))
    return 1 if findings else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
