package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"

	"sstool/internal/op"
)

// maxProperties bounds a properties file.
const maxProperties = 16 << 20

// LoadProperties reads a Java properties file (java.util.Properties.load:
// ISO-8859-1, backslash escapes, continued lines); what says whose they are.
// ${…} is left as it is, as Kafka's own tools do without a config provider.
func LoadProperties(what, path string) (Properties, error) {
	f, size, err := op.OpenFile(path)
	if err != nil {
		kind := op.Usage
		if errors.Is(err, os.ErrNotExist) {
			kind = op.NotFound
		}
		return nil, &op.Error{Kind: kind, What: what, Err: err}
	}
	defer f.Close()
	if size > maxProperties {
		return nil, op.Errorf(op.Usage, "%s: %s has %d bytes: no properties", what, path, size)
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, &op.Error{Kind: op.Usage, What: what, Err: err}
	}
	p, err := parseProperties(raw)
	if err != nil {
		return nil, &op.Error{Kind: op.Usage, What: what + " " + path, Err: err}
	}
	return p, nil
}

// parseProperties is java.util.Properties.load: lines that end in an odd number
// of backslashes go on in the next; of two settings of a name the last holds.
// Errors quote nothing: values may be secrets.
func parseProperties(raw []byte) (Properties, error) {
	out := Properties{}
	n := 0
	for len(raw) > 0 {
		var line []byte
		first := n + 1
		for more := true; more; {
			var natural []byte
			natural, raw = cutLine(raw)
			n++
			natural = bytes.TrimLeft(natural, blank)
			if len(line) == 0 && (len(natural) == 0 || natural[0] == '#' || natural[0] == '!') {
				break // blank, or a comment: neither goes on
			}
			slashes := len(natural) - len(bytes.TrimRight(natural, `\`))
			if more = slashes%2 == 1; more {
				natural = natural[:len(natural)-1]
			}
			line = append(line, natural...)
			more = more && len(raw) > 0
		}
		if len(line) == 0 {
			continue
		}
		key, value := cutProperty(line)
		k, errKey := unescape(key)
		v, errValue := unescape(value)
		if errKey != nil || errValue != nil {
			return nil, fmt.Errorf("line %d is not a Java property: a bad \\u escape", first)
		}
		out[k] = v
	}
	return out, nil
}

// blank is white space within a line.
const blank = " \t\f"

// cutLine takes the first line off, which ends with \n, \r or both.
func cutLine(raw []byte) (line, rest []byte) {
	i := bytes.IndexAny(raw, "\r\n")
	if i < 0 {
		return raw, nil
	}
	end := i + 1
	if raw[i] == '\r' && end < len(raw) && raw[end] == '\n' {
		end++
	}
	return raw[:i], raw[end:]
}

// cutProperty parts a line at its first =, : or blank that is not escaped.
func cutProperty(line []byte) (key, value []byte) {
	i := 0
	for ; i < len(line) && !strings.ContainsRune(blank+"=:", rune(line[i])); i++ {
		if line[i] == '\\' {
			i++
		}
	}
	i = min(i, len(line))
	key, value = line[:i], bytes.TrimLeft(line[i:], blank)
	if len(value) > 0 && (value[0] == '=' || value[0] == ':') {
		value = bytes.TrimLeft(value[1:], blank)
	}
	return key, value
}

// unescape reads ISO-8859-1 with Java's escapes.
func unescape(b []byte) (string, error) {
	var units []uint16
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			if b[i] != '\\' {
				units = append(units, uint16(b[i]))
			}
			continue
		}
		i++
		switch b[i] {
		case 'u':
			if len(b) < i+5 {
				return "", strconv.ErrSyntax
			}
			u, err := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
			if err != nil {
				return "", err
			}
			units, i = append(units, uint16(u)), i+4
		case 't', 'n', 'r', 'f':
			units = append(units, uint16(map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f'}[b[i]]))
		default:
			units = append(units, uint16(b[i]))
		}
	}
	return string(utf16.Decode(units)), nil
}
