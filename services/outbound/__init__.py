"""Calling other people's APIs: what a failure means, when to try again, and JSON over HTTP.

Every provider behind a network uses this, with an SDK or without, so that a wrong key, a rate limit and an outage
mean the same to our callers whoever was called.
"""
