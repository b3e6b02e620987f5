package cmd

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"sstool/inspect/lint"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/topology"
)

// The parts of SARIF 2.1.0 (OASIS sarif-v2.1.0) that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Automation  sarifAutomation   `json:"automationDetails"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifAutomation struct {
		ID string `json:"id"`
	}
	sarifInvocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifRule struct {
		ID      string          `json:"id"`
		Name    string          `json:"name"`
		Short   sarifText       `json:"shortDescription"`
		Full    sarifText       `json:"fullDescription"`
		Help    sarifText       `json:"help"`
		Default sarifLevel      `json:"defaultConfiguration"`
		Props   sarifProperties `json:"properties"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifProperties struct {
		Tags      []string `json:"tags"`
		Precision string   `json:"precision"`
		Problem   string   `json:"problem.severity"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Related      []sarifLocation    `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		ID       int            `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Full string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification"`
	}
)

// fingerprintKey versions what the fingerprint is made of.
const fingerprintKey = "sstoolLint/v1"

// emitSARIF writes the findings, those accepted too, as a SARIF log.
func (a *app) emitSARIF(res *lint.Result) error {
	rules := lint.Rules()
	index := map[string]int{}
	driver := sarifDriver{Name: "sstool", Version: buildVersion(rocksVersion()).Version, Rules: []sarifRule{}}
	for i, r := range rules {
		index[r.ID] = i
		driver.Rules = append(driver.Rules, newSARIFRule(r))
	}
	run := sarifRun{Tool: sarifTool{driver}, Automation: sarifAutomation{"sstool-lint/"}, Invocations: []sarifInvocation{{true}}, ColumnKind: "utf16CodeUnits", Results: []sarifResult{}}
	for _, f := range res.Findings {
		run.Results = append(run.Results, newSARIFResult(f, index[f.Rule]))
	}
	for _, s := range res.Suppressed {
		r := newSARIFResult(s.Finding, index[s.Rule])
		r.Suppressions = []sarifSuppression{{"external", "accepted", s.Reason}}
		run.Results = append(run.Results, r)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
	if err == nil {
		_, err = a.io.Out.Write(serde.AppendSafe(nil, buf.Bytes()))
	}
	if err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}

func newSARIFRule(r lint.Rule) sarifRule {
	level := sarifLevelOf(r.Severity)
	return sarifRule{
		ID: r.ID, Name: pascal(r.Name), Short: sarifText{Text: upperFirst(r.Title) + "."}, Full: sarifText{Text: r.Why},
		Help:    sarifText{Text: r.Why + "\n\nFix: " + r.Fix, Markdown: ruleMarkdown(r)},
		Default: sarifLevel{level}, Props: sarifProperties{[]string{"kafka-streams", "names"}, "high", problemSeverity(r.Severity)},
	}
}

func ruleMarkdown(r lint.Rule) string {
	s := r.Why + "\n\n**Fix.** " + r.Fix
	if r.Bad != "" {
		s += "\n\nFinds:\n\n```\n" + r.Bad + "\n```"
	}
	if r.Good != "" {
		s += "\n\nInstead:\n\n```\n" + r.Good + "\n```"
	}
	return s
}

// pascal is a rule's name as SARIF recommends it: GeneratedName.
func pascal(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(s, "-") {
		b.WriteString(upperFirst(part))
	}
	return b.String()
}

func sarifLevelOf(s lint.Severity) string {
	if s == lint.Info {
		return "note"
	}
	return string(s)
}

// problemSeverity is the word of GitHub's code scanning.
func problemSeverity(s lint.Severity) string {
	if s == lint.Info {
		return "recommendation"
	}
	return string(s)
}

func newSARIFResult(f lint.Finding, rule int) sarifResult {
	text := f.Message
	if f.Fix != "" {
		text += "\nFix: " + f.Fix
	}
	where := sarifAt(f.File, f.Line)
	where.Logical = []sarifLogical{{f.Subject, strings.TrimPrefix(f.App+"/"+f.Subject, "/"), "resource"}}
	r := sarifResult{
		RuleID: f.Rule, RuleIndex: rule, Level: sarifLevelOf(f.Severity), Message: sarifText{Text: text},
		Locations: []sarifLocation{where}, Fingerprints: map[string]string{fingerprintKey: f.Fingerprint},
	}
	for _, o := range f.Others {
		if o.Line == 0 {
			continue // of a cluster, or a directory
		}
		l := sarifAt(o.File, o.Line)
		l.ID, l.Message = len(r.Related)+1, &sarifText{Text: o.Subject}
		r.Related = append(r.Related, l)
	}
	return r
}

// sarifAt is a line; a finding of no line is at the first.
func sarifAt(file string, line int) sarifLocation {
	return sarifLocation{Physical: &sarifPhysical{sarifArtifact{fileURI(file)}, sarifRegion{max(line, 1)}}}
}

// fileURI is a path as a URI reference, relative to here when it can be.
func fileURI(file string) string {
	if file == topology.Stdin {
		return "stdin"
	}
	file = filepath.ToSlash(relative(file))
	if filepath.IsAbs(file) {
		return (&url.URL{Scheme: "file", Path: file}).String()
	}
	parts := strings.Split(strings.TrimPrefix(file, "./"), "/")
	return strings.Join(slices.Collect(func(yield func(string) bool) {
		for _, p := range parts {
			if !yield(url.PathEscape(p)) {
				return
			}
		}
	}), "/")
}
