package cmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sstool/internal/op"
)

// contextKeys are what a context may set; each is a flag of the same name.
var contextKeys = []string{"bootstrap-server", "command-config", "application-id", "state-dir", "cluster-id", "app-config", "metrics"}

// pathKeys hold paths: relative ones are relative to the config file, and a
// leading ~/ is the home directory.
var pathKeys = []string{"command-config", "state-dir", "app-config"}

// config is the config file.
type config struct {
	current     string
	currentLine int
	contexts    []configContext
	tui         tuiConfig
}

// configContext is one named context.
type configContext struct {
	name     string
	file     string
	settings []setting
}

type setting struct {
	key, value string
	line       int
}

func (c config) names() []string {
	if len(c.contexts) == 0 {
		return []string{"none"}
	}
	var out []string
	for _, x := range c.contexts {
		out = append(out, x.name)
	}
	return out
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func loadConfig(file, home string) (config, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return config{}, op.Errorf(op.Usage, "config file: %w", err)
	}
	return parseConfig(file, b, home)
}

// parseConfig reads a config file. It walks the YAML itself so that every
// complaint names a line.
func parseConfig(file string, b []byte, home string) (config, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return config{}, op.Errorf(op.Usage, "%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var conf config
	if len(doc.Content) == 0 {
		return conf, nil
	}
	bad := func(n *yaml.Node, format string, args ...any) error {
		e := op.Errorf(op.Usage, format, args...)
		return op.Errorf(op.Usage, "%s:%d: %s", file, n.Line, e.Error())
	}
	root := doc.Content[0]
	err := eachKey(root, bad, "the config file", func(k, v *yaml.Node) error {
		switch k.Value {
		case "current-context":
			if v.Kind != yaml.ScalarNode {
				return bad(v, "current-context must be a name")
			}
			conf.current, conf.currentLine = v.Value, v.Line
			return nil
		case "tui":
			var err error
			conf.tui, err = parseTUI(v, bad)
			return err
		case "contexts":
			return eachKey(v, bad, "contexts", func(k, v *yaml.Node) error {
				c := configContext{name: k.Value, file: file}
				err := eachKey(v, bad, "context "+k.Value, func(k, v *yaml.Node) error {
					if !slices.Contains(contextKeys, k.Value) {
						return bad(k, "unknown key %q in a context; known: %s", k.Value, strings.Join(contextKeys, ", "))
					}
					if v.Kind != yaml.ScalarNode {
						return bad(v, "%s must be one value", k.Value)
					}
					value := v.Value
					if slices.Contains(pathKeys, k.Value) {
						value = configPath(file, home, value)
					}
					c.settings = append(c.settings, setting{k.Value, value, k.Line})
					return nil
				})
				conf.contexts = append(conf.contexts, c)
				return err
			})
		}
		return bad(k, "unknown key %q; known: current-context, contexts, tui", k.Value)
	})
	return conf, err
}

// eachKey visits the keys of a mapping, each of which may be there once.
func eachKey(n *yaml.Node, bad func(*yaml.Node, string, ...any) error, what string, fn func(k, v *yaml.Node) error) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return bad(n, "%s must be a mapping of keys to values", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if seen[k.Value] {
			return bad(k, "%q is there twice", k.Value)
		}
		seen[k.Value] = true
		if err := fn(k, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func configPath(file, home, path string) string {
	switch {
	case path == "":
		return ""
	case strings.HasPrefix(path, "~/") && home != "":
		return filepath.Join(home, path[2:])
	case filepath.IsAbs(path):
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}
