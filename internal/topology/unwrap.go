package topology

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// document is one text with the application id its wrapping told.
type document struct {
	text, appID string
}

// unwrapJSON finds the topologies in a JSON document: Spring's actuator prints
// an array of texts, ksqlDB's EXPLAIN an object with one. Not JSON, or no
// topology in it: nil.
func unwrapJSON(text string) []document {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "[") && !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, `"`) {
		return nil
	}
	var v any
	if json.Unmarshal([]byte(trimmed), &v) != nil {
		return nil
	}
	return findTexts(v, "", nil)
}

func findTexts(v any, appID string, out []document) []document {
	switch v := v.(type) {
	case string:
		if header.MatchString(v) {
			out = append(out, document{v, appID})
		}
	case []any:
		for _, e := range v {
			out = findTexts(e, "", out)
		}
	case map[string]any:
		id, _ := v["id"].(string)
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			out = findTexts(v[k], id, out)
		}
	}
	return out
}

// line is one line of the text without its wrapping.
type line struct {
	number int
	text   string
}

var (
	ansi        = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	stringPiece = regexp.MustCompile(`^[^"]*"((?:[^"\\]|\\.)*)"\s*[+;,)\s]*$`)
	escapes     = strings.NewReplacer(`\n`, "\n", `\r`, "", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\'`, `'`)
	meaningful  = regexp.MustCompile(`Sub-topolog|Topolog(y|ies):|(Source|Processor|Sink):|-->|<--`)
)

// lines cuts a text into lines and takes off string quotes, terminal colours
// and carriage returns. Other prefixes stay: the line patterns look past them.
func lines(text string) []line {
	var out []line
	for i, raw := range strings.Split(text, "\n") {
		s := ansi.ReplaceAllString(strings.TrimRight(raw, "\r"), "")
		if m := stringPiece.FindStringSubmatch(s); m != nil && (meaningful.MatchString(m[1]) || m[1] == `\n`) {
			for _, part := range strings.Split(strings.TrimSuffix(escapes.Replace(m[1]), "\n"), "\n") {
				out = append(out, line{i + 1, part})
			}
			continue
		}
		out = append(out, line{i + 1, s})
	}
	return out
}

var decoration = regexp.MustCompile("^[\\s*/`'\"|#;>+()-]*$")

// prefixed says whether what stands before a keyword may be a log, comment or
// container prefix.
func prefixed(s string) bool {
	s = strings.TrimRight(s, " \t")
	return s == "" || strings.ContainsRune(`|-:/*#>]"`, rune(s[len(s)-1]))
}
