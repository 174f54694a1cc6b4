/** The roles of an answer's strings in its scan (answer-scan.ts). */
import type { Fact } from "./answer-facts.ts";
import { Name } from "./answer-names.ts";

/** The role of the current string. */
export const Part = {
  /** Text at a place that is not known. */
  Other: -1,
  Nothing: 0,
  Name: 1,
  Type: 2,
  Model: 3,
  Id: 4,
  /** The reason for the end of a message that is no sign for the scan. */
  Reason: 5,
  Finish: 6,
  Failure: 7,
  Content: 8,
  Sealed: 9,
  // from here on: reasoning
  Reasoning: 10,
  ReasoningContent: 11,
  ReasoningDetails: 12,
} as const;
export const FACTS: Readonly<Record<number, Fact>> = { [Part.Model]: "model", [Part.Id]: "id" };
export const PARTS: ReadonlyMap<number, number> = new Map([
  [Name.Content, Part.Content],
  [Name.Text, Part.Content],
  [Name.Arguments, Part.Content],
  [Name.Input, Part.Content],
  [Name.Reasoning, Part.Reasoning],
  [Name.ReasoningContent, Part.ReasoningContent],
]);
/** The kinds of content, each counted apart: some servers send reasoning under several names. */
const CONTENTS = Part.ReasoningDetails - Part.Content + 1;

/** The characters of content in the documents of an answer. */
export class SeenText {
  readonly #kinds = new Float64Array(CONTENTS);
  /** Characters of reasoning in earlier documents that no sealed reasoning has repeated. */
  #unsealed = 0;

  add(part: number, characters: number): void {
    const kind = part - Part.Content;
    this.#kinds[kind] = (this.#kinds[kind] ?? 0) + characters;
  }

  /** Those of the current document. Sealed reasoning counts until readable reasoning has come for it. */
  get characters(): number {
    const [content = 0, sealed = 0, ...reasoning] = this.#kinds;
    const thought = Math.max(...reasoning);
    return content + thought + Math.max(0, textOfSealed(sealed) - this.#unsealed - thought);
  }

  /** The document has ended. */
  end(): void {
    const [, sealed = 0, ...reasoning] = this.#kinds;
    this.#unsealed = Math.max(0, this.#unsealed + Math.max(...reasoning) - textOfSealed(sealed));
    this.#kinds.fill(0);
  }
}

/** Sealed reasoning is base64: four characters for three bytes. */
function textOfSealed(characters: number): number {
  return Math.floor((characters * 3) / 4);
}
