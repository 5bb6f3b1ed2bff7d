/**
 * Checks that the texts of the console are in its catalogue, command-api/console/texts/, and not in its JSX.
 * `npm run lint` runs it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

const folder = 'command-api/console/client';
/** Attributes whose value is shown or read aloud. */
const shown = /^(label|title|hint|placeholder|aria-label|alt|verb|what|none|atLimit)$/;
const word = /[A-Za-z]{2}/;

const findings = [];

function check(file) {
  const text = readFileSync(file, 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const report = (node) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    findings.push(`${file}:${line + 1}: "${node.text.trim()}": use a text of the catalogue`);
  };
  const visit = (node, isShown) => {
    if (ts.isJsxText(node)) {
      const parent = node.parent;
      const isCode = ts.isJsxElement(parent) && parent.openingElement.tagName.getText() === 'code';
      if (!isCode && word.test(node.text.replace(/&\w+;/g, ''))) report(node);
    }
    // Addresses of `example.com` are data.
    if (isShown && ts.isStringLiteral(node) && word.test(node.text) && !/example\./.test(node.text))
      report(node);
    const shows = isShown || (ts.isJsxAttribute(node) && shown.test(node.name.getText()));
    ts.forEachChild(node, (child) => visit(child, shows));
  };
  visit(source, false);
}

for (const file of readdirSync(folder, { recursive: true })) {
  if (file.endsWith('.tsx')) check(`${folder}/${file}`);
}

for (const finding of findings) console.log(finding);
console.log(`${findings.length} texts of the console outside its catalogue`);
process.exitCode = findings.length > 0 ? 1 : 0;
