package cmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sstool/inspect/lint"
	"sstool/internal/kafka"
	"sstool/internal/op"
	"sstool/internal/topology"
)

// lintInputs parses the texts, each with the configuration that it finds.
func (a *app) lintInputs(f *lintFlags, args []string) ([]lint.Input, error) {
	if len(args) == 0 {
		return nil, op.Errorf(op.Usage, "no topology to judge").
			WithTry("sstool lint FILE with the text of topology.describe(), or - for stdin; or --bootstrap-server and --application-id without FILE: what brokers hold of an application with group.protocol=streams")
	}
	if f.appID != "" && len(args) > 1 && a.given["application-id"] {
		_, file, named := strings.Cut(args[0], "=")
		if !named {
			file = args[0]
		}
		return nil, op.Errorf(op.Usage, "--application-id is of one FILE, and there are %d", len(args)).WithTry("name each one's: %s=%s …", f.appID, file)
	}
	configs := lintConfigs{explicit: f.config, found: map[string]*lint.Config{}}
	appID := f.appID
	if len(args) > 1 {
		appID = "" // that of a context is of none in particular
	}
	models, err := topology.Load(args, a.io.In, topology.Options{ApplicationID: appID, All: f.all, Log: f.fromLog})
	if err != nil {
		return nil, err
	}
	var out []lint.Input
	for i, m := range models {
		src, err := topology.ParseArgument(args[i])
		if err != nil {
			return nil, err
		}
		c, err := configs.of(src.Path)
		if err != nil {
			return nil, err
		}
		if f.optimization.value != "" {
			c = withOptimization(c, f.optimization.value)
		}
		out = append(out, lint.Input{AppID: cmp.Or(src.ApplicationID, appID), File: filepath.ToSlash(m.File), Topologies: m.Topologies, Problems: m.Problems, Config: c})
	}
	return out, nil
}

// lintHeld is what brokers hold of one application.
func (a *app) lintHeld(ctx context.Context, f *lintFlags, client *kafka.Client) ([]lint.Input, error) {
	m, err := client.StreamsTopology(ctx, f.appID)
	if err != nil {
		return nil, err
	}
	configs := lintConfigs{explicit: f.config, found: map[string]*lint.Config{}}
	c, err := configs.of("-")
	if err != nil {
		return nil, err
	}
	if f.optimization.value != "" {
		c = withOptimization(c, f.optimization.value)
	}
	return []lint.Input{{AppID: f.appID, File: m.File, Topologies: m.Topologies, Problems: m.Problems, Config: c}}, nil
}

// withOptimization is a copy of a configuration in which a flag has its say.
func withOptimization(c *lint.Config, value string) *lint.Config {
	var out lint.Config
	if c != nil {
		out = *c
	}
	out.Optimization = value
	return &out
}

// openText opens a file to read; what names it in errors.
func openText(what, path string) (*os.File, error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, op.Errorf(op.NotFound, "%s: %w", what, err)
	case err != nil:
		return nil, op.Errorf(op.Failed, "%s: %w", what, err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, op.Errorf(op.Usage, "%s: %s is a directory, expected a file", what, path)
	}
	return file, nil
}
