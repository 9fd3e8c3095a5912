"""Who a call is for. The gateway learns it from the key, the other services from a token that the gateway signs.

Tokens are JWTs (RFC 7519), HS256, alive for at most five minutes, for one service each (`aud`).
"""

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeGuard

import jwt

from services.rpc.errors import FailedPrecondition, PermissionDenied, Unauthenticated

ALGORITHM = "HS256"
ISSUER = "folio-gateway"
LIFETIME_S = 300.0
MIN_SECRET_BYTES = 32
# Ids are bigints in the database.
MAX_ID = 2**63 - 1


@dataclass(frozen=True)
class Principal:
    """The tenant of a call: the organization and, if restricted to one, the part of it (rooftop)."""

    organization_id: int
    rooftop_id: int | None = None
    subject: str = ""
    scopes: frozenset[str] = field(default_factory=frozenset)

    def require(self, scope: str) -> None:
        """PermissionDenied unless the caller was given this scope."""
        if scope not in self.scopes:
            raise PermissionDenied(f"this needs the scope '{scope}', which the caller's key lacks")


_principal: ContextVar[Principal | None] = ContextVar("principal", default=None)
_request_id: ContextVar[str] = ContextVar("request_id", default="")


def current() -> Principal:
    """The principal of the call that is being served. Unauthenticated outside one."""
    principal = _principal.get()
    if principal is None:
        raise Unauthenticated("the call carries no identity")
    return principal


def organization() -> int | None:
    """The organization of the call that is being served; None outside one."""
    principal = _principal.get()
    return principal.organization_id if principal else None


def request_id() -> str:
    """The id of the call that is being served; empty outside one."""
    return _request_id.get()


def enter(principal: Principal, request: str) -> None:
    """Makes a principal the current one for the rest of this task; called by the server interceptor."""
    _principal.set(principal)
    _request_id.set(request)


def is_id(value: object) -> TypeGuard[int]:
    """Whether a claim can be the id of an organization or a rooftop."""
    return type(value) is int and 0 < value <= MAX_ID


def check_secret(secret: str) -> str:
    """The secret, or FailedPrecondition if it is too short to sign with."""
    if len(secret.encode()) < MIN_SECRET_BYTES:
        raise FailedPrecondition(
            f"FOLIO_INTERNAL_SECRET must have at least {MIN_SECRET_BYTES} bytes; make one with `openssl rand -hex 32`"
        )
    return secret


def sign(principal: Principal, audience: str, secret: str, *, lifetime_s: float = 60.0) -> str:
    """A token that lets the service `audience` act for the principal, for min(lifetime_s, 300) seconds."""
    now = time.time()
    return jwt.encode(
        {
            "iss": ISSUER,
            "aud": audience,
            "sub": principal.subject,
            "org": principal.organization_id,
            "roof": principal.rooftop_id,
            "scopes": sorted(principal.scopes),
            "iat": now,
            "exp": now + min(lifetime_s, LIFETIME_S),
        },
        check_secret(secret),
        algorithm=ALGORITHM,
    )


class Signer:
    """Signs for one service. A token is used again while most of its life is left: a call checks it on arrival only."""

    REUSED_S = 20.0
    KEPT = 1024

    def __init__(self, audience: str, secret: str) -> None:
        self._audience, self._secret = audience, check_secret(secret)
        self._tokens: dict[Principal, tuple[float, str]] = {}

    def token(self, principal: Principal) -> str:
        """A token that holds for at least another forty seconds."""
        now = time.monotonic()
        made, token = self._tokens.get(principal, (-self.REUSED_S, ""))
        if now - made >= self.REUSED_S:
            if len(self._tokens) >= self.KEPT:
                self._tokens.clear()
            token = sign(principal, self._audience, self._secret)
            self._tokens[principal] = (now, token)
        return token


class Verifier:
    """Checks the tokens of one service, each once: after that only whether it has expired."""

    KEPT = 1024

    def __init__(self, audience: str, secret: str) -> None:
        self._audience, self._secret = audience, check_secret(secret)
        self._known: dict[str, tuple[float, Principal]] = {}

    def principal(self, token: str) -> Principal:
        """As verify()."""
        until, principal = self._known.get(token, (0.0, None))
        if principal is None or time.time() >= until:
            principal, until = _read(token, self._audience, self._secret)
            if len(self._known) >= self.KEPT:
                self._known.clear()
            self._known[token] = (until, principal)
        return principal


def verify(token: str, audience: str, secret: str) -> Principal:
    """The principal of a token; Unauthenticated if it is altered, expired, or meant for another service."""
    return _read(token, audience, secret)[0]


def _read(token: str, audience: str, secret: str) -> tuple[Principal, float]:
    """The principal of a token, and when it expires (seconds since the epoch)."""
    try:
        claims = jwt.decode(
            token,
            check_secret(secret),
            algorithms=[ALGORITHM],
            audience=audience,
            issuer=ISSUER,
            options={"require": ["exp", "iat", "aud", "iss", "org"]},
            leeway=5,
        )
        organization, rooftop = claims["org"], claims.get("roof")
        scopes = claims.get("scopes", [])
        if not is_id(organization) or not (rooftop is None or is_id(rooftop)):
            raise Unauthenticated("the identity token names no organization")
        if not isinstance(scopes, list):
            raise Unauthenticated("the identity token's scopes are not a list")
        if claims["exp"] - claims["iat"] > LIFETIME_S:
            raise Unauthenticated("the identity token lives longer than five minutes")
    except jwt.PyJWTError as error:
        raise Unauthenticated(f"the identity token is not valid: {type(error).__name__}") from None
    principal = Principal(
        organization_id=organization,
        rooftop_id=rooftop,
        subject=str(claims.get("sub", "")),
        scopes=frozenset(map(str, scopes)),
    )
    return principal, float(claims["exp"])


def bearer(metadata: dict[str, list[str]]) -> str:
    """The one bearer token of a call; Unauthenticated if there is none or more than one (RFC 6750)."""
    values = metadata.get("authorization", [])
    if len(values) != 1:
        raise Unauthenticated("send exactly one `authorization: Bearer <token>`")
    scheme, _, token = values[0].partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("the authorization must be `Bearer <token>`")
    return token.strip()
