"""What the two rerankers share: the order of results, their form on the wire, and the stream.

colbert and crossencoder serve one contract (protos/folio/rerank/v1/rerank.proto); what a caller can
see of it is here, so that either can stand where the other did.
"""
