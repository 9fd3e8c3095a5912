"""python -m services.generator: settings, models, serve."""

from services.generator.assembly import open_service
from services.generator.settings import GeneratorSettings
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = GeneratorSettings.load()
    async with open_service(settings) as service:
        await serve(settings, "generator", service.servicer.register)


if __name__ == "__main__":
    run_service(main())
