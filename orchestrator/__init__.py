"""The gRPC service: agents, inference, knowledge, flow."""
