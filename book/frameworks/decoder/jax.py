from attnbook.pretrained import storyteller

def logits_of(model, tokens):  # a Decoder of attnbook with rotary positions
    p, base = tensors(model), model.positions.base
    x = p["embedding"][tokens]
    for layer in model.layers:
        held = tensors(layer) | tensors(layer.attention)
        x = llama_layer(x, held, layer.attention.head_dim, base)
    return rms_norm(x, p["final_norm"]) @ p["embedding"].T

predicted = logits_of(storyteller.load(), tokens % 60)
