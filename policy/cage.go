package policy

// maxCaged bounds a command that is handed to sbox as one argument, in bytes;
// the kernel takes 128 KiB.
const maxCaged = 100 << 10

// Cage returns the command that runs the text as it stands, with bash, in the
// cage. ok is false where that would not be the same text, or where what runs
// before sbox would not be caged.
func (c *Classifier) Cage(call Call) (command string, ok bool) {
	if !IsShell(call.Tool) || c.inputKeys(call.Input, shellKeys, "command") != nil {
		return "", false
	}
	text := call.Input.Get("command").Text
	if _, hidden := firstHidden(text); text == "" || len(text) > maxCaged || hidden != "" {
		return "", false
	}
	c.facts.Do(c.learn)
	if c.env != nil || c.sbox == "" {
		return "", false
	}
	return quoteAll([]string{c.sbox, "bash", "-c", text}), true
}
