/**
 * One file for all modules that the first load shares with what is loaded later, and for small ones that pages share
 * (docs/rules/console.md#files). esbuild makes a file
 * for every set of pages that use the same modules; so many small files are as many requests. A module that is imported by
 * everything belongs to one set: so every entry imports all of these modules.
 */
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { Loader, Metafile, Plugin } from "esbuild";

const SHARED = "console-shared";
/**
 * A smaller file (before compression) that several pages share is not worth its own request. The more pages there are, the more
 * files are divided between them: from some size on, the first load would get all of a library so.
 */
const SMALL_BYTES = 4.5 * 1024;

/** Learns from one build which modules are shared, and makes one file of them in the next build of the same context. */
export class SharedPart {
  readonly #root: string;
  #modules: readonly string[] = [];
  /** Paths of the modules at which a file starts. */
  #entries: ReadonlySet<string> = new Set();

  /** `root`: the folder to which the paths of builds are relative. */
  constructor(root: string) {
    this.#root = root;
  }

  /** `first`: the modules at which the first load starts. */
  learn({ outputs }: Metafile, first: readonly string[]): void {
    const needed = (name: string, seen = new Set<string>()): ReadonlySet<string> => {
      if (outputs[name] === undefined || seen.has(name)) return seen;
      seen.add(name);
      for (const { path, kind } of outputs[name].imports) if (kind === "import-statement") needed(path, seen);
      return seen;
    };
    const atFirst = new Set(
      Object.entries(outputs).flatMap(([name, { entryPoint }]) =>
        first.includes(entryPoint ?? "") ? [...needed(name)] : [],
      ),
    );
    // A small file brings its own dependencies along, so they must be small too.
    const isWanted = (name: string): boolean =>
      [...needed(name)].every((one) => atFirst.has(one) || (outputs[one]?.bytes ?? 0) < SMALL_BYTES);
    this.#modules = Object.entries(outputs)
      .filter(([name, { entryPoint }]) => entryPoint === undefined && isWanted(name))
      .flatMap(([, { inputs }]) => Object.keys(inputs))
      .filter((path) => /\.([cm]?[jt]sx?|module\.css)$/.test(path) && !path.includes(":"));
    const entries = Object.values(outputs).flatMap(({ entryPoint }) => entryPoint ?? []);
    this.#entries = new Set(entries.filter((path) => !path.includes(":")).map((path) => join(this.#root, path)));
  }

  get plugin(): Plugin {
    return {
      name: SHARED,
      setup: (own) => {
        own.onResolve({ filter: new RegExp(`^${SHARED}$`) }, () => ({
          path: SHARED,
          namespace: SHARED,
          sideEffects: true,
        }));
        own.onResolve({ filter: /.*/, namespace: SHARED }, ({ path }) => ({
          path: join(this.#root, path),
          sideEffects: true,
        }));
        own.onLoad({ filter: /.*/, namespace: SHARED }, () => ({
          contents: this.#modules.map((path) => `import ${JSON.stringify(path)};`).join("\n"),
          resolveDir: this.#root,
        }));
        own.onLoad({ filter: /\.[jt]sx?$/, namespace: "file" }, ({ path }) => {
          if (!this.#entries.has(path)) return null;
          const contents = `import ${JSON.stringify(SHARED)};\n${readFileSync(path, "utf8")}`;
          return { contents, loader: extname(path).slice(1) as Loader };
        });
      },
    };
  }
}
