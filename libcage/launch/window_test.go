package launch

import (
	"errors"
	"slices"
	"testing"

	"github.com/agent-cage/agent-cage/libcage/handshake"
)

func TestWindow(t *testing.T) {
	var (
		w      window
		box    handshake.Size
		asked  []handshake.Size
		broken error
	)
	fit := func(rows uint16) {
		t.Helper()
		err := w.fit(func() *handshake.Size { return &handshake.Size{Rows: rows, Cols: 80} }, func(s handshake.Size) error {
			asked = append(asked, s)
			if broken == nil {
				box = s
			}
			return broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
	framed := *w.tell(&handshake.Size{Rows: 1, Cols: 80})
	fit(1) // as told
	fit(2) // the engine is faster than cage-init
	box = framed
	w.starts()
	fit(2)
	if box.Rows != 2 {
		t.Errorf("after a change in the handshake the box has %d rows, want 2", box.Rows)
	}
	fit(2) // nothing new
	broken = errors.New("no engine")
	fit(3)
	broken = nil
	fit(3)
	var rows []uint16
	for _, s := range asked {
		rows = append(rows, s.Rows)
	}
	if want := []uint16{2, 2, 3, 3}; !slices.Equal(rows, want) || box.Rows != 3 {
		t.Errorf("the engine was asked for %v, want %v", rows, want)
	}
	if err := w.fit(func() *handshake.Size { return nil }, nil); err != nil {
		t.Error(err)
	}
}
