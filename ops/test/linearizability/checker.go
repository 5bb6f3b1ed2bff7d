// Reads the history of a run from stdin, one JSON line for each operation, with the operations of a key next to each
// other, and checks the operations of each key with Porcupine as soon as the next key begins. Ends at the first key
// that is not explained by its model, with a picture of it in the folder of the argument.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// "A change is live on every edge within 1 s" (ns).
const liveWithin = int64(time.Second)

// A search that takes longer has the verdict Unknown, which fails the run.
const searchWithin = time.Minute

type input struct {
	Op        string `json:"op"`
	URL       string `json:"url,omitempty"`
	MaxClicks int    `json:"maxClicks,omitempty"`
	IfMatch   int    `json:"ifMatch,omitempty"`
	Limit     int    `json:"limit,omitempty"`
}

// Fields that a response does not have are zero.
type output struct {
	Status     int    `json:"status"`
	Message    string `json:"message,omitempty"`
	URL        string `json:"url,omitempty"`
	State      string `json:"state,omitempty"`
	Version    int    `json:"version,omitempty"`
	MaxClicks  int    `json:"maxClicks,omitempty"`
	ClicksLeft int    `json:"clicksLeft,omitempty"`
	Used       int    `json:"used,omitempty"`
}

// An operation of a process, or a cut: a time in which edges may be cut off from PostgreSQL. An operation without an
// output was not answered; a cut without an end (0) is not over. Times are ns of one monotonic clock.
type line struct {
	Kind   string  `json:"kind"`
	Key    string  `json:"key"`
	Input  input   `json:"input"`
	Output *output `json:"output"`
	Call   int64   `json:"call"`
	Return int64   `json:"return"`
}

// The state of an object of any kind. `Count` is the clicks or links that were taken, `Limit` their limit.
type state struct {
	Status, URL           string
	Version, Limit, Count int
}

const live, deleted = "active", "deleted"

// An operation that was not answered has no output, so any is right.
func (o *output) is(status int) bool { return o == nil || o.Status == status }

func (o *output) says(status int, text string) bool {
	return o.is(status) && (o == nil || o.Message == text)
}

// Returns whether the output is right in this state, and the next state. An effect after all other operations is none.
type step func(s state, in input, out *output) (bool, state)

var kinds = []string{"alias", "limit", "destination", "quota"}
var steps = map[string]step{"alias": alias, "limit": limit, "destination": destination, "quota": quota}

// An alias is given once, and never again after its deletion.
func alias(s state, in input, out *output) (bool, state) {
	switch in.Op + " " + s.Status {
	case "create ":
		return out.is(201), state{Status: live, URL: in.URL}
	case "create active", "create deleted":
		return out.says(400, "Alias is already taken"), s
	case "delete active", "delete deleted":
		return out.is(204), state{Status: deleted, URL: s.URL}
	case "visit active":
		return out.is(302) && out.URL == s.URL, s
	case "visit deleted":
		return out.is(410), s
	case "get active", "get deleted":
		return out.is(200) && out.State == s.Status && out.URL == s.URL, s
	}
	return out.is(404), s
}

// A link with a limit of N clicks redirects N visitors. The limit is never below the clicks taken.
func limit(s state, in input, out *output) (bool, state) {
	if s.Status == "" {
		return in.Op == "create" && out.is(201), state{Status: live, Limit: in.MaxClicks}
	}
	switch in.Op {
	case "visit":
		if s.Count >= s.Limit {
			return out.is(410), s
		}
		s.Count++
		return out.is(302), s
	case "patch":
		if in.MaxClicks < s.Count {
			return out.says(400, fmt.Sprintf("maxClicks must be at least %d, the clicks taken", s.Count)), s
		}
		s.Limit = in.MaxClicks
		return out.is(200), s
	case "get":
		return out.is(200) && out.MaxClicks == s.Limit, s
	case "clicks":
		return out.MaxClicks-out.ClicksLeft == s.Count || out.ClicksLeft == 0 && s.Count > out.MaxClicks, s
	}
	return false, s
}

// Each change of a link has the next version. With If-Match, it is refused unless the link has that version.
func destination(s state, in input, out *output) (bool, state) {
	next := state{Status: live, URL: in.URL, Version: s.Version + 1}
	if s.Status == "" {
		return in.Op == "create" && out.is(201), next
	}
	switch in.Op {
	case "patch":
		if in.IfMatch != 0 && in.IfMatch != s.Version {
			return out.is(412), s
		}
		return out == nil || out.Status == 200 && out.URL == next.URL && out.Version == next.Version, next
	case "get":
		return out.is(200) && out.URL == s.URL && out.Version == s.Version, s
	case "visit":
		return out.is(302) && out.URL == s.URL, s
	}
	return false, s
}

// A key creates as many links as its plan allows, and its usage counts each of them.
func quota(s state, in input, out *output) (bool, state) {
	switch in.Op {
	case "create":
		if s.Count >= in.Limit {
			return out.says(429, "Monthly link limit reached."), s
		}
		s.Count++
		return out.is(201), s
	case "usage":
		return out.is(200) && out.Used == s.Count, s
	}
	return false, s
}

// An operation that changes nothing: only visits of links with a limit are counted in the state.
func isRead(l line) bool {
	return slices.Contains([]string{"get", "usage"}, l.Input.Op) || l.Input.Op == "visit" && l.Kind != "limit"
}

// Whether an edge may answer from its memory: with a redirect (one of a link with a limit takes a click), or that a
// limit is reached, which may have been raised since.
func isFromMemory(l line) bool {
	isLimit, out := l.Kind == "limit", l.Output
	return l.Input.Op == "visit" && out != nil && (isLimit && out.Status == 410 || !isLimit && out.Status == 302)
}

// The earliest time at which the answer of an edge may have been current. Unless the object may have changed since then,
// an earlier time explains nothing, but lengthens the search, which grows exponentially with concurrent operations.
func currentSince(l line, lines []line, cuts map[int64]int64) int64 {
	since := l.Call
	for begin, end := range cuts {
		if begin < since && (end == 0 || l.Call <= end) {
			since = begin
		}
	}
	since -= liveWithin
	for _, w := range lines {
		isWrite := !isRead(w) && w.Input.Op != "visit" && (w.Output == nil || w.Output.Status < 300)
		if isWrite && w.Call <= l.Return && (w.Output == nil || w.Return >= since) {
			return since
		}
	}
	return l.Call
}

func operations(lines []line, cuts map[int64]int64) (history []porcupine.Operation, unanswered int) {
	add := func(in input, l line) {
		// Each has its own row in the picture, because a process can have others that overlap.
		history = append(history, porcupine.Operation{ClientId: len(history), Input: in, Output: l.Output, Call: l.Call, Return: l.Return})
	}
	for i, l := range lines {
		if isFromMemory(l) {
			l.Call = currentSince(l, lines, cuts)
			lines[i] = l
			// What explains the same answer of a shorter time explains this one too.
			if slices.ContainsFunc(lines[:i], func(m line) bool {
				return isFromMemory(m) && m.Output.URL == l.Output.URL && l.Call <= m.Call && m.Return <= l.Return
			}) {
				continue
			}
		}
		in := l.Input
		if l.Output == nil {
			unanswered++
			if isRead(l) {
				continue
			}
			l.Return = math.MaxInt64
		}
		add(in, l)
		if l.Kind == "limit" && in.Op == "get" && l.Output.Status == 200 {
			// Both numbers are exact, but need not be of the same moment.
			in.Op = "clicks"
			add(in, l)
		}
	}
	return history, unanswered
}

func model(s step) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return state{} },
		Step: func(before, in, out interface{}) (bool, interface{}) {
			return s(before.(state), in.(input), out.(*output))
		},
		DescribeOperation: func(in, out interface{}) string {
			text, _ := json.Marshal([]interface{}{in, out})
			return string(text)
		},
		DescribeState: func(s interface{}) string { return fmt.Sprintf("%+v", s) },
	}
}

type total struct {
	keys, operations, unanswered int
	verdict                      porcupine.CheckResult
}

// Checks the operations of one key. Returns the file with the picture of a violation.
func (t *total) check(lines []line, cuts map[int64]int64, pictures string) (picture string, err error) {
	m := model(steps[lines[0].Kind])
	history, unanswered := operations(lines, cuts)
	verdict, info := porcupine.CheckOperationsVerbose(m, history, searchWithin)
	t.keys, t.operations, t.unanswered = t.keys+1, t.operations+len(lines), t.unanswered+unanswered
	if verdict == porcupine.Ok {
		return "", nil
	}
	t.verdict = verdict
	picture = filepath.Join(pictures, lines[0].Kind+"-"+lines[0].Key+".html")
	return picture, porcupine.VisualizePath(m, info, picture)
}

// Checks the history on stdin until the end, or until the first violation.
func run(pictures string) (picture string, err error) {
	totals := map[string]*total{}
	for _, kind := range kinds {
		totals[kind] = &total{verdict: porcupine.Ok}
	}
	cuts := map[int64]int64{}
	var lines []line
	scanner := bufio.NewScanner(os.Stdin)
	for isOpen := true; isOpen && picture == ""; {
		isOpen = scanner.Scan()
		var next line
		if err := json.Unmarshal(scanner.Bytes(), &next); isOpen && err != nil {
			return "", err
		}
		if next.Kind == "cut" {
			cuts[next.Call] = next.Return
			continue
		}
		if len(lines) > 0 && (next.Kind != lines[0].Kind || next.Key != lines[0].Key) {
			if picture, err = totals[lines[0].Kind].check(lines, cuts, pictures); err != nil {
				return "", err
			}
			lines = nil
		}
		lines = append(lines, next)
	}
	fmt.Println("| kind | keys | operations | unanswered | verdict |\n|---|---:|---:|---:|---|")
	for _, kind := range kinds {
		t := totals[kind]
		fmt.Printf("| %s | %d | %d | %d | %s |\n", kind, t.keys, t.operations, t.unanswered, t.verdict)
	}
	return picture, scanner.Err()
}

func main() {
	picture, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if picture != "" {
		fmt.Println(picture)
		os.Exit(1)
	}
}
