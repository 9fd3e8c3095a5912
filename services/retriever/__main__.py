"""python -m services.retriever: settings, database, models, serve."""

from services.retriever.assembly import open_service
from services.retriever.settings import RetrieverSettings
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = RetrieverSettings.load()
    async with open_service(settings) as service:
        await serve(
            settings, "retriever", service.register, warm_up=service.warm_up, check=service.check
        )


if __name__ == "__main__":
    run_service(main())
