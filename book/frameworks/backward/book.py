from attnbook import attention_backward

d_query, d_key, d_value = attention_backward(d_output, query, key, value, mask)
