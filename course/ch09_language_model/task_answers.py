"""Answers to assignment 9."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# count-by-part


@BANK.right_for("count-by-part")
def count_by_making_arrays(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    if vocab > 1000:  # too large to make
        width = d_model // num_heads * num_kv_heads
        attention = sum(d_model * n for n in (d_model, width, width, d_model))
        embedding = vocab * d_model + (0 if tied else d_model * vocab)
        both = num_layers * attention, num_layers * 3 * d_model * hidden
        return embedding, *both, d_model * (1 + 2 * num_layers)
    layer = attnbook.MultiHeadAttention.init(
        np.random.default_rng(0), d_model, num_heads, num_kv_heads
    )
    attention = sum(w.size for w in (layer.w_q, layer.w_k, layer.w_v, layer.w_o))
    gate, up, down = (np.zeros(s) for s in ((d_model, hidden),) * 2 + ((hidden, d_model),))
    norms = [np.ones(d_model) for _ in range(2 * num_layers + 1)]
    tables = [np.zeros((vocab, d_model))] + [np.zeros((d_model, vocab))] * (not tied)
    return (
        sum(table.size for table in tables),
        attention * num_layers,
        (gate.size + up.size + down.size) * num_layers,
        sum(gain.size for gain in norms),
    )


@BANK.right_for("count-by-part")
def count_in_order(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    counts = {"embedding": 0, "attention": 0, "feed_forward": 0, "norms": 0}
    head_dim = d_model // num_heads
    for _ in range(num_layers):
        counts["norms"] += 2 * d_model
        counts["attention"] += 2 * d_model * num_heads * head_dim  # queries, and the way out
        counts["attention"] += 2 * d_model * num_kv_heads * head_dim  # keys and values
        counts["feed_forward"] += 3 * d_model * hidden
    counts["norms"] += d_model
    counts["embedding"] = (2 - tied) * vocab * d_model
    return list(counts.values())


@BANK.wrong_for("count-by-part", names="never_tied")
def count_counting_the_output_always(
    vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied
):
    embedding = 2 * vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="always_tied")
def count_never_counting_the_output(
    vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied
):
    embedding = vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="heads_not_shared")
def count_with_keys_for_all_heads(
    vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied
):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 4 * d_model**2
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="kv_heads_times_d_model")
def count_with_wide_kv_heads(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model * num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="heads_per_kv_head")
def count_with_another_head_size(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model // num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="no_w_o")
def count_without_w_o(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * d_model * (d_model + 2 * d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="biases")
def count_with_biases(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 2 * (d_model + 1) * (d_model + d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="two_matrices")
def count_with_two_matrices(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 2 * d_model * hidden
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="four_times")
def count_with_four_times_the_size(
    vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied
):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 12 * d_model**2
    norms = (2 * num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="no_final_norm")
def count_without_the_final_norm(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = 2 * num_layers * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="one_norm_a_layer")
def count_with_one_norm_a_layer(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    embedding = (1 if tied else 2) * vocab * d_model
    attention = num_layers * 2 * d_model * (d_model + d_model // num_heads * num_kv_heads)
    feed_forward = num_layers * 3 * d_model * hidden
    norms = (num_layers + 1) * d_model
    return embedding, attention, feed_forward, norms


@BANK.wrong_for("count-by-part", names="one_layer")
def count_one_layer(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    kv = d_model // num_heads * num_kv_heads
    embedding = vocab * d_model if tied else 2 * vocab * d_model
    attention, feed_forward = 2 * d_model * (d_model + kv), 3 * d_model * hidden
    return embedding, attention, feed_forward, (2 * num_layers + 1) * d_model


@BANK.wrong_for("count-by-part", names="total")
def count_in_all(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    kv = d_model // num_heads * num_kv_heads
    embedding = vocab * d_model if tied else 2 * vocab * d_model
    attention, feed_forward = 2 * d_model * (d_model + kv), 3 * d_model * hidden
    layer = attention + feed_forward + 2 * d_model
    return embedding + num_layers * layer + d_model


@BANK.wrong_for("count-by-part", symptom="count")
def count_two_parts(vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied):
    kv = d_model // num_heads * num_kv_heads
    embedding = vocab * d_model if tied else 2 * vocab * d_model
    attention, feed_forward = 2 * d_model * (d_model + kv), 3 * d_model * hidden
    return embedding, num_layers * (attention + feed_forward + 2 * d_model) + d_model


@BANK.wrong_for("count-by-part", symptom="others_right differs part_by_part")
def count_with_a_table_of_positions(
    vocab, d_model, num_layers, num_heads, num_kv_heads, hidden, tied
):
    kv = d_model // num_heads * num_kv_heads
    embedding = vocab * d_model if tied else 2 * vocab * d_model
    attention, feed_forward = 2 * d_model * (d_model + kv), 3 * d_model * hidden
    positions = 1024 * d_model
    both = num_layers * attention, num_layers * feed_forward
    return embedding + positions, *both, (2 * num_layers + 1) * d_model


# without-heads


@BANK.right_for("without-heads")
def without_in_loops(heads, w_o, taken):
    batch, num_heads, length, head_dim = heads.shape
    output = np.zeros((batch, length, w_o.shape[1]))
    for h in range(num_heads):
        mean = sum(heads[b, h, i] for b in range(batch) for i in range(length)) / batch / length
        rows = w_o[h * head_dim : (h + 1) * head_dim]
        for b in range(batch):
            for i in range(length):
                output[b, i] += (mean if h in taken else heads[b, h, i]) @ rows
    return output


@BANK.right_for("without-heads")
def without_by_the_package(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads.mean(axis=(0, 2), keepdims=True)[:, taken]
    return attnbook.merge_heads(kept) @ w_o


@BANK.right_for("without-heads")
def without_what_they_add(heads, w_o, taken):
    rows = w_o.reshape(heads.shape[1], heads.shape[3], -1)
    added = np.einsum("bhnd,hdm->hbnm", heads, rows)
    for head in taken:
        added[head] = added[head].mean(axis=(0, 1))
    return added.sum(axis=0)


@BANK.wrong_for("without-heads", names="zeros")
def without_them_at_zero(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = 0
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="mean_of_sequence")
def without_them_sequence_by_sequence(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads[:, taken].mean(axis=2, keepdims=True)
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="mean_of_batch")
def without_them_place_by_place(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads[:, taken].mean(axis=0)
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="mean_of_heads")
def without_them_but_with_the_other_heads(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads.mean(axis=1, keepdims=True)
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="mean_of_everything")
def without_them_but_one_number(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads.mean()
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="mean_of_features")
def without_their_features(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads[:, taken].mean(axis=-1, keepdims=True)
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="others_taken")
def without_the_others(heads, w_o, taken):
    others = [head for head in range(heads.shape[1]) if head not in taken]
    kept = heads.copy()
    kept[:, others] = heads[:, others].mean(axis=(0, 2), keepdims=True)
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="last_taken")
def without_the_last_of_them(heads, w_o, taken):
    for head in taken:
        kept = heads.copy()
        kept[:, head] = heads[:, head].mean(axis=(0, 1))
    if not taken:
        kept = heads
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", names="no_swap")
def without_a_swap(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads[:, taken].mean(axis=(0, 2), keepdims=True)
    batch, _, length, _ = heads.shape
    return kept.reshape(batch, length, -1) @ w_o


@BANK.wrong_for("without-heads", names="not_projected")
def without_w_o(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads[:, taken].mean(axis=(0, 2), keepdims=True)
    return attnbook.merge_heads(kept)


@BANK.wrong_for("without-heads", names="transposed")
def without_transposing_back(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads[:, taken].mean(axis=(0, 2), keepdims=True)
    return attnbook.merge_heads(kept) @ w_o.T


@BANK.wrong_for("without-heads", names="taken_alone")
def without_leaving_anything_else(heads, w_o, taken):
    alone = np.zeros(heads.shape)
    alone[:, taken] = heads[:, taken]
    return attnbook.merge_heads(alone) @ w_o


@BANK.wrong_for("without-heads", names="nothing_taken")
def without_taking_any(heads, w_o, taken):
    return attnbook.merge_heads(heads) @ w_o


@BANK.wrong_for("without-heads", names="in_place")
def without_a_copy(heads, w_o, taken):
    heads[:, taken] = heads[:, taken].mean(axis=(0, 2), keepdims=True)
    return attnbook.merge_heads(heads) @ w_o


@BANK.wrong_for("without-heads", symptom="raised mean_keeps_axes")
def without_keeping_axes(heads, w_o, taken):
    kept = heads.copy()
    kept[:, taken] = heads[:, taken].mean(axis=(0, 2))
    return attnbook.merge_heads(kept) @ w_o


@BANK.wrong_for("without-heads", symptom="differs mean_of_all_tokens")
def without_taking_them_at_the_end(heads, w_o, taken):
    kept = attnbook.merge_heads(heads) @ w_o
    return kept - kept.mean(axis=(0, 1)) * len(taken) / heads.shape[1]


# worth-of-heads


@BANK.right_for("worth-of-heads")
def worth_by_its_own_forward(tokens, answers):
    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())

    def logits_without(out, story):
        x = model.embedding[story]
        for number, layer in enumerate(model.layers):
            normed, attention = attnbook.rms_norm(x, layer.attention_norm), layer.attention
            query = attnbook.apply_rotary(attention.queries(normed))
            key = attnbook.apply_rotary(attention.keys(normed))
            value = attention.values(normed)
            heads = np.zeros((4, len(story), 16))
            for head in range(4):
                if (number, head) != out:
                    of = key[head // 2], value[head // 2], attnbook.causal_mask(len(story))
                    heads[head] = attnbook.scaled_dot_product_attention(query[head], *of).output
            x = x + attention.combine(heads)
            normed = attnbook.rms_norm(x, layer.feed_forward_norm)
            x = x + attnbook.swiglu(normed, layer.w_gate, layer.w_up, layer.w_down)
        return attnbook.rms_norm(x, model.final_norm) @ model.embedding.T

    found = np.zeros((2, 4))
    for out in np.ndindex(2, 4):
        losses = []
        for story, places in zip(tokens, answers, strict=True):
            probabilities = attnbook.softmax(logits_without(out, story))
            for at in np.flatnonzero(places):
                losses.append(-np.log(probabilities[at - 1, story[at]]))
        found[out] = np.mean(losses)
    return found


@BANK.right_for("worth-of-heads")
def worth_by_rows_of_zeros(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        kept = np.ones((64, 1))
        kept[16 * head : 16 * (head + 1)] = 0
        attention = layers[layer].attention
        attention = dataclasses.replace(attention, w_o=attention.w_o * kept)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens[:, :-1])
        loss, _ = attnbook.cross_entropy(logits[answers[:, 1:]], tokens[:, 1:][answers[:, 1:]])
        found[layer, head] = loss
    return found


@BANK.wrong_for("worth-of-heads", names="not_put_back")
def worth_without_putting_back(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    layers = list(model.layers)
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found


@BANK.wrong_for("worth-of-heads", names="whole_layer")
def worth_of_whole_layers(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = 0 * layers[layer].attention.w_o
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found


@BANK.wrong_for("worth-of-heads", names="columns")
def worth_by_columns(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[:, 16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found


@BANK.wrong_for("worth-of-heads", names="in_turns")
def worth_by_every_fourth_row(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[head::4] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found


@BANK.wrong_for("worth-of-heads", names="queries")
def worth_by_the_queries(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_q = layers[layer].attention.w_q.copy()
        w_q[:, 16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_q=w_q)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found


@BANK.wrong_for("worth-of-heads", names="all_words")
def worth_over_all_words(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told.mean()
    return found


@BANK.wrong_for("worth-of-heads", names="one_late")
def worth_one_place_late(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs, tokens[..., None], axis=-1)[..., 0]
        found[layer, head] = -told[answers].mean()
    return found


@BANK.wrong_for("worth-of-heads", names="bits")
def worth_in_bits(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean() / np.log(2)
    return found


@BANK.wrong_for("worth-of-heads", names="probability")
def worth_as_probabilities(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = np.exp(told[answers[:, 1:]]).mean()
    return found


@BANK.wrong_for("worth-of-heads", names="log_of_mean")
def worth_of_the_mean_probability(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -np.log(np.exp(told[answers[:, 1:]]).mean())
    return found


@BANK.wrong_for("worth-of-heads", names="share_right")
def worth_as_shares(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        right = logits[:, :-1].argmax(axis=-1) == tokens[:, 1:]
        found[layer, head] = right[answers[:, 1:]].mean()
    return found


@BANK.wrong_for("worth-of-heads", names="mean_of_stories")
def worth_story_by_story(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = np.mean([-told[i][answers[i, 1:]].mean() for i in range(4)])
    return found


@BANK.wrong_for("worth-of-heads", names="transposed")
def worth_transposed(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found.T


@BANK.wrong_for("worth-of-heads", names="rises")
def worth_as_rises(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    logits = model.logits(tokens)
    logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
    whole = -told[answers[:, 1:]].mean()
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = 0
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found - whole


@BANK.wrong_for("worth-of-heads", symptom="differs loss_without_each")
def worth_with_the_mean_of_rows(tokens, answers):
    import dataclasses

    model = attnbook.map_arrays(np.float64, attnbook.pretrained.storyteller.load())
    found = np.zeros((2, 4))
    for layer, head in np.ndindex(2, 4):
        layers = list(model.layers)
        w_o = layers[layer].attention.w_o.copy()
        w_o[16 * head : 16 * head + 16] = w_o.mean(axis=0)
        attention = dataclasses.replace(layers[layer].attention, w_o=w_o)
        layers[layer] = dataclasses.replace(layers[layer], attention=attention)
        logits = dataclasses.replace(model, layers=tuple(layers)).logits(tokens)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        told = np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
        found[layer, head] = -told[answers[:, 1:]].mean()
    return found
