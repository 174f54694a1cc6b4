/**
 * The passes that keep every value: JSON compaction and code compaction (docs/rules/compression.md#passes). Each changes a
 * block only to fewer tokens.
 */
import type { Steps } from "../../../shared/steps.ts";
import { type Block, tokensOf } from "./block.ts";
import { LINE_UNITS, linesOf } from "./classify.ts";
import { compactJsonText } from "./json-table.ts";

/** Blocks of JSON in fewer tokens, and how many have become so. */
export function* compactJsonBlocks(
  blocks: readonly Block[],
): Steps<{ readonly blocks: readonly Block[]; readonly compacted: number }> {
  const after: Block[] = [];
  for (const block of blocks)
    after.push(block.kind === "json" ? shorter(block, yield* compactJsonText(block.current)) : block);
  return { blocks: after, compacted: after.filter((block, at) => block !== blocks[at]).length };
}

/** Blocks of code without whitespace at line ends and without repeated blank lines. */
export function* compactCodeBlocks(blocks: readonly Block[]): Steps<readonly Block[]> {
  const after: Block[] = [];
  for (const block of blocks)
    after.push(block.kind === "code" ? shorter(block, yield* compactCode(block.current)) : block);
  return after;
}

/** The block with another text when that takes fewer tokens, otherwise the block itself. */
export function shorter(block: Block, text: string | null): Block {
  return text !== null && tokensOf(text) < tokensOf(block.current) ? { ...block, current: text } : block;
}

/** A text without blanks at the ends of lines and without two blank lines in a row. */
export function* compactCode(text: string): Steps<string> {
  const lines: string[] = [];
  for (const { start, end } of linesOf(text)) {
    yield LINE_UNITS;
    const line = text.slice(start, end);
    const carriageReturn = line.endsWith("\r") ? "\r" : "";
    const code = withoutTrailingBlanks(line.slice(0, line.length - carriageReturn.length));
    const isRepeated = code === "" && lines.at(-1)?.replace("\r", "") === "";
    if (!isRepeated) lines.push(code + carriageReturn);
  }
  return lines.join("\n");
}

function withoutTrailingBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === " " || line[end - 1] === "\t")) end -= 1;
  return line.slice(0, end);
}
