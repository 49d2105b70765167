// Go's templates as a program. scripts/install-real-parts builds it.
module joiner.dev/realparts/gotemplate

go 1.26.0

require (
	github.com/apparentlymart/go-cidr v1.1.0
	go.yaml.in/yaml/v3 v3.0.4
)
