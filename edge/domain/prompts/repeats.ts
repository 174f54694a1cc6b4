/**
 * Deduplication: a later block that equals an earlier one becomes a reference, and the model can ask for the text
 * (docs/rules/compression.md#deduplication). Which hash a text has is an argument: hashing is the caller's.
 */
import type { Steps } from "../../../shared/steps.ts";
import { hashedKey } from "../wire/text/hashed-key.ts";
import { type Block, inOrder, tokensOf } from "./block.ts";

/** The tool that the gateway adds to a request with references, and answers itself. */
export const RETRIEVE_TOOL = {
  type: "function",
  function: {
    name: "retrieve_original",
    description: "Returns the full text that a mark [ref:...] in this conversation stands for.",
    parameters: {
      type: "object",
      properties: { ref: { type: "string", description: "The 64 hexadecimal digits of the mark." } },
      required: ["ref"],
      additionalProperties: false,
    },
  },
} as const;

/** Most characters of a request's originals; stores refuse calls of more than a megabyte, and a character has up to 3 bytes. */
export const ORIGINALS_CHARS_MAX = 256 * 1024;

/** Work for a text, and for its characters, in units. */
const TEXT_UNITS = 16;
const CHARACTERS_PER_UNIT = 32;
const REFERENCE = /^\s*\[?(?:ref:)?([0-9a-f]{64})\]?\s*$/i;
const OUTSIDE_BLOCK = { kind: "prose", referred: false } as const;

/** Texts that occur more than once in a request: the blocks of the first of each, and the rest of the later ones. */
interface Repeats {
  /** Each repeated text, once. */
  readonly originals: readonly string[];
  /** How many blocks become references. */
  readonly count: number;
  /** The blocks with references, when every text of `hashes` is known by its SHA-256 in hex. */
  readonly refer: (hashes: ReadonlyMap<string, string>) => readonly Block[];
}

/** The replacement of a repeated block. */
export function referenceTo(sha256: string): string {
  return `[ref:${sha256}] (identical to the block above)`;
}

/** The SHA-256 that the model's argument names, in lower case; null: it names none. */
export function referredHash(argument: unknown): string | null {
  return typeof argument === "string" ? (REFERENCE.exec(argument.slice(0, 200))?.[1]?.toLowerCase() ?? null) : null;
}

/**
 * The texts, and the blocks in them, of at least `minTokens` that equal an earlier one; null: there are none, or the references
 * and their tool would not save tokens. At most `maxRepeats` become references.
 */
export function* repeatsOf(
  texts: readonly string[],
  blocks: readonly Block[],
  { minTokens, maxRepeats }: { readonly minTokens: number; readonly maxRepeats: number },
): Steps<Repeats | null> {
  const repeated = (yield* repeatedTexts(texts, minTokens)).slice(0, maxRepeats);
  const gone = new Set(repeated.map(({ text }) => text));
  const left = inOrder(blocks.filter(({ text }) => !gone.has(text)));
  const later = repeatedBlocks(left, maxRepeats - repeated.length);
  const found = [...repeated, ...later];
  const savedTokens = found.reduce((sum, { current }) => sum + tokensOf(current) - REFERENCE_TOKENS, 0);
  if (savedTokens <= tokensOf(JSON.stringify(RETRIEVE_TOOL))) return null;
  const originals = new Set(found.map(({ original }) => original));
  const refer = (hashes: ReadonlyMap<string, string>): readonly Block[] => {
    const referring = new Set<Block>(found);
    const reference = (block: Block): Block => {
      const hash = hashes.get(block.original);
      return hash === undefined ? block : { ...block, current: referenceTo(hash), referred: true };
    };
    const kept = left.filter((block) => !referring.has(block));
    // the first of equal blocks, and the content of the first of equal texts, must stay unchanged
    const firsts = new Set([...originals].flatMap((original) => texts.indexOf(original)));
    const marked = kept.map((block) =>
      originals.has(block.original) || firsts.has(block.text) ? { ...block, referred: true } : block,
    );
    return inOrder([...marked, ...found.map(reference)]);
  };
  return { originals: [...originals], count: found.length, refer };
}

const REFERENCE_TOKENS = tokensOf(referenceTo("0".repeat(64)));

/** Whole texts that equal an earlier one, as one block each. */
function* repeatedTexts(texts: readonly string[], minTokens: number): Steps<readonly Block[]> {
  const [met, originals] = [new Set<string>(), new Set<string>()];
  let leftChars = ORIGINALS_CHARS_MAX;
  const repeated: Block[] = [];
  for (const [text, original] of texts.entries()) {
    yield TEXT_UNITS + original.length / CHARACTERS_PER_UNIT;
    // a hash is computed from UTF-8, and a store keeps UTF-8: a text that has no UTF-8 form would come back changed
    if (!original.isWellFormed()) continue;
    if (original.length < minTokens || original.length > ORIGINALS_CHARS_MAX || tokensOf(original) < minTokens)
      continue;
    const key = yield* hashedKey(original);
    const isRepeated = met.has(key);
    met.add(key);
    if (!isRepeated || (!originals.has(key) && original.length > leftChars)) continue;
    if (!originals.has(key)) leftChars -= original.length;
    originals.add(key);
    repeated.push({ ...OUTSIDE_BLOCK, text, start: 0, end: original.length, original, current: original });
  }
  return repeated;
}

function repeatedBlocks(blocks: readonly Block[], max: number): readonly Block[] {
  const met = new Set<string>();
  return blocks
    .filter(({ original }) => original.isWellFormed())
    .filter(({ original }) => {
      const isRepeated = met.has(original);
      met.add(original);
      return isRepeated;
    })
    .slice(0, max);
}
