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
}

// answer is one line of output: as many plans as runs, or an error.
type answer struct {
	ID       json.RawMessage `json:"id"`
	Plans    []plan          `json:"plans,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Error    string          `json:"error,omitempty"`
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
			a.Plans, a.Error = nil, fmt.Sprintf("panic: %v", panicked)
		}
		a.Warnings = strings.FieldsFunc(warnings.String(), func(r rune) bool { return r == '\n' })
	}()
	p, err := s.planner(warnings)
	for i := 0; i < runs && err == nil; i++ {
		var made plan
		made, err = p.plan()
		a.Plans = append(a.Plans, made)
	}
	if err != nil {
		a.Plans, a.Error = nil, err.Error()
	}
	return a
}

func (s *scenario) planner(warn io.Writer) (*planner, error) {
	var args []string
	for _, name := range sortedKeys(s.Flags) {
		args = append(args, fmt.Sprintf("--%s=%v", name, s.Flags[name]))
	}
	settings, err := parseSettings("batch", args, warn, func(*options.FlagSet) {})
	if err != nil {
		return nil, err
	}
	name, raw := "instanceTypes", []byte(s.InstanceTypes)
	if json.Unmarshal(s.InstanceTypes, &name) == nil {
		if raw, err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	provider, err := parseInstanceTypes(name, raw)
	if err != nil {
		return nil, err
	}
	snapshot := newSnapshot()
	if err := snapshot.readPaths(s.Snapshot, strings.NewReader("")); err != nil {
		return nil, err
	}
	for i, object := range s.Objects {
		if err := snapshot.add(object); err != nil {
			return nil, fmt.Errorf("object %d: %w", i+1, err)
		}
	}
	cluster, err := snapshot.finish(warn)
	if err != nil {
		return nil, err
	}
	return newPlanner(settings, cluster, provider)
}
