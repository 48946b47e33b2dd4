"""The QTI packages of `make quizzes`, read by a parser that did not write them."""

import re
import xml.etree.ElementTree as ET
import zipfile

import pytest
import yaml

from course import quiz
from course.chapters import ROOT, by_name, chapters
from course.words import say
from tests.quiz_words import words, words_of_source

CHAPTERS = [chapter.name for chapter in chapters()]
QUIZZES = {chapter.name: quiz.read(chapter) for chapter in chapters()}

PACKAGES = ROOT / "_build/quizzes"
QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"
CP = "{http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1}"
MD = "{http://www.imsglobal.org/xsd/imsmd_v1p2}"
CANVAS = "{http://canvas.instructure.com/xsd/cccv1p0}"
BASE = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]

# What QTI 1.2 allows in each element that a multiple-choice question needs, in order: a regular
# expression over the names of the children.
CONTENT = {
    "questestinterop": "assessment ",
    "assessment": "qtimetadata section ",
    "section": "(item )+",
    "item": "itemmetadata presentation resprocessing (itemfeedback )*",
    "itemmetadata": "qtimetadata ",
    "qtimetadata": "(qtimetadatafield )+",
    "qtimetadatafield": "fieldlabel fieldentry ",
    "presentation": "material response_lid ",
    "response_lid": "render_choice ",
    "render_choice": "(response_label )+",
    "response_label": "material ",
    "material": "mattext ",
    "resprocessing": "outcomes (respcondition )+",
    "outcomes": "decvar ",
    "respcondition": "conditionvar (setvar )?(displayfeedback )?",
    "conditionvar": "varequal ",
    "itemfeedback": "flow_mat ",
    "flow_mat": "material ",
}
LEAVES = {"fieldlabel", "fieldentry", "mattext", "decvar", "varequal", "setvar", "displayfeedback"}


@pytest.fixture(params=CHAPTERS)
def name(request):
    return request.param


@pytest.fixture
def package(name):
    """Return the files of a package and the names in its manifest, checked on the way."""
    with zipfile.ZipFile(PACKAGES / f"{name}.zip") as archive:
        assert archive.testzip() is None
        files = {info.filename: archive.read(info) for info in archive.infolist()}
    return {file: data for file, data in files.items() if not file.endswith("/")}


@pytest.fixture
def assessment(package):
    (file,) = (
        resource.find(f"{CP}file").get("href")
        for resource in ET.fromstring(package["imsmanifest.xml"]).iter(f"{CP}resource")
        if resource.get("type") == "imsqti_xmlv1p2"
    )
    return ET.fromstring(package[file])


def text(element):
    return words(element.find(f".//{QTI}mattext").text)


def test_there_is_a_package_for_each_chapter():
    assert sorted(path.stem for path in PACKAGES.glob("*.zip")) == CHAPTERS


def test_the_manifest_lists_the_files_and_its_references_lead_somewhere(package):
    manifest = ET.fromstring(package["imsmanifest.xml"])
    listed = {file.get("href") for file in manifest.iter(f"{CP}file")}
    assert listed == set(package) - {"imsmanifest.xml"}
    resources = [resource.get("identifier") for resource in manifest.iter(f"{CP}resource")]
    assert len(set(resources)) == len(resources) == 2
    for dependency in manifest.iter(f"{CP}dependency"):
        assert dependency.get("identifierref") in resources


def test_the_manifest_names_the_licence(package):
    (rights,) = ET.fromstring(package["imsmanifest.xml"]).iter(f"{MD}rights")
    said = rights.findtext(f"{MD}description/{MD}string")
    assert said == ("Creative Commons - Attribution - https://creativecommons.org/licenses/by/4.0/")
    assert b"rivate" not in package["imsmanifest.xml"]


def test_the_settings_are_those_of_the_source(name, package):
    (file,) = (file for file in package if file.endswith("assessment_meta.xml"))
    meta = ET.fromstring(package[file])
    assert meta.findtext(f"{CANVAS}title") == QUIZZES[name].title
    assert float(meta.findtext(f"{CANVAS}points_possible")) == len(QUIZZES[name].questions)
    assert meta.findtext(f"{CANVAS}shuffle_answers") == "true"


def test_it_imports_as_a_practice_quiz_with_any_number_of_attempts(package):
    """Without an assignment, from which Canvas would make a column of the gradebook."""
    (file,) = (file for file in package if file.endswith("assessment_meta.xml"))
    meta = ET.fromstring(package[file])
    assert [each.text for each in meta.iter(f"{CANVAS}quiz_type")] == ["practice_quiz"]
    assert [each.text for each in meta.iter(f"{CANVAS}allowed_attempts")] == ["-1"]
    graded = {f"{CANVAS}assignment", f"{CANVAS}assignment_group_identifierref"}
    assert graded.isdisjoint(each.tag for each in meta.iter())


def test_each_item_is_a_choice_that_gives_a_point_in_any_attempt(assessment):
    """For the quiz and for each item, what a learning system reads in its metadata."""
    whole, *items = (
        {
            field.findtext(f"{QTI}fieldlabel"): field.findtext(f"{QTI}fieldentry")
            for field in metadata.iter(f"{QTI}qtimetadatafield")
        }
        for metadata in assessment.iter(f"{QTI}qtimetadata")
    )
    assert whole == {"cc_maxattempts": "unlimited"}
    for item in items:
        assert item["question_type"] == "multiple_choice_question"
        assert item["points_possible"] == "1"


def test_elements_are_those_of_qti_in_their_order(assessment):
    seen = set()
    for element in assessment.iter():
        tag = element.tag.removeprefix(QTI)
        seen.add(tag)
        children = "".join(f"{child.tag.removeprefix(QTI)} " for child in element)
        assert re.fullmatch(CONTENT[tag] if tag not in LEAVES else "", children), tag
    assert seen == CONTENT.keys() | LEAVES


def test_each_name_is_given_once_and_every_reference_leads_to_one(assessment):
    names = [element.get("ident") for element in assessment.iter(f"{QTI}item")]
    for item in assessment.iter(f"{QTI}item"):
        labels = [label.get("ident") for label in item.iter(f"{QTI}response_label")]
        feedback = [each.get("ident") for each in item.iter(f"{QTI}itemfeedback")]
        names += labels + feedback
        (response,) = (each.get("ident") for each in item.iter(f"{QTI}response_lid"))
        for picked in item.iter(f"{QTI}varequal"):
            assert picked.get("respident") == response
            assert picked.text in labels
        shown = [each.get("linkrefid") for each in item.iter(f"{QTI}displayfeedback")]
        assert sorted(shown) == sorted(feedback)
        order = item.findtext(f".//{QTI}qtimetadatafield[3]/{QTI}fieldentry")
        assert order.split(",") == labels
    assert len(set(names)) == len(names)


def test_questions_choices_answers_and_feedback_are_those_of_the_source(name, assessment):
    items, sections = list(assessment.iter(f"{QTI}item")), by_name(name).sections
    for item, question in zip(items, QUIZZES[name].questions.values(), strict=True):
        assert item.get("title") == question.heading
        assert text(item.find(f"{QTI}presentation")) == words_of_source(question.text)
        told, right = {}, set()
        for condition in item.iter(f"{QTI}respcondition"):
            picked = condition.findtext(f".//{QTI}varequal")
            shown, score = condition.find(f"{QTI}displayfeedback"), condition.find(f"{QTI}setvar")
            if shown is not None:
                told[picked] = shown.get("linkrefid")
            if score is not None:
                assert (score.get("action"), score.text) == ("Set", "100")
                right.add(picked)
        feedback = {each.get("ident"): each for each in item.iter(f"{QTI}itemfeedback")}
        labels = list(item.iter(f"{QTI}response_label"))
        for label, choice in zip(labels, question.choices, strict=True):
            assert text(label) == words_of_source(choice.text)
            assert (label.get("ident") in right) == choice.right
            said = feedback[told[label.get("ident")]]
            again = say("read_again", section=sections[choice.section]) if choice.section else ""
            assert text(said) == words_of_source(f"{choice.feedback} {again}")


def test_what_to_read_again_is_linked_to_its_section(name, assessment):
    sections, linked = by_name(name).sections, []
    for said in assessment.iter(f"{QTI}itemfeedback"):
        html = said.find(f".//{QTI}mattext").text
        linked += [(at, words(text)) for at, text in re.findall(r'<a href="(.+?)">(.+?)</a>', html)]
    again = [c.section for q in QUIZZES[name].questions.values() for c in q.choices if not c.right]
    page = f"{BASE}book/{name}.html"
    assert linked == [(f"{page}#{label}", words_of_source(sections[label])) for label in again]
