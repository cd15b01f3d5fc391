// Package show prints a plan: for people, as JSON, and as the docker command
// that makes an equal container.
package show

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/agent-cage/agent-cage/libcage/face"
	"github.com/agent-cage/agent-cage/libcage/plan"
)

// Plan prints a plan in one of its forms.
func Plan(w io.Writer, p *plan.Plan, form face.Form) error {
	switch form {
	case face.AsJSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(p)
	case face.AsDocker:
		_, err := fmt.Fprintln(w, DockerRun(p))
		return err
	default:
		return People(w, p)
	}
}
