"""A table of quantized vectors."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from bnndeploy.layers._base import QuantizerLike, QuantLayer


class QuantEmbedding(QuantLayer, nn.Embedding):
    """Looks up rows of codes, then scales them by the scale of the table or of the row.

    With two scales a value is ``w_pos`` where the code is +1 and ``-w_neg`` where it is -1.

    Shape: integers ``(*)`` to ``(*, embedding_dim)``.
    """

    bias = None

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        weight_quantizer: QuantizerLike = None,
        output_quantizer: QuantizerLike = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.set_quantizers(
            None,
            weight_quantizer,
            output_quantizer,
            channels=(num_embeddings, embedding_dim),
            axis=-1,
        )

    def forward(self, input: Tensor) -> Tensor:
        def spread(vector: Tensor) -> Tensor:
            # A row is an output channel of the table: its scale is looked up like the row.
            return vector if vector.numel() == 1 else vector[input].unsqueeze(-1)

        return self.scaled_product(
            lambda weight: F.embedding(input, weight, self.padding_idx), spread
        )
