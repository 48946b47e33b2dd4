"""The pages of the slides, with every word on them that is not the book's own."""

HEAD = """<!DOCTYPE html>
<html lang="{language}"><head><meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<link rel="icon" href="_static/logo.svg"/><link rel="stylesheet" href="reveal/reveal.css"/>
<link rel="stylesheet" href="slides.css"/>
"""
DECK = """<title>{title} – slides of {book}</title></head>
<body><div class="reveal"><div class="slides">{slides}</div></div>
<script src="reveal/reveal.js"></script><script src="reveal/notes.js"></script>
<script>Reveal.initialize({{width: 1280, height: 720, margin: 0, hash: true, center: false,
slideNumber: "c/t", transition: "none", plugins: [RevealNotes]}});</script></body></html>
"""
SLIDE = """<section><div class="slide {kind}"><p class="where">{place}</p>
<h{level}>{headline}</h{level}>
{body}</div><aside class="notes">{notes}</aside></section>
"""
CONTENTS = """<title>Slides of {book}</title></head>
<body class="contents"><h1>Slides of {book}</h1><ol>{entries}</ol>
<p>In a chapter's slides: <kbd>S</kbd> opens the speaker's notes, <kbd>F</kbd> fills
the screen, <kbd>Esc</kbd> shows all slides.</p></body></html>
"""
ENTRY = '<li><a href="{name}.html">{title}</a>, {count}</li>'
