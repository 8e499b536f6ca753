// Package reachpb is the service of an agent that speaks gRPC and is made for Agent-Reach, as agentreach/v1/agent.proto has it.
package reachpb

//go:generate protoc --go_out=../../../.. --go-grpc_out=../../../.. --go_opt=module=github.com/agentreach/agent-reach --go-grpc_opt=module=github.com/agentreach/agent-reach agentreach/v1/agent.proto
