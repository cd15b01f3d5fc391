package launch

import (
	"context"
	"sync"

	"github.com/agent-cage/agent-cage/libcage/handshake"
)

// window is the size of the box's terminal.
type window struct {
	mu sync.Mutex
	// framed is the size that cage-init was told, now what the box has as far as
	// is known.
	framed, now *handshake.Size
}

// tell notes the size that cage-init is about to be told.
func (w *window) tell(size *handshake.Size) *handshake.Size {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.framed, w.now = size, size
	return size
}

// starts is called when cage-init has done what it was told, which was perhaps
// after a fit.
func (w *window) starts() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.framed
}

// fit makes the box's terminal as large as the caller's, if it is not. Of
// several calls at once, each looks anew when the one before is through.
func (w *window) fit(size func() *handshake.Size, resize func(handshake.Size) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := size()
	if want == nil || w.now != nil && *want == *w.now {
		return nil
	}
	if err := resize(*want); err != nil {
		return err
	}
	w.now = want
	return nil
}

// windowStarts makes the size right before the harness's first byte is passed
// on, if it changed in the handshake.
func (s *session) windowStarts() {
	s.window.starts()
	s.windowChanged(false)
}

// windowChanged gives the box the terminal's size. After a stop the terminal
// shows something else, and the harness is asked to draw anew.
func (s *session) windowChanged(resumed bool) {
	err := s.window.fit(s.console.size, func(size handshake.Size) error {
		ctx, cancel := context.WithTimeout(context.Background(), removal)
		defer cancel()
		return s.engine.Resize(ctx, s.id, uint(size.Rows), uint(size.Cols))
	})
	if err != nil {
		s.say.debug("resize: %v", err)
	}
	if !resumed {
		return
	}
	select {
	case <-s.started:
		s.signal("SIGCONT")
		s.signal("SIGWINCH")
	default:
	}
}
