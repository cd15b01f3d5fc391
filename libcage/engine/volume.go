package engine

import (
	"context"
	"errors"

	"github.com/docker/docker/api/types/volume"
)

// Volume is a named volume of the engine.
type Volume struct {
	Name   string
	Labels map[string]string
	// Created is in RFC 3339; empty if the driver does not say.
	Created string
}

// Volumes lists the volumes that have all the labels; an empty value stands
// for any (VolumeList).
func (c *Client) Volumes(ctx context.Context, labels map[string]string) ([]Volume, error) {
	var raw volume.ListResponse
	err := c.call(ctx, "VolumeList", func() (err error) {
		raw, err = c.api.VolumeList(ctx, volume.ListOptions{Filters: labelFilter(labels)})
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []Volume
	for _, v := range raw.Volumes {
		list = append(list, Volume{Name: v.Name, Labels: v.Labels, Created: v.CreatedAt})
	}
	return list, nil
}

// RemoveVolume removes a volume (VolumeRemove). One that is gone is no error;
// one in use is ErrConflict.
func (c *Client) RemoveVolume(ctx context.Context, name string) error {
	err := c.call(ctx, "VolumeRemove", func() error {
		return c.api.VolumeRemove(ctx, name, false)
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
