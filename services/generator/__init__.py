"""The generator: every call of a language model (rewrite, expand, answer, judge), and what stands in for one.

What it returns is checked by the gateway: a citation here is a claim, not a proof.
"""
