package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sstool/inspect/lint"
	"sstool/internal/op"
	"sstool/internal/topology"
)

// lintTopology runs lint's rules over the topology, with what is known of the
// cluster and the directory; nil without a topology.
func (f *facts) lintTopology(ctx context.Context) (*lint.Result, error) {
	if f.topology == nil {
		return nil, nil
	}
	in := lint.Input{AppID: f.app, File: f.topology.File, Topologies: []topology.Topology{*f.topology}}
	o := lint.Options{Inputs: []lint.Input{in}, Now: f.o.Now}
	if f.tree != nil {
		o.Dirs = slices.DeleteFunc(lint.DirsOf(f.tree), func(d lint.Dir) bool { return f.app != "" && d.AppID != f.app })
	}
	if f.cluster != nil && f.cluster.err == nil {
		o.Facts = &lint.Facts{Topics: map[string]lint.Topic{}, Complete: true, Groups: f.groups, From: "the cluster"}
		for name, t := range f.cluster.topics {
			o.Facts.Topics[name] = lint.Topic{Partitions: len(t.Partitions)}
		}
		for _, t := range f.topics {
			if t.info != nil {
				o.Facts.Topics[t.name] = lint.Topic{Partitions: len(t.info.Partitions), Config: t.config}
			}
		}
	}
	return lint.Lint(ctx, o)
}

// lintOf are the findings of some rules.
func (f *facts) lintOf(rules ...string) []lint.Finding {
	if f.lint == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.lint.Findings), func(x lint.Finding) bool { return !slices.Contains(rules, x.Rule) })
}

// lint says what a rule of lint says.
func (r *report) lint(x lint.Finding) {
	status := op.Attention
	if x.Severity == lint.Error {
		status = op.Wrong
	}
	rule, _ := lint.FindRule(x.Rule)
	r.say(status, x.Subject, "%s", x.Message).because("%s", where(x)).then("%s", rule.Why).do("%s", cmp.Or(x.Fix, rule.Fix))
}

// where is a finding's place, with the rule that sstool lint --explain tells
// of.
func where(x lint.Finding) string {
	if x.Line > 0 {
		return fmt.Sprintf("%s:%d, rule %s of sstool lint", x.File, x.Line, x.Rule)
	}
	return fmt.Sprintf("rule %s of sstool lint", x.Rule)
}
