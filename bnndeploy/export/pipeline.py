"""The passes in their order, for each form."""

from __future__ import annotations

from collections.abc import Sequence

from bnndeploy.export.context import Pass
from bnndeploy.export.passes.emit_bits import EmitBits
from bnndeploy.export.passes.flatten_matrices import FlattenMatrices
from bnndeploy.export.passes.fold_thresholds import FoldThresholds
from bnndeploy.export.passes.fuse_epilogues import FuseEpilogues
from bnndeploy.export.passes.join_ternary_planes import JoinTernaryPlanes
from bnndeploy.export.passes.lower_levels import LowerLevels
from bnndeploy.export.passes.lower_unpacking import LowerUnpacking
from bnndeploy.export.passes.pack_products import PackProducts
from bnndeploy.export.passes.pack_signs import PackSigns
from bnndeploy.export.passes.raise_signs import RaiseSigns
from bnndeploy.export.passes.restore_signs import RestoreSigns
from bnndeploy.export.passes.simplify_shapes import SimplifyShapes
from bnndeploy.export.passes.split_planes import SplitPlanes
from bnndeploy.export.passes.widen_lines import WidenLines

SIMPLIFY: Sequence[Pass] = (SimplifyShapes(),)

PACK: Sequence[Pass] = (
    WidenLines(),
    FlattenMatrices(),
    RaiseSigns(),
    PackSigns(),
    LowerUnpacking(),
    LowerLevels(),
    SplitPlanes(),
    JoinTernaryPlanes(),
    PackProducts(),
    FoldThresholds(),
    FuseEpilogues(),
    EmitBits(),
    RestoreSigns(),
)
