package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
)

// Image is an image of the engine's store.
type Image struct {
	// Ref is the reference that it was asked for by.
	Ref     string
	ID      string
	Labels  map[string]string
	Created time.Time
	// SizeBytes is that of all its layers.
	SizeBytes int64
}

// Images looks up references in the engine's store, all in one call
// (ImageList). What the store does not have is not in the result.
func (c *Client) Images(ctx context.Context, refs ...string) (map[string]Image, error) {
	filter := filters.NewArgs()
	for _, ref := range refs {
		filter.Add("reference", ref)
	}
	var list []image.Summary
	err := c.call(ctx, "ImageList", func() (err error) {
		list, err = c.api.ImageList(ctx, image.ListOptions{Filters: filter})
		return err
	})
	if err != nil {
		return nil, err
	}
	byTag := map[string]image.Summary{}
	for _, summary := range list {
		for _, tag := range summary.RepoTags {
			byTag[tag] = summary
		}
	}
	found := map[string]Image{}
	for _, ref := range refs {
		if summary, ok := byTag[tagged(ref)]; ok {
			found[ref] = Image{
				Ref:       ref,
				ID:        summary.ID,
				Labels:    summary.Labels,
				Created:   time.Unix(summary.Created, 0),
				SizeBytes: summary.Size,
			}
		}
	}
	return found, nil
}

// tagged completes a reference without a tag.
func tagged(ref string) string {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	if strings.ContainsAny(name, ":@") {
		return ref
	}
	return ref + ":latest"
}

// Image looks up one reference (ImageList). An image that the store does not
// have is a *ResponseError that is ErrNotFound.
func (c *Client) Image(ctx context.Context, ref string) (Image, error) {
	images, err := c.Images(ctx, ref)
	if err != nil {
		return Image{}, err
	}
	img, ok := images[ref]
	if !ok {
		return Image{}, &ResponseError{Call: "ImageList", Message: "no such image: " + ref, kind: ErrNotFound}
	}
	return img, nil
}

// RemoveImage removes an image, or one of its names, and the untagged parents
// that nothing else needs (ImageRemove). One that is gone is no error; one that
// a container or another image stands on is ErrConflict.
func (c *Client) RemoveImage(ctx context.Context, ref string) error {
	err := c.call(ctx, "ImageRemove", func() error {
		_, err := c.api.ImageRemove(ctx, ref, image.RemoveOptions{PruneChildren: true})
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
