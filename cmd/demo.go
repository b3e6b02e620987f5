package cmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/demo"
	"sstool/internal/op"
)

const demoLong = `Runs an embedded Kafka in this process with the changelogs of an application
"orders": running totals (1,000,000 records), a deduplication store, a windowed
count, sessions and versioned prices. Then measures how long it would take to
restore, as sstool restore --measure does, and suggests what to try next.

--keep leaves the cluster up until Ctrl-C, with a state directory built from it
and a client.properties file for --command-config. Nothing outside of the demo's
own directory is touched.`

// demoFlags are the flags of sstool demo.
type demoFlags struct {
	listen, dir string
	keep, tui   bool
	records     numberValue
	out         outputFlag
	progress    progressFlag
}

func newDemo(a *app) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:         "demo",
		Short:       "watch a restore being measured, on an embedded Kafka",
		Long:        demoLong,
		Example:     "  sstool demo\n  sstool demo --tui\n  sstool demo --listen 127.0.0.1:9092 --keep",
		Annotations: exits([]exit{{0, "ok"}, {1, "failed"}, {2, "wrong flags"}, {14, "--dir holds the state directory of another demo"}, {130, "interrupted"}}),
		Args:        noArgs,
	}
	section(cmd, "The demo", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.listen, "listen", "", "listen on `HOST:PORT` (default 127.0.0.1:9092 with --keep, else a free port)")
		fs.BoolVar(&f.keep, "keep", false, "leave cluster and state directory up until Ctrl-C")
		fs.BoolVar(&f.tui, "tui", false, "open the dashboard on the demo, with records coming in; quitting it ends the demo")
		fs.StringVar(&f.dir, "dir", "", "put specification and state directory into `DIR`, which stays (default a temporary one, removed afterwards)")
		f.records.min, f.records.max = 1, 1_000_000_000
		fs.Var(&f.records, "records", fmt.Sprintf("size of the largest store in `RECORDS` (default %s)", humanCount(demo.DefaultRecords)))
	})
	f.out.register(cmd, formatTable, formatWide, formatJSON, formatCSV, formatTSV)
	f.progress.register(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), &f) })
	return cmd
}

// demo is the command: cluster → restore --measure → suggestions.
func (a *app) demo(ctx context.Context, f *demoFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if f.tui && !a.canDraw() {
		return noTerminal()
	}
	if rocksVersion() == "" {
		return op.Errorf(op.Failed, "this sstool was built without RocksDB (CGO_ENABLED=0), which the demo restores into").
			WithTry("make build")
	}
	if f.tui {
		if code, done := a.guarded(); done {
			return endedWith(code)
		}
	}
	if f.keep && f.listen == "" {
		f.listen = demoAddress
	}
	dir, remove, err := f.workDir()
	if err != nil {
		return err
	}
	defer remove()
	show := a.startProgress(f.progress)
	cluster, err := demo.Start(ctx, demo.Options{Listen: f.listen, Records: f.records.or(demo.DefaultRecords), Now: time.Now()}, show.sink)
	show.close()
	if err != nil {
		return err
	}
	defer cluster.Close()
	spec := filepath.Join(dir, "orders.yaml")
	for name, text := range map[string]string{"orders.yaml": demo.Spec(), "client.properties": "bootstrap.servers=" + cluster.Bootstrap() + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return op.Errorf(op.Failed, "demo directory: %w", err)
		}
	}
	if f.tui {
		return a.demoTUI(ctx, f, cluster, dir)
	}
	a.tell(f, "$ sstool restore --measure --bootstrap-server %s --spec %s", cluster.Bootstrap(), spec)
	measure := restoreFlags{kafka: kafkaFlags{bootstrap: cluster.Bootstrap()}, spec: spec, measure: true, scratch: dir, out: f.out, progress: f.progress}
	if err := a.restore(ctx, &measure); err != nil {
		return err
	}
	if !f.keep {
		a.tell(f, "\nNext: keep it up with `sstool demo --keep` and, in another terminal, try")
		a.suggest(f, demoAddress)
		return nil
	}
	state := filepath.Join(dir, "state")
	if err := a.buildState(ctx, f, cluster.Bootstrap(), spec, state); err != nil {
		return err
	}
	a.tell(f, "\nKafka listens on %s, the state directory is %s. In another terminal, try", cluster.Bootstrap(), state)
	a.suggest(f, cluster.Bootstrap())
	a.tell(f, "  sstool spec --state-dir %s --application-id %s", state, demo.ApplicationID)
	a.tell(f, "Ctrl-C ends the demo.")
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o644); err != nil {
		return op.Errorf(op.Failed, "demo directory: %w", err)
	}
	<-ctx.Done()
	return nil
}

// demoAddress is where a kept demo listens, so that what is suggested is known
// beforehand.
const demoAddress = "127.0.0.1:9092"

// suggest prints the next commands; they need nothing but the address.
func (a *app) suggest(f *demoFlags, addr string) {
	of := fmt.Sprintf("--bootstrap-server %s --application-id %s", addr, demo.ApplicationID)
	store := "--store " + demo.MainStore
	a.tell(f, "  sstool restore --measure --profile bulk %s %s", of, store)
	a.tell(f, "  sstool restore --into ./state --kind timestamped-kv --subtopology 0 %s %s", of, store)
	a.tell(f, "  sstool spec %s", of)
}

// tell prints a line beside the report; with --progress json it is an event too.
func (a *app) tell(f *demoFlags, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if f.progress.value != "json" {
		fmt.Fprintln(a.io.Err, text)
		return
	}
	if b, err := safeJSON(op.Event{Type: op.Item, Name: "demo", Message: strings.TrimSpace(text)}); err == nil {
		fmt.Fprintf(a.io.Err, "%s\n", b)
	}
}

// check refuses what cannot work before anything is started.
func (f *demoFlags) check() error {
	if f.tui && f.keep {
		return op.Errorf(op.Usage, "--tui and --keep: the demo is up as long as the dashboard is").WithTry("one of them")
	}
	if f.listen != "" {
		host, port, err := net.SplitHostPort(f.listen)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil || host == "" {
			return op.Errorf(op.Usage, "--listen %q is not HOST:PORT", f.listen).WithTry("--listen %s", demoAddress)
		}
	}
	if err := checkDir("--dir", f.dir); err != nil || f.dir == "" {
		return err
	}
	state := filepath.Join(f.dir, "state")
	list, err := os.ReadDir(state)
	if err != nil && !os.IsNotExist(err) {
		return op.Errorf(op.Failed, "demo directory: %w", err)
	}
	if len(list) > 0 {
		return op.Errorf(op.Precondition, "%s is the state directory of another demo, whose cluster is gone", state).
			WithTry("another --dir, or remove %s", state)
	}
	if err := os.Remove(filepath.Join(f.dir, "ready")); err != nil && !os.IsNotExist(err) {
		return op.Errorf(op.Failed, "demo directory: %w", err)
	}
	return nil
}

// workDir is where the demo's files go, and what to call at the end.
func (f *demoFlags) workDir() (dir string, remove func(), err error) {
	if f.dir != "" {
		if err := os.MkdirAll(f.dir, 0o755); err != nil {
			return "", nil, op.Errorf(op.Failed, "demo directory: %w", err)
		}
		return f.dir, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "sstool-demo-")
	if err != nil {
		return "", nil, op.Errorf(op.Failed, "demo directory: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}

// buildState restores the application into a state directory to try things on.
func (a *app) buildState(ctx context.Context, f *demoFlags, addr, spec, state string) error {
	show := a.startProgress(f.progress)
	defer show.close()
	into := restoreFlags{kafka: kafkaFlags{bootstrap: addr}, spec: spec, into: state}
	plan, done, err := into.plan(ctx, func(string) {})
	if err != nil {
		return err
	}
	defer done()
	_, err = plan.Run(ctx, show.sink)
	return err
}
