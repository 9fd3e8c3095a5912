"""Opens channels to our services: sizes, keepalive, retries, load balancing, TLS.

One per target, for the life of the process.
"""

import json
from collections.abc import Sequence

import grpc

from services.rpc.settings import ServerSettings


def service_config(retried: Sequence[str]) -> str:
    """gRPC service config: round robin, and up to three tries of the named idempotent services on UNAVAILABLE.

    `retried` holds fully qualified service names. Throttled (gRFC A6), so that retries cannot become a storm;
    nothing is hedged.
    """
    config: dict[str, object] = {"loadBalancingConfig": [{"round_robin": {}}]}
    if retried:
        config["retryThrottling"] = {"maxTokens": 10, "tokenRatio": 0.1}
        config["methodConfig"] = [
            {
                "name": [{"service": service} for service in retried],
                "retryPolicy": {
                    "maxAttempts": 3,
                    "initialBackoff": "0.05s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    return json.dumps(config)


def channel_options(
    max_message_bytes: int, retried: Sequence[str] = ()
) -> list[tuple[str, int | str]]:
    """Channel arguments of every client of ours; keepalive matches serve.py."""
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.enable_http_proxy", 0),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 20_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.enable_retries", 1 if retried else 0),
        ("grpc.service_config", service_config(retried)),
        # A service that was down is found again within two seconds.
        ("grpc.max_reconnect_backoff_ms", 2_000),
        # Its own connections: a shared one may be waiting out the failures of another channel.
        ("grpc.use_local_subchannel_pool", 1),
    ]


def open_channel(
    address: str, settings: ServerSettings, retried: Sequence[str] = ()
) -> grpc.aio.Channel:
    """A channel to `host:port` or `dns:///name:port`. Must be made in the running loop, and closed."""
    options = channel_options(settings.max_message_bytes, retried)
    if settings.tls_ca is None:
        return grpc.aio.insecure_channel(address, options=options)
    credentials = grpc.ssl_channel_credentials(
        settings.tls_ca.read_bytes(),
        settings.tls_key.read_bytes() if settings.tls_key else None,
        settings.tls_certificate.read_bytes() if settings.tls_certificate else None,
    )
    return grpc.aio.secure_channel(address, credentials, options=options)
