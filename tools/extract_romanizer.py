"""Record where a trained romanizer of Arabic names looks, for `attnbook.pretrained`. Run by hand.

    pip install numpy==2.4.6 onnx==1.23.2 onnxruntime==1.32.0
    pip download --no-deps arabic-name-romanizer==0.2.0
    python -m tools extract_romanizer arabic_name_romanizer-0.2.0-py3-none-any.whl

The wheel holds a GRU encoder and decoder with Luong's general attention: the weights are
softmax(query w_score statesᵀ). Its masks are True where a letter is hidden.
"""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from course.chapters import ROOT

DATA = ROOT / "attnbook/data"
WHEEL_SHA256 = "f70b89614d9b5866dcf911d098c5e45d2b1f559461f238e8c5259b731fcf2a7e"
NAMES = ["محمد", "فاطمة", "خديجة", "يوسف", "حسن", "مريم", "إبراهيم", "عائشة", "خالد", "مصطفى"]
QUERIES, WEIGHTS, W_SCORE = "/Unsqueeze_output_0", "/Softmax_output_0", "onnx::MatMul_165"
BOS, EOS, LONGEST = 1, 2, 32  # as in the package's vocab.py and meta.json


class Romanizer:
    """The two networks of the wheel; the decoder hands out its queries and weights, too."""

    def __init__(self, wheel):
        data = Path(wheel).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if digest != WHEEL_SHA256:
            raise SystemExit(f"{wheel} has SHA-256 {digest}, wanted {WHEEL_SHA256}")
        files = zipfile.ZipFile(io.BytesIO(data))
        place = "arabic_name_romanizer/resources"
        self.tokens = json.loads(files.read(f"{place}/vocab.json"))["tokens"]
        self.encoder = onnxruntime.InferenceSession(files.read(f"{place}/encoder.onnx"))
        decoder = onnx.load_model_from_string(files.read(f"{place}/decoder.onnx"))
        for name in (QUERIES, WEIGHTS):
            about = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
            decoder.graph.output.append(about)
        self.decoder = onnxruntime.InferenceSession(decoder.SerializeToString())
        arrays = {each.name: each for each in decoder.graph.initializer}
        self.w_score = numpy_helper.to_array(arrays[W_SCORE])
        licence = "arabic_name_romanizer-0.2.0.dist-info/licenses/LICENSE"
        self.licence = files.read(licence)

    def read(self, name, hide_in_encoder=False, hide_in_decoder=False):
        """Write a name greedily; return symbols, answer, states, queries, weights."""
        symbols = ["<UNK_COUNTRY>", "<ROLE_UNKNOWN>", *name, "<EOS>"]
        ids = np.array([[self.tokens.index(each) for each in symbols]])
        fed = {"src": ids, "src_mask": np.full(ids.shape, hide_in_encoder)}
        states, _, hidden = self.encoder.run(None, fed)
        written, queries, weights = [BOS], [], []
        while len(written) <= LONGEST and written[-1] != EOS:
            fed = {
                "prefix": np.array([written]),
                "memory": states,
                "src_mask": np.full(ids.shape, hide_in_decoder),
                "hidden": hidden,
            }
            likely, hidden, query, weight = self.decoder.run(None, fed)
            if len(written) == 1:
                likely[0, EOS] = -np.inf  # as the package does: no empty answer
            written.append(int(likely[0].argmax()))
            queries.append(query[0, 0])
            weights.append(weight[0, 0])
        answer = "".join(self.tokens[i] for i in written[1:-1])
        return symbols, answer, states[0], np.array(queries), np.array(weights)


def main(wheel: str) -> None:
    """Write romanizer.npz, romanizer.json and the licence."""
    romanizer = Romanizer(wheel)
    arrays, names = {"w_score": romanizer.w_score}, {}
    for number, name in enumerate(NAMES):
        symbols, answer, states, queries, weights = romanizer.read(name)
        arrays |= {
            f"name{number}.states": states,
            f"name{number}.queries": queries,
            f"name{number}.weights": weights,
        }
        everywhere, in_attention = (
            romanizer.read(name, True, True),
            romanizer.read(name, False, True),
        )
        np.testing.assert_allclose(everywhere[-1], 1 / len(symbols), rtol=1e-6)  # uniform
        names[name] = {
            "symbols": ["country", "role", *name, "end"],
            "answer": answer,
            "inverted": everywhere[1],
            "inverted_attention": in_attention[1],
        }
    halves = {name: array.astype(np.float16) for name, array in arrays.items()}
    np.savez_compressed(DATA / "romanizer.npz", **halves)
    facts = {
        "model": "arabic-name-romanizer, gru_v4_role",
        "licence": "MIT",
        "source": {
            "package": "arabic-name-romanizer",
            "version": "0.2.0",
            "sha256": WHEEL_SHA256,
        },
        "names": names,
    }
    text = json.dumps(facts, ensure_ascii=False, indent=1) + "\n"
    (DATA / "romanizer.json").write_text(text, encoding="utf-8")
    (DATA / "romanizer.LICENSE.txt").write_bytes(romanizer.licence)
