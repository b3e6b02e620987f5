package cmd

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sstool/internal/human"
	"sstool/internal/kafka"
	"sstool/internal/op"
)

// loadSettings reads an application's settings: YAML by the file's ending, else
// Java properties.
func loadSettings(path string) (map[string]string, error) {
	if ext := filepath.Ext(path); ext != ".yml" && ext != ".yaml" {
		return kafka.LoadProperties("the application's properties", path)
	}
	file, size, err := op.OpenFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, op.Errorf(op.NotFound, "no file %s", path)
	}
	if err != nil {
		return nil, &op.Error{Kind: op.Usage, What: path, Err: err}
	}
	defer file.Close()
	if size > 16<<20 {
		return nil, op.Errorf(op.Usage, "%s has %d bytes: no settings", path, size)
	}
	set := map[string]string{}
	in := yaml.NewDecoder(file)
	for {
		var doc yaml.Node
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return set, nil
		}
		if err != nil { // of the syntax: it quotes no value
			return nil, op.Errorf(op.Usage, "%s: %w", path, err)
		}
		if flatten(&doc, "", set, 0); len(set) > maxSettings {
			return nil, op.Errorf(op.Usage, "%s has more than %s settings", path, human.Count(maxSettings))
		}
	}
}

// maxSettings bounds what aliases of aliases can make of a small file.
const maxSettings = 100_000

// flatten turns nested keys into dotted ones, as Spring does. What is neither a
// mapping nor a value is left out.
func flatten(n *yaml.Node, prefix string, set map[string]string, depth int) {
	switch {
	case depth > 64 || len(set) > maxSettings:
	case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
		flatten(n.Content[0], prefix, set, depth+1)
	case n.Kind == yaml.AliasNode:
		flatten(n.Alias, prefix, set, depth+1)
	case n.Kind == yaml.ScalarNode && prefix != "":
		set[prefix] = n.Value
	case n.Kind == yaml.SequenceNode && prefix != "":
		var list []string
		for _, x := range n.Content {
			if x.Kind == yaml.ScalarNode {
				list = append(list, x.Value)
			}
		}
		set[prefix] = strings.Join(list, ",")
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			// "[num.standby.replicas]" is how Spring writes a key with dots.
			key := strings.TrimSuffix(strings.TrimPrefix(n.Content[i].Value, "["), "]")
			if prefix != "" {
				key = prefix + "." + key
			}
			flatten(n.Content[i+1], key, set, depth+1)
		}
	}
}

// openLog opens the application's log, packed by gzip as rotated ones are, or not.
func (a *app) openLog(path string) (io.ReadCloser, error) {
	file := io.NopCloser(a.io.In)
	if path != "-" {
		f, err := openText("--log", path)
		if err != nil {
			return nil, err
		}
		file = f
	}
	in := bufio.NewReader(file)
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" {
		return unpacked{in, file}, nil
	}
	text, err := gzip.NewReader(in)
	if err != nil {
		file.Close()
		return nil, op.Errorf(op.Usage, "--log %s: %w", path, err)
	}
	return unpacked{text, file}, nil
}

// unpacked is the text of a file, and closes the file.
type unpacked struct {
	io.Reader
	io.Closer
}

// took is how long a restore of the application takes, as the report has it:
// the application's own where that was estimated.
func (m *measured) took(path string) (time.Duration, string) {
	seconds, from := m.Max, fmt.Sprintf("%s: sstool's restore, profile %s", path, m.Profile)
	if m.Estimate != nil {
		seconds, from = m.Estimate.Seconds, path+": estimated for the application from sstool's restore"
	}
	d := time.Duration(seconds * float64(time.Second))
	return d, fmt.Sprintf("%s, %s", from, human.Duration(d))
}
