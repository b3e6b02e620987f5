package cmd

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"sstool/tui"
)

// tuiConfig is what the config file says of the dashboard.
type tuiConfig struct {
	theme string
	keys  map[string][]string
}

// parseTUI reads the key tui of a config file:
//
//	tui:
//	  theme: dark
//	  keys: {describe: [d, i], quit: q}
func parseTUI(n *yaml.Node, bad func(*yaml.Node, string, ...any) error) (tuiConfig, error) {
	var c tuiConfig
	err := eachKey(n, bad, "tui", func(k, v *yaml.Node) error {
		switch k.Value {
		case "theme":
			if v.Kind != yaml.ScalarNode || !slices.Contains(tui.Themes(), v.Value) {
				return bad(v, "theme must be one of %s", strings.Join(tui.Themes(), ", "))
			}
			c.theme = v.Value
			return nil
		case "keys":
			c.keys = map[string][]string{}
			return eachKey(v, bad, "keys", func(k, v *yaml.Node) error {
				if !slices.Contains(tui.KeyNames(), k.Value) {
					return bad(k, "there is nothing called %q that a key could do; known: %s", k.Value, strings.Join(tui.KeyNames(), ", "))
				}
				keys := []*yaml.Node{v}
				if v.Kind == yaml.SequenceNode {
					keys = v.Content
				}
				c.keys[k.Value] = []string{}
				for _, x := range keys {
					if x.Kind != yaml.ScalarNode || x.Value == "" {
						return bad(x, "%s must be a key or a list of keys: x, ctrl+x, enter, f1", k.Value)
					}
					c.keys[k.Value] = append(c.keys[k.Value], x.Value)
				}
				return nil
			})
		}
		return bad(k, "unknown key %q under tui; known: theme, keys", k.Value)
	})
	return c, err
}

// config is the config file, or an empty one when there is none.
func (a *app) config() (config, error) {
	file := a.flags.config
	if file == "" {
		if file = a.configFile(); file == "" {
			return config{}, nil
		}
	}
	conf, err := loadConfig(file, a.io.getenv("HOME"))
	if isNotExist(err) && a.flags.config == "" {
		return config{}, nil
	}
	return conf, err
}

// contextName is the context whose settings the flags were completed with.
func (a *app) contextName(conf config) string {
	if a.flags.context != "" {
		return a.flags.context
	}
	return conf.current
}

// tuiLog is the dashboard's log: a file that is made with its first line.
func (a *app) tuiLog(path string) (*slog.Logger, func()) {
	if path == "" {
		dir := a.io.getenv("XDG_STATE_HOME")
		if dir == "" {
			if home := a.io.getenv("HOME"); home != "" {
				dir = filepath.Join(home, ".local", "state")
			}
		}
		if dir == "" {
			return slog.New(slog.DiscardHandler), func() {}
		}
		path = filepath.Join(dir, "sstool", "tui.log")
	}
	f := &lazyFile{path: path}
	return slog.New(slog.NewTextHandler(f, nil)), f.close
}

// lazyFile is appended to, and opened when something is written.
type lazyFile struct {
	path string
	mu   sync.Mutex
	file *os.File
	err  error
}

func (f *lazyFile) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil && f.err == nil {
		if f.err = os.MkdirAll(filepath.Dir(f.path), 0o700); f.err == nil {
			f.file, f.err = os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		}
	}
	if f.err != nil {
		return 0, f.err
	}
	return f.file.Write(b)
}

func (f *lazyFile) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		f.file.Close()
	}
}
