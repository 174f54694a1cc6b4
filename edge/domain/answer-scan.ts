/**
 * Reads what an answer owes from its JSON while it passes: how much content it carries and what usage it reports. One pass
 * over the bytes, nothing parsed and nothing kept, so that documents may be cut anywhere and strings may have any length.
 *
 * Content are texts below `choices` (chat, completions), `delta` (responses, messages), `output` and `content` (whole answers):
 * text, reasoning, refusals and arguments of tool calls, of every choice. Usage is an object called `usage`, wherever it stands
 * but in what a client may have written itself. What is malformed counts nothing; no bytes make it throw.
 */
import { JsonText, TextUse } from "./json-text.ts";
import { nameTable } from "./name-table.ts";
import { tokenCount } from "./token-count.ts";

/** What is known of an answer so far. Characters are code points. */
export interface AnswerTally {
  /** Documents (events, for a stream) that carried content. */
  readonly events: number;
  readonly characters: number;
  /** The last counts reported; null: none was. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** The output was reported, and no content has come since. */
  readonly upToDate: boolean;
}

/** The tally of an answer that has not begun. */
export const NOTHING_SEEN: AnswerTally = {
  events: 0,
  characters: 0,
  inputTokens: null,
  outputTokens: null,
  upToDate: false,
};

/** Names that mean something. Those of content, of what a client wrote, and of counts are in a row each. */
const Name = {
  Other: 1,
  Choices: 2,
  Delta: 3,
  Output: 4,
  Message: 5,
  Type: 6,
  Usage: 7,
  Content: 8,
  Text: 9,
  Reasoning: 10,
  ReasoningContent: 11,
  Echo: 12,
  InputCount: 13,
  OutputCount: 14,
  /** Not a name but a type: its `delta` is sound. */
  Sound: 15,
} as const;

const NAMES = nameTable({
  choices: Name.Choices,
  delta: Name.Delta,
  output: Name.Output,
  message: Name.Message,
  type: Name.Type,
  usage: Name.Usage,
  content: Name.Content,
  text: Name.Text,
  refusal: Name.Text,
  arguments: Name.Text,
  partial_json: Name.Text,
  transcript: Name.Text,
  thinking: Name.Reasoning,
  reasoning: Name.Reasoning,
  reasoning_content: Name.ReasoningContent,
  // the text of what stands beside them once more, or the client's own words
  reasoning_details: Name.Echo,
  logprobs: Name.Echo,
  annotations: Name.Echo,
  metadata: Name.Echo,
  tools: Name.Echo,
  input: Name.Echo,
  prompt_tokens: Name.InputCount,
  input_tokens: Name.InputCount,
  completion_tokens: Name.OutputCount,
  output_tokens: Name.OutputCount,
  "response.audio.delta": Name.Sound,
  "response.output_audio.delta": Name.Sound,
});

/** What the string under way is. */
const Part = { Nothing: 0, Name: 1, Type: 2, Content: 3, Reasoning: 4, ReasoningContent: 5 } as const;
const PARTS: ReadonlyMap<number, number> = new Map([
  [Name.Content, Part.Content],
  [Name.Text, Part.Content],
  [Name.Reasoning, Part.Reasoning],
  [Name.ReasoningContent, Part.ReasoningContent],
]);

/** A count that is written longer than this is none. */
const NUMBER_MAX = 400;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const SPACE = 0x20;

export class AnswerScan {
  /** Of the documents that are over. */
  #past = NOTHING_SEEN;
  // of the document under way
  #depth = 0;
  /** The member of the outermost object that is under way. */
  #root = 0;
  /** The member whose value comes next; 0 within a list, and before a name. */
  #member = 0;
  /** Depth from which on all is an echo; 0: nothing is. The same of a usage object. */
  #echoFrom = 0;
  #usageFrom = 0;
  /** Characters; some servers send reasoning twice, under its old name and its new one. */
  #content = 0;
  #reasoning = 0;
  #reasoningContent = 0;
  #sound = false;
  #documentInput: number | null = null;
  #documentOutput: number | null = null;
  /** What it reports is what was known before its content: the start of an answer in the messages format. */
  #early = false;
  /** A count under way, as it is written. */
  #number = "";
  readonly #text = new JsonText(NAMES);
  #part: number = Part.Nothing;
  /** The string that has just ended, were it a name; 0: the last thing was no string. */
  #named = 0;

  /** What is known, with what the document under way has shown so far. */
  tally(): AnswerTally {
    if (this.#text.open && this.#part >= Part.Content) this.#takeCharacters();
    // Sound is not counted by its letters.
    const characters = this.#sound ? 0 : this.#content + Math.max(this.#reasoning, this.#reasoningContent);
    const some = characters > 0 || this.#sound;
    const reported = this.#documentOutput !== null && !this.#early;
    const past = this.#past;
    return {
      events: past.events + (some ? 1 : 0),
      characters: past.characters + characters,
      inputTokens: this.#documentInput ?? past.inputTokens,
      outputTokens: this.#documentOutput ?? past.outputTokens,
      upToDate: reported || (past.upToDate && !some),
    };
  }

  /** The document is over; what comes next is another one. */
  end(): void {
    this.#past = this.tally();
    this.#depth = 0;
    this.#root = 0;
    this.#member = 0;
    this.#echoFrom = 0;
    this.#usageFrom = 0;
    this.#content = 0;
    this.#reasoning = 0;
    this.#reasoningContent = 0;
    this.#sound = false;
    this.#documentInput = null;
    this.#documentOutput = null;
    this.#early = false;
    this.#number = "";
    this.#text.reset();
    this.#named = 0;
  }

  /**
   * Goes on with these bytes of the document. Answers where it stopped: at `to`, or behind the brace or bracket that closes
   * the outermost one.
   */
  push(bytes: Uint8Array, from: number, to: number): number {
    let at = this.#text.open ? this.#string(bytes, from, to) : from;
    while (at < to) {
      const byte = bytes[at] ?? 0;
      at += 1;
      switch (byte) {
        case QUOTE:
          this.#openString();
          at = this.#string(bytes, at, to);
          break;
        case COLON:
          this.#endName();
          break;
        case COMMA:
          this.#endValue();
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          this.#open(byte);
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          if (this.#close()) return at;
          break;
        default:
          if (byte > SPACE && (this.#member === Name.InputCount || this.#member === Name.OutputCount))
            this.#digit(byte);
      }
    }
    return at;
  }

  /** What has just ended is the name of a member. */
  #endName(): void {
    if (this.#named === 0) return;
    this.#member = this.#named;
    this.#named = 0;
    if (this.#depth === 1) this.#root = this.#member;
  }

  #open(byte: number): void {
    const member = this.#member;
    this.#depth += 1;
    if (member === Name.Echo && this.#echoFrom === 0) this.#echoFrom = this.#depth;
    if (member === Name.Usage && byte === OPEN_BRACE && this.#echoFrom === 0 && this.#usageFrom === 0) {
      this.#usageFrom = this.#depth;
      if (this.#root === Name.Message) this.#early = true;
    }
    this.#member = 0;
    this.#named = 0;
  }

  #close(): boolean {
    this.#endValue();
    if (this.#depth === 0) return false;
    if (this.#depth === this.#echoFrom) this.#echoFrom = 0;
    if (this.#depth === this.#usageFrom) this.#usageFrom = 0;
    this.#depth -= 1;
    return this.#depth === 0;
  }

  /** A value, or the place of one, is over. */
  #endValue(): void {
    if (this.#number !== "") this.#endNumber();
    this.#member = 0;
    this.#named = 0;
  }

  /** A byte of a count: read where counts are told. */
  #digit(byte: number): void {
    const told = this.#usageFrom === 0 ? this.#depth === 1 : this.#depth === this.#usageFrom;
    if (told && this.#number.length <= NUMBER_MAX) this.#number += String.fromCharCode(byte);
  }

  #endNumber(): void {
    const count = this.#number.length > NUMBER_MAX ? null : tokenCount(this.#number);
    this.#number = "";
    if (count === null) return;
    if (this.#member === Name.InputCount) this.#documentInput = count;
    else this.#documentOutput = count;
  }

  #openString(): void {
    const member = this.#member;
    const part = member === 0 ? Part.Name : this.#partOf(member);
    this.#part = part;
    this.#named = 0;
    this.#member = 0;
    if (part === Part.Nothing) this.#text.begin(TextUse.Nothing);
    else this.#text.begin(part >= Part.Content ? TextUse.Characters : TextUse.Name);
  }

  /** What the value of a member is, here. */
  #partOf(member: number): number {
    if (this.#depth === 1) {
      if (member === Name.Type) return Part.Type;
      return member === Name.Delta || member === Name.Content ? Part.Content : Part.Nothing;
    }
    if (this.#echoFrom !== 0 || !isContentRoot(this.#root)) return Part.Nothing;
    return PARTS.get(member) ?? Part.Nothing;
  }

  /** Reads on in a string. Answers where it stopped: at `to`, or behind the quote that closes it. */
  #string(bytes: Uint8Array, from: number, to: number): number {
    const at = this.#text.push(bytes, from, to);
    if (this.#text.open) return at;
    if (this.#part === Part.Name) this.#named = this.#text.found || Name.Other;
    else if (this.#part >= Part.Content) this.#takeCharacters();
    else if (this.#part === Part.Type && this.#text.found === Name.Sound) this.#sound = true;
    return at;
  }

  /** Counts what has come of a text. */
  #takeCharacters(): void {
    const characters = this.#text.takeCharacters();
    if (this.#part === Part.Content) this.#content += characters;
    else if (this.#part === Part.Reasoning) this.#reasoning += characters;
    else this.#reasoningContent += characters;
  }
}

function isContentRoot(root: number): boolean {
  return root === Name.Choices || root === Name.Delta || root === Name.Output || root === Name.Content;
}
