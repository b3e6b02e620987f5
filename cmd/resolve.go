package cmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sstool/internal/op"
	"sstool/internal/streams"
)

// resolve completes the flags of cmd that were not given: from the environment,
// then from the context. Defaults stay where neither says anything.
func (a *app) resolve(cmd *cobra.Command) error {
	if err := a.fromEnv(cmd); err != nil {
		return err
	}
	ctx, err := a.context()
	switch {
	case err == nil:
	case needsCluster(cmd) || a.given["config"] || a.given["context"] || a.flags.config != "" || a.flags.context != "":
		return err
	default:
		// Nobody asked for it, and the command can do its work without: help and
		// a look at the disk have to work all the more.
		a.warn(cmd, err.Error())
		return nil
	}
	for _, s := range ctx.settings {
		f := cmd.Flags().Lookup(s.key)
		if f == nil || f.Changed {
			continue
		}
		if err := cmd.Flags().Set(s.key, s.value); err != nil {
			return op.Errorf(op.Usage, "%s:%d: %s: %w", ctx.file, s.line, s.key, err)
		}
	}
	return nil
}

// fromEnv sets the flags that were not given from SSTOOL_*. The value is not
// repeated in an error: it may be a secret.
func (a *app) fromEnv(cmd *cobra.Command) error {
	var first error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || first != nil {
			return
		}
		v := a.io.getenv(envName(f.Name))
		if v == "" {
			return
		}
		if out, ok := f.Value.(*outputFlag); ok && out.other(v) {
			a.warn(cmd, fmt.Sprintf("%s: %s has no format %s, only %s: it prints %s", envName(f.Name), cmd.CommandPath(), v, out.list(), out.value))
			return
		}
		if err := cmd.Flags().Set(f.Name, v); err != nil {
			first = op.Errorf(op.Usage, "environment variable %s: not a value for --%s, expected %s", envName(f.Name), f.Name, expects(f.Value))
		}
	})
	return first
}

// expects says what a flag's value may be.
func expects(v pflag.Value) string {
	if x, ok := v.(interface{ expects() string }); ok {
		return x.expects()
	}
	if v.Type() == "bool" {
		return "true or false"
	}
	return streams.WithArticle(v.Type())
}

// context is the context the user chose, or the config file's current one, or
// an empty one when there is no config file.
func (a *app) context() (configContext, error) {
	file, named := a.flags.config, a.flags.config != ""
	if !named {
		file = a.configFile()
	}
	if file == "" {
		return a.noContext("no home directory to find a config file in")
	}
	conf, err := loadConfig(file, a.io.getenv("HOME"))
	switch {
	case err == nil:
	case !named && isNotExist(err):
		return a.noContext("there is no config file " + file)
	case isNotExist(err):
		return configContext{}, op.Errorf(op.Usage, "config file %s does not exist", file)
	default:
		return configContext{}, err
	}
	name, where := a.flags.context, "--context"
	if name == "" {
		name, where = conf.current, fmt.Sprintf("%s:%d: current-context", file, conf.currentLine)
	}
	if name == "" {
		return configContext{}, nil
	}
	for _, c := range conf.contexts {
		if c.name == name {
			return c, nil
		}
	}
	return configContext{}, op.Errorf(op.Usage, "%s: %s has no context %q; it has: %s", where, file, name, strings.Join(conf.names(), ", "))
}

// noContext is an empty context, or an error when one was asked for by name.
func (a *app) noContext(why string) (configContext, error) {
	if a.flags.context != "" {
		return configContext{}, op.Errorf(op.Usage, "--context %s: %s", a.flags.context, why)
	}
	return configContext{}, nil
}

// configFile is where the config file is looked for.
func (a *app) configFile() string {
	dir := a.io.getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home := a.io.getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "sstool", "config.yaml")
}
