"""Links both ways: a section leads to the functions it names, a source to where it is cited."""

import functools
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode
from sphinx_exercise.nodes import exercise_node
from sphinxcontrib.bibtex.roles import CiteRole

import attnbook
from course.chapters import chapters_and_drafts
from course.words import say

REFERENCES = "book/references"
# Whose domain and ids this changes; a test compares with constraints.txt.
WRITTEN_FOR = {"sphinxcontrib-bibtex": "2.7.0", "sphinx-exercise": "1.2.1"}


class Cite(CiteRole):
    """A citation whose id no other on its page has.

    Docutils reads each docstring as a document of its own, in which it begins to count at `id1`.
    """

    def result_nodes(self, document, env, node, is_ref):
        node["ids"] = [f"citation-{env.new_serialno('citation')}"]
        return super().result_nodes(document, env, node, is_ref)


class NumberBodies(SphinxTransform):
    """Number the bodies of exercises and theorems: sections without a title, all of one id."""

    default_priority = 990  # after those of sphinx-exercise

    def apply(self, **_):
        bodies = [each for each in self.document.findall(nodes.section) if not has_title(each)]
        for number, body in enumerate(bodies, 1):
            body["ids"] = [f"{name}-{number}" for name in body["ids"]]


@functools.cache
class ReadOnce:
    """Sphinx's environment, but that a page is read from disk once, and not for each link to it.

    There is one for all pages, for they are written when all have been read.
    """

    def __init__(self, env):
        self.env = env
        self.get_doctree = functools.cache(env.get_doctree)

    def __getattr__(self, name):
        return getattr(self.env, name)


class LinkNumbers(SphinxPostTransform):
    """Lead to numbered figures as Sphinx does, but in a tenth of the time."""

    default_priority = 9  # before Sphinx leads to all else
    builders = ("html", "slides")

    def run(self, **_):
        here, domain, once = self.env.docname, self.env.get_domain("std"), ReadOnce(self.env)
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node["reftype"] == "numref":
                arguments = self.app.builder, "numref", node["reftarget"], node, node[0].deepcopy()
                if link := domain.resolve_xref(once, here, *arguments):
                    node.replace_self(link)


class LinkNames(SphinxPostTransform):
    """Lead from the first mention of a public name in each section to its description."""

    default_priority = 600
    builders = ("html",)

    def run(self, **_):
        here = self.env.docname
        if here not in {f"book/{chapter.name}" for chapter in chapters_and_drafts()}:
            return
        objects = self.env.get_domain("py").objects
        described = {path.rpartition(".")[2]: (path, it.docname) for path, it in objects.items()}
        linked = set()
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().partition("(")[0]
            once = (name, id(section_of(literal)))
            if name not in attnbook.__all__ or name not in described or once in linked:
                continue
            if is_in(literal, nodes.reference | nodes.title) or is_argument(name, literal.parent):
                continue
            linked.add(once)
            path, page = described[name]
            link = make_refnode(self.app.builder, here, page, path, literal.deepcopy())
            literal.replace_self(link)


class TellWhereCited(SphinxPostTransform):
    """Add to each entry of the references links to the sections that cite it."""

    default_priority = 600
    builders = ("html",)

    def run(self, **_):
        here = self.env.docname
        if here != REFERENCES:
            return
        domain = self.env.get_domain("cite")
        keys = {citation.citation_id: citation.key for citation in domain.citations}
        cited, titles = {}, {}
        for ref in domain.citation_refs:
            for key in (target.key for target in ref.targets):
                cited.setdefault(key, []).append((ref.docname, ref.citation_ref_id))
        for entry in self.document.findall(nodes.citation):
            links = {}  # one for each section
            for page, place in sorted(cited.get(keys[entry["ids"][0]], [])):
                if page not in titles:
                    titles[page] = self.titles(page)
                title, anchor = titles[page][place]
                links.setdefault((page, anchor), title)
            line = nodes.paragraph("", say("cited_in") + " ", classes=["cited-in"])
            for (page, anchor), title in links.items():
                line += [nodes.Text(", ")] if len(line) > 1 else []
                line += make_refnode(self.app.builder, here, page, anchor, nodes.Text(title))
            entry += line

    def titles(self, page):
        """Return, by the id of each place of a page, the title and anchor of its section."""
        numbers, titles = self.env.toc_secnumbers.get(page, {}), {}
        for section in self.env.get_doctree(page).findall(nodes.section):
            if has_title(section):  # the inner ones come after the outer
                title, anchor = section.next_node(nodes.title).astext(), section["ids"][0]
                number = ".".join(map(str, numbers.get(f"#{anchor}", ())))
                place = f"{number} {title}".strip(), anchor
                for node in section.findall(nodes.Element):
                    titles |= dict.fromkeys(node["ids"], place)
        return titles


def is_in(node, kinds):
    while node and not isinstance(node, kinds):
        node = node.parent
    return node is not None


def is_argument(name, paragraph):
    """Tell whether an exercise has an argument of that name, which is the reader's own."""
    if not is_in(paragraph, exercise_node):
        return False
    calls = [literal.astext().partition("(")[2] for literal in paragraph.findall(nodes.literal)]
    return any(re.search(rf"\b{name}\b", call) for call in calls)


def has_title(section):
    return isinstance(section.next_node(), nodes.title)


def section_of(node):
    """Return the innermost section that a node stands in."""
    while not isinstance(node, nodes.section | nodes.document):
        node = node.parent
    return node


def setup(app):
    for name in ("p", "t"):
        app.add_role_to_domain("cite", name, Cite(), override=True)
    app.add_transform(NumberBodies)
    app.add_post_transform(LinkNumbers)
    app.add_post_transform(LinkNames)
    app.add_post_transform(TellWhereCited)
    app.connect("env-updated", lambda app, env: [REFERENCES])
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
