"""Mark what is code in a message, for a Markdown table: calls, shapes, expressions, names."""

import re

# A call or an index may hold others, and so may the parts of an expression.
INSIDE = r"(?:[^()\[\]]|\([^()]*\)|\[[^\[\]]*\])*"
NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
AROUND = rf"(?:\({INSIDE}\)|\[{INSIDE}\])"
PROSE = r"(?!(?:with|to)\b)"
ATOM = rf"-?(?:{PROSE}{NAME}{AROUND}*|\d+(?:\.\d+)?[a-z]?\b|\({INSIDE}\)|\|[^|]+\|)"
OPERATOR = r"(?:\ ?\*\*?\ ?|\ //?\ |\ [@+=-]\ )"
SHAPE = r"\((?:[\w.]+,(?:\ ?[\w.]+,)*(?:\ ?[\w.]+)?)?\)"
CODE = re.compile(
    rf"""(?<![\w.])(?:
    `[^`]+`                             # said to be code
    | \(n\?,\S+                         # the signature of a ufunc
    | {SHAPE} | \[\d+(?:,\ \d+)*\]      # a shape, a place
    | {ATOM}(?:{OPERATOR}{ATOM})+       # an expression
    | \w+=-?\w+                         # an argument with its name
    | \.?{NAME}{AROUND}+                # a call or an index
    | \.?[A-Za-z_]\w*\.{NAME}           # a name in a module or an array
    | \w*[A-Za-z0-9]_\w+ | \w+Error | (?:float|int)\d\d | -{NAME} | None | True | False
    )""",
    re.X,
)


def plain(text):
    """Escape what Markdown would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^&])", r"\\\1", text)


def with_code(text):
    """Mark what is code in a message; escape the rest."""
    parts, end = [], 0
    for found in CODE.finditer(text := " ".join(text.split())):
        code = found[0].strip("`").replace("|", r"\|")  # or it would end the table's cell
        parts += [plain(text[end : found.start()]), f"`{code}`"]
        end = found.end()
    return "".join([*parts, plain(text[end:])])
