// Gotemplate executes templates with Go's own text/template, for comparison with Joiner's.
// scripts/install-real-parts builds it.
//
//	gotemplate <questions >answers
//
// Each line of the input is a question, a JSON object:
//
//	{"template": "{{.Name}}", "data": VALUE, "missingkey": "default"}
//
// and each line of the output an answer: {"output": BASE64}, {"parse": ERROR} or {"error": ERROR}.
// Values carry their Go types, see values.go.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"text/template"
)

type question struct {
	Template   string          `json:"template"`
	Data       json.RawMessage `json:"data"`
	MissingKey string          `json:"missingkey"`
}

type answer struct {
	Output []byte `json:"output,omitempty"`
	Parse  string `json:"parse,omitempty"`
	Error  string `json:"error,omitempty"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "gotemplate: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	questions := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	answers := json.NewEncoder(out)
	for questions.More() {
		var asked question
		if err := questions.Decode(&asked); err != nil {
			return err
		}
		given, err := execute(asked)
		if err != nil {
			return err
		}
		if err := answers.Encode(given); err != nil {
			return err
		}
	}
	return nil
}

func execute(asked question) (answer, error) {
	data, err := read(asked.Data)
	if err != nil {
		return answer{}, fmt.Errorf("data of %q: %w", asked.Template, err)
	}
	missing := asked.MissingKey
	if missing == "" {
		missing = "default"
	}
	parsed, err := template.New("node").Option("missingkey=" + missing).Funcs(functions).Parse(asked.Template)
	if err != nil {
		return answer{Parse: err.Error()}, nil
	}
	var output bytes.Buffer
	if data.IsValid() {
		err = parsed.Execute(&output, data)
	} else {
		err = parsed.Execute(&output, nil)
	}
	if err != nil {
		return answer{Error: err.Error()}, nil
	}
	return answer{Output: output.Bytes()}, nil
}
