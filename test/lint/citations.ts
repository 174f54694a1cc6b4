/**
 * Checks whether what code and documents point to exists: in code a page below `docs/` with its heading, in Markdown
 * relative links too. Pure; the test reads the files. A citation of anything else is useless to a reader who has only the
 * repository.
 */
import { posix } from "node:path";

/** A file of the repository, by its path from the root with forward slashes. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** A place that points to something that does not exist. */
export interface CitationFault {
  readonly path: string;
  /** The line, from 1. */
  readonly line: number;
  /** The citation as it is written. */
  readonly cited: string;
  readonly fault: "no such file" | "no such heading" | "a section of a document that is not in the repository";
}

/** What can be cited. */
interface Targets {
  /** Anchors of each Markdown page, by its path. */
  readonly pages: ReadonlyMap<string, ReadonlySet<string>>;
  /** True for a file or folder of the repository. */
  readonly exists: (path: string) => boolean;
}

/** In code and in running text a path always starts at the root of the repository. */
const CITED = /(?<![\w/.-])docs\/[\w./-]*\.md(?:#[\w-]*)?/g;
/** `[text](target)` and `[name]: target`. */
const LINKS = [/\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g, /^\s*\[[^\]]+\]:\s+(\S+)/g];
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/)/i;
/** The section sign: a number of a section in some other document. */
const SECTION = /\u00a7\s?[\d.]*/g;
const ROOMS = /^(?:edge|control|shared|browser|infra|test)\//;

/** The anchors that GitHub gives to the headings of a page; of two equal ones the second ends in `-1`, and so on. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
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

/** Every place in the files that points to something that does not exist, in order. */
export function citationFaults(files: readonly TextFile[], targets: Targets): readonly CitationFault[] {
  return files.flatMap((file) => {
    const isPage = file.path.endsWith(".md");
    const lines = isPage ? linesOutsideCode(file.text) : file.text.split("\n");
    return lines.flatMap((text, at) => {
      const inLine = [...citedIn(text), ...(isPage ? linkedFrom(file.path, text) : []), ...sectionsIn(file.path, text)];
      return inLine.flatMap(({ cited, target }): readonly CitationFault[] => {
        const fault =
          target === null ? "a section of a document that is not in the repository" : faultOf(target, targets);
        return fault === null ? [] : [{ path: file.path, line: at + 1, cited, fault }];
      });
    });
  });
}

interface Place {
  readonly cited: string;
  /** A path from the root, with its anchor; null when nothing in the repository can be meant. */
  readonly target: string | null;
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

function faultOf(target: string, { pages, exists }: Targets): "no such file" | "no such heading" | null {
  const [path = "", anchor] = target.split("#");
  if (!exists(path)) return "no such file";
  return anchor === undefined || pages.get(path)?.has(anchor) !== false ? null : "no such heading";
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
