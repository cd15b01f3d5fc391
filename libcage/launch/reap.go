package launch

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/agent-cage/agent-cage/libcage/atomicfile"
	"github.com/agent-cage/agent-cage/libcage/lifecycle"
	"github.com/agent-cage/agent-cage/libcage/plan"
	"github.com/agent-cage/agent-cage/libcage/receipt"
)

// identify finds out who this launcher is to its boxes.
func (l *launcher) identify(f *facts) {
	host, err := lifecycle.ThisHost()
	if err != nil {
		l.say.warn(fmt.Sprintf("a box that this launcher leaves would have to be removed by hand: %v", err))
		return
	}
	// Behind sudo, the box is the caller's to see.
	host.Self.UID = f.caller.UID
	l.host = host
}

// own marks the box and its volume as this launcher's.
func (l *launcher) own(p *plan.Plan) {
	p.Labels[lifecycle.LabelPosture] = string(p.Posture.Mode)
	if l.host != nil {
		maps.Copy(p.Labels, l.host.Self.Labels())
		for _, v := range p.Volumes {
			if v.Name != "" {
				maps.Copy(v.Labels, l.host.Self.OwnerLabels())
			}
		}
	}
	if l.options.NameFile == "" {
		return
	}
	var err error
	if p.NameFile, err = filepath.Abs(l.options.NameFile); err != nil {
		l.say.warn(fmt.Sprintf("--name-file: %v", err))
		return
	}
	p.Labels[lifecycle.LabelNameFile] = p.NameFile
}

// reap removes beside the launch what dead launchers have left. The returned
// function ends that, for which it waits no longer than one removal takes: what
// was not come to is the next launch's.
func (b *box) reap(ctx context.Context) (end func()) {
	if b.host == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go b.console.guard(func() {
		defer close(done)
		removed, err := lifecycle.Reap(ctx, b.engine, b.host)
		for _, dead := range removed {
			b.say.debug("removed the box %s, whose launcher is dead", dead.Name)
		}
		if err != nil {
			b.say.debug("boxes of dead launchers: %v", err)
		}
		b.sweep()
	})
	return func() {
		cancel()
		<-done
	}
}

// sweep removes the files that launchers were killed in the middle of writing.
func (l *launcher) sweep() {
	top := l.stateHome()
	for _, dir := range []string{top, filepath.Join(top, "engines"), l.pins().Dir, receipt.Dir(top)} {
		if err := atomicfile.Sweep(dir); err != nil {
			l.say.debug("files of dead launchers: %v", err)
		}
	}
}
