/**
 * The stream of a message of Anthropic's as chunks of a chat completion. The reason to finish is sent with the end only, so that
 * a stream which breaks never looks complete.
 */
import { errorBody } from "../../../../shared/errors.ts";
import type { Steps } from "../../../../shared/steps.ts";
import { dataEvent } from "../../../../shared/wire/event-reader.ts";
import { isJsonObject, type JsonObject } from "../../wire/json/document.ts";
import { parsedInSteps } from "../../wire/json/parse-in-steps.ts";
import { jsonInSteps } from "../../wire/json/write-in-steps.ts";
import { headText } from "../../wire/sse/event-head.ts";
import { chatError, statusOfEvent } from "../error-types.ts";
import { CHARACTER_BYTES, countOf, given, objectOf, textOf } from "../values.ts";
import { chatUsage, chunkHead, finishReason, refusalOf, tierOf } from "./answer.ts";

const DONE = dataEvent("[DONE]");
/** The most kept of a block of thinking, and of its signature: if a block is larger, its signature is not sent. */
const THINKING_MAX_CHARACTERS = 1024 * 1024;

/** What counts for the end: an upstream may send anything else beside it. */
const COUNTS = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

/** The block that is open. */
interface Block {
  readonly type: unknown;
  /** The whole arguments of a call without deltas. */
  readonly input: unknown;
  /** Characters of the event with them. */
  readonly startCharacters: number;
  /** Its index among the tool calls. */
  readonly call: number;
  hasInput: boolean;
  thinking: string;
  signature: string;
}

interface ChatStreamOptions {
  readonly createdSecs: number;
  /** The client wants the usage chunk. */
  readonly usageAsked: boolean;
}

export class ChatStream {
  isBroken = false;
  readonly #options: ChatStreamOptions;
  #head: JsonObject = {};
  #block: Block | null = null;
  #calls = 0;
  #usage: JsonObject = {};
  #stop: JsonObject = {};
  #ended = false;

  constructor(options: ChatStreamOptions) {
    this.#options = options;
  }

  get keptBytes(): number {
    const { startCharacters = 0, thinking = "", signature = "" } = this.#block ?? {};
    const kept = startCharacters + thinking.length + signature.length + textOf(this.#stop["explanation"]).length;
    return kept * CHARACTER_BYTES;
  }

  *event(name: string | null, data: string): Steps<string> {
    if (this.#ended) return "";
    const event = yield* parsedInSteps(data);
    if (!isJsonObject(event)) return this.#broken();
    if (name === "error" || event["type"] === "error" || event["error"]) {
      this.#ended = true;
      return dataEvent(JSON.stringify(chatError(statusOfEvent(event), event)));
    }
    switch (event["type"]) {
      case "message_start":
        return yield* this.#begin(objectOf(event["message"]));
      case "content_block_start":
        return yield* this.#open(objectOf(event["content_block"]), data.length);
      case "content_block_delta":
        return yield* this.#delta(objectOf(event["delta"]));
      case "content_block_stop":
        return yield* this.#close();
      case "message_delta":
        this.#usage = { ...this.#usage, ...countsOf(objectOf(event["usage"])) };
        this.#stop = { ...this.#stop, ...stopOf(objectOf(event["delta"])) };
        return "";
      case "message_stop":
        return yield* this.#finish();
      default:
        return "";
    }
  }

  end(): string {
    return this.#ended ? "" : this.#broken();
  }

  #broken(): string {
    this.isBroken = true;
    this.#ended = true;
    return dataEvent(JSON.stringify(errorBody("upstream_stream_error")));
  }

  #begin(message: JsonObject): Steps<string> {
    this.#head = chunkHead(message, { object: "chat.completion.chunk", createdSecs: this.#options.createdSecs });
    this.#usage = countsOf(objectOf(message["usage"]));
    return this.#chunk({ role: "assistant", content: "" });
  }

  #open({ type, id, name, text, thinking, data, ...more }: JsonObject, startCharacters: number): Steps<string> {
    const { input, signature } = more;
    const block = { type, input, startCharacters, call: this.#calls, hasInput: false };
    this.#block = { ...block, thinking: "", signature: textOf(signature) };
    if (type === "tool_use") {
      this.#calls += 1;
      return this.#call({ id, type: "function", function: { name, arguments: "" } });
    }
    if (type === "redacted_thinking") return this.#chunk({ thinking_blocks: [{ type, data }] });
    return this.#delta({ text, thinking });
  }

  /** A delta of any type: each type has its own member. */
  *#delta({ text, thinking, signature, partial_json: input }: JsonObject): Steps<string> {
    const block = this.#block;
    if (block === null) return "";
    if (block.signature.length < THINKING_MAX_CHARACTERS) block.signature += textOf(signature);
    if (textOf(text) !== "") return yield* this.#chunk({ content: text });
    if (textOf(thinking) !== "") {
      if (block.thinking.length < THINKING_MAX_CHARACTERS) block.thinking += textOf(thinking);
      return yield* this.#chunk({ reasoning_content: thinking });
    }
    // a tool of the upstream's own is called by no client
    if (textOf(input) === "" || block.type !== "tool_use") return "";
    block.hasInput = true;
    return yield* this.#call({ function: { arguments: input } });
  }

  *#close(): Steps<string> {
    const block = this.#block;
    this.#block = null;
    if (block === null) return "";
    const { type, input, call, hasInput, thinking, signature } = block;
    // clients parse the arguments, so none must be an object too
    if (type === "tool_use" && !hasInput)
      return yield* this.#call({ function: { arguments: yield* jsonInSteps(input ?? {}) } }, call);
    const kept = Math.max(thinking.length, signature.length);
    if (type !== "thinking" || signature === "" || kept >= THINKING_MAX_CHARACTERS) return "";
    return yield* this.#chunk({ thinking_blocks: [{ type: "thinking", thinking, signature }] });
  }

  *#finish(): Steps<string> {
    if (this.#head["object"] === undefined) return this.#broken();
    this.#ended = true;
    const refusal = textOf(this.#stop["explanation"]);
    const usage = this.#options.usageAsked ? chatUsage(this.#usage) : null;
    return (
      (yield* this.#chunk(refusal === "" ? {} : { refusal }, finishReason(this.#stop["stop_reason"]))) +
      (usage === null ? "" : dataEvent(JSON.stringify({ ...this.#head, choices: [], usage }))) +
      DONE
    );
  }

  #call(call: JsonObject, index = this.#calls - 1): Steps<string> {
    return this.#chunk({ tool_calls: [{ index, ...call }] });
  }

  *#chunk(delta: JsonObject, reason: string | null = null): Steps<string> {
    const tier = reason === null ? {} : given({ service_tier: tierOf(this.#usage) });
    return dataEvent(
      yield* jsonInSteps({
        ...this.#head,
        choices: [{ index: 0, delta, finish_reason: reason, logprobs: null }],
        ...tier,
      }),
    );
  }
}

/** An implausible number is kept, so that the end does not report an earlier one. */
function countsOf({ service_tier: tier, output_tokens_details: details, ...counts }: JsonObject): JsonObject {
  const told = COUNTS.filter((name) => counts[name] !== undefined && counts[name] !== null);
  return {
    ...Object.fromEntries(told.map((name) => [name, countOf(counts[name]) ?? Number.NaN])),
    ...given({
      output_tokens_details: isJsonObject(details) ? { thinking_tokens: countOf(details["thinking_tokens"]) } : null,
      service_tier: headText(tier),
    }),
  };
}

function stopOf({ stop_reason: reason, stop_details: details }: JsonObject): JsonObject {
  return given({ stop_reason: headText(reason), explanation: refusalOf(details) });
}
