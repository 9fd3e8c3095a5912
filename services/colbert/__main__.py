"""python -m services.colbert: settings, encoder, database, serve."""

from services.colbert.settings import ColbertSettings
from services.colbert.stage import open_stage
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = ColbertSettings.load()
    async with open_stage(settings) as stage:
        await serve(settings, "colbert", stage.register, warm_up=stage.warm_up, check=stage.check)


if __name__ == "__main__":
    run_service(main())
