/**
 * A JSON request while boons change it. It knows single members of the top level only: everything else
 * goes upstream byte for byte as the client sent it. Values are read from the client's bytes, because the parsed document
 * of a large body has cut strings. A value that was read is never changed in place: a new one is set.
 */
import type { Steps } from "../../../../shared/steps.ts";
import type { MemberEdits } from "../../../domain/upstream/transform.ts";
import type { OutgoingBody } from "../client-body.ts";

/** Members that a guardrail or a boon may change. */
const DRAFT_MEMBERS = [
  "messages",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "functions",
  "function_call",
  "response_format",
  "stream",
  "stream_options",
  "prompt",
  "input",
  "instructions",
  "system",
  "query",
  "documents",
] as const;
export type DraftMember = (typeof DRAFT_MEMBERS)[number];

/** A large request: its messages are read whole in addition to its bytes, within the 128 MB of an isolate. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** Does work of any length. Throws ClientGone. */
type InTurns = <T>(work: Steps<T>) => Promise<T>;

const NAMES: ReadonlySet<string> = new Set(DRAFT_MEMBERS);

/** Whether a draft may change this member of the top level. */
export function isDraftMember(name: string): boolean {
  return NAMES.has(name);
}

export class RequestDraft {
  readonly #body: OutgoingBody;
  readonly #inTurns: InTurns;
  readonly #read = new Map<DraftMember, unknown>();
  #changed: ReadonlyMap<DraftMember, unknown> = new Map();

  /** The body must not have been sent yet. */
  constructor(body: OutgoingBody, inTurns: InTurns) {
    this.#body = body;
    this.#inTurns = inTurns;
  }

  /** The request is too large for a boon that sends its messages again. */
  get isLarge(): boolean {
    return (this.#body.clientBytes ?? []).reduce((sum, { byteLength }) => sum + byteLength, 0) > LARGE_BYTES;
  }

  /** The value that would go upstream now; undefined: none. Throws ClientGone. */
  async get(name: DraftMember): Promise<unknown> {
    if (this.#body.member !== null && !this.#changed.has(name) && !this.#read.has(name))
      this.#read.set(name, await this.#inTurns(this.#body.member(name)));
    return this.known(name);
  }

  /** The same of a member that was read or set. */
  known(name: DraftMember): unknown {
    return this.#changed.has(name) ? this.#changed.get(name) : this.#read.get(name);
  }

  /** Sets a member to a JSON value; undefined removes it. */
  set(name: DraftMember, value: unknown): void {
    this.#changed = new Map(this.#changed).set(name, value);
  }

  /** Runs `change`; if it throws, the draft is unchanged. */
  async attempt<T>(change: () => Promise<T>): Promise<T> {
    const before = this.#changed;
    try {
      return await change();
    } catch (error) {
      this.#changed = before;
      throw error;
    }
  }

  get edits(): MemberEdits {
    return this.#changed;
  }
}
