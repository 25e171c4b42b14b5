"""Reads request bodies within the limits, compressed ones too."""

from __future__ import annotations

import asyncio
import zlib

from fastapi import Request

from bnndeploy.service.request_error import RequestError, bad_request

# A client that is still sending would not see the answer 413, so some more is read and dropped.
_DROPPED = 4
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


async def read_body(request: Request, limit: int, timeout: float) -> bytes:
    """Returns the body, decompressed as its ``Content-Encoding`` says.

    Raises:
        RequestError: With status 413 beyond ``limit`` bytes, 408 after ``timeout`` seconds, 415 for
            an unknown encoding, 400 for damaged compressed data.
    """
    try:
        async with asyncio.timeout(timeout):
            body = await _read(request, limit)
    except TimeoutError:
        raise RequestError(408, f"request: no whole body within {timeout:g} s") from None
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return body
    if encoding not in ("gzip", "deflate"):
        raise RequestError(
            415, f"Content-Encoding: got {encoding[:40]!r}, expected gzip, deflate or none"
        )
    return await asyncio.to_thread(decompress, body, limit)


async def _read(request: Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        elif size > _DROPPED * limit:
            break
    if size > limit:
        raise _too_large(limit)
    return b"".join(chunks)


def decompress(body: bytes, limit: int) -> bytes:
    """Unpacks gzip or zlib data, and stops at the limit: a small body can unpack to gigabytes.

    Raises:
        RequestError: With status 413 beyond ``limit`` bytes, 400 for damaged data.
    """
    decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        data = decoder.decompress(body, limit + 1)
    except zlib.error as error:
        raise bad_request(f"request: the body cannot be decompressed ({error})") from error
    if len(data) > limit:
        raise _too_large(limit)
    if not decoder.eof:
        raise bad_request("request: the compressed body is cut off")
    return data


def _too_large(limit: int) -> RequestError:
    return RequestError(413, f"request: the body is larger than the limit of {limit} bytes")
