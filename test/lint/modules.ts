/**
 * What the modules of the repository export and import, as the parser of rolldown lists it: the basis of the rules
 * `equal-names`, `arrows` and `dead-exports`. Types count like values. A name is followed by import path, never by type.
 */
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parseSync } from "rolldown/utils";

/** Stands for every name of a module: `import * as x`, `import("x")`, `export * from "x"`. */
export const EVERY_NAME = "*";

interface ExportedName {
  readonly line: number;
  /** `default` for a default export. */
  readonly name: string;
  /** The name inside the module; undefined when it has none there. */
  readonly local: string | null | undefined;
  /** Another module declares it. */
  readonly isPassedOn: boolean;
  /** Its docstring says why it is exported though nothing imports it: `@exported <reason>`. */
  readonly hasReason: boolean;
}

/** One import, re-export, dynamic import or import type of another file of the repository. */
interface ImportedNames {
  readonly line: number;
  /** Path of the imported file from the root of the repository. */
  readonly path: string;
  /** The names as the imported file exports them; empty for an import without names. */
  readonly names: readonly string[];
}

export interface SourceModule {
  /** Path from the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly exports: readonly ExportedName[];
  readonly imports: readonly ImportedNames[];
}

/** A dynamic import or an import type, JSDoc included. Text of this form that is neither counts too. */
const LATE_IMPORT = /\bimport\(\s*["'](\.[^"']+)["']\s*\)(?:\.([A-Z]\w*))?/g;

/** Whether a file only serves tests: tests, their helpers beside the code (`testing/`, `*.test-helper.ts`) and all of `test/`. */
export function isTestCode(path: string): boolean {
  return /^test\/|(?:^|\/)testing\/|\.test(?:-helper)?\.tsx?$/.test(path);
}

/** Reads every source file in the rooms under `root`, and the configuration files beside them, without generated code. */
export function readModules(root: string): readonly SourceModule[] {
  const paths = globSync("{*,{edge,control,shared,browser,infra,test}/**/*}.{ts,tsx,mts,mjs,js}", {
    cwd: root,
    exclude: ["**/{node_modules,fixtures,dist}/**", "**/*.generated.ts"],
  });
  return paths.sort().map((path) => readModule(path, readFileSync(join(root, path), "utf8")));
}

function readModule(path: string, text: string): SourceModule {
  const { module, comments } = parseSync(path, text);
  const { staticImports, staticExports } = module;
  const exported = staticExports.flatMap(({ start, entries }) => entries.map((entry) => ({ ...entry, start })));
  const reasons = comments.filter(({ value }) => /@exported\s+[a-z]/i.test(value));
  const lineAt = (start: number): number => text.slice(0, start).split("\n").length;
  const imported = (start: number, specifier: string, names: readonly string[]): readonly ImportedNames[] =>
    specifier.startsWith(".") ? [{ line: lineAt(start), path: posix.join(posix.dirname(path), specifier), names }] : [];
  return {
    path,
    text,
    exports: exported.flatMap(({ start, moduleRequest, exportName, localName }) =>
      exportName.kind === "None"
        ? []
        : [
            {
              line: lineAt(start),
              name: exportName.name ?? "default",
              local: localName.name ?? exportName.name,
              isPassedOn: moduleRequest !== null,
              hasReason: reasons.some(({ end }) => text.slice(end, start).trim() === "" && end < start),
            },
          ],
    ),
    imports: [
      ...staticImports.flatMap(({ start, moduleRequest, entries }) =>
        imported(start, moduleRequest.value, entries.map(nameOf)),
      ),
      ...exported.flatMap(({ start, moduleRequest, importName }) =>
        moduleRequest === null ? [] : imported(start, moduleRequest.value, [nameOf({ importName })]),
      ),
      ...[...text.matchAll(LATE_IMPORT)].flatMap(({ index, 1: specifier = "", 2: name = EVERY_NAME }) =>
        imported(index, specifier, [name]),
      ),
    ],
  };
}

type ImportName = Readonly<Record<"importName", { readonly kind: string; readonly name?: string | null }>>;

function nameOf({ importName: { kind, name } }: ImportName): string {
  return name ?? (kind === "Default" ? "default" : EVERY_NAME);
}
