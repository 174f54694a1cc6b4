/** The options of `npm run load`, checked before anything is sent (docs/watch.md#load-tests). */
import { parseArgs } from "node:util";
import { z } from "zod";

const CONCURRENCY_MAX = 2000;
const SECONDS_MAX = 3600;
const REQUESTS_MAX = 1_000_000;
const RATE_MAX = 5000;

export interface LoadOptions {
  /** The data plane's address, without `/v1` and without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string;
  readonly model: string;
  /** Requests that are under way at once, at most. */
  readonly concurrency: number;
  /** Requests started per second; null: the next one starts when one has ended. */
  readonly rate: number | null;
  readonly durationMs: number;
  readonly requestsMax: number;
  readonly maxTokens: number;
  readonly prompt: string;
  readonly isStreamed: boolean;
  /** The file of the plot; null: none. */
  readonly svgPath: string | null;
}

/** Thrown for invalid options; the message names each wrong one and its allowed values. */
export class LoadOptionsError extends Error {
  override readonly name = "LoadOptionsError";
}

export const LOAD_USAGE = `usage: npm run load -- --url https://gateway.example.org --model NAME [options]
  --key KEY           an API key of the gateway (better: the variable GATEWAY_API_KEY)
  --concurrency N     requests under way at once, 1 to ${CONCURRENCY_MAX} (8)
  --rate N            begin N requests a second, whatever becomes of them, up to ${RATE_MAX}
  --seconds N         how long requests begin, 1 to ${SECONDS_MAX} (30)
  --requests N        how many requests begin at most, 1 to ${REQUESTS_MAX} (10000)
  --max-tokens N      of an answer, 1 to 100000 (64)
  --prompt TEXT       what is asked
  --no-stream         whole answers in place of streams
  --svg FILE          writes a plot`;

/** A whole number without signs or exponents: what people type. */
const whole = (name: string, min: number, max: number) => {
  const error = `--${name} must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, error)
    .transform(Number)
    .pipe(z.number().min(min, error).max(max, error));
};

const filled = (error: string) => z.string({ error }).trim().min(1, error);
const URL_ERROR = "--url must be the http(s) address of the gateway's data plane";

const schema = z.object({
  url: z
    .string({ error: URL_ERROR })
    .refine((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""), URL_ERROR)
    .transform((url) => url.replace(/\/+$/, "").replace(/\/v1$/, "")),
  key: filled("--key or the variable GATEWAY_API_KEY must be an API key of the gateway").refine(
    (key) => /^[\x21-\x7e]+$/.test(key),
    "--key must have no spaces and no characters outside ASCII",
  ),
  model: filled("--model must be the name of a model that the key may call"),
  concurrency: whole("concurrency", 1, CONCURRENCY_MAX).default(8),
  rate: whole("rate", 1, RATE_MAX).nullable().default(null),
  seconds: whole("seconds", 1, SECONDS_MAX).default(30),
  requests: whole("requests", 1, REQUESTS_MAX).default(10_000),
  "max-tokens": whole("max-tokens", 1, 100_000).default(64),
  prompt: z.string().min(1, "--prompt must not be empty").default("Say in a few sentences what a queue is."),
  "no-stream": z.boolean().default(false),
  svg: filled("--svg must be a file").nullable().default(null),
});

/** The load that a command line asks for. Throws LoadOptionsError. */
export function parseLoadOptions(
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): LoadOptions {
  const result = schema.safeParse({ key: variables["GATEWAY_API_KEY"], ...valuesOf(args) });
  if (!result.success) throw new LoadOptionsError(result.error.issues.map(({ message }) => message).join("\n"));
  const { url, key, model, concurrency, rate, seconds, requests, prompt, svg, ...rest } = result.data;
  return {
    baseUrl: url,
    key,
    model,
    concurrency,
    rate,
    durationMs: seconds * 1000,
    requestsMax: requests,
    maxTokens: rest["max-tokens"],
    prompt,
    isStreamed: !rest["no-stream"],
    svgPath: svg,
  };
}

function valuesOf(args: readonly string[]): Readonly<Record<string, unknown>> {
  const text = { type: "string" } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        url: text,
        key: text,
        model: text,
        concurrency: text,
        rate: text,
        seconds: text,
        requests: text,
        "max-tokens": text,
        prompt: text,
        "no-stream": { type: "boolean" },
        svg: text,
      },
    }).values;
  } catch (error) {
    throw new LoadOptionsError(error instanceof Error ? error.message : "the options cannot be read");
  }
}
