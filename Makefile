# Agent-Reach. `make` alone prints the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
PACKAGES ?= ./...
# One package at a time, since each starts broker servers of its own; within it several tests, since they wait more than they work.
PARALLEL ?= 1
TESTS    ?= 4
TIMEOUT  ?= 15m
FUZZTIME ?= 10s

# The race detector needs a C compiler; an empty RACE_CC says that there is none.
RACE_CC := $(shell command -v $(firstword $(shell $(GO) env CC)) 2>/dev/null)
RACE    := $(if $(RACE_CC),-race)
TEST     = $(if $(RACE_CC),CGO_ENABLED=1) $(GO) test $(RACE) -p $(PARALLEL) -parallel $(TESTS) -timeout $(TIMEOUT)

# A static binary: it runs wherever the kernel does.
STATIC = CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

.PHONY: help
help: ## Print this list
	@while IFS= read -r line; do \
		if [[ $$line =~ ^([a-z-]+):.*'## '(.*) ]]; then printf '  make %-15s %s\n' "$${BASH_REMATCH[@]:1}"; fi; \
	done < $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build the static binary bin/reach
	$(STATIC) -o bin/reach ./cmd/reach

# What runs whole processes runs them as users do, without the race detector; test-race has them with it.
STORIES  = $(shell $(GO) list $(PACKAGES) | grep '/integration')
THE_REST = $(shell $(GO) list $(PACKAGES) | grep -v '/integration')

.PHONY: test
test: race-note test-needs ## Set up what the tests need, and run them: with the race detector where there is a C compiler, the stories without
	@status=0; \
	$(if $(THE_REST),$(TEST) $(THE_REST) || status=1;) \
	$(if $(STORIES),$(GO) test -p $(PARALLEL) -parallel $(TESTS) -timeout $(TIMEOUT) $(STORIES) || status=1;) \
	exit $$status

.PHONY: test-race
test-race: race-note ## Run all tests with the race detector: some twenty minutes
	$(TEST) $(PACKAGES)

.PHONY: test-disturbed
test-disturbed: ## Run the tests that use the feed again, with 1 % of it lost, doubled or swapped
	REACH_BROKERTEST_DISTURB=0.01 $(GO) test -count=1 -p $(PARALLEL) -parallel $(TESTS) -timeout $(TIMEOUT) ./dispatcher ./worker

.PHONY: race-note
race-note:
	@$(if $(RACE_CC),true,echo 'No C compiler ($(shell $(GO) env CC)) here: the tests run WITHOUT the race detector.')

.PHONY: check
check: lint floors test ## What a change must pass: lint, floors, race tests

.PHONY: floors
floors: ## Check which package imports which
	$(GO) test -count=1 -run '^TestFloors' ./integration

.PHONY: lint
lint: format-check ## Run gofumpt (check only), vet, staticcheck and errorlint
	$(GO) vet $(PACKAGES)
	$(GO) tool staticcheck $(PACKAGES)
	$(GO) tool go-errorlint $(PACKAGES)

.PHONY: format-check
format-check:
	@unformatted=$$($(GO) tool gofumpt -l .); \
	if [[ -n $$unformatted ]]; then \
		printf 'These files are not formatted; run make fmt:\n%s\n' "$$unformatted"; exit 1; \
	fi

.PHONY: fmt
fmt: ## Format every Go file
	$(GO) tool gofumpt -w .

FOREIGN = integration/foreign/node

.PHONY: foreign
foreign: $(FOREIGN)/node_modules/.package-lock.json ## Install the example worker in JavaScript and two MCP servers; their tests are skipped without
	@:

$(FOREIGN)/node_modules/.package-lock.json: $(FOREIGN)/package-lock.json
	cd $(FOREIGN) && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

# What needs a thing that is missing is skipped, which nobody would see: go test does not show what passing tests print.
.PHONY: test-needs
test-needs:
	@missing=(); \
	for program in npm curl jq mosquitto_pub; do command -v $$program >/dev/null || missing+=("$$program"); done; \
	/usr/bin/python3 -c 'import fastapi, uvicorn, websockets, grpc' 2>/dev/null || missing+=('agents in Python'); \
	command -v npm >/dev/null && { $(MAKE) foreign || missing+=('npm packages'); }; \
	if (($${#missing[@]})); then \
		IFS=,; echo "NOT TESTED, since it is missing here (.ci/run installs it on Debian): $${missing[*]}"; \
	fi

CHAOS ?= 10m
NODES ?= 1
SEED  ?= 0

.PHONY: chaos
chaos: ## Kill, freeze and cut everything for CHAOS (10m), on NODES (1 or 3) brokers, and check that nothing is lost; SEED repeats a run
	$(GO) test -count=1 -v -timeout 90m -run '^TestChaos$$' ./integration -chaos $(CHAOS) -nodes $(NODES) -seed $(SEED)

SOAK ?= 30m

.PHONY: soak
soak: ## Run everything at half of its capacity for SOAK (30m), and check that latency, memory and goroutines stay constant
	$(GO) test -count=1 -v -timeout 90m -run '^TestSoak$$' ./integration -soak $(SOAK)

.PHONY: bench
bench: build ## Measure Agent-Reach on this machine, compared with plain NATS: some three minutes
	@exec bin/reach bench

.PHONY: bench-full
bench-full: build ## The same with more tasks, five repetitions and a million open tasks: half an hour
	@exec bin/reach bench --full

.PHONY: bench-choice
bench-choice: build ## Measure the effect of choosing by score among uneven agents: ten minutes
	@exec bin/reach bench --scenarios R

.PHONY: streams
streams: ## Measure the cost of slow readers and of many readers: some two minutes
	$(GO) test ./integration/streaming -run 'SlowReader|FiftyReaders' -v -count 1 -timeout 30m -args -slow 100 -fan 60s

.PHONY: bodies
bodies: ## Measure the memory that adapters, workers and dispatchers need for bodies of 100 MB: some five minutes
	ADAPTERTEST_LARGE_MB=100 $(GO) test -v -count 1 -p 1 -run 'Suite/.*/a_large_body|Suite/a_large_body' ./worker/adapter/...
	$(GO) test ./integration -run 'LittleMemoryForLargeBodies|LargeBodiesTakeLittleMemory' -v -count 1 -timeout 30m -args -bodies 3

.PHONY: bench-go
bench-go: ## Run the benchmarks of single functions
	$(GO) test -run '^$$' -bench . -benchmem -p 1 -timeout 30m $(PACKAGES)

.PHONY: fuzz-short
fuzz-short: ## Run each fuzz test for FUZZTIME (10s)
	@{ grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . || true; } | \
	while IFS=: read -r file func; do \
		echo "$$file $$func"; \
		$(GO) test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
	done

# Building says a dot for each package: the first time takes a minute or two.
.PHONY: demo
demo: ## Show Agent-Reach at work: two agents, a summary, a review, a trace
	@echo 'Building (a dot a package; the first time takes a minute or two)'
	@$(STATIC) -v -o bin/ \
		./cmd/reach ./scripts/agents/... ./scripts/demo 2>&1 | \
		{ dots=; while IFS= read -r line; do \
			if [[ $$line =~ ^[^\ \#:]+$$ ]]; then printf .; dots=1; else printf '%s\n' "$$line"; fi; \
		done; if [[ $$dots ]]; then echo; fi; }
	@exec bin/demo

IMAGE       ?= agent-reach
IMAGE_FILES ?= bin/image

.PHONY: image-files
image-files: ## Lay out the files of the image in bin/image
	rm -rf $(IMAGE_FILES)
	mkdir -p $(IMAGE_FILES)/agents $(IMAGE_FILES)/data
	$(STATIC) -o $(IMAGE_FILES)/reach ./cmd/reach
	$(STATIC) -o $(IMAGE_FILES)/agents ./scripts/agents/...
	$(GO) run ./scripts/licenses -out $(IMAGE_FILES)/licenses ./cmd/reach ./scripts/agents/...

.PHONY: image
image: image-files ## Build the image from what this machine compiles
	docker build -t $(IMAGE) --build-arg FILES=prebuilt .

.PHONY: secrets
secrets: ## Make the secrets that docker-compose.yml names
	scripts/compose/make-secrets

.PHONY: compose
compose: secrets image-files ## Start the cluster of docker-compose.yml in containers
	REACH_IMAGE_FILES=prebuilt docker compose up --detach --wait

.PHONY: cluster
cluster: ## Start the cluster of docker-compose.yml as plain processes; Ctrl-C stops it
	@$(STATIC) -o bin/ ./cmd/reach ./scripts/agents/... ./scripts/cluster
	@exec bin/cluster

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
