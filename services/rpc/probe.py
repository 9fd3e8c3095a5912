"""Asks a server's health service, for container probes: `python -m services.rpc.probe host:port [service]`.

Exit status 0 if it says SERVING, else 1 with the reason on standard error.
"""

import sys
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

TIMEOUT_S = 3.0


def probe(address: str, service: str = "") -> str:
    """Empty if the service is SERVING, else why not."""
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            reply = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            return error.code().name
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(reply.status)
    return "" if status == "SERVING" else status


if __name__ == "__main__":
    problem = probe(*sys.argv[1:3])
    if problem:
        sys.exit(problem)
