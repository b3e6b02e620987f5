package tui

// textScreen is a text that does not change.
type textScreen struct {
	title string
	text  *textBody
}

func newTextScreen(title string, lines []line) *textScreen {
	t := newText(lines)
	t.wrap = true
	return &textScreen{title, t}
}

func (s *textScreen) crumb() string               { return s.title }
func (s *textScreen) summary(*Model, *frame) line { return nil }
func (s *textScreen) build(*Model, *frame)        {}
func (s *textScreen) body() component             { return s.text }
