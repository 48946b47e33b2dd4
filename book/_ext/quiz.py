"""The self-check at the end of a chapter: a quiz as folds of plain HTML."""

from docutils import nodes
from docutils.parsers.rst.directives.admonitions import Admonition as BaseAdmonition
from sphinx.util.docutils import SphinxDirective

from course.chapters import by_name
from course.quiz import read
from course.words import say


class quiz_choice(nodes.General, nodes.Element):
    """A fold: the choice to press, and what is said about it."""


class quiz_pick(nodes.General, nodes.TextElement):
    """What opens the fold. No link may be in it: one place, one thing to do."""


class Admonition(BaseAdmonition, SphinxDirective):
    """A box as ever; but one of the class *quiz* gives its place to the quiz.

    Its text is read as the chapter's is, formulas and all. In JupyterLab, which
    knows no directive of ours, the box is shown as it is.
    """

    def run(self):
        if "quiz" not in self.options.get("class", []):
            return super().run()
        chapter = by_name(self.env.docname.rpartition("/")[2])
        self.env.note_dependency(str(chapter.room / "quiz.txt"))
        try:
            entries = read(chapter).questions.items()
            questions = [self.question(name, entry, chapter.sections) for name, entry in entries]
        except (OSError, ValueError) as problem:
            raise self.error(str(problem)) from problem
        as_ever = {"enumtype": "arabic", "prefix": "", "suffix": "."}
        listed = nodes.enumerated_list("", *questions, classes=["quiz"], **as_ever)
        how = say("open_a_choice")
        return [nodes.paragraph(how, how), listed]

    def question(self, name, question, sections):
        item = nodes.list_item(ids=[f"quiz-{name}"])  # by which what was chosen is kept
        item += self.parse_text_to_nodes(question.text)
        for choice in question.choices:
            item += self.choice(choice, sections)
        return item

    def choice(self, choice, sections):
        verdict = say(
            "right" if choice.right else "wrong",
            feedback=choice.feedback,
            section=f"[{sections.get(choice.section)}]({choice.section})",
        )
        (text,) = self.parse_text_to_nodes(choice.text)
        fold = quiz_choice("", quiz_pick("", "", *text.children))
        fold += self.parse_text_to_nodes(verdict)
        return fold


def writing(html):
    """Return what writes a tag, at the beginning or the end of a node."""
    return lambda translator, node: translator.body.append(html)


def setup(app):
    app.add_directive("admonition", Admonition, override=True)
    app.add_node(quiz_choice, html=(writing("<details>\n"), writing("</details>\n")))
    app.add_node(quiz_pick, html=(writing("<summary>"), writing("</summary>\n")))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
