package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"

	"sstool/internal/op"

	"github.com/magiconair/properties"
)

// LoadProperties reads a Java properties file (java.util.Properties.load:
// ISO-8859-1, backslash escapes, continued lines). ${…} is left as it is, as
// Kafka's own tools do without a config provider.
func LoadProperties(path string) (Properties, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		kind := op.Usage
		if errors.Is(err, os.ErrNotExist) {
			kind = op.NotFound
		}
		return nil, &op.Error{Kind: kind, What: "client properties", Err: err}
	}
	p, err := parseProperties(raw)
	if err != nil {
		return nil, &op.Error{Kind: op.Usage, What: "client properties " + path, Err: err}
	}
	return p, nil
}

var lineOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Line (\d+)`) })

func parseProperties(raw []byte) (Properties, error) {
	// The parser ends a continued line at \r\n.
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	l := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	p, err := l.LoadBytes(raw)
	if err != nil {
		// The parser's message may quote a value: only the line is safe.
		if m := lineOf().FindStringSubmatch(err.Error()); m != nil {
			return nil, fmt.Errorf("line %s is not a Java property (a bad \\u escape?)", m[1])
		}
		return nil, errors.New("not a Java properties file")
	}
	out := make(Properties, p.Len())
	for _, k := range p.Keys() {
		v, _ := p.Get(k)
		out[k] = v
	}
	return out, nil
}
