/**
 * The passes that keep every value: JSON compaction and code compaction (docs/rules/compression.md#passes). Each changes a
 * block only to fewer tokens.
 */
import { type Block, tokensOf } from "./block.ts";
import { compactJsonText } from "./json-table.ts";

/** Blocks of JSON in fewer tokens, and how many have become so. */
export function compactJsonBlocks(blocks: readonly Block[]): {
  readonly blocks: readonly Block[];
  readonly compacted: number;
} {
  const after = blocks.map((block) => (block.kind === "json" ? shorter(block, compactJsonText(block.current)) : block));
  return { blocks: after, compacted: after.filter((block, at) => block !== blocks[at]).length };
}

/** Blocks of code without whitespace at line ends and without repeated blank lines. */
export function compactCodeBlocks(blocks: readonly Block[]): readonly Block[] {
  return blocks.map((block) => (block.kind === "code" ? shorter(block, compactCode(block.current)) : block));
}

/** The block with another text when that takes fewer tokens, otherwise the block itself. */
export function shorter(block: Block, text: string | null): Block {
  return text !== null && tokensOf(text) < tokensOf(block.current) ? { ...block, current: text } : block;
}

/** A text whose lines have no blanks at their end and of whose blank lines no two follow one another. */
export function compactCode(text: string): string {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
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
