package cmd

import (
	"fmt"
	"strconv"
	"strings"

	"sstool/inspect/lint"
)

// renderLint is the result for people: findings as compilers print them, the
// fix list, and the sum.
func renderLint(w *tableWriter, res lint.Result) {
	notes := w.format == formatWide
	cured := map[string]bool{}
	shown := 0
	for _, f := range res.Findings {
		if f.Severity == lint.Info && !notes {
			continue
		}
		shown++
		w.line("%s: %s %s: %s", lintPlace(f.File, f.Line), severityWord(f.Severity), f.Rule, printable(f.Message))
		key := f.File + "\x00" + f.Topology + "\x00" + f.Cause
		if f.Fix != "" && (f.Cause == "" || !cured[key]) {
			w.line("    fix: %s", printable(f.Fix))
			cured[key] = true
		}
	}
	for _, l := range res.Fixes {
		if len(res.Findings) == 0 && !notes {
			break // all is accepted
		}
		if shown > 0 {
			w.line("")
		}
		renderFixes(w, l)
		shown++
	}
	if notes && len(res.Unchecked) > 0 {
		w.line("\nNot checked:")
		for _, u := range res.Unchecked {
			w.line("  %-3s %s", u.Rule, u.Reason)
		}
	}
	if shown > 0 {
		w.line("")
	}
	w.line("%s", lintSum(res, notes))
}

// lintPlace is file:line.
func lintPlace(file string, line int) string {
	if line == 0 {
		return printable(file)
	}
	return printable(file) + ":" + strconv.Itoa(line)
}

func severityWord(s lint.Severity) string {
	if s == lint.Info {
		return "note"
	}
	return string(s)
}

// renderFixes is what to name in one release.
func renderFixes(w *tableWriter, l lint.FixList) {
	name := l.App
	if name == "" {
		name = l.File
	}
	if l.Topology != "" {
		name += ", topology " + l.Topology
	}
	w.line("Name these in one release (%s):", printable(name))
	var rows [][]string
	for _, p := range l.Pins {
		becomes := p.Becomes
		if becomes == p.Name || becomes == p.NewName {
			becomes = ""
		}
		rows = append(rows, []string{strconv.Itoa(p.Line), p.Name, p.Kind, p.Call, p.NewName, becomes})
	}
	w.table([]column{{name: "LINE", right: true, wide: true}, {name: "GENERATED NAME"}, {name: "KIND", wide: true}, {name: "CALL"}, {name: "MAKES IT", wide: true}, {name: "IF ONLY THOSE ABOVE ARE NAMED", wide: true}}, rows)
}

// lintSum is the last line: what was looked at, and what was found.
func lintSum(res lint.Result, notes bool) string {
	var nodes, subs, stores, topologies int
	for _, a := range res.Applications {
		nodes += a.Nodes
		subs += a.Subtopologies
		stores += len(a.Stores) + len(a.GlobalStores)
		topologies += a.Topologies
	}
	plural := func(n int, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, many)
	}
	looked := fmt.Sprintf("%s, %s, %s, %s", plural(topologies, "topology", "topologies"), plural(subs, "sub-topology", "sub-topologies"),
		plural(nodes, "node", "nodes"), plural(stores, "store", "stores"))
	counts := lintCounts(res.Counts)
	if len(counts) == 0 {
		if stores == 0 {
			return looked + ": nothing found, nothing to pin"
		}
		return looked + ": nothing found"
	}
	s := looked + ": " + strings.Join(counts, ", ")
	if res.Counts.Infos > 0 && !notes {
		s += " (-o wide shows notes)"
	}
	return s
}
