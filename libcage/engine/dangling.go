package engine

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/image"
)

// DanglingImages returns the images that have all the labels and no name: what
// newer builds have replaced (ImageList). An empty value stands for any.
func (c *Client) DanglingImages(ctx context.Context, labels map[string]string) ([]Image, error) {
	filter := labelFilter(labels)
	filter.Add("dangling", "true")
	var raw []image.Summary
	err := c.call(ctx, "ImageList", func() (err error) {
		raw, err = c.api.ImageList(ctx, image.ListOptions{Filters: filter})
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []Image
	for _, summary := range raw {
		list = append(list, Image{
			ID: summary.ID, Labels: summary.Labels,
			Created: time.Unix(summary.Created, 0), SizeBytes: summary.Size,
		})
	}
	return list, nil
}
