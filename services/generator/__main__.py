"""Runs the generator: `python -m services.generator`."""

import asyncio

from services.generator.assembly import assemble
from services.generator.servicer import GeneratorServicer
from services.generator.settings import GeneratorSettings
from services.rpc.limits import Gate
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = GeneratorSettings.load()
    parts = await asyncio.to_thread(assemble, settings)
    gate = Gate(settings.max_concurrency, settings.max_queue)
    await serve(settings, "generator", GeneratorServicer(parts, gate).register)


if __name__ == "__main__":
    run_service(main())
