/** The Worker's calls to the internal routes of the control service (docs/rules/internal-traffic.md#internal-routes). */
import { CALLER_HEADERS, CLIENT_PATHS } from "../../shared/wire/batch-lines.ts";

const TIMEOUT_MS = 5000;

export class ControlCalls {
  readonly #baseUrl: string;
  readonly #internalTokens: () => Promise<readonly string[]>;

  constructor(baseUrl: string, internalTokens: () => Promise<readonly string[]>) {
    this.#baseUrl = baseUrl;
    this.#internalTokens = internalTokens;
  }

  /** The name of the control service in log lines. */
  get host(): string {
    return new URL(this.#baseUrl).host;
  }

  /** The answer to a client's request on `/v1/files` or `/v1/batches`. Rejects without an answer. */
  async forward(
    target: string,
    request: Pick<Request, "method" | "headers" | "body" | "signal">,
    caller: { tenantId: string; keyId: string },
  ): Promise<Response> {
    const [token = ""] = await this.#internalTokens();
    const type = request.headers.get("content-type");
    return await fetch(new URL(`${CLIENT_PATHS}${target}`, this.#baseUrl), {
      method: request.method,
      headers: {
        authorization: `Bearer ${token}`,
        [CALLER_HEADERS.tenant]: caller.tenantId,
        [CALLER_HEADERS.key]: caller.keyId,
        ...(type === null ? {} : { "content-type": type }),
      },
      body: request.body,
      redirect: "manual",
      signal: request.signal,
    });
  }

  /** Rejects without an answer in time. */
  async post(path: string, body: object, timeoutMs = TIMEOUT_MS): Promise<Response> {
    const [token = ""] = await this.#internalTokens();
    return await fetch(new URL(path, this.#baseUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
  }
}
