import gzip
import tracemalloc
import zlib

import pytest

from bnndeploy.service.bodies import decompress
from bnndeploy.service.request_error import RequestError


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_both_encodings_are_unpacked_up_to_the_limit(compress):
    data = bytes(range(256)) * 4

    assert decompress(compress(data), len(data)) == data
    with pytest.raises(RequestError, match="larger than the limit of 1023 bytes"):
        decompress(compress(data), len(data) - 1)


def test_a_small_body_that_unpacks_to_a_large_one_takes_no_memory():
    bomb = zlib.compress(bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(RequestError, match="larger than the limit"):
            decompress(bomb, 100_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (gzip.compress(bytes(1000))[:-4], "the compressed body is cut off"),
        (b"", "the compressed body is cut off"),
        (b"no gzip", "cannot be decompressed"),
    ],
    ids=["truncated", "empty", "something else"],
)
def test_damaged_data_is_refused(body, message):
    with pytest.raises(RequestError, match=message) as info:
        decompress(body, 10_000)
    assert info.value.status == 400
