"""The page on which a person tries the models, and the image route behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from bnndeploy.runtime import Classifier
from bnndeploy.service.bodies import read_body
from bnndeploy.service.protocol_routes import Models

# The page is one file and loads nothing from anywhere else.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src 'self' blob: data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
}

router = APIRouter()


@router.get("/")
async def page() -> HTMLResponse:
    """Returns the page."""
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return HTMLResponse(text, headers=_HEADERS)


@router.get("/classify")
async def classifiers(models: Models) -> list[dict[str, Any]]:
    """Lists the models that classify images."""
    described = []
    for name in models.names():
        classifier = models.find(name).classifier
        if isinstance(classifier, Classifier):
            spec = classifier.spec
            described.append(
                {
                    "name": name,
                    "colour": spec.colour,
                    "size": spec.shape[1:],
                    "classes": classifier.metadata.classes,
                }
            )
    return described


@router.post("/classify/{name}")
async def classify(
    request: Request,
    models: Models,
    name: str,
    top: Annotated[int, Query(ge=1)] = 10,
    invert: bool = False,
) -> dict[str, Any]:
    """Classifies the image (PNG, JPEG, ...) in the body, prepared as ``bnndeploy predict`` does."""
    image = await read_body(request, models.settings.body_limit, models.settings.timeout)
    model = models.find(name)
    with model.in_use():
        guesses = await model.classify(image, top, invert=invert)
    return {
        "model_name": name,
        "model_version": str(model.version),
        "top": [{"class": guess.label, "probability": guess.probability} for guess in guesses],
    }
