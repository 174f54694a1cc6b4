/**
 * Rule `citations`: what code and documents point to exists. In code that is a page below `docs/` with its heading. In
 * Markdown it is relative links too, and below `docs/` also files in backquotes, with the titles of tests that follow them.
 * A citation of anything else is useless to a reader who has only the repository. `docs/rules/README.md` lists its pages.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const FILES =
  "{.*,*,{edge,control,shared,browser,infra,test,docs}/**/*}.{ts,tsx,mts,js,mjs,json,jsonc,toml,md,yaml,yml}";
const NOT_READ = ["**/node_modules/**", "package-lock.json", "**/*.generated.ts", "test/lint/fixtures/**"];
const INDEX = "docs/rules/README.md";

/** In code and in running text a path always starts at the root of the repository. */
const CITED = /(?<![\w/.-])docs\/[\w./-]*\.md(?:#[\w-]*)?/g;
/** `[text](target)` and `[name]: target`. */
const LINKS = [/\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g, /^\s*\[[^\]]+\]:\s+(\S+)/g];
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/)/i;
/** The section sign: a number of a section in some other document. */
const SECTION = /\u00a7\s?[\d.]*/g;
const ROOMS = /^(?:edge|control|shared|browser|infra|test)\//;
/** A file of the repository, and the titles of its tests. */
const NAMED = /`((?:edge|control|shared|infra|test|docs)\/[\w./-]+)`((?:\s+"[^"|]+")*)/g;

interface Place {
  readonly cited: string;
  /** A path from the root, with its anchor; null when nothing in the repository can be meant. */
  readonly target: string | null;
  /** A text that the target contains. */
  readonly title?: string;
}

/** One finding for each place that points to something that does not exist. */
export function citationFaults(root: string): readonly string[] {
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const paths = globSync(FILES, { cwd: root, exclude: NOT_READ }).sort();
  const texts = new Map(paths.map((path) => [path, read(path)]));
  const pages = new Map(
    [...texts].filter(([path]) => path.endsWith(".md")).map(([path, text]) => [path, anchorsOf(text)]),
  );

  const faultOf = ({ target, title }: Place): string | null => {
    if (target === null) return "a section of a document that is not in the repository";
    const [path = "", anchor] = target.split("#");
    if (!existsSync(join(root, path))) return "no such file";
    if (anchor !== undefined && pages.get(path)?.has(anchor) === false) return "no such heading";
    return title === undefined || read(path).includes(title) ? null : "no such test";
  };
  const faults = [...texts].flatMap(([path, text]) =>
    placesIn(path, text).flatMap(({ line, ...place }) => {
      const fault = faultOf(place);
      return fault === null ? [] : [`${path}:${line}: ${place.cited}: ${fault}`];
    }),
  );
  const unlisted = [...pages.keys()].filter(
    (path) => posix.dirname(path) === posix.dirname(INDEX) && !texts.get(INDEX)?.includes(`](${posix.basename(path)})`),
  );
  return [...faults, ...unlisted.filter((path) => path !== INDEX).map((path) => `${INDEX}:1: does not list ${path}`)];
}

function placesIn(path: string, text: string): readonly (Place & { readonly line: number })[] {
  const isPage = path.endsWith(".md");
  const lines = isPage ? linesOutsideCode(text) : text.split("\n");
  const inLines = lines.flatMap((line, at) => {
    const places = [...citedIn(line), ...(isPage ? linkedFrom(path, line) : []), ...sectionsIn(path, line)];
    return places.map((place) => ({ ...place, line: at + 1 }));
  });
  return isPage && path.startsWith("docs/") ? [...inLines, ...namedIn(text)] : inLines;
}

function citedIn(text: string): readonly Place[] {
  return Array.from(text.matchAll(CITED), ([cited]) => ({ cited, target: cited }));
}

function linkedFrom(path: string, text: string): readonly Place[] {
  return LINKS.flatMap((link) =>
    Array.from(text.matchAll(link), ([, cited = ""]) => cited)
      .filter((cited) => !ELSEWHERE.test(cited))
      .map((cited) => {
        const [file = "", anchor] = cited.split("#");
        const target = file === "" ? path : posix.join(posix.dirname(path), decodeURI(file));
        return { cited, target: anchor === undefined ? target : `${target}#${anchor}` };
      }),
  );
}

function sectionsIn(path: string, text: string): readonly Place[] {
  return ROOMS.test(path) ? Array.from(text.matchAll(SECTION), ([cited]) => ({ cited, target: null })) : [];
}

function namedIn(text: string): readonly (Place & { readonly line: number })[] {
  return [...text.matchAll(NAMED)].flatMap(({ index, 1: target = "", 2: titles = "" }) => {
    const line = text.slice(0, index).split("\n").length;
    const tests = Array.from(titles.matchAll(/"([^"]+)"/g), ([cited, title = ""]) => ({ cited, target, title, line }));
    return [{ cited: target, target, line }, ...tests];
  });
}

/** The anchors that GitHub gives to the headings of a page; of two equal ones the second ends in `-1`, and so on. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const line of linesOutsideCode(markdown)) {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, "").replace(/\s/g, "-");
    let name = anchor;
    for (let count = 1; anchors.has(name); count += 1) name = `${anchor}-${count}`;
    anchors.add(name);
  }
  return anchors;
}

/** The lines of a page; those of code blocks are empty. */
function linesOutsideCode(markdown: string): readonly string[] {
  let fence: string | null = null;
  return markdown.split("\n").map((line) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark === undefined) return fence === null ? line : "";
    if (fence === null) fence = mark;
    else if (mark.startsWith(fence)) fence = null;
    return "";
  });
}
