/**
 * The console's files for browsers (docs/rules/console.md#files): those of a build (`npm run build`), read once at the start, and
 * the page that loads them. Names carry a hash of their content, so that browsers keep them for good.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { MARK_BOX, MARK_COLOR, MARK_PATHS } from "../../shared/console-mark.ts";
import { FixedFile } from "../api/fixed-file.ts";

/** Where `npm run build` and `npm start` put the console's files. */
export const BUILT_CONSOLE = join(import.meta.dirname, "../../dist/console");

const KINDS = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" } as const;
const NAME = /^[A-Za-z0-9_.-]+\.(js|css)$/;

const fileName = z.string().regex(NAME);
const manifestSchema = z.object({
  build: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  script: fileName,
  style: fileName,
  preload: z.array(fileName),
});

export class ConsoleAssets {
  /** Changes with every build. */
  readonly build: string;
  readonly #manifest: z.infer<typeof manifestSchema>;
  readonly #files: ReadonlyMap<string, FixedFile>;

  private constructor(manifest: z.infer<typeof manifestSchema>, files: ReadonlyMap<string, FixedFile>) {
    this.build = manifest.build;
    this.#manifest = manifest;
    this.#files = files;
  }

  /** The build in a folder; null if there is none, or it is not whole. */
  static read(folder: string): ConsoleAssets | null {
    const path = join(folder, "manifest.json");
    if (!existsSync(path)) return null;
    const manifest = manifestSchema.safeParse(jsonOf(readFileSync(path, "utf8")));
    if (!manifest.success) return null;
    const files = new Map(
      readdirSync(folder).flatMap((name) => {
        const kind = NAME.exec(name)?.[1] as keyof typeof KINDS | undefined;
        if (kind === undefined) return [];
        return [[name, new FixedFile(KINDS[kind], readFileSync(join(folder, name)))]];
      }),
    );
    const { script, style, preload } = manifest.data;
    return [script, style, ...preload].every((name) => files.has(name))
      ? new ConsoleAssets(manifest.data, files)
      : null;
  }

  /** The answer to a request for a file; null: there is no such file. */
  file(name: string, request: Request): Response | null {
    return this.#files.get(name)?.answer(request, { "cache-control": "public, max-age=31536000, immutable" }) ?? null;
  }

  /** The page; scripts in it run by the nonce. */
  page(nonce: string): string {
    const { build, script, style, preload } = this.#manifest;
    return `<!doctype html>
<html lang="en" data-build="${build}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gateway</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="/assets/${style}">
${preload.map((name) => `<link rel="modulepreload" nonce="${nonce}" href="/assets/${name}">`).join("\n")}
<script type="module" nonce="${nonce}" src="/assets/${script}"></script>
</head>
<body>
<div id="root"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`;
  }
}

/** In place of the page where nothing was built. */
export const NOT_BUILT_PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Gateway</title></head>
<body><p>The console has not been built. Run <code>npm run build</code> and start the service again.</p></body>
</html>
`;

const ICON = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${MARK_BOX}"><rect width="24" height="24" rx="6" fill="${MARK_COLOR}"/><path d="${MARK_PATHS.join("")}" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>`,
)}`;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
