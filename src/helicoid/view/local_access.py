"""Refusal of requests that do not come from a page of the viewer itself.

Every page in the browser can reach a server on 127.0.0.1: a foreign page may open a websocket to it (the
header Origin tells), and a foreign name may point to 127.0.0.1 (the header Host tells).
"""

from __future__ import annotations

import http
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from helicoid.errors import HelicoidError

_LOCAL = ("127.0.0.1", "localhost", "::1")


def is_local(hosts: list[str], origins: list[str]) -> bool:
    """Whether a request with these headers Host and Origin comes from a page of this server.

    Clients that are no browsers send no Origin.

    >>> is_local(["127.0.0.1:8080"], ["http://127.0.0.1:8080"]), is_local(["localhost:8080"], [])
    (True, True)
    >>> is_local(["127.0.0.1:8080"], ["https://example.com"]), is_local(["example.com:8080"], [])
    (False, False)
    """
    if len(hosts) != 1 or len(origins) > 1:
        return False
    try:
        local = urlsplit(f"//{hosts[0]}").hostname in _LOCAL
        return local and all(urlsplit(origin).netloc == hosts[0] for origin in origins)
    except ValueError:  # no address
        return False


@contextmanager
def local_requests_only() -> Iterator[None]:
    """Servers that viser starts in this context answer local pages only.

    Raises:
        HelicoidError: viser did not start its server in the known way; it must be closed.
    """
    from websockets.asyncio import server

    serve, used = server.serve, []

    def checked_serve(handler: Any, *args: Any, process_request: Any = None, **options: Any) -> Any:
        if not getattr(handler, "__module__", "").startswith("viser"):
            return serve(handler, *args, process_request=process_request, **options)
        used.append(True)

        def process(connection: Any, request: Any) -> Any:
            if is_local(request.headers.get_all("Host"), request.headers.get_all("Origin")):
                return None if process_request is None else process_request(connection, request)
            return connection.respond(http.HTTPStatus.FORBIDDEN, "This viewer answers its own pages only.\n")

        return serve(handler, *args, process_request=process, **options)

    server.serve = checked_serve  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        server.serve = serve  # type: ignore[misc]
    if not used:
        raise HelicoidError("this version of viser is not known to the viewer: pip install 'viser<2'")
