"""Who calls: an API key or a JWT gives the tenant, before any work is done.

Nothing else in a call's metadata says who it is: a tenant header or an internal token sent by a client is not read.
"""

import json
import logging
import time
from pathlib import Path
from typing import Any

import jwt

from services.gateway.keys import CHECK_S, SCOPES, KeyFile
from services.gateway.settings import GatewaySettings
from services.rpc import identity
from services.rpc.errors import FailedPrecondition, Unauthenticated
from services.rpc.identity import Principal

log = logging.getLogger("folio.gateway")

KEY_TYPES = {"RS256": "RSA", "ES256": "EC", "HS256": "oct"}
LEAST_HMAC_BYTES = 32
# Longer tokens are refused before anything reads them.
MAX_TOKEN_CHARACTERS = 8192


class Tokens:
    """Verifies JWTs (RFC 7519) as RFC 8725 asks: one algorithm, from the settings, whatever the token says."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._algorithm = settings.jwt_algorithm
        self._jwks = (
            JwksFile(settings.jwt_jwks_file, self._algorithm) if settings.jwt_jwks_file else None
        )
        secret = settings.jwt_key.get_secret_value()
        if (
            self._jwks is None
            and self._algorithm == "HS256"
            and len(secret.encode()) < LEAST_HMAC_BYTES
        ):
            raise FailedPrecondition(
                f"FOLIO_JWT_KEY needs at least {LEAST_HMAC_BYTES} bytes for HS256"
            )
        if self._jwks is None:
            try:
                jwt.get_algorithm_by_name(self._algorithm).prepare_key(secret)
            except (jwt.PyJWTError, ValueError, TypeError):
                raise FailedPrecondition(
                    f"FOLIO_JWT_KEY is not a public key in PEM for {self._algorithm}"
                ) from None

    def principal(self, token: str) -> Principal:
        """Who the token speaks for; Unauthenticated if it does not hold."""
        settings = self._settings
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._key(token),
                algorithms=[self._algorithm],
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer,
                options={"require": ["exp", "iss", "aud"]},
                leeway=5,
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the token is not valid: {type(error).__name__}") from None
        organization = claims.get(settings.jwt_organization_claim)
        rooftop = claims.get(settings.jwt_rooftop_claim)
        if not identity.is_id(organization):
            raise Unauthenticated(
                f"the token's claim '{settings.jwt_organization_claim}' must be a positive integer"
            )
        if rooftop is not None and not identity.is_id(rooftop):
            raise Unauthenticated(
                f"the token's claim '{settings.jwt_rooftop_claim}' must be a positive integer"
            )
        return Principal(
            organization_id=organization,
            rooftop_id=rooftop,
            subject=str(claims.get("sub", ""))[:200],
            scopes=_scopes(claims.get(settings.jwt_scopes_claim)),
        )

    def _key(self, token: str) -> Any:
        if self._jwks is None:
            return self._settings.jwt_key.get_secret_value()
        return self._jwks.key(jwt.get_unverified_header(token).get("kid"))


def _scopes(claim: object) -> frozenset[str]:
    words = claim.split() if isinstance(claim, str) else claim
    if not isinstance(words, list):
        return frozenset()
    return frozenset(word for word in words if isinstance(word, str)) & SCOPES


class JwksFile:
    """Public keys by `kid` (RFC 7517), of the one type that the algorithm uses; read again when the file changes."""

    def __init__(self, path: Path, algorithm: str) -> None:
        self._path, self._algorithm = path, algorithm
        self._checked_at = time.monotonic()
        self._modified = 0
        self._keys: dict[str, Any] = {}
        self._load()

    def key(self, kid: object) -> Any:
        """The key of this id; without an id, the only one there is. InvalidTokenError if there is none."""
        if time.monotonic() - self._checked_at >= CHECK_S:
            self._checked_at = time.monotonic()
            self._load()
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if not isinstance(kid, str) or kid not in self._keys:
            raise jwt.InvalidTokenError("no such key")
        return self._keys[kid]

    def _load(self) -> None:
        try:
            modified = self._path.stat().st_mtime_ns
            if modified == self._modified:
                return
            self._modified = modified
            entries = json.loads(self._path.read_bytes())["keys"]
            self._keys = {
                entry.get("kid", ""): jwt.PyJWK(entry, self._algorithm).key
                for entry in entries
                if entry.get("kty") == KEY_TYPES[self._algorithm]
                and entry.get("use", "sig") == "sig"
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError):
            if not self._keys:
                raise FailedPrecondition("FOLIO_JWT_JWKS_FILE is not a readable key set") from None
            log.error("the key set is broken; the former keys stay")


class Authenticator:
    """Called by the server for every call, with its metadata; gives the caller or raises Unauthenticated."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._keys = KeyFile(settings.keys_file) if settings.keys_file else None
        self._tokens = Tokens(settings) if settings.jwt_algorithm else None
        if self._keys is None and self._tokens is None:
            raise FailedPrecondition(
                "no caller could sign in: set FOLIO_KEYS_FILE, FOLIO_JWT_ALGORITHM, or both"
            )

    def __call__(self, metadata: dict[str, list[str]]) -> Principal:
        credential = identity.bearer(metadata)
        if len(credential) > MAX_TOKEN_CHARACTERS:
            raise Unauthenticated("the credential is too long to be a key or token of this service")
        if credential.count(".") == 2:
            if self._tokens is None:
                raise Unauthenticated("this service accepts API keys, not JWTs")
            return self._tokens.principal(credential)
        if self._keys is None:
            raise Unauthenticated("this service accepts JWTs, not API keys")
        return self._keys.principal(credential)
