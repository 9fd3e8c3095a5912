"""Prometheus metrics and OpenTelemetry spans of calls. Labels are method names and status codes, nothing else."""

from opentelemetry import propagate, trace
from prometheus_client import Counter, Gauge, Histogram, start_http_server

from services.rpc.errors import FailedPrecondition

CALLS = Counter("folio_calls_total", "Calls served, by method and status.", ["method", "code"])
SECONDS = Histogram(
    "folio_call_seconds",
    "Time to serve a call.",
    ["method"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
RUNNING = Gauge("folio_calls_running", "Calls being served now.", ["method"])

tracer = trace.get_tracer("folio")


def split_address(address: str) -> tuple[str, int]:
    """("host", port) of "host:port". FailedPrecondition if it is not one."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise FailedPrecondition(f"'{address}' is not host:port")
    return host.strip("[]"), int(port)


def serve_metrics(address: str) -> None:
    """Starts the Prometheus page in a thread of its own, if there is an address."""
    if address:
        host, port = split_address(address)
        start_http_server(port, addr=host)


def trace_metadata() -> tuple[tuple[str, str], ...]:
    """Metadata that carries the current span to the next hop (W3C Trace Context)."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return tuple(carrier.items())


def configure_tracing(service: str, endpoint: str) -> None:
    """Exports spans by OTLP to an endpoint, if there is one. FailedPrecondition without the extra `otel`."""
    if not endpoint:
        return
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        raise FailedPrecondition(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set but the exporter is not installed: pip install 'folio[otel]'"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": f"folio-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    trace.set_tracer_provider(provider)
