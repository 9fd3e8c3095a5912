"""python -m services.retriever: settings, database, models, serve."""

from services.retriever.settings import RetrieverSettings
from services.retriever.stage import open_stage
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = RetrieverSettings.load()
    async with open_stage(settings) as stage:
        await serve(
            settings,
            "retriever",
            stage.servicer.register,
            warm_up=stage.warm_up,
            check=stage.check,
        )


if __name__ == "__main__":
    run_service(main())
