package topology

import "strings"

// recognised is what one line says.
type recognised struct {
	kind   lineKind
	at     int // where it begins: a prefix is before
	node   NodeKind
	name   string // of a node, or of a named topology
	what   string // the word before the colon in a node's parentheses
	value  string // what stands there
	tight  bool   // no space before the parenthesis, as Kafka 1.0 printed it
	arrows string // "--> a, b <-- c", from the first arrow on
	id     string // of a sub-topology
	global bool
	strong bool // a header that only a topology has
}

type lineKind int8

const (
	otherLine  lineKind = iota
	decoration          // nothing but blanks, quotes, comment and table marks
	nodeLine            // perhaps with arrows behind it
	globalLine          // "GlobalStore: name (topic: a)" of Kafka 1.0, perhaps with its arrow
	cutNode             // begins as a node
	arrowLine           //
	subLine             // "Sub-topology: 0"
	headerLine          // "Topologies:" and its other forms
	noneLine            // "Global Stores:", and the "none" below it
)

var nodeWords = [...]nodeWord{{"Source:", Source}, {"Processor:", Processor}, {"Sink:", Sink}, {"GlobalStore:", globalStore}}

// globalStore is a source and its processor in Kafka 1.0, where they have no
// number and come last.
const globalStore NodeKind = "global store"

// recognise looks past what may stand before the words of a topology: log,
// comment and container prefixes. Nodes come first: their names may hold
// anything.
func recognise(s string) recognised {
	bare := strings.TrimLeft(s, " \t")
	if bare == "" || !letter(bare[0]) && strings.IndexByte(decorations, bare[len(bare)-1]) >= 0 && strings.Trim(bare, decorations) == "" {
		return recognised{kind: decoration}
	}
	if strings.HasPrefix(bare, "-->") || strings.HasPrefix(bare, "<--") {
		return recognised{kind: arrowLine, at: len(s) - len(bare), arrows: bare}
	}
	if r, ok := recogniseNode(s, len(s)-len(bare)); ok {
		return r
	}
	if at := firstArrow(s); at >= 0 && prefixed(s[:at]) {
		return recognised{kind: arrowLine, at: at, arrows: s[at:]}
	}
	if r, ok := recogniseSub(s); ok {
		return r
	}
	if r, ok := recogniseHeader(s); ok {
		return r
	}
	if strings.HasSuffix(strings.TrimRight(s, " \t"), "|") { // an empty line behind a container's name
		return recognised{kind: decoration}
	}
	return recognised{}
}

const decorations = " \t*/`'\"|#;>+()-"

type nodeWord struct {
	word string
	kind NodeKind
}

// findNodeWord finds the word that begins a node: the first one of the line,
// or one behind a prefix.
func findNodeWord(s string, bare int) (int, nodeWord) {
	for _, w := range nodeWords {
		if strings.HasPrefix(s[bare:], w.word) {
			return bare, w
		}
	}
	at, word := -1, nodeWords[0]
	for _, w := range nodeWords {
		if i := strings.Index(s, w.word); i >= 0 && (at < 0 || i < at) && atWord(s, i) && prefixed(s[:i]) {
			at, word = i, w
		}
	}
	return at, word
}

// opens is the word before the colon right behind a node's parenthesis; "" when
// it is no node's.
func opens(s string) string {
	for _, what := range [...]string{"stores", "topic", "topics", "extractor class"} {
		if rest, ok := strings.CutPrefix(s, what); ok && strings.HasPrefix(rest, ":") {
			return what
		}
	}
	return ""
}

// recogniseNode reads "Source: name (topics: [a, b])" and its kin in s, whose
// first word is at bare.
func recogniseNode(s string, bare int) (recognised, bool) {
	at, word := findNodeWord(s, bare)
	if at < 0 {
		return recognised{}, false
	}
	r := recognised{kind: cutNode, at: at, node: word.kind}
	rest := strings.TrimLeft(s[at+len(word.word):], " \t")
	if rest == "" {
		return r, false
	}
	open, end := -1, -1
	for from := 0; ; {
		i := strings.IndexByte(rest[from:], '(')
		if i < 0 {
			break
		}
		from += i + 1
		if what := opens(rest[from:]); what != "" {
			if from > 1 {
				open, end, r.what = from-1, from+len(what)+1, what
			}
			break
		}
	}
	if open < 0 {
		// Only the end of a text is a cut: a log has such words too.
		before := strings.TrimRight(s[:at], " \t")
		return r, before == "" || strings.ContainsRune(`|*/#"`, rune(before[len(before)-1]))
	}
	r.name = strings.TrimRight(rest[:open], " \t")
	r.tight = len(r.name) == open
	value := rest[end:]
	if i := inlineArrow(value); i >= 0 {
		value, r.arrows = value[:i], value[i:]
	}
	last := strings.LastIndexByte(value, ')')
	if last < 0 || r.name == "" {
		return r, true
	}
	r.kind, r.value = nodeLine, strings.TrimSpace(value[:last])
	if r.node == globalStore {
		r.kind = globalLine
	}
	return r, true
}

// indexOpen finds "(what:" in s: where it begins, and where the value does.
func indexOpen(s, what string) (at, end int) {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '(')
		if i < 0 {
			return -1, 0
		}
		from += i + 1
		if rest, ok := strings.CutPrefix(s[from:], what); ok && strings.HasPrefix(rest, ":") {
			return from - 1, from + len(what) + 1
		}
	}
}

// inlineArrow finds the first arrow behind a closing parenthesis.
func inlineArrow(s string) int {
	for from := 0; ; {
		i := firstArrow(s[from:])
		if i < 0 {
			return -1
		}
		from += i
		if before := strings.TrimRight(s[:from], " \t"); strings.HasSuffix(before, ")") {
			return from
		}
		from += 3
	}
}

// firstArrow is where the first "-->" or "<--" is, or -1.
func firstArrow(s string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], "--")
		if i < 0 {
			return -1
		}
		i += from
		switch {
		case i > 0 && s[i-1] == '<':
			return i - 1
		case i+2 < len(s) && s[i+2] == '>':
			return i
		}
		from = i + 1
	}
}

// recogniseSub reads "Sub-topology: 1 for global store (will not generate
// tasks)".
func recogniseSub(s string) (recognised, bool) {
	const word = "Sub-topology:"
	i := strings.Index(s, word)
	if i < 0 || !atWord(s, i) {
		return recognised{}, false
	}
	rest := strings.TrimLeft(s[i+len(word):], " \t")
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	behind := strings.TrimSpace(rest[digits:])
	r := recognised{kind: subLine, at: i, id: rest[:digits], global: strings.HasPrefix(behind, "for global store")}
	return r, digits > 0 && (r.global || strings.Trim(behind, decorations) == "")
}

// recogniseHeader reads the line above sub-topologies. "Topology: name:" is
// that of a named topology.
func recogniseHeader(s string) (recognised, bool) {
	s = strings.TrimRight(s, " \t")
	ends := func(word string) bool { return strings.HasSuffix(s, word) && atWord(s, len(s)-len(word)) }
	switch {
	case ends("Topologies:"), ends("Sub-topologies:"):
		return recognised{kind: headerLine, strong: true}, true
	case ends("Topology"), ends("Topology:"):
		return recognised{kind: headerLine}, true
	case ends("Global Stores:"), strings.Trim(s, decorations) == "none":
		return recognised{kind: noneLine}, true
	}
	const word = "Topology:"
	if i := strings.Index(s, word); i >= 0 && atWord(s, i) && strings.HasSuffix(s, ":") && i+len(word) < len(s) {
		if name := strings.TrimSpace(s[i+len(word) : len(s)-1]); name != "" {
			return recognised{kind: headerLine, name: name}, true
		}
	}
	return recognised{}, false
}

// atWord says whether a word that begins at i is not the end of another.
func atWord(s string, i int) bool {
	if i == 0 {
		return true
	}
	c := s[i-1]
	return !(c == '-' || c == '.' || c == '_' || c >= '0' && c <= '9' || letter(c))
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// prefixed says whether what stands before a keyword may be a log, comment or
// container prefix.
func prefixed(s string) bool {
	s = strings.TrimRight(s, " \t")
	return s == "" || strings.IndexByte(`|-:/*#>]"`, s[len(s)-1]) >= 0
}
