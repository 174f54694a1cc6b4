/**
 * Bundles the console's browser side (`browser/`) into files that the console's server hands out: one stylesheet, a first
 * load, and a part for each page. Names carry a hash of their content, so that a file never changes under its name.
 */
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { gzipSync } from "node:zlib";
import { type BuildResult, context, type Metafile } from "esbuild";
import { askingAhead } from "./parts-ahead.ts";
import { reactNamed } from "./react-named.ts";
import { SharedPart } from "./shared-part.ts";
import { USES_HELPERS, WRITES_JSON_SCHEMA, withOwnHelpers, withoutJsonSchema } from "./validation-only.ts";

const ROOT = join(import.meta.dirname, "../..");
const ENTRY = "browser/main.tsx";
/** The module that the entry loads at once, after it has chosen the language. */
const START = "browser/shell/start.tsx";
/** Represents a stylesheet that holds the styles of every room, in the order of their paths. */
const STYLES = "console-styles";
/** Represents a module that loads the languages that have a file. */
const LANGUAGES = "console-languages";
const MANIFEST = "manifest.json";
const READ_ONLY: ReadonlySet<string | undefined> = new Set(["EROFS", "EACCES", "EPERM"]);
/**
 * The parts that an address may open, and the parts that every page opens: their files are requested together with them.
 * Dialogs open on a click.
 */
const OPENED_AT_ONCE = /(-(page|tab|part)|\/(endpoints-panel|toasts))\.tsx$/;
/** What the server needs to know of a build (control/dashboard/assets.ts reads it). */
interface ConsoleManifest {
  /** The build facts for the server (control/dashboard/assets.ts reads them). */
  readonly build: string;
  readonly script: string;
  readonly style: string;
  /** Parts that the first script needs at once, for `modulepreload`. */
  readonly preload: readonly string[];
  readonly files: readonly string[];
}

export interface ConsoleFile {
  readonly name: string;
  readonly contents: Uint8Array;
  /** Size after gzip. */
  readonly gzipBytes: number;
  /** Names of the files that this one imports at once. */
  readonly imports: readonly string[];
  /** The page or room that the file belongs to; undefined for parts that several share. */
  readonly entry: string | undefined;
}

export interface ConsoleBundle {
  readonly manifest: ConsoleManifest;
  readonly files: readonly ConsoleFile[];
}

/** Bundles everything; nothing is written. Throws esbuild's BuildFailure, which names file and line. */
export async function bundleConsole(): Promise<ConsoleBundle> {
  const sheets = [
    "browser/tokens.css",
    "browser/base.css",
    ...globSync("browser/**/*.module.css", { cwd: ROOT }).sort(),
  ];
  const shared = new SharedPart(ROOT);
  const building = await context({
    absWorkingDir: ROOT,
    entryPoints: { main: ENTRY, styles: STYLES },
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    splitting: true,
    outdir: "out",
    format: "esm",
    target: "es2024",
    platform: "browser",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    entryNames: "[name]-[hash]",
    chunkNames: "[hash]",
    legalComments: "none",
    logLevel: "silent",
    loader: { ".css": "css", ".module.css": "local-css" },
    plugins: [
      shared.plugin,
      reactNamed,
      {
        name: "validation-only",
        setup: (own) => {
          own.onLoad({ filter: USES_HELPERS, namespace: "file" }, ({ path }) => ({
            contents: withOwnHelpers(readFileSync(path, "utf8")),
            loader: "js",
          }));
          own.onLoad({ filter: WRITES_JSON_SCHEMA, namespace: "file" }, ({ path }) => ({
            contents: withoutJsonSchema(readFileSync(path, "utf8")),
            loader: "js",
          }));
        },
      },
      {
        name: "console-styles",
        setup: (own) => {
          own.onResolve({ filter: /^console-styles$/ }, () => ({ path: STYLES, namespace: STYLES }));
          own.onResolve({ filter: /^console-languages$/ }, () => ({ path: LANGUAGES, namespace: LANGUAGES }));
          own.onLoad({ filter: /.*/, namespace: LANGUAGES }, () => ({ contents: languagesModule(), resolveDir: ROOT }));
          own.onLoad({ filter: /.*/, namespace: STYLES }, () => ({
            contents: sheets.map((sheet) => `@import "./${sheet}";`).join("\n"),
            loader: "css",
            resolveDir: ROOT,
          }));
        },
      },
    ],
  });
  try {
    shared.learn((await building.rebuild()).metafile, [ENTRY, START]);
    return bundleOf(await building.rebuild());
  } finally {
    await building.dispose();
  }
}

function bundleOf({ metafile, outputFiles }: BuildResult<{ metafile: true; write: false }>): ConsoleBundle {
  const { outputs } = metafile;
  const bundled = outputFiles.flatMap(({ path, contents }) => {
    const name = basename(path);
    const output = outputs[`out/${name}`];
    // Every script has its own stylesheet too; the common stylesheet replaces them.
    if (output === undefined || (name.endsWith(".css") && output.entryPoint !== `${STYLES}:${STYLES}`)) return [];
    return [{ name, contents, gzipBytes: 0, ...relationsOf(output) }];
  });
  const files = bundled.map((file) => {
    const there = new Set(firstLoad(bundled, file.name));
    const neededFor = (part: string): readonly string[] =>
      OPENED_AT_ONCE.test(bundled.find(({ name }) => name === part)?.entry ?? "")
        ? firstLoad(bundled, part).filter((name) => name !== part && !there.has(name))
        : [];
    const isScript = file.name.endsWith(".js");
    const contents = isScript ? Buffer.from(askingAhead(textOf(file.contents), neededFor)) : file.contents;
    return { ...file, contents, gzipBytes: gzipSync(contents, { level: 9 }).byteLength };
  });
  const script = nameOf(files, (file) => file.entry === ENTRY);
  const style = nameOf(files, (file) => file.name.endsWith(".css"));
  const start = nameOf(files, (file) => file.entry === START);
  const names = files.map(({ name }) => name).sort();
  return {
    files,
    manifest: {
      build: /-([A-Z0-9]+)\.js$/.exec(script)?.[1] ?? script,
      script,
      style,
      preload: firstLoad(files, script, start).filter((name) => name !== script),
      files: names,
    },
  };
}

/** Every script that these need before they can run, themselves included. */
export function firstLoad(files: readonly ConsoleFile[], ...scripts: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const visit = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const imported of files.find((file) => file.name === name)?.imports ?? []) visit(imported);
  };
  for (const script of scripts) visit(script);
  return [...seen];
}

/**
 * Writes a bundle below `folder`; the manifest comes last, so that it never names a missing file. The files of the previous
 * build stay, for open pages. `sources` is the hash of the bundle's sources.
 */
export function writeConsole({ files, manifest }: ConsoleBundle, folder: string, sources: string): void {
  mkdirSync(folder, { recursive: true });
  const before = filesBefore(folder);
  // The same build again must not take the place of the one before it.
  const isSame = isDeepStrictEqual(before, manifest.files) && before.every((name) => existsSync(join(folder, name)));
  if (!isSame) for (const { name, contents } of files) writeWhole(join(folder, name), contents);
  try {
    writeWhole(join(folder, MANIFEST), JSON.stringify({ ...manifest, sources }));
  } catch (error) {
    // A read-only folder with the same files is fine too: the next start only bundles again.
    if (!isSame || !READ_ONLY.has((error as NodeJS.ErrnoException).code)) throw error;
  }
  if (isSame) return;
  const kept = new Set([MANIFEST, ...manifest.files, ...before]);
  for (const name of readdirSync(folder)) if (!kept.has(name)) rmSync(join(folder, name), { force: true });
}

/** The files of the build that lies in the folder. */
function filesBefore(folder: string): readonly string[] {
  try {
    return (JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as ConsoleManifest).files;
  } catch {
    return []; // there is none, or it was cut off
  }
}

/** Source text: language -> its texts, from `browser/messages/<language>.json`. */
function languagesModule(): string {
  const entries = globSync("browser/messages/*.json", { cwd: ROOT }).map(
    (path) => `${JSON.stringify(basename(path, ".json"))}: async () => (await import("./${path}")).default,`,
  );
  return `export const languages = { ${entries.join(" ")} };`;
}

function writeWhole(path: string, contents: string | Uint8Array): void {
  const part = `${path}.${process.pid}.part`;
  writeFileSync(part, contents);
  renameSync(part, path);
}

function relationsOf(output: Metafile["outputs"][string]): Pick<ConsoleFile, "imports" | "entry"> {
  return {
    entry: output.entryPoint,
    imports: output.imports
      .filter(({ kind, external }) => kind === "import-statement" && external !== true)
      .map(({ path }) => basename(path)),
  };
}

function textOf(contents: Uint8Array): string {
  return new TextDecoder().decode(contents);
}

function nameOf(files: readonly ConsoleFile[], isIt: (file: ConsoleFile) => boolean): string {
  const file = files.find(isIt);
  if (file === undefined) throw new Error("the console's bundle is not whole");
  return file.name;
}
