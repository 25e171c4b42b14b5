"""Every operator as a portable function: the same values as the oracle, in every runtime."""

import _operator_cases as cases
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from bnndeploy.errors import ExportError, OperatorError
from bnndeploy.export.functions import attach_functions, function
from bnndeploy.ops.names import DOMAIN, IR_VERSION, OPSET, SIGNATURES, VERSION
from bnndeploy.ops.oracle import run_op
from bnndeploy.runtime import get_library_path

CASES = cases.all_cases()


def one_node_model(case, outputs=None):
    """A model of one node; all inputs but the first are constants, unwanted outputs are ''."""
    signature = SIGNATURES[case.op_type]
    wanted = signature.outputs if outputs is None else outputs
    arrays = feeds(case) | dict(zip(signature.outputs, expected_outputs(case), strict=True))
    values = {
        name: helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim
        )
        for name, array in arrays.items()
    }
    node = helper.make_node(
        case.op_type,
        signature.inputs,
        [name if name in wanted else "" for name in signature.outputs],
        domain=DOMAIN,
        **case.attributes,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, VERSION)]
    graph = helper.make_graph(
        [node],
        "one_node",
        [values[signature.inputs[0]]],
        [values[name] for name in wanted],
        [numpy_helper.from_array(array, name) for name, array in list(feeds(case).items())[1:]],
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def expected_outputs(case):
    return run_op(case.op_type, case.inputs, case.attributes)


def portable_model(case, outputs=None):
    model = one_node_model(case, outputs)
    attach_functions(model)
    return model


def feeds(case):
    return dict(zip(SIGNATURES[case.op_type].inputs, case.inputs, strict=True))


def first_feed(case):
    return {SIGNATURES[case.op_type].inputs[0]: case.inputs[0]}


def run_session(model, case, optimised=True, library=None):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    )
    if library:
        options.register_custom_ops_library(str(library))
    session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, first_feed(case))


def assert_equals_oracle(results, case):
    expected = expected_outputs(case)
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        assert result.dtype == value.dtype
        np.testing.assert_array_equal(result, value)


@pytest.mark.parametrize("optimised", [True, False], ids=["optimised", "as written"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_plain_onnxruntime_gives_the_values_of_the_oracle(case, optimised):
    assert_equals_oracle(run_session(portable_model(case), case, optimised), case)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NaN and infinite inputs
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reference_evaluator_gives_the_values_of_the_oracle(case):
    results = ReferenceEvaluator(portable_model(case)).run(None, first_feed(case))

    assert_equals_oracle(results, case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_our_kernels_give_the_values_of_the_oracle(case):
    model = one_node_model(case)  # no function that could stand in for the kernel

    assert_equals_oracle(run_session(model, case, library=get_library_path()), case)


def test_our_kernel_is_used_where_the_function_is_there_too():
    case = next(c for c in CASES if c.op_type == "Sign" and c.name == "image")
    model = portable_model(case)
    del model.functions[0].node[:]
    model.functions[0].node.append(helper.make_node("Neg", ["X"], ["Y"]))

    assert_equals_oracle(run_session(model, case, library=get_library_path()), case)


@pytest.mark.parametrize("wanted", ["Y", "Ybits"])
@pytest.mark.parametrize("op_type", ["XnorGemm", "XnorConv", "TernaryGemm", "TernaryConv"])
def test_each_output_can_be_asked_for_alone(op_type, wanted):
    case = next(c for c in CASES if c.op_type == op_type and c.name.startswith("odd"))
    expected = dict(zip(("Y", "Ybits"), expected_outputs(case), strict=True))

    (result,) = run_session(portable_model(case, [wanted]), case)

    np.testing.assert_array_equal(result, expected[wanted])


@pytest.mark.parametrize("optimised", [True, False], ids=["optimised", "as written"])
def test_bits_compare_the_value_that_is_stored_in_float16(optimised):
    case = cases.gemm(np.random.default_rng(0), "", 1, 1, 1, dtype=np.float16, full=False)
    case.inputs[3] = np.full(1, 2.0 - 2.0**-14, np.float32) - run_without_bias(case)
    case.inputs[7] = np.full(1, 2.0, np.float32)  # what the value rounds to

    y, bits = run_session(portable_model(case), case, optimised)

    assert (y.item(), bits.item()) == (2.0, 1)


def run_without_bias(case):
    return expected_outputs(case)[0].astype(np.float32).reshape(1)


@pytest.mark.parametrize("op_type", SIGNATURES)
def test_a_function_has_the_signature_of_its_operator_and_only_standard_nodes(op_type):
    made, signature = function(op_type), SIGNATURES[op_type]

    assert (made.domain, made.name, made.overload) == (DOMAIN, op_type, "")
    assert tuple(made.input) == signature.inputs
    assert tuple(made.output) == signature.outputs
    assert tuple(made.attribute) == signature.attributes
    assert [(entry.domain, entry.version) for entry in made.opset_import] == [("", OPSET)]
    assert {node.domain for node in made.node} == {""}


@pytest.mark.parametrize("op_type", SIGNATURES)
def test_a_model_with_the_function_passes_the_full_check(op_type):
    case = next(c for c in CASES if c.op_type == op_type)
    model = portable_model(case)

    onnx.checker.check_model(model, full_check=True)

    assert [f.name for f in model.functions] == [op_type]


def test_only_used_operators_are_attached_once_also_those_inside_branches():
    model = one_node_model(CASES[0])
    inner = helper.make_graph(
        [helper.make_node("Ternary", ["X", "t"], ["inner"], domain=DOMAIN)],
        "branch",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
    )
    branch = helper.make_node("If", ["c"], ["Z"], then_branch=inner, else_branch=inner)
    model.graph.node.append(branch)

    attach_functions(model)
    attach_functions(model)

    assert [f.name for f in model.functions] == ["Sign", "Ternary"]


def test_another_opset_than_that_of_the_functions_is_refused():
    model = one_node_model(CASES[0])
    model.opset_import[0].version = OPSET + 1

    with pytest.raises(ExportError, match=f"got a model of opset {OPSET + 1}, expected {OPSET}"):
        attach_functions(model)


def test_an_unknown_operator_is_refused_with_the_known_names():
    with pytest.raises(OperatorError, match=r"'Xnor' is unknown; known: Sign, .*MaxPoolBits"):
        function("Xnor")
