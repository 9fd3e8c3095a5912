"""python -m services.gateway: settings, keys, clients, serve."""

from services.gateway.assembly import open_service
from services.gateway.settings import GatewaySettings
from services.rpc.serve import run_service, serve


async def main() -> None:
    settings = GatewaySettings.load()
    async with open_service(settings) as service:
        await serve(settings, "gateway", service.register, authenticate=service.authenticate)


if __name__ == "__main__":
    run_service(main())
