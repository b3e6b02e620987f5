package kafka

import (
	"errors"
	"fmt"
	"strings"
)

// jaasEntry is the login module of a sasl.jaas.config with its options.
type jaasEntry struct {
	module  string
	options map[string]string
}

// parseJAAS reads a sasl.jaas.config value: one entry of the form
//
//	module required key="value" key=value … ;
//
// as org.apache.kafka.common.security.JaasConfig does with Java's
// StreamTokenizer, a little more lenient with unquoted values. Its errors say
// where, never what: the text holds a password.
func parseJAAS(s string) (jaasEntry, error) {
	t := jaasLexer{s: s}
	e := jaasEntry{options: map[string]string{}}
	var err error
	if e.module, err = t.word("the login module"); err != nil {
		return jaasEntry{}, err
	}
	flag, err := t.word("the control flag")
	if err != nil {
		return jaasEntry{}, err
	}
	switch strings.ToLower(flag) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return jaasEntry{}, errors.New("the login module must be followed by a control flag such as required")
	}
	for n := 1; ; n++ {
		tok, kind, err := t.next()
		switch {
		case err != nil:
			return jaasEntry{}, err
		case kind == jaasEOF:
			return jaasEntry{}, errors.New("the entry must end with a semicolon")
		case kind == ';':
			if _, kind, err := t.next(); err != nil || kind != jaasEOF {
				return jaasEntry{}, errors.New("there must be one login module, ended by a semicolon")
			}
			return e, nil
		case kind != jaasWord:
			return jaasEntry{}, fmt.Errorf("option %d: a name expected at character %d", n, t.at)
		}
		if _, kind, err := t.next(); err != nil || kind != '=' {
			return jaasEntry{}, fmt.Errorf("option %d: = expected at character %d", n, t.at)
		}
		v, err := t.word(fmt.Sprintf("the value of option %d", n))
		if err != nil {
			return jaasEntry{}, err
		}
		e.options[tok] = v
	}
}

const (
	jaasEOF  = rune(-1)
	jaasWord = rune(-2)
)

type jaasLexer struct {
	s  string
	at int
}

func (l *jaasLexer) word(what string) (string, error) {
	tok, kind, err := l.next()
	if err != nil {
		return "", err
	}
	if kind != jaasWord {
		return "", fmt.Errorf("%s is missing at character %d", what, l.at)
	}
	return tok, nil
}

// next returns a word (jaasWord), one of '=' and ';', or jaasEOF.
func (l *jaasLexer) next() (string, rune, error) {
	if err := l.skip(); err != nil {
		return "", 0, err
	}
	if l.at >= len(l.s) {
		return "", jaasEOF, nil
	}
	switch c := l.s[l.at]; c {
	case '=', ';':
		l.at++
		return "", rune(c), nil
	case '"', '\'':
		return l.quoted(c)
	}
	start := l.at
	for l.at < len(l.s) && l.s[l.at] > ' ' && !strings.ContainsRune(`=;"'`, rune(l.s[l.at])) {
		l.at++
	}
	return l.s[start:l.at], jaasWord, nil
}

// skip passes white space and comments.
func (l *jaasLexer) skip() error {
	for l.at < len(l.s) {
		rest := l.s[l.at:]
		switch {
		case rest[0] <= ' ':
			l.at++
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.at += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return fmt.Errorf("the comment at character %d has no end", l.at)
			}
			l.at += n + 4
		default:
			return nil
		}
	}
	return nil
}

// quoted reads a quoted string with StreamTokenizer's escapes.
func (l *jaasLexer) quoted(q byte) (string, rune, error) {
	start := l.at
	var b strings.Builder
	for l.at++; l.at < len(l.s); l.at++ {
		c := l.s[l.at]
		switch c {
		case q:
			l.at++
			return b.String(), jaasWord, nil
		case '\n', '\r':
			return "", 0, fmt.Errorf("the quote at character %d is not closed on its line", start)
		case '\\':
			if l.at++; l.at >= len(l.s) {
				continue
			}
			b.WriteString(l.escape())
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, fmt.Errorf("the quote at character %d is not closed", start)
}

func (l *jaasLexer) escape() string {
	c := l.s[l.at]
	if i := strings.IndexByte("abfnrtv", c); i >= 0 {
		return "\a\b\f\n\r\t\v"[i : i+1]
	}
	if c < '0' || c > '7' {
		return string([]byte{c})
	}
	v, most := rune(c-'0'), 2
	if c > '3' {
		most = 1 // up to \377
	}
	for ; most > 0 && l.at+1 < len(l.s) && l.s[l.at+1] >= '0' && l.s[l.at+1] <= '7'; most-- {
		l.at++
		v = v*8 + rune(l.s[l.at]-'0')
	}
	return string(v)
}
