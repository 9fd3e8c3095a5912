"""python -m services.crossencoder: settings, model, serve."""

from services.crossencoder.assembly import open_service
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = CrossEncoderSettings.load()
    async with open_service(settings) as service:
        await serve(settings, "crossencoder", service.register, warm_up=service.warm_up)


if __name__ == "__main__":
    run_service(main())
