package cmd

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/inspect/monitor"
	"sstool/internal/files"
	"sstool/internal/op"
)

// check refuses flags that make no sense together.
func (f *monitorFlags) check(sources []*monitor.Source) error {
	again := f.watch || f.duration != 0
	switch {
	case again && slices.ContainsFunc(sources, (*monitor.Source).IsFile):
		return op.Errorf(op.Usage, "--for and --watch look again and again, and a file stays as it is").WithTry("--since FILE with an earlier page")
	case f.watch && f.duration == 0 && f.out.value == formatJSON:
		return op.Errorf(op.Usage, "--watch has no end, and -o json is one document").WithTry("-o jsonl, a line each time")
	case f.user != "" && f.tokenFile != "":
		return op.Errorf(op.Usage, "--user and --bearer-token-file: an endpoint takes one of them")
	case f.passwordFile != "" && f.user == "":
		return op.Errorf(op.Usage, "--password-file is of nobody").WithTry("--user NAME")
	}
	return nil
}

// monitorAccess reads what the flags name: secrets are in files or in the
// environment, not on the command line, where others see them.
func (a *app) monitorAccess(f *monitorFlags) (monitor.Access, error) {
	access := monitor.Access{User: f.user, Timeout: time.Duration(f.timeout), Stdin: a.io.In}
	var err error
	if f.user != "" {
		if access.Password, err = secret("password", f.passwordFile, a.io.getenv("SSTOOL_PASSWORD")); err != nil {
			return access, err
		}
	} else if access.Token, err = secret("bearer token", f.tokenFile, a.io.getenv("SSTOOL_BEARER_TOKEN")); err != nil {
		return access, err
	}
	if f.caFile == "" {
		return access, nil
	}
	pem, err := readText("certificates", f.caFile)
	if err != nil {
		return access, err
	}
	access.Roots = x509.NewCertPool()
	if !access.Roots.AppendCertsFromPEM(pem) {
		return access, op.Errorf(op.Usage, "certificates: %s holds no certificate in PEM", f.caFile)
	}
	return access, nil
}

// secret is what a file holds, or else the environment.
func secret(what, file, env string) (string, error) {
	if file == "" {
		return env, nil
	}
	b, err := readText(what, file)
	return strings.TrimSpace(string(b)), err
}

// readText reads a small file that a flag names.
func readText(what, path string) ([]byte, error) {
	f, size, err := op.OpenFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, op.Errorf(op.NotFound, "%s: %s: no such file", what, path)
	case err != nil:
		return nil, op.Errorf(op.Usage, "%s: %w", what, err)
	}
	f.Close()
	const most = 64 << 20
	if size > most {
		return nil, op.Errorf(op.Usage, "%s: %s is larger than %s", what, path, humanBytes(most))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, op.Errorf(op.Failed, "%s: %w", what, err)
	}
	return b, nil
}

// monitorOptions reads the thresholds and the report.
func monitorOptions(f *monitorFlags) (o monitor.Options, err error) {
	o.SLA = time.Duration(f.sla)
	if o.Thresholds, err = loadThresholds(f.thresholds); err != nil {
		return o, err
	}
	if f.report != "" {
		b, err := readText("restore report", f.report)
		if err != nil {
			return o, err
		}
		if o.Restore, err = monitor.ParseRestoreReport(f.report, b); err != nil {
			return o, err
		}
		if o.SLA == 0 && o.Thresholds.Checks[monitor.RestoreTime].Max == nil {
			return o, op.Errorf(op.Usage, "--restore-report says how long a restoration takes, and nothing says how long it may").WithTry("--sla 10m")
		}
	}
	return o, nil
}

// earlier takes in what --since names. The first time there is no such file yet.
func (f *monitorFlags) earlier(ctx context.Context, m *monitor.Monitor) error {
	if f.since == "" {
		return nil
	}
	err := m.Since(ctx, f.since)
	if op.KindOf(err) == op.NotFound && f.since == f.save {
		return nil
	}
	return err
}

// checkSave refuses a file that --save cannot write, before anybody waits for
// it, and one that is not the monitor's: what is saved takes its place.
func (f *monitorFlags) checkSave(ctx context.Context, args []string) error {
	if f.save == "" {
		return nil
	}
	for _, page := range args {
		if files.Same(page, f.save) {
			return op.Errorf(op.Usage, "--save %s would take the place of the page that is looked at", f.save)
		}
	}
	st, err := os.Stat(f.save)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(f.save)); err != nil {
			return op.Errorf(op.NotFound, "--save %s: no such directory", f.save)
		}
		return nil
	case err != nil:
		return op.Errorf(op.Failed, "--save: %w", err)
	case st.Size() == 0 && st.Mode().IsRegular():
		return nil
	}
	old := monitor.New(nil)
	if err := old.Since(ctx, f.save); err != nil {
		return op.Errorf(op.Usage, "--save would replace what is no page of metrics: %w", err).WithTry("another name; or remove it")
	}
	return nil
}

// saveHistory writes what the longest window needs.
func saveHistory(path string, m *monitor.Monitor, o monitor.Options) error {
	longest := cmp.Or(o.Thresholds.Longest(), time.Hour)
	m.History.Trim(longest + longest/10)
	var text strings.Builder
	if _, err := m.History.Saved().WriteTo(&text); err != nil {
		return err
	}
	if err := files.Replace(path, []byte(text.String())); err != nil {
		return op.Errorf(op.Failed, "save what was seen: %w", err)
	}
	return nil
}
