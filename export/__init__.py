"""Checkpoints to ONNX and TensorRT-LLM, into the model repository; writes files and talks to Triton only."""
