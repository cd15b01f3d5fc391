package launch

import (
	"context"
	"time"

	"github.com/agent-cage/agent-cage/libcage/receipt"
)

// The engine counts a box's traffic only while that runs, and nobody waits for
// it at the end: it is asked now and then, less often as time goes by.
const (
	trafficSoonest = 2 * time.Second
	trafficPause   = 30 * time.Second
)

// countTraffic keeps the receipt's account of the network until ctx ends.
func (k *keeper) countTraffic(ctx context.Context) {
	select {
	case <-k.started:
	case <-ctx.Done():
		return
	}
	for pause := trafficSoonest; ; pause = min(2*pause, trafficPause) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		moved, err := k.engine.Traffic(ctx, k.id)
		if err != nil && ctx.Err() == nil {
			k.say.debug("network: %v", err)
		}
		if moved == nil {
			return
		}
		k.record.moved(receipt.Network{At: time.Now(), ReceivedBytes: moved.Received, SentBytes: moved.Sent})
	}
}
