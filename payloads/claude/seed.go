package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/agent-cage/agent-cage/libcage/payload"
)

// configFile is where the client keeps what it has asked its user.
const configFile = ".claude.json"

// keyTail is how many of an API key's last characters the client remembers to
// tell keys apart.
const keyTail = 20

// object is a JSON object whose values stay as they are unless they are
// named.
type object map[string]json.RawMessage

// seed answers the four questions that the client asks before a first session
// in a directory: the tour, trust in the directory, use of the API key, and
// the warning about running without prompts. All else in its file stays.
func seed(dir payload.StateDir, s payload.Session) error {
	before, err := dir.ReadFile(configFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after, err := answer(before, s)
	if err != nil {
		return fmt.Errorf("%s is kept as it is: %w", configFile, err)
	}
	if after == nil {
		return nil
	}
	return dir.WriteFile(configFile, after)
}

// answer returns the file's new content, or nil if it has all the answers.
func answer(file []byte, s payload.Session) ([]byte, error) {
	config, err := parse(file)
	if err != nil {
		return nil, err
	}
	changed := config.set("hasCompletedOnboarding", true)
	changed = config.set("bypassPermissionsModeAccepted", true) || changed
	trusted, err := config.trust(s.Project)
	if err != nil {
		return nil, err
	}
	approved, err := config.approve(s.Getenv("ANTHROPIC_API_KEY"))
	if err != nil {
		return nil, err
	}
	if !changed && !trusted && !approved {
		return nil, nil
	}
	return json.MarshalIndent(config, "", "  ")
}

func (o object) trust(project string) (changed bool, err error) {
	projects, err := parse(o["projects"])
	if err != nil {
		return false, fmt.Errorf("projects: %w", err)
	}
	settings, err := parse(projects[project])
	if err != nil {
		return false, fmt.Errorf("projects[%q]: %w", project, err)
	}
	return settings.set("hasTrustDialogAccepted", true) &&
		projects.set(project, settings) && o.set("projects", projects), nil
}

func (o object) approve(key string) (changed bool, err error) {
	if key == "" {
		return false, nil
	}
	responses, err := parse(o["customApiKeyResponses"])
	if err != nil {
		return false, fmt.Errorf("customApiKeyResponses: %w", err)
	}
	approved, err := list(responses["approved"])
	if err != nil {
		return false, fmt.Errorf("customApiKeyResponses.approved: %w", err)
	}
	tail := key[max(0, len(key)-keyTail):]
	if slices.Contains(approved, tail) {
		return false, nil
	}
	return responses.set("approved", append(approved, tail)) &&
		o.set("customApiKeyResponses", responses), nil
}

// set changes a value and reports whether it was another one before.
func (o object) set(name string, value any) (changed bool) {
	raw, err := json.Marshal(value)
	if err != nil || string(o[name]) == string(raw) {
		return false // plain data always encodes
	}
	o[name] = raw
	return true
}

// parse returns the object in raw; nothing and null are an empty one.
func parse(raw []byte) (object, error) {
	if len(raw) == 0 {
		return object{}, nil
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	if o == nil {
		o = object{}
	}
	return o, nil
}

func list(raw []byte) (l []string, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &l)
	}
	return l, err
}
