package cmd

import (
	"fmt"
	"strings"

	"sstool/inspect/lint"
	"sstool/internal/kafka"
	"sstool/internal/op"
)

// allRules is what --explain takes for the list of the rules.
const allRules = "all"

func ruleIDs() []string {
	out := []string{}
	for _, r := range lint.Rules() {
		out = append(out, r.ID)
	}
	return out
}

// unknownRule names what was likely meant.
func unknownRule(s string) *op.Error {
	names := ruleIDs()
	for _, r := range lint.Rules() {
		names = append(names, r.Name)
	}
	e := op.Errorf(op.Usage, "there is no rule %q", s)
	if near := kafka.Nearest(s, names, 3); len(near) > 0 {
		return e.WithTry("one of %s; --explain all lists the rules", strings.Join(near, ", "))
	}
	return e.WithTry("--explain all lists the rules")
}

// explainRule is --explain: one rule, or the list of all.
func (a *app) explainRule(f *lintFlags, args []string) error {
	if len(args) > 0 {
		return op.Errorf(op.Usage, "--explain judges nothing: %s is not read", args[0])
	}
	if strings.EqualFold(f.explain, allRules) {
		doc := struct {
			Rules []lint.Rule `json:"rules"`
		}{lint.Rules()}
		return emit(a, f.out, "lint.rules", doc, func(w *tableWriter, _ struct {
			Rules []lint.Rule `json:"rules"`
		}) {
			renderRules(w, doc.Rules)
		})
	}
	r, ok := lint.FindRule(f.explain)
	if !ok {
		return unknownRule(f.explain)
	}
	return emit(a, f.out, "lint.rule", r, renderRule)
}

func renderRules(w *tableWriter, rules []lint.Rule) {
	var rows [][]string
	for _, r := range rules {
		rows = append(rows, []string{r.ID, r.Name, string(r.Severity), r.Title})
	}
	w.table([]column{{name: "RULE"}, {name: "NAME", wide: true}, {name: "SEVERITY"}, {name: "TITLE"}}, rows)
}

func renderRule(w *tableWriter, r lint.Rule) {
	w.line("%s %s (%s): %s", r.ID, r.Name, r.Severity, r.Title)
	w.line("\n%s", wrap(r.Why, 78, ""))
	w.line("\nFix: %s", wrap(r.Fix, 78, ""))
	if r.Needs != "" {
		w.line("\nNeeds %s.", r.Needs)
	}
	example := func(title, text string) {
		if text == "" {
			return
		}
		w.line("\n%s:\n", title)
		for l := range strings.Lines(text) {
			w.line("  %s", strings.TrimRight(l, "\n"))
		}
	}
	example("What it finds", r.Bad)
	example("Instead", r.Good)
}

// wrap breaks a text into lines of at most width characters; all but the first
// begin with indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// rulesPage is docs/rules.md, made of the rule table.
func rulesPage() string {
	var b strings.Builder
	b.WriteString("# Rules of sstool lint\n\nMade from the rule table in `inspect/lint`; `sstool lint --explain RULE` says the same. Severities are set in\n`.sstool-lint.yaml` by id or name ([lint](lint.md)).\n\n| Rule | Name | Severity | Finds that |\n|---|---|---|---|\n")
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "| [%s](#%s) | `%s` | %s | %s |\n", r.ID, ruleAnchor(r), r.Name, r.Severity, r.Title)
	}
	for _, r := range lint.Rules() {
		fmt.Fprintf(&b, "\n## %s %s\n\n**%s** · %s", r.ID, r.Name, upperFirst(r.Title), r.Severity)
		if r.Needs != "" {
			fmt.Fprintf(&b, " · needs %s", r.Needs)
		}
		fmt.Fprintf(&b, "\n\n%s\n\n**Fix.** %s\n", wrap(r.Why, 125, ""), wrap(r.Fix, 117, ""))
		for _, e := range []struct{ title, text string }{{"Finds", r.Bad}, {"Instead", r.Good}} {
			if e.text != "" {
				fmt.Fprintf(&b, "\n%s:\n\n```\n%s\n```\n", e.title, e.text)
			}
		}
	}
	return b.String()
}

// ruleAnchor is a heading's anchor on the pages that show Markdown.
func ruleAnchor(r lint.Rule) string { return strings.ToLower(r.ID + "-" + r.Name) }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
