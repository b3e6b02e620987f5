package doctor

import (
	"fmt"
	"slices"
	"strings"

	"sstool/internal/op"
)

// The areas, in the order in which they are told.
const (
	AreaRestart    = "restart"    // what the next start does, task by task
	AreaVersion    = "version"    // upgrades and downgrades (--target-version)
	AreaChangelogs = "changelogs" // topics and transactions
	AreaHost       = "host"       // file system, limits, locks
	AreaConfig     = "config"     // the application's properties and topology
	AreaStart      = "start"      // where the last start's time went (--log)
	AreaCapacity   = "capacity"   // size against what this kind of state suits
)

// Areas are all of them, in order.
func Areas() []string {
	return []string{AreaRestart, AreaVersion, AreaChangelogs, AreaHost, AreaConfig, AreaStart, AreaCapacity}
}

// need is a fact without which a check cannot say anything.
type need int

const (
	needsState    need = iota // a state directory with an application in it
	needsCluster              // a cluster that answers
	needsTopology             // the text of topology.describe(), or what brokers hold
	needsConfig               // the application's properties
	needsLog                  // the application's log
	needsTarget               // --target-version
	needsID                   // the application's id, from any of these
)

// Check is one entry of the table.
type Check struct {
	ID    string `json:"id"`
	Area  string `json:"area"`
	Title string `json:"title"` // what is asked, in one line
	// Checklist says whether it is a line of the practical checklist.
	Checklist bool `json:"checklist"`

	needs []need
	run   func(f *facts, r *report)
}

// Needs says what the check needs, for people.
func (c *Check) Needs() string {
	words := map[need]string{needsState: "state directory", needsCluster: "cluster", needsTopology: "topology", needsConfig: "properties",
		needsLog: "log", needsTarget: "target version", needsID: "application id"}
	var out []string
	for _, n := range c.needs {
		out = append(out, words[n])
	}
	return strings.Join(out, ", ")
}

// Checks is the table, area by area.
func Checks() []Check {
	all := slices.Concat(
		restartChecks(),
		versionChecks(),
		changelogChecks(),
		hostChecks(),
		configChecks(),
		checklistChecks(),
		startChecks(),
		capacityChecks(),
	)
	slices.SortStableFunc(all, func(a, b Check) int {
		return slices.Index(Areas(), a.Area) - slices.Index(Areas(), b.Area)
	})
	return all
}

// report collects what one check says.
type report struct {
	check    *Check
	findings []op.Finding
}

// say adds a finding; the builder's methods add to it.
func (r *report) say(status op.Status, subject, format string, args ...any) *finding {
	r.findings = append(r.findings, op.Finding{ID: r.check.ID, Area: r.check.Area, Status: status, Subject: subject,
		Title: fmt.Sprintf(format, args...), Evidence: []string{}, Remedy: []string{}})
	return &finding{r, len(r.findings) - 1}
}

func (r *report) ok(subject, format string, args ...any) *finding {
	return r.say(op.OK, subject, format, args...)
}

func (r *report) warn(subject, format string, args ...any) *finding {
	return r.say(op.Attention, subject, format, args...)
}

func (r *report) problem(subject, format string, args ...any) *finding {
	return r.say(op.Wrong, subject, format, args...)
}

// unmeasured says that the check could not tell, and why.
func (r *report) unmeasured(subject, format string, args ...any) *finding {
	f := r.say(op.Unmeasured, subject, "%s", r.check.Title)
	f.at().Reason = fmt.Sprintf(format, args...)
	return f
}

// finding is the one that was said last; it stays valid when others are added.
type finding struct {
	r *report
	i int
}

func (f *finding) at() *op.Finding { return &f.r.findings[f.i] }

func (f *finding) because(format string, args ...any) *finding {
	f.at().Evidence = append(f.at().Evidence, fmt.Sprintf(format, args...))
	return f
}

func (f *finding) then(format string, args ...any) *finding {
	f.at().Consequence = fmt.Sprintf(format, args...)
	return f
}

func (f *finding) do(format string, args ...any) *finding {
	f.at().Remedy = append(f.at().Remedy, fmt.Sprintf(format, args...))
	return f
}

// runCheck runs one check, or says what it lacks.
func runCheck(c *Check, f *facts) []op.Finding {
	r := &report{check: c}
	var missing []string
	for _, n := range c.needs {
		if why := f.lacks(n); why != "" {
			missing = append(missing, why)
		}
	}
	if len(missing) > 0 {
		r.unmeasured("", "%s", strings.Join(missing, "; "))
		return r.findings
	}
	c.run(f, r)
	if len(r.findings) == 0 {
		r.ok("", "%s: nothing found", c.Title)
	}
	return r.findings
}

// wants says whether the check was asked for.
func (o *Options) wants(c *Check) bool {
	return (len(o.Areas) == 0 || slices.Contains(o.Areas, c.Area)) && (len(o.Only) == 0 || slices.Contains(o.Only, c.ID))
}
