"""Locust users and the P95 gates that decide the exit code."""
