package engine

import (
	"context"
	"encoding/json"

	"github.com/docker/docker/api/types/container"
)

// Traffic is what a container has moved over its interfaces, in bytes.
type Traffic struct{ Received, Sent uint64 }

// Traffic asks what a running container has moved so far
// (ContainerStatsOneShot). It is nil for a container without interfaces of its
// own, as those in the host's network.
func (c *Client) Traffic(ctx context.Context, id string) (*Traffic, error) {
	var stats container.StatsResponse
	err := c.call(ctx, "ContainerStatsOneShot", func() error {
		response, err := c.api.ContainerStatsOneShot(ctx, id)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		return json.NewDecoder(response.Body).Decode(&stats)
	})
	if err != nil || len(stats.Networks) == 0 {
		return nil, err
	}
	sum := new(Traffic)
	for _, n := range stats.Networks {
		sum.Received += n.RxBytes
		sum.Sent += n.TxBytes
	}
	return sum, nil
}
