package serde

import (
	"fmt"
	"strings"
)

// Serde is one form of bytes. Implementations keep no state between calls
// unless they say so, and may be used from several goroutines.
type Serde interface {
	// Name is how Parse reads it: "long", "windowed(string)".
	Name() string
	// Decode returns a value that AppendJSON, Text and Plain know: nil, bool,
	// string, int64, float32, float64, Time, RawJSON, Object, []any. The result
	// does not share memory with b. A nil b is null whatever the serde: it is
	// not handed to Decode.
	Decode(b []byte) (any, error)
	// Encode returns the bytes that a serializer writes for what text says.
	Encode(text string) ([]byte, error)
}

// Factory makes the serdes of a family, by name and arguments; nil, nil when
// the name is none of its own. It is the door for serdes that need more than
// bytes, like those of a schema registry.
type Factory func(name string, args []Serde) (Serde, error)

// Names are the serdes that Parse knows.
func Names() []string {
	return []string{"string", "long", "int", "short", "byte", "double", "float", "boolean", "uuid", "bytes", "hex", "base64", "json", "void",
		"windowed(X)", "session(X)", "list(X)"}
}

// maxNesting bounds how deep serdes may be nested in each other.
const maxNesting = 8

// Parse reads the name of a serde: one of Names, X being a name again, or one
// that a factory knows.
func Parse(text string, more ...Factory) (Serde, error) {
	s, rest, err := parse(text, 0, more)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q is left over", rest)
	}
	if err != nil {
		return nil, fmt.Errorf("serde %q: %w; known are %s", text, err, strings.Join(Names(), ", "))
	}
	return s, nil
}

// parse reads one serde at the start of text and returns what follows.
func parse(text string, depth int, more []Factory) (Serde, string, error) {
	if depth > maxNesting {
		return nil, "", fmt.Errorf("nested deeper than %d", maxNesting)
	}
	text = strings.TrimLeft(text, " ")
	end := strings.IndexAny(text, "(),")
	if end < 0 {
		end = len(text)
	}
	name, rest := strings.TrimSpace(text[:end]), text[end:]
	var args []Serde
	if strings.HasPrefix(rest, "(") {
		for rest = rest[1:]; ; rest = rest[1:] {
			arg, after, err := parse(rest, depth+1, more)
			if err != nil {
				return nil, "", err
			}
			args = append(args, arg)
			if rest = after; rest == "" || rest[0] == '(' {
				return nil, "", fmt.Errorf("%s( is not closed", name)
			}
			if rest[0] == ')' {
				rest = strings.TrimLeft(rest[1:], " ")
				break
			}
		}
	}
	s, err := byName(name, args, more)
	return s, rest, err
}

func byName(name string, args []Serde, more []Factory) (Serde, error) {
	for _, f := range more {
		if s, err := f(name, args); s != nil || err != nil {
			return s, err
		}
	}
	if s := simple(name); s != nil {
		if len(args) > 0 {
			return nil, fmt.Errorf("%s takes nothing in brackets", name)
		}
		return s, nil
	}
	switch name {
	case "windowed", "session", "list":
	case "":
		return nil, fmt.Errorf("a name is missing")
	default:
		return nil, fmt.Errorf("%q is not known", name)
	}
	if len(args) != 1 {
		return nil, fmt.Errorf("%s takes one serde in brackets, like %s(string)", name, name)
	}
	switch name {
	case "windowed":
		return windowedSerde{args[0]}, nil
	case "session":
		return sessionSerde{args[0]}, nil
	}
	return listSerde{args[0]}, nil
}
