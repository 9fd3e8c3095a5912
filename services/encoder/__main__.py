"""python -m services.encoder: settings, model, serve."""

from services.encoder.assembly import open_service
from services.encoder.settings import EncoderSettings
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = EncoderSettings.load()
    async with open_service(settings) as service:
        await serve(settings, "encoder", service.register, warm_up=service.warm_up)


if __name__ == "__main__":
    run_service(main())
