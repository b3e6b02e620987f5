package cmd

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/tui"
)

const tuiLong = `Shows the state of applications on one screen: which stores there are, how large,
how far behind their changelogs and how healthy they are, down to files, tombstones
and rows. It looks at PATH (or --state-dir, or the current directory), at a cluster,
or at both, and follows what changes.

Keys: ? help, : commands with completion, / filter, Enter down, Esc back, d describe,
y copy, s sort, a actions, q quit. The mouse works. Nothing is changed unless
--allow-writes is given, and then only after the plan was shown.

--plain is for screen readers and dumb terminals: screens as plain lines, commands
read from standard input. Keys and theme can be set in the config file, under tui.`

// tuiFlags are the flags of sstool tui.
type tuiFlags struct {
	kafka              kafkaFlags
	stateDir, id       string
	topology           namesValue
	allowWrites, plain bool
	readonly           bool
	theme              choiceValue
	logFile            string
	appConfig          string
	metrics            namesValue
	thresholds         string
	sla                durationValue
	name               string // of the only context, instead of the config file's
}

func newTUI(a *app) *cobra.Command {
	var f tuiFlags
	cmd := &cobra.Command{
		Use:   "tui [PATH]",
		Short: "the dashboard: stores, lag and health on one live screen",
		Long:  tuiLong,
		Example: `  sstool tui /var/lib/kafka-streams
  sstool tui --state-dir /var/lib/kafka-streams --application-id orders --bootstrap-server localhost:9092
  sstool tui --context production
  sstool demo --tui`,
		Annotations: exits([]exit{
			{0, "ok"}, {1, "failed"}, {2, "wrong flags, or no terminal to draw on"}, {10, "no such path"}, {130, "interrupted"},
		}),
		Args: onePath,
	}
	section(cmd, "What to look at", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.stateDir, "state-dir", "", "`DIR` to look in when there is no PATH (default the current directory, without a cluster)")
		fs.StringVar(&f.id, "application-id", "", "the application with this `ID`")
		fs.Var(&f.topology, "topology", "`FILES` with the text of topology.describe(), for :topology, :lint and :doctor: [APP=]FILE")
		fs.StringVar(&f.appConfig, "app-config", "", "the application's properties, a Java properties `FILE`, for :doctor")
	})
	section(cmd, "Metrics", func(fs *pflag.FlagSet) {
		fs.Var(&f.metrics, "metrics", "`URLS` where instances show metrics for Prometheus, for :metrics; a bearer token is in SSTOOL_BEARER_TOKEN")
		fs.StringVar(&f.thresholds, "thresholds", "", "thresholds of a `FILE` (default those of sstool monitor rules --defaults)")
		fs.Var(&f.sla, "sla", "a restoration may take this long: `DURATION`")
	})
	section(cmd, "Which cluster", func(*pflag.FlagSet) { f.kafka.register(cmd) })
	section(cmd, "The screen", func(fs *pflag.FlagSet) {
		f.theme.choices = tui.Themes()
		fs.Var(&f.theme, "theme", "colours: `THEME` auto, dark, light or none (default as the terminal's background is; none with NO_COLOR)")
		fs.BoolVar(&f.plain, "plain", false, "lines of text instead of a drawn screen, for screen readers; reads commands from standard input")
		fs.BoolVar(&f.allowWrites, "allow-writes", false, "offer actions that change state")
		fs.BoolVar(&f.readonly, "readonly", false, "offer no action that changes state; the default, and stronger than --allow-writes")
		fs.StringVar(&f.logFile, "log-file", "", "`FILE` for the dashboard's own log (default $XDG_STATE_HOME/sstool/tui.log)")
	})
	complete(cmd, "theme", f.theme.choices)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error { return a.tui(cmd, &f, args) })
	return cmd
}

// tui is the command: flags → contexts → dashboard.
func (a *app) tui(cmd *cobra.Command, f *tuiFlags, args []string) error {
	if !f.plain && !a.canDraw() {
		return noTerminal()
	}
	o, err := a.tuiOptions(f, args)
	if err != nil {
		return err
	}
	if !f.plain {
		if code, done := a.guarded(); done {
			return endedWith(code)
		}
	}
	return a.runTUI(cmd.Context(), f, o)
}

// canDraw says whether there is a terminal for the dashboard.
func (a *app) canDraw() bool {
	return a.io.InTTY && a.io.OutTTY && a.io.getenv("TERM") != "dumb"
}

func noTerminal() error {
	return op.Errorf(op.Usage, "the dashboard needs a terminal that can be drawn on").WithTry("sstool tui --plain, or sstool inspect")
}

// runTUI runs the dashboard with its log.
func (a *app) runTUI(ctx context.Context, f *tuiFlags, o *tui.Options) error {
	ctx, end := whileGuarded(ctx)
	defer end()
	log, done := a.tuiLog(f.logFile)
	defer done()
	o.Log = log
	o.In, o.Out, o.Prompt = a.io.In, a.io.Out, a.io.InTTY
	if f.plain {
		return tui.RunPlain(ctx, *o)
	}
	return tui.Run(ctx, *o)
}

// tuiOptions turns the flags into the dashboard's options.
func (a *app) tuiOptions(f *tuiFlags, args []string) (*tui.Options, error) {
	conf, err := a.config()
	if err != nil {
		return nil, err
	}
	o := &tui.Options{
		AllowWrites: f.allowWrites && !f.readonly, Theme: cmp.Or(f.theme.value, conf.tui.theme), ASCII: !a.utf8Terminal(), Keys: conf.tui.keys, Now: time.Now,
	}
	if a.io.getenv("NO_COLOR") != "" {
		o.Theme = "none"
	}
	here, err := a.tuiContext(f, args)
	if err != nil {
		return nil, err
	}
	here.Name = cmp.Or(f.name, a.contextName(conf))
	o.Contexts = []tui.Context{here}
	clusters := map[string]kafkaFlags{here.Name: f.kafka}
	for _, c := range conf.contexts {
		if c.name != here.Name && f.name == "" {
			var other tui.Context
			other, clusters[c.name] = a.configuredContext(c)
			o.Contexts = append(o.Contexts, other)
		}
	}
	o.Actions = func(c *tui.Context, s tui.Subject) []tui.Action { return a.tuiActions(c, clusters[c.Name], s) }
	return o, nil
}
