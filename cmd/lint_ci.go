package cmd

import (
	"encoding/xml"
	"fmt"
	"strings"

	"sstool/inspect/lint"
	"sstool/internal/op"
)

// emitGitHub writes workflow commands, which GitHub Actions shows at the lines
// of a pull request.
func (a *app) emitGitHub(res *lint.Result) error {
	var b strings.Builder
	for _, f := range res.Findings {
		level := string(f.Severity)
		if f.Severity == lint.Info {
			level = "notice"
		}
		text := printable(f.Message)
		if f.Fix != "" {
			text += "\nfix: " + printable(f.Fix)
		}
		b.WriteString(githubCommand(level, f.File, f.Line, "sstool "+f.Rule+" "+f.Name, text))
	}
	if _, err := a.io.Out.Write([]byte(b.String())); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}

// The parts of JUnit's XML that CI servers read.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Tests   int          `xml:"tests,attr"`
		Fails   int          `xml:"failures,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name    string      `xml:"name,attr"`
		Tests   int         `xml:"tests,attr"`
		Fails   int         `xml:"failures,attr"`
		Skipped int         `xml:"skipped,attr"`
		Errors  int         `xml:"errors,attr"`
		Cases   []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// emitJUnit writes a test suite per file: a test case per finding, which fails
// from --fail-on on, and one per rule that found nothing or had not what it
// needs.
func (a *app) emitJUnit(res *lint.Result, failOn string) error {
	all := junitSuites{Name: "sstool lint"}
	done := map[string]bool{}
	add := func(file string) {
		if done[file] {
			return
		}
		done[file] = true
		s := junitOf(res, file, failOn)
		all.Tests += s.Tests
		all.Fails += s.Fails
		all.Suites = append(all.Suites, s)
	}
	for _, app := range res.Applications {
		add(app.File)
	}
	for _, f := range res.Findings { // of a configuration
		add(f.File)
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return op.Errorf(op.Failed, "write JUnit: %w", err)
	}
	if _, err := a.io.Out.Write([]byte(xml.Header + string(b) + "\n")); err != nil {
		return op.Errorf(op.Failed, "write stdout: %w", err)
	}
	return nil
}

func junitOf(res *lint.Result, file, failOn string) junitSuite {
	s := junitSuite{Name: file}
	found := map[string]bool{}
	for _, f := range res.Findings {
		if f.File != file {
			continue
		}
		found[f.Rule] = true
		c := junitCase{Class: "sstool.lint." + f.Rule + "." + f.Name, Name: f.Rule + " " + printable(f.Subject), File: f.File}
		text := fmt.Sprintf("%s: %s\nfix: %s", lintPlace(f.File, f.Line), printable(f.Message), printable(f.Fix))
		if failOn != "never" && f.Severity.AtLeast(lint.Severity(failOn)) {
			c.Failure = &junitMessage{Type: string(f.Severity), Message: printable(f.Message), Text: text}
			s.Fails++
		} else {
			c.Out = severityWord(f.Severity) + ": " + text
		}
		s.Cases = append(s.Cases, c)
	}
	why := map[string]string{}
	for _, u := range res.Unchecked {
		why[u.Rule] = u.Reason
	}
	for _, r := range lint.Rules() {
		if found[r.ID] {
			continue
		}
		c := junitCase{Class: "sstool.lint." + r.ID + "." + r.Name, Name: r.ID + " " + r.Title, File: file}
		if reason, ok := why[r.ID]; ok {
			c.Skipped = &junitMessage{Message: reason}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	return s
}
