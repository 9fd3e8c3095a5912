"""python -m services.colbert: settings, encoder, database, serve."""

from services.colbert.assembly import open_service
from services.colbert.settings import ColbertSettings
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = ColbertSettings.load()
    async with open_service(settings) as service:
        await serve(
            settings, "colbert", service.register, warm_up=service.warm_up, check=service.check
        )


if __name__ == "__main__":
    run_service(main())
