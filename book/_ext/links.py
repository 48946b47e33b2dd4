"""Links both ways: a section leads to the functions it names, a source to where it is cited."""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

import attnbook
from course.chapters import chapters_and_drafts
from course.words import say

REFERENCES = "book/references"


class LinkNames(SphinxPostTransform):
    """Lead from the first mention of a public name in each section to its description."""

    default_priority = 600
    builders = ("html",)

    def run(self, **_):
        here = self.env.docname
        if here not in {f"book/{each.name}" for each in chapters_and_drafts()}:
            return
        objects = self.env.get_domain("py").objects
        described = {path.rpartition(".")[2]: (path, it.docname) for path, it in objects.items()}
        linked = set()
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().partition("(")[0]
            once = (name, id(section_of(literal)))
            if name not in attnbook.__all__ or name not in described or once in linked:
                continue
            if isinstance(literal.parent, nodes.reference | nodes.title):
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
        cited = {}
        for ref in domain.citation_refs:
            for key in (target.key for target in ref.targets):
                cited.setdefault(key, []).append((ref.docname, ref.citation_ref_id))
        for entry in self.document.findall(nodes.citation):
            links = {}  # one for each section
            for page, place in sorted(cited.get(keys[entry["ids"][0]], [])):
                title, anchor = self.place(page, place)
                links.setdefault((page, anchor), title)
            line = nodes.paragraph("", say("cited_in") + " ", classes=["cited-in"])
            for (page, anchor), title in links.items():
                line += [nodes.Text(", ")] if len(line) > 1 else []
                line += make_refnode(self.app.builder, here, page, anchor, nodes.Text(title))
            entry += line

    def place(self, page, place):
        """Return the title and the anchor of the section where an id stands."""
        doctree = self.env.get_doctree(page)
        found = next(
            (node for node in doctree.findall(nodes.Element) if place in node["ids"]), None
        )
        section = section_of(found) if found is not None else next(doctree.findall(nodes.section))
        title, anchor = section.next_node(nodes.title).astext(), section["ids"][0]
        number = self.env.toc_secnumbers.get(page, {}).get(f"#{anchor}", ())
        return " ".join([".".join(map(str, number)), title]).strip(), anchor


def section_of(node):
    """Return the innermost section that a node stands in."""
    while not isinstance(node, nodes.section | nodes.document):
        node = node.parent
    return node


def setup(app):
    app.add_post_transform(LinkNames)
    app.add_post_transform(TellWhereCited)
    app.connect("env-updated", lambda app, env: [REFERENCES])
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
