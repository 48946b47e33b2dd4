// The editor below an exercise: CodeMirror with what Python needs, and the page's own colours of
// code. esbuild makes one script of it; what asks for it is write.js.
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tagHighlighter, tags } from "@lezer/highlight";

// Pygments' names, which code.css has colours for.
const classes = tagHighlighter([
  { tag: [tags.keyword, tags.bool, tags.null], class: "k" },
  { tag: [tags.string, tags.special(tags.string)], class: "s" },
  { tag: tags.comment, class: "c" },
  { tag: tags.number, class: "m" },
  { tag: tags.operator, class: "o" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], class: "nf" },
]);

window.bookEditor = (parent, { text, from, to, label, hint, changed, check }) => {
  const view = new EditorView({
    parent,
    doc: text,
    selection: { anchor: from, head: to },
    extensions: [
      lineNumbers(), history(), bracketMatching(), closeBrackets(), indentOnInput(), indentUnit.of("    "),
      pythonLanguage, syntaxHighlighting(classes),
      EditorState.tabSize.of(4),
      matchMedia("(width < 48rem)").matches ? EditorView.lineWrapping : [],
      EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": hint, spellcheck: "false" }),
      keymap.of([
        ...["Mod-Enter", "Ctrl-Enter"].map((key) => ({ key, run: () => (check(), true) })), // on a Mac, too
        // From here on Tab leads out, until the editor is entered again.
        { key: "Escape", run: (view) => (view.setTabFocusMode(true), false) },
        ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab,
      ]),
      EditorView.domEventHandlers({ focus: (_, view) => view.setTabFocusMode(false) && false }),
      EditorView.updateListener.of((update) => update.docChanged && changed()),
    ],
  });
  return {
    get text() { return view.state.doc.toString(); },
    set text(to) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: to }, userEvent: "input" }); },
    focus: () => view.focus(),
  };
};
