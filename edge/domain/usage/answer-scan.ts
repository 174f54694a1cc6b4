/**
 * Reads the billed amounts of an answer from its JSON while it passes: how much content it carries, and what usage it reports.
 * It reads the bytes once, parses nothing and keeps only the answer's facts (answer-facts.ts), so that documents may be cut
 * anywhere and strings may have any length. Content is text below `choices` (chat, completions), `delta` and `content_block`
 * (responses, messages), `item` (responses that show items whole), `output`, `content` and `message` (whole answers): text, reasoning,
 * refusals and arguments of tool calls, of every choice. Usage is read only where upstreams report it (answer-names.ts); the last count is used. Malformed
 * input counts nothing, and no bytes make it throw.
 */

import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from "../../../shared/wire/ascii.ts";
import { numbersEnd } from "../../../shared/wire/json-skip.ts";
import { JsonStringReader, StringUse } from "../wire/json/string-reader.ts";
import { FactReader } from "./answer-facts.ts";
import {
  isArguments,
  isContentRoot,
  isCount,
  isCountName,
  isCountPlace,
  isFinish,
  isKnownForm,
  isLabel,
  isModel,
  isObjectId,
  isReport,
  isSealed,
  isTime,
  NAMES,
  Name,
} from "./answer-names.ts";
import { FACTS, PARTS, Part, SeenText } from "./answer-parts.ts";
import { type AnswerProgress, NOTHING_SEEN } from "./answer-progress.ts";
import { OtherText } from "./other-text.ts";
import {
  addedCounts,
  mergedCounts,
  NO_COUNTS,
  partsOf,
  type ReportedCounts,
  wholeInput,
  withCount,
} from "./reported-counts.ts";
import { millisecondCount, tokenCount } from "./token-count.ts";

/** A count with more digits than this is ignored. */
const NUMBER_MAX = 400;

export class AnswerScan {
  /** The progress of the documents that have ended. */
  #past = NOTHING_SEEN;
  #pastCounts: ReportedCounts = NO_COUNTS;
  // state of the current document
  #depth = 0;
  /** The current member of the outermost object. */
  #root = 0;
  /** The value of that member is a list. */
  #list = false;
  /** The member whose value comes next; 0 within a list, and before a name. */
  #member = 0;
  /** Depth from which everything repeats the request; 0: nothing does. */
  #echoFrom = 0;
  /** Depth of the current report (0: none), and of the one around it. */
  #reportFrom = 0;
  #outerReport = 0;
  /** Depth of the current details within it (0: none), and their name. */
  #detailsFrom = 0;
  #details = 0;
  /** Depth of the current details of reasoning; 0: none. */
  #thoughtsFrom = 0;
  /** Depth from which everything is arguments of a call; 0: nothing is. */
  #callFrom = 0;
  readonly #seen = new SeenText();
  /** The characters of a whole item. */
  readonly #item = new SeenText();
  /** The type that the document states. */
  #type = 0;
  #counts: ReportedCounts = NO_COUNTS;
  /** The sums of those answers of an outermost list that have ended. */
  #sums: ReportedCounts = NO_COUNTS;
  /** The member of the outermost object that contains that output. */
  #outputRoot = 0;
  /** A choice has come; the list of choices has ended without one. */
  #choice = false;
  #noChoice = false;
  /** The document states why the answer ended. */
  #finish = false;
  #hasError = false;
  /** The current count in its written form. */
  #number = "";
  readonly #text = new JsonStringReader(NAMES);
  #part: number = Part.Nothing;
  readonly #facts: FactReader;
  /** What would count if the answer had no form that is known. */
  readonly other = new OtherText();
  #known = false;
  /** The last string, if it was a name; 0: the last thing was not a string. */
  #named = 0;

  constructor(facts = new FactReader()) {
    this.#facts = facts;
  }

  /** The facts so far, including those of the current document. */
  progress(): AnswerProgress {
    if (this.#text.open && this.#part >= Part.Content) this.#takeCharacters();
    // Audio is not counted by its characters.
    const sound = this.#type === Name.Sound;
    const characters = sound ? 0 : this.#seen.characters;
    const itemCharacters = this.#type === Name.WholeItem ? this.#item.characters : 0;
    const some = characters > 0 || sound;
    const { input, output } = this.#documentCounts();
    const past = this.#past;
    const counts = this.#allCounts();
    const reported = output !== null && !this.#isEarly();
    const lasting = past.ended && !some;
    return {
      events: past.events + (some ? 1 : 0),
      characters: past.characters + characters,
      itemCharacters: past.itemCharacters + itemCharacters,
      inputTokens: wholeInput(counts),
      outputTokens: counts.output,
      totalTokens: counts.total,
      parts: partsOf(counts),
      outputReported: reported || past.outputReported,
      upToDate: reported || (past.upToDate && !some && output === null),
      // a report whose document is open may continue: it is not the last one yet
      known: this.#known || past.known || some || itemCharacters > 0 || output !== null,
      ended: this.open ? lasting && input === null && output === null : lasting || this.#isLast(reported),
    };
  }

  #documentCounts(): ReportedCounts {
    return this.#sums === NO_COUNTS ? this.#counts : addedCounts(this.#sums, this.#counts);
  }

  #allCounts(): ReportedCounts {
    return mergedCounts(this.#pastCounts, this.#documentCounts());
  }

  /** A document states an error: as its `error`, or as its type. */
  get hasError(): boolean {
    return this.#hasError;
  }

  /** True within a document: its outermost object or list is not closed. */
  get open(): boolean {
    return this.#depth > 0 || this.#text.open;
  }

  /** The report was known before there was content: it is at the start of an answer in the messages or responses format. */
  #isEarly(): boolean {
    const root = this.#outputRoot;
    return root === Name.Message || (root === Name.Response && this.#type === Name.Begun);
  }

  /**
   * The answer ends with this document: by its type, by a reason, or because it is the report without choices that ends
   * chat.
   */
  #isLast(reported: boolean): boolean {
    return this.#type === Name.Last || this.#type === Name.Failed || this.#finish || (reported && this.#noChoice);
  }

  /** The document has ended; the next bytes are another one. */
  end(): void {
    this.other.end();
    this.#past = this.progress();
    this.#pastCounts = this.#allCounts();
    [this.#depth, this.#root, this.#member, this.#type] = [0, 0, 0, 0];
    this.#list = false;
    [this.#reportFrom, this.#outerReport] = [0, 0];
    [this.#echoFrom, this.#detailsFrom, this.#thoughtsFrom, this.#callFrom] = [0, 0, 0, 0];
    this.#seen.end();
    this.#item.end();
    this.#counts = NO_COUNTS;
    this.#sums = NO_COUNTS;
    this.#outputRoot = 0;
    this.#choice = false;
    this.#noChoice = false;
    this.#finish = false;
    this.#number = "";
    this.#text.reset();
    this.#named = 0;
  }

  /**
   * Continues with these bytes of the document. Returns where it stopped: at `to`, or after the brace or bracket that
   * closes the outermost value.
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
          if (this.#member === 0 && this.#named === 0) at = this.#bare(bytes, at - 1, to);
          else if (byte > SPACE && isCountName(this.#member)) this.#digit(byte);
      }
    }
    return at;
  }

  /** Continues with a part that is not a string, and not a value of a known member. Returns where it stopped. */
  #bare(bytes: Uint8Array, from: number, to: number): number {
    if (this.#echoFrom !== 0) return numbersEnd(bytes, from + 1, to);
    if (this.#callFrom === 0) return this.other.values(bytes, from, to);
    if ((bytes[from] ?? 0) > SPACE) this.#add(Part.Content, 1);
    return this.other.values(bytes, from, from + 1);
  }

  /** The string that has just ended is the name of a member. */
  #endName(): void {
    if (this.#named === 0) return;
    this.#member = this.#named;
    this.#named = 0;
    this.other.wasName();
    if (this.#depth === 1) this.#root = this.#member;
  }

  #open(byte: number): void {
    const member = this.#member;
    if (byte === OPEN_BRACE && isReport(member, this.#depth, this.#root, this.#list)) {
      this.#outerReport = this.#reportFrom;
      this.#reportFrom = this.#depth + 1;
    }
    if (byte === OPEN_BRACE && (member === Name.InputDetails || member === Name.OutputDetails))
      this.#openDetails(member);
    if (this.#echoFrom === 0) {
      if (isArguments(member, this.#root)) this.#callFrom = this.#depth + 1;
      else if (member === Name.Echo || member === Name.Input) this.#echoFrom = this.#depth + 1;
    }
    if (member === Name.ReasoningDetails && this.#thoughtsFrom === 0) this.#thoughtsFrom = this.#depth + 1;
    if (this.#depth === 1) {
      this.#list = byte === OPEN_BRACKET;
      if (isKnownForm(member)) this.#known = true;
      if (member === Name.Error) this.#hasError = true;
    } else if (this.#depth === 2 && this.#root === Name.Choices) this.#choice = true;
    this.#depth += 1;
    this.#member = 0;
    this.#named = 0;
  }

  #openDetails(member: number): void {
    if (!isCountPlace(this.#depth, this.#reportFrom)) return;
    this.#detailsFrom = this.#depth + 1;
    this.#details = member;
  }

  #close(): boolean {
    this.#endValue();
    if (this.#depth === 0) return false;
    if (this.#depth === this.#echoFrom) this.#echoFrom = 0;
    if (this.#depth === this.#callFrom) this.#callFrom = 0;
    if (this.#depth === this.#thoughtsFrom) this.#thoughtsFrom = 0;
    if (this.#depth === this.#detailsFrom) this.#detailsFrom = 0;
    if (this.#depth === this.#reportFrom) {
      this.#reportFrom = this.#outerReport;
      this.#outerReport = 0;
    }
    if (this.#depth === 2 && this.#root === 0) {
      this.#sums = this.#documentCounts();
      this.#counts = NO_COUNTS;
    }
    if (this.#depth === 2 && this.#root === Name.Choices) this.#noChoice = this.#list && !this.#choice;
    this.#depth -= 1;
    return this.#depth === 0;
  }

  /** A value, or the place of one, has ended. */
  #endValue(): void {
    if (this.#number !== "") this.#endNumber();
    this.other.endValue();
    this.#member = 0;
    this.#named = 0;
  }

  /** A byte of a count; it is read only where counts are reported. */
  #digit(byte: number): void {
    if (this.#number.length <= NUMBER_MAX && this.#isCount()) this.#number += String.fromCharCode(byte);
  }

  #isCount(): boolean {
    return isCount(this.#member, {
      depth: this.#depth,
      reportFrom: this.#reportFrom,
      detailsFrom: this.#detailsFrom,
      details: this.#details,
    });
  }

  #endNumber(): void {
    const [text, name] = [this.#number, this.#member];
    this.#number = "";
    if (text.length > NUMBER_MAX) return;
    const count = isTime(name) ? millisecondCount(text) : tokenCount(text);
    if (count === null) return;
    this.#counts = withCount(this.#counts, name, count, this.#details);
    if (name === Name.OutputCount) this.#outputRoot = this.#root;
  }

  #openString(): void {
    const member = this.#member;
    let part: number = Part.Content;
    if (this.#callFrom === 0) part = member === 0 ? Part.Name : this.#partOf(member);
    if (part === Part.Nothing && this.#echoFrom === 0 && !isLabel(member)) part = Part.Other;
    this.#part = part;
    this.#named = 0;
    if (!isTime(member) || !this.#isCount()) this.#member = 0;
    this.#facts.begin();
    if (part <= Part.Nothing) this.#text.begin(StringUse.Nothing);
    else this.#text.begin(part >= Part.Model ? StringUse.Characters : StringUse.Name);
  }

  /** The meaning of a member's value at this place. */
  #partOf(member: number): number {
    if (!this.#facts.hasModel && this.#echoFrom === 0 && isModel(member, this.#depth, this.#root)) return Part.Model;
    if (this.#facts.wantsIds && isObjectId(member, this.#depth, this.#root, this.#list)) return Part.Id;
    if (this.#depth === 1) {
      if (member === Name.Type) return Part.Type;
      if (member === Name.StopReason) return Part.Reason;
      if (member === Name.Error) return Part.Failure;
      return member === Name.Delta || member === Name.Content ? Part.Content : Part.Nothing;
    }
    if (isFinish(member, this.#depth, this.#root, this.#list)) return Part.Finish;
    if (this.#echoFrom !== 0 || !isContentRoot(this.#root)) return Part.Nothing;
    if (isSealed(member, this.#depth, this.#root)) return Part.Sealed;
    if (this.#thoughtsFrom === 0) return PARTS.get(member) ?? Part.Nothing;
    return member === Name.Text || member === Name.Summary ? Part.ReasoningDetails : Part.Nothing;
  }

  /** Reads on in a string. Returns where it stopped: at `to`, or after the quote that closes it. */
  #string(bytes: Uint8Array, from: number, to: number): number {
    const at = this.#text.push(bytes, from, to);
    const isFact = this.#part >= Part.Model && this.#part <= Part.Finish;
    if (isFact) this.#facts.push(bytes, from, at);
    const read = at - from - (this.#text.open ? 0 : 1);
    // some servers write a time as a text
    if (this.#member !== 0) for (let nth = from; nth < from + read; nth += 1) this.#digit(bytes[nth] ?? 0);
    if (this.#part === Part.Other) this.other.text(read);
    else if (this.#part === Part.Name && this.#echoFrom === 0) this.other.maybeName(read);
    if (this.#text.open) return at;
    if (isFact) this.#facts.end(FACTS[this.#part] ?? "reason");
    if (this.#part === Part.Name) this.#named = this.#text.found || Name.Other;
    else if (this.#part >= Part.Content) this.#takeCharacters();
    else if (this.#part === Part.Type) this.#takeType();
    // some upstreams write an empty text until there is one
    else if (this.#part >= Part.Finish && this.#text.takeCharacters() > 0) {
      if (this.#part === Part.Finish) this.#finish = true;
      else this.#hasError = true;
    }
    return at;
  }

  #takeType(): void {
    this.#type = this.#text.found;
    if (this.#type === Name.Error || this.#type === Name.Failed) this.#hasError = true;
  }

  /** Counts the characters of a text that have come. */
  #takeCharacters(): void {
    this.#add(this.#part, this.#text.takeCharacters());
  }

  #add(part: number, characters: number): void {
    (this.#root === Name.Item ? this.#item : this.#seen).add(part, characters);
  }
}
