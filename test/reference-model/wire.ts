/** The answers of a model server on each route, as bytes: documents and streams that say what an {@link Attempt} plans. */
import { type Attempt, type CallRoute, PIECE, type Usage } from "./facts.ts";

interface Answer {
  readonly type: string;
  /** What comes before any content. */
  readonly start?: readonly string[];
  /** One element per piece of content, then what ends the answer. A document is one element. */
  readonly pieces: readonly string[];
  readonly end: readonly string[];
}

const event = (data: object, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Only what is not 0; undefined: nothing is. */
function details(parts: Readonly<Record<string, number>>): Readonly<Record<string, number>> | undefined {
  const some = Object.entries(parts).filter(([, count]) => count !== 0);
  return some.length === 0 ? undefined : Object.fromEntries(some);
}
const inputDetails = ({ cached, written, audioIn, imageIn }: Usage) =>
  details({ cached_tokens: cached, cache_write_tokens: written, audio_tokens: audioIn, image_tokens: imageIn });
const outputDetails = ({ reasoning, audioOut, imageOut }: Usage) =>
  details({ reasoning_tokens: reasoning, audio_tokens: audioOut, image_tokens: imageOut });

const openAiUsage = (usage: Usage) => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: inputDetails(usage),
  completion_tokens_details: outputDetails(usage),
});
const responsesUsage = (usage: Usage) => ({
  input_tokens: usage.input,
  output_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  input_tokens_details: inputDetails(usage),
  output_tokens_details: outputDetails(usage),
});
const transcriptionUsage = (usage: Usage) => ({
  type: "tokens",
  input_tokens: usage.input,
  output_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  input_token_details: inputDetails(usage),
  output_token_details: outputDetails(usage),
});
/** Without what its cache read and stored. */
const anthropicUsage = ({ input, output, cached, written }: Usage) => ({
  input_tokens: Math.max(Math.trunc(input - cached - written), 0),
  output_tokens: output,
  ...(cached === 0 ? {} : { cache_read_input_tokens: cached }),
  ...(written === 0 ? {} : { cache_creation_input_tokens: written }),
});

const usageOf = <T>(usage: Usage | null, as: (usage: Usage) => T) => (usage === null ? {} : { usage: as(usage) });

function documentOf(
  route: CallRoute,
  { pieces, usage, seconds }: Attempt,
  asked: Readonly<Record<string, unknown>>,
): object {
  const text = PIECE.repeat(pieces);
  switch (route) {
    case "completions":
      return { object: "text_completion", choices: [{ index: 0, text }], ...usageOf(usage, openAiUsage) };
    case "embeddings":
      return {
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.5] }],
        ...usageOf(usage, ({ input }) => ({ prompt_tokens: input, total_tokens: input })),
      };
    case "responses":
      return {
        object: "response",
        status: "completed",
        output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }],
        ...usageOf(usage, responsesUsage),
      };
    case "messages":
      return {
        type: "message",
        role: "assistant",
        content: [{ type: "text", text }],
        ...usageOf(usage, anthropicUsage),
      };
    case "rerank":
      return { results: [{ index: 0, relevance_score: 0.5 }], ...usageOf(usage, openAiUsage) };
    case "moderations":
      return { results: [{ flagged: false }], ...usageOf(usage, openAiUsage) };
    case "transcriptions":
      return { text, usage: usage === null ? { type: "duration", seconds } : transcriptionUsage(usage) };
    case "images":
      return {
        data: Array.from({ length: Number(asked["n"] ?? 1) }, () => ({ b64_json: "AAAA" })),
        ...usageOf(usage, responsesUsage),
      };
    default:
      return {
        object: "chat.completion",
        choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
        ...usageOf(usage, openAiUsage),
      };
  }
}

function streamOf(route: CallRoute, { pieces, usage }: Attempt, wantsUsage: boolean): Answer {
  const each = (piece: string): readonly string[] => Array.from({ length: pieces }, () => piece);
  const type = "text/event-stream";
  if (route === "responses")
    return {
      type,
      pieces: each(event({ type: "response.output_text.delta", delta: PIECE }, "response.output_text.delta")),
      end: [
        event({ type: "response.completed", response: { ...usageOf(usage, responsesUsage) } }, "response.completed"),
      ],
    };
  if (route === "messages")
    return {
      type,
      // Anthropic says at once what the input was, and at the end how much the output is.
      start:
        usage === null
          ? []
          : [
              event(
                {
                  type: "message_start",
                  message: { role: "assistant", usage: anthropicUsage({ ...usage, output: 0 }) },
                },
                "message_start",
              ),
            ],
      pieces: each(
        event(
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: PIECE } },
          "content_block_delta",
        ),
      ),
      end: [
        event(
          {
            type: "message_delta",
            delta: { stop_reason: "end_turn" },
            ...usageOf(usage, ({ output }) => ({ output_tokens: output })),
          },
          "message_delta",
        ),
        event({ type: "message_stop" }, "message_stop"),
      ],
    };
  const choice = route === "completions" ? { text: PIECE } : { delta: { content: PIECE } };
  return {
    type,
    pieces: each(event({ choices: [{ index: 0, ...choice, finish_reason: null }] })),
    end: [
      ...(usage !== null && wantsUsage ? [event({ choices: [], usage: openAiUsage(usage) })] : []),
      "data: [DONE]\n\n",
    ],
  };
}

/** The event with the usage that the gateway has asked for, and keeps from a client that did not. */
export const withheld = (text: string): string => text.replaceAll(/data: \{"choices":\[\],"usage":[^\n]*\n\n/g, "");

/** The answer of a route to a request with these fields. */
export function answerOf(route: CallRoute, plan: Attempt, asked: Readonly<Record<string, unknown>>): Answer {
  if (plan.status !== 200)
    return { type: "application/json", pieces: [], end: [JSON.stringify({ detail: `status ${plan.status}` })] };
  if (route === "speech") return { type: "audio/mpeg", pieces: [], end: [PIECE.repeat(plan.pieces)] };
  const options = asked["stream_options"] as { readonly include_usage?: boolean } | undefined;
  if (asked["stream"] === true) return streamOf(route, plan, options?.include_usage === true);
  return { type: "application/json", pieces: [], end: [JSON.stringify(documentOf(route, plan, asked))] };
}
