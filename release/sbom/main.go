// Command sbom writes what a Go program is made of as a CycloneDX 1.6 document: the modules, with
// version and checksum, that the toolchain recorded in the binary. The same binary always gives the
// same document.
//
//	go run ./release/sbom FILE FILE.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// document is the part of CycloneDX 1.6 that is used here.
type document struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("expected a binary and the file to write, given %d arguments", len(args))
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], append(text, '\n'), 0o644)
}

// describe returns the document of one binary.
func describe(info *debug.BuildInfo) document {
	d := document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	d.Metadata.Component = componentOf("application", &info.Main)
	d.Metadata.Properties = []property{{"go:version", info.GoVersion}}
	for _, s := range info.Settings {
		d.Metadata.Properties = append(d.Metadata.Properties, property{"go:build:" + s.Key, s.Value})
	}
	d.Components = []component{{
		Type: "library", Name: "std", Version: info.GoVersion,
		PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Components = append(d.Components, componentOf("library", m))
	}
	return d
}

// componentOf describes a module. The checksum is that of go.sum ("h1:", the SHA-256 of a list of
// the files' hashes), which CycloneDX has no name for other than SHA-256.
func componentOf(kind string, m *debug.Module) component {
	c := component{
		Type: kind, Name: m.Path, Version: m.Version,
		PURL: "pkg:golang/" + m.Path + "@" + m.Version,
	}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil &&
		len(sum) > 0 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	}
	return c
}
