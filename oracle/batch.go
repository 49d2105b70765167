package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// scenario is one line of input. A snapshot is named by path or given in place, and so are the instance types.
type scenario struct {
	ID            json.RawMessage  `json:"id"`
	Snapshot      []string         `json:"snapshot"`
	Objects       []map[string]any `json:"objects"`
	InstanceTypes json.RawMessage  `json:"instanceTypes"`
	Flags         map[string]any   `json:"flags"`
	Disrupt       string           `json:"disrupt"` // what to answer instead of plans: one pass or all of them
}

// The two ways to ask for disruptions.
const (
	disruptOnce       = "once"
	disruptToConverge = "converge"
)

// answer is one line of output: as many plans or disruptions as runs, or an error.
type answer struct {
	ID          json.RawMessage `json:"id"`
	Plans       []plan          `json:"plans,omitempty"`
	Disruptions []disruptions   `json:"disruptions,omitempty"`
	Warnings    []string        `json:"warnings,omitempty"`
	Error       string          `json:"error,omitempty"`
}

// runBatch answers each line before it reads the next, so that a caller can also talk to it.
func runBatch(args []string, in io.Reader, out, warn io.Writer) error {
	flags := flag.NewFlagSet("batch", flag.ContinueOnError)
	flags.SetOutput(warn)
	runs := flags.Int("runs", 5, "how many plans to make of each scenario")
	if err := flags.Parse(args); err != nil {
		return err
	}
	lines, encoder := bufio.NewReader(in), json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := encoder.Encode(answerLine(line, *runs)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answerLine(line []byte, runs int) (a answer) {
	s := scenario{}
	if err := json.Unmarshal(line, &s); err != nil {
		return answer{ID: json.RawMessage("null"), Error: err.Error()}
	}
	a.ID = s.ID
	warnings := &strings.Builder{}
	defer func() {
		// Karpenter panics on some objects that no API server would accept. That is one scenario's trouble only.
		if panicked := recover(); panicked != nil {
			a.Plans, a.Disruptions, a.Error = nil, nil, fmt.Sprintf("panic: %v", panicked)
		}
		a.Warnings = strings.FieldsFunc(warnings.String(), func(r rune) bool { return r == '\n' })
	}()
	if err := s.answer(&a, runs, warnings); err != nil {
		a.Plans, a.Disruptions, a.Error = nil, nil, err.Error()
	}
	return a
}

func (s *scenario) answer(a *answer, runs int, warn io.Writer) error {
	settings, cluster, provider, err := s.read(warn)
	if err != nil {
		return err
	}
	switch s.Disrupt {
	case "":
		p, err := newPlanner(settings, cluster, provider)
		for i := 0; i < runs && err == nil; i++ {
			var made plan
			made, err = p.plan()
			a.Plans = append(a.Plans, made)
		}
		return err
	case disruptOnce, disruptToConverge:
		for range runs {
			made, err := disrupt(settings, cluster, provider, s.Disrupt == disruptToConverge)
			if err != nil {
				return err
			}
			a.Disruptions = append(a.Disruptions, made)
		}
		return nil
	default:
		return fmt.Errorf("disrupt is %q: use %s or %s, or leave it out", s.Disrupt, disruptOnce, disruptToConverge)
	}
}

func (s *scenario) read(warn io.Writer) (*settings, *store, *fileProvider, error) {
	var args []string
	for _, name := range sortedKeys(s.Flags) {
		args = append(args, fmt.Sprintf("--%s=%v", name, s.Flags[name]))
	}
	settings, err := parseSettings("batch", args, warn, func(*options.FlagSet) {})
	if err != nil {
		return nil, nil, nil, err
	}
	name, raw := "instanceTypes", []byte(s.InstanceTypes)
	if json.Unmarshal(s.InstanceTypes, &name) == nil {
		if raw, err = os.ReadFile(name); err != nil {
			return nil, nil, nil, err
		}
	}
	provider, err := parseInstanceTypes(name, raw)
	if err != nil {
		return nil, nil, nil, err
	}
	snapshot := newSnapshot()
	if err := snapshot.readPaths(s.Snapshot, strings.NewReader("")); err != nil {
		return nil, nil, nil, err
	}
	for i, object := range s.Objects {
		if err := snapshot.add(object); err != nil {
			return nil, nil, nil, fmt.Errorf("object %d: %w", i+1, err)
		}
	}
	cluster, err := snapshot.finish(warn)
	return settings, cluster, provider, err
}
