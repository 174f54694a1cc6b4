/**
 * What the modules of the repository export and import, read from their syntax: the basis of the structure rules
 * (`equal-names`, `arrows`, `dead-exports`). Types count like values. Only the syntax is read, so that a rule over the
 * whole repository takes about a second; a name is therefore followed by import path, never by type.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { ts } from "@ts-morph/common";

/** The top folders of the repository. Each is a room of its own; names are compared and arrows drawn inside one room. */
export const ROOMS = ["edge", "control", "shared", "browser", "infra", "test"] as const;

/** Stands for every name of a module: `import * as x`, `import("x")`, `export * from "x"`. */
export const EVERY_NAME = "*";

/** A name that a module exports. */
interface ExportedName {
  readonly name: string;
  /** The module that declares the name and its name there, when this module only re-exports it. */
  readonly from?: { readonly path: string; readonly name: string };
  /** Whether the module itself mentions the name outside its declaration. */
  readonly usedInside: boolean;
}

/** One import, re-export, dynamic import or import type of another file of the repository. */
interface ImportedNames {
  /** Path of the imported file from the root of the repository. */
  readonly path: string;
  /** The names as the imported file exports them; `EVERY_NAME` for all, empty for an import without names. */
  readonly names: readonly string[];
}

/** One source file of the repository. */
export interface SourceModule {
  /** Path from the root of the repository, with `/`. */
  readonly path: string;
  readonly exports: readonly ExportedName[];
  readonly imports: readonly ImportedNames[];
}

const SOURCE = /\.(?:ts|tsx|mts|mjs|js)$/;
const GENERATED = /\.generated\.ts$/;
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(["node_modules", "fixtures", "dist"]);

/** Whether a file only serves tests: tests, their helpers beside the code (`testing/`, `*.test-helper.ts`) and all of `test/`. */
export function isTestCode(path: string): boolean {
  return /\.test(?:-helper)?\.tsx?$/.test(path) || /(^|\/)testing\//.test(path) || path.startsWith("test/");
}

/** The room of a file: its top folder. */
export function roomOf(path: string): string {
  return path.split("/")[0] ?? "";
}

/**
 * Reads every source file in the rooms under `root`, and the configuration files beside them, which import too. Lint
 * fixtures and generated code are left out.
 */
export function readModules(root: string): readonly SourceModule[] {
  return sourcePaths(root).map((path) => readModule(path, readFileSync(join(root, path), "utf8")));
}

function sourcePaths(root: string): readonly string[] {
  const inFolder = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory()) {
        return SKIPPED_FOLDERS.has(entry.name) ? [] : inFolder(path);
      }
      return SOURCE.test(path) && !GENERATED.test(path) ? [path] : [];
    });
  return readdirSync(root, { withFileTypes: true })
    .flatMap((entry) => {
      if (entry.isDirectory()) {
        return ROOMS.some((room) => room === entry.name) ? inFolder(entry.name) : [];
      }
      return SOURCE.test(entry.name) ? [entry.name] : [];
    })
    .sort();
}

/** Exports and imports of one file with the given text. */
export function readModule(path: string, text: string): SourceModule {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports: ImportedNames[] = [];
  const imported = new Map<string, { readonly path: string; readonly name: string }>();
  const exported: { readonly name: string; readonly local?: string; readonly from?: { path: string; name: string } }[] =
    [];

  for (const statement of file.statements) {
    if (ts.isImportDeclaration(statement)) {
      const target = targetOf(path, statement.moduleSpecifier);
      if (target === undefined) {
        continue;
      }
      const names = namesOfImport(statement.importClause);
      imports.push({ path: target, names: names.map(({ name }) => name) });
      for (const { name, local } of names) {
        imported.set(local, { path: target, name });
      }
    } else if (ts.isExportDeclaration(statement)) {
      const target = statement.moduleSpecifier && targetOf(path, statement.moduleSpecifier);
      const names = namesOfExport(statement.exportClause);
      if (statement.moduleSpecifier === undefined) {
        exported.push(...names.map(({ name, original }) => ({ name, local: original })));
      } else if (target !== undefined) {
        imports.push({ path: target, names: names.map(({ original }) => original) });
        exported.push(...names.map(({ name, original }) => ({ name, from: { path: target, name: original } })));
      }
    } else if (ts.isExportAssignment(statement)) {
      exported.push({ name: "default" });
    } else if (hasModifier(statement, ts.SyntaxKind.ExportKeyword)) {
      const isDefault = hasModifier(statement, ts.SyntaxKind.DefaultKeyword);
      exported.push(
        ...declaredNames(statement).map((local) => ({ name: isDefault ? "default" : local, local })),
        ...(isDefault && declaredNames(statement).length === 0 ? [{ name: "default" }] : []),
      );
    }
  }

  const mentions = new Map<string, number>();
  visitAll(file, (node) => {
    if (ts.isIdentifier(node) && isMention(node)) {
      mentions.set(node.text, (mentions.get(node.text) ?? 0) + 1);
    }
    const late = lateImport(path, node);
    if (late !== undefined) {
      imports.push(late);
    }
  });

  const byName = new Map<string, ExportedName>();
  for (const { name, local, from } of exported) {
    const origin = from ?? (local === undefined ? undefined : imported.get(local));
    const usedInside = local !== undefined && (mentions.get(local) ?? 0) > 0;
    byName.set(name, { name, usedInside, ...(origin === undefined ? {} : { from: origin }) });
  }
  return { path, exports: [...byName.values()], imports };
}

/** File of the repository that a module specifier names; undefined for packages. */
function targetOf(importer: string, specifier: ts.Node): string | undefined {
  return ts.isStringLiteralLike(specifier) && specifier.text.startsWith(".")
    ? posix.join(posix.dirname(importer), specifier.text)
    : undefined;
}

function namesOfImport(clause: ts.ImportClause | undefined): { readonly name: string; readonly local: string }[] {
  const bindings = clause?.namedBindings;
  const named =
    bindings === undefined
      ? []
      : ts.isNamespaceImport(bindings)
        ? [{ name: EVERY_NAME, local: bindings.name.text }]
        : bindings.elements.map((element) => ({
            name: (element.propertyName ?? element.name).text,
            local: element.name.text,
          }));
  return clause?.name === undefined ? named : [{ name: "default", local: clause.name.text }, ...named];
}

function namesOfExport(
  clause: ts.NamedExportBindings | undefined,
): { readonly name: string; readonly original: string }[] {
  if (clause === undefined) {
    return [{ name: EVERY_NAME, original: EVERY_NAME }];
  }
  return ts.isNamespaceExport(clause)
    ? [{ name: clause.name.text, original: EVERY_NAME }]
    : clause.elements.map((element) => ({
        name: element.name.text,
        original: (element.propertyName ?? element.name).text,
      }));
}

function declaredNames(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  }
  const name = (statement as { readonly name?: ts.Node }).name;
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

function boundNames(name: ts.BindingName): readonly string[] {
  return ts.isIdentifier(name)
    ? [name.text]
    : name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundNames(element.name) : []));
}

/** `import("x")` as an expression or a type, JSDoc included. */
function lateImport(path: string, node: ts.Node): ImportedNames | undefined {
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    const target = targetOf(path, node.argument.literal);
    const first = node.qualifier === undefined ? EVERY_NAME : (node.qualifier.getText().split(".")[0] ?? EVERY_NAME);
    return target === undefined ? undefined : { path: target, names: [first] };
  }
  const specifier =
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword ? node.arguments[0] : undefined;
  const target = specifier && targetOf(path, specifier);
  return target === undefined ? undefined : { path: target, names: [EVERY_NAME] };
}

/** Whether an identifier refers to a name in scope: not a declaration, a member, a key or an import or export list. */
function isMention(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isExportSpecifier(parent) || ts.isImportSpecifier(parent) || ts.isImportClause(parent)) {
    return false;
  }
  if (ts.isPropertyAccessExpression(parent)) {
    return parent.expression === node;
  }
  if (ts.isQualifiedName(parent)) {
    return parent.left === node;
  }
  const declared = (parent as { readonly name?: ts.Node }).name;
  return declared !== node || ts.isShorthandPropertyAssignment(parent);
}

function hasModifier(statement: ts.Statement, kind: ts.SyntaxKind): boolean {
  return (
    ts.canHaveModifiers(statement) && (ts.getModifiers(statement) ?? []).some((modifier) => modifier.kind === kind)
  );
}

function visitAll(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  for (const comment of (node as { readonly jsDoc?: readonly ts.Node[] }).jsDoc ?? []) {
    visitAll(comment, visit);
  }
  ts.forEachChild(node, (child) => {
    visitAll(child, visit);
  });
}
