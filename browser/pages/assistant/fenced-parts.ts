/** An answer cut at its fences (CommonMark: fenced code blocks), so that code is shown as code. Pure. */

/** From an opening fence to the closing one, or to the end while the answer is still being written. */
const FENCED = /^ {0,3}(`{3,}|~{3,})[^\n]*\n?([\s\S]*?)(?:^ {0,3}\1[`~]*[ \t]*(?:\n|$(?![\s\S]))|$(?![\s\S]))/gm;

/** Prose and code in turn; empty prose is left out. */
export function fencedParts(text: string): readonly { readonly isCode: boolean; readonly text: string }[] {
  return text
    .split(FENCED)
    .map((part, at) => ({ isCode: at % 3 === 2, text: part.replace(/\n$/, ""), isMark: at % 3 === 1 }))
    .filter(({ isCode, isMark, text: part }) => !isMark && (isCode || part.trim() !== ""))
    .map(({ isCode, text: part }) => ({ isCode, text: part }));
}
